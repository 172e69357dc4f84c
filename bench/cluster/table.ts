/** Rows and budgets, as they are shown. */
import { quantile } from "../measure.ts";
import { nameOf, type Plan, type Size } from "./plan.ts";
import { type ProcessName, processNames, type Row } from "./row.ts";
import type { SubjectName } from "./subjects.ts";

/** A figure, and the least or the most that it may be. */
export interface Budget {
  readonly name: string;
  /** Absent where a row that it stands on was not run, or is void. */
  readonly is?: number;
  readonly unit: "×" | "pods/s" | "%";
  readonly atLeast?: number;
  readonly atMost?: number;
}

export function isKept({ is, atLeast = 0, atMost = Number.POSITIVE_INFINITY }: Budget): boolean {
  return is !== undefined && is >= atLeast && is <= atMost;
}

export function rateOf({ arrivals: { placed, seconds } }: Row): number {
  return placed / seconds;
}

/** In percent; NaN where nothing was counted. */
function shareOf({ cpu }: Row): number {
  const all = processNames.reduce((sum, name) => sum + (cpu[name] ?? 0), 0);
  return (100 * (cpu.extender ?? 0)) / all;
}

export function budgetsOf({ sizes }: Plan, rows: readonly Row[]): Budget[] {
  return sizes.flatMap((size) => budgetsAt(size, rows));
}

function budgetsAt({ nodes, free, least, shareAtMost }: Size, rows: readonly Row[]): Budget[] {
  const rowOf = (subject: SubjectName, hasClaims = true): Row | undefined =>
    rows.find(
      (row) =>
        row.nodes === nodes && row.subject === subject && row.hasClaims === hasClaims && row.findings.length === 0,
    );
  const times = (subject: SubjectName, hasClaims = true): { is?: number } => {
    const [ours, theirs] = [rowOf("Berth", hasClaims), rowOf(subject, hasClaims)];
    return ours && theirs ? { is: rateOf(ours) / rateOf(theirs) } : {};
  };
  const berth = rowOf("Berth");
  const budgets: (Budget | undefined)[] = [
    least.timesInTree === undefined
      ? undefined
      : { name: `${nodes} nodes, against in-tree`, ...times("in-tree"), unit: "×", atLeast: least.timesInTree },
    least.podsPerSecond === undefined
      ? undefined
      : {
          name: `${nodes} nodes`,
          ...(berth && { is: rateOf(berth) }),
          unit: "pods/s",
          atLeast: least.podsPerSecond,
        },
    least.ofNullExtender === undefined
      ? undefined
      : {
          name: `${nodes} nodes, against the null extender`,
          ...times("null extender"),
          unit: "×",
          atLeast: least.ofNullExtender,
        },
    shareAtMost === undefined
      ? undefined
      : {
          name: `${nodes} nodes, Berth's share of all CPU`,
          ...(berth && { is: shareOf(berth) }),
          unit: "%",
          atMost: shareAtMost,
        },
    free && {
      name: `${nodes} nodes, Pods without claims, against kube-scheduler alone`,
      ...times("no volumes", false),
      unit: "×",
      atLeast: free.atLeast,
    },
  ];
  return budgets.filter((budget) => budget !== undefined);
}

const titles: Readonly<Record<ProcessName, string>> = {
  etcd: "etcd",
  "kube-apiserver": "apisrv",
  "kube-controller-manager": "kcm",
  "kube-scheduler": "sched",
  extender: "extend",
};

export const heading: string = line("", [
  "pods",
  "pods/s",
  "p50 s",
  "p99 s",
  ...processNames.map((name) => titles[name]),
  "bench",
  "share %",
]);

/** One line, and one more for each finding. */
export function lineOf(row: Row): string {
  const { arrivals, cpu, benchCpu, findings } = row;
  const { placed, pods, latencies } = arrivals;
  const seconds = processNames.map((name) => show(cpu[name], 1));
  const share = cpu.extender === undefined ? "-" : show(shareOf(row), 1);
  const figures = [
    `${placed}/${pods}`,
    show(rateOf(row), 2),
    show(quantile(latencies, 0.5), 2),
    show(quantile(latencies, 0.99), 2),
  ];
  const cells = [...figures, ...seconds, show(benchCpu, 1), share];
  const faults = findings.slice(0, 10).map((finding) => `  ${finding}`);
  return [`${line(nameOf(row), cells)}${findings.length > 0 ? "  void" : ""}`, ...faults].join("\n");
}

/** How long each verb of Berth took. */
export function callsLineOf(row: Row): string | undefined {
  if (row.calls.size === 0) return undefined;
  const told = [...row.calls].map(
    ([verb, all]) => `${verb} ${show(quantile(all, 0.5), 1)}/${show(quantile(all, 0.99), 1)} (${all.length})`,
  );
  return `${nameOf(row)}: ${told.join(", ")}`;
}

export function budgetLineOf(budget: Budget): string {
  const { name, is, unit, atLeast, atMost } = budget;
  const mark = is === undefined ? "-   " : isKept(budget) ? "ok  " : "over";
  const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
  return `${mark} ${name}: ${is === undefined ? "not measured" : `${is.toFixed(2)} ${unit}`}, ${bound} ${unit}`;
}

function show(value: number | undefined, digits: number): string {
  return value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);
}

function line(name: string, cells: readonly string[]): string {
  return `${name.padEnd(36)}${cells.map((cell) => cell.padStart(9)).join("")}`.trimEnd();
}
