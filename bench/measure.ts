/** Times and bytes of calls that take turns, and how they are shown. */

export interface Row {
  readonly name: string;
  readonly leastMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly mostMs: number;
  /** Of the heap and of array buffers, that one call allocates. */
  readonly bytes: number;
}

/** A figure, and what it may be at most. */
export interface Budget {
  readonly name: string;
  readonly is: number;
  readonly max: number;
  readonly unit: "s" | "ms" | "×" | "bytes" | "MiB" | "events" | "";
}

export interface Bench {
  readonly title: string;
  readonly rows: readonly Row[];
  readonly budgets: readonly Budget[];
}

export interface Subject {
  readonly name: string;
  readonly call: () => void;
}

/** Before anything is counted, so that the compiler has had its turn. */
const warmUpRounds = 10;

/** Rounds of all subjects take turns, so that a slow moment hits all of them, and none finds the caches as it left them. */
export function measure(subjects: readonly Subject[], rounds: number): Row[] {
  const runs = subjects.map((subject) => ({ ...subject, times: [] as number[] }));
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const { call, times } of runs) {
      const begun = performance.now();
      call();
      if (round >= 0) times.push(performance.now() - begun);
    }
  }
  return runs.map(({ name, call, times }) => rowOf(name, times, bytesOf(call)));
}

export function rowOf(name: string, times: readonly number[], bytes: number): Row {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => quantile(sorted, share);
  return { name, leastMs: at(0), p50Ms: at(0.5), p99Ms: at(0.99), mostMs: at(1), bytes };
}

/**
 * The value that so great a share of the others does not exceed; NaN where there is none.
 *
 * @param sorted  ascending
 */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

/**
 * How far `heapUsed` and `arrayBuffers` of process.memoryUsage() grow over a few calls: the middle of several tries, of which
 * those that a collection fell into are left out.
 */
export function bytesOf(call: () => void): number {
  const calls = 4;
  const found: number[] = [];
  for (let attempt = 0; attempt < 15; attempt++) {
    const before = process.memoryUsage();
    for (let count = 0; count < calls; count++) call();
    const after = process.memoryUsage();
    const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
    if (bytes >= 0 && after.arrayBuffers >= before.arrayBuffers) found.push(bytes / calls);
  }
  return found.toSorted((a, b) => a - b)[found.length >> 1] ?? Number.NaN;
}

/** How often `a` goes into `b`, by the middle call. */
export function ratio(a: Row | undefined, b: Row | undefined): number {
  return (b?.p50Ms ?? 0) / (a?.p50Ms ?? 1);
}

export function isWithin({ is, max }: Budget): boolean {
  return is <= max;
}

export function tableOf({ title, rows }: Bench): string {
  const line = (name: string, cells: readonly string[]): string =>
    `${name.padEnd(44)}${cells.map((cell) => cell.padStart(11)).join("")}`;
  const lines = [title, line("", ["least ms", "p50 ms", "p99 ms", "most ms", "bytes"])];
  for (const { name, leastMs, p50Ms, p99Ms, mostMs, bytes } of rows) {
    const times = [leastMs, p50Ms, p99Ms, mostMs].map((time) => time.toFixed(3));
    lines.push(line(name, [...times, String(Math.round(bytes))]));
  }
  return `${lines.join("\n")}\n`;
}

export function budgetLines(budgets: readonly Budget[]): string {
  return budgets
    .map((budget) => {
      const mark = isWithin(budget) ? "ok  " : "over";
      const [is, max] = [budget.is.toFixed(2), budget.max].map((figure) => `${figure} ${budget.unit}`.trimEnd());
      return `${mark} ${budget.name}: ${is}, at most ${max}\n`;
    })
    .join("");
}
