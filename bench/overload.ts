/**
 * `npm run bench -- overload`: the shipped server over loopback, asked more than it can answer. Berth, the API, those who ask too
 * much and who measures are four processes.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubeconfigFor } from "../src/sandbox/kubeconfig.ts";
import type { Budget } from "./measure.ts";
import { quantile } from "./measure.ts";
import { Child } from "./overload/children.ts";
import type { Answers } from "./overload/load.ts";
import { claimOf, namespace, nodeNamed, type Phase, phases, podNamed } from "./overload/names.ts";
import { call, type Timed, timed } from "./overload/probe.ts";

export interface OverloadOptions {
  /** Names in each filter call. */
  readonly nodes: number;
  /** That ask at the same time. */
  readonly connections: number;
  /** Binds of each kind, without the load and under it. */
  readonly binds: number;
  /** Between a bind and the next. */
  readonly paceMs: number;
}

/** What one phase has shown. */
export interface Phased {
  /** Of a Pod with a claim: from the call until the Pod is on its node. */
  readonly bind: Timed;
  /** Of a Pod without one. */
  readonly freeBind: Timed;
  /** `/livez` and `/readyz`, where kube-scheduler asks and beside it. */
  readonly health: Timed;
  readonly debugHealth: Timed;
}

export interface Overload {
  readonly quiet: Phased;
  readonly busy: Phased;
  readonly answers: Answers;
  /** Berth's own counts, by the labels of the metric. */
  readonly rejected: Readonly<Record<string, number>>;
  /** The longest that Berth's event loop was held up, ms, while it was overloaded. */
  readonly loopMs: number;
}

interface Berth {
  readonly child: Child;
  readonly port: number;
  readonly debugPort: number;
}

const healthPaceMs = 10;
const healthMaxMs = 100;

export async function runOverload(options: OverloadOptions): Promise<Overload> {
  const folder = mkdtempSync(join(tmpdir(), "berth-overload-"));
  const children: Child[] = [];
  const start = (...args: string[]): Child => {
    const child = new Child(args);
    children.push(child);
    return child;
  };
  try {
    const { nodes, connections, binds } = options;
    const here = (name: string): string => join(import.meta.dirname, "overload", name);
    const api = start(here("api.ts"), String(nodes), String(binds));
    const kubeconfig = join(folder, "kubeconfig");
    const apiPort = Number(await api.line());
    writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${apiPort}`));
    const berth = await startBerth(kubeconfig, start);
    const uids = await uidsOf(apiPort);
    const quiet = await phase(berth, "quiet", options, uids);
    const load = start(here("load.ts"), String(berth.port), String(connections), String(nodes));
    await load.line();
    // Its histogram starts anew with every look.
    await call(berth.debugPort, "GET", "/metrics");
    const busy = await phase(berth, "busy", options, uids);
    const { text } = await call(berth.debugPort, "GET", "/metrics");
    load.tell("enough");
    const answers = JSON.parse(await load.line()) as Answers;
    return { quiet, busy, answers, rejected: rejectedIn(text), loopMs: loopMsIn(text) };
  } finally {
    await Promise.all(children.map((child) => child.end()));
    rmSync(folder, { recursive: true });
  }
}

async function startBerth(kubeconfig: string, start: (...args: string[]) => Child): Promise<Berth> {
  const main = join(import.meta.dirname, "..", "src", "main.ts");
  const any = "127.0.0.1:0";
  const child = start(main, "serve", "--kubeconfig", kubeconfig, "--listen", any, "--debug-listen", any);
  const listening = async (what: string): Promise<number> => {
    for (;;) {
      const { msg, address = "" } = JSON.parse(await child.line()) as { msg: string; address?: string };
      if (msg === `Listening for ${what}`) return Number(address.split(":").at(-1));
    }
  };
  const port = await listening("kube-scheduler");
  const debugPort = await listening("metrics and explanations");
  void child.drain();
  const isReady = async (): Promise<boolean> => (await call(port, "GET", "/readyz")).status === 200;
  while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, 50));
  return { child, port, debugPort };
}

async function uidsOf(apiPort: number): Promise<ReadonlyMap<string, string>> {
  const { text } = await call(apiPort, "GET", `/api/v1/namespaces/${namespace}/pods`);
  const { items } = JSON.parse(text) as { items: { metadata: { name: string; uid: string } }[] };
  return new Map(items.map(({ metadata: { name, uid } }) => [name, uid]));
}

async function phase(
  { port, debugPort }: Berth,
  phaseName: Phase,
  { binds, paceMs }: OverloadOptions,
  uids: ReadonlyMap<string, string>,
): Promise<Phased> {
  let isOver = false;
  const health = (at: number): Promise<Timed> =>
    timed(
      async (nth) => {
        const path = nth % 2 === 0 ? "/livez" : "/readyz";
        const { status } = await call(at, "GET", path);
        return status === 200 ? undefined : `${path}: ${status}`;
      },
      healthPaceMs,
      () => isOver,
    );
  const bind = (suffix: string): Promise<Timed> =>
    timed(
      async (nth) => {
        const pod = `${podNamed(phaseName, nth)}${suffix}`;
        const node = nodeNamed(phases.indexOf(phaseName) * binds + nth);
        const args = { PodName: pod, PodNamespace: namespace, PodUID: uids.get(pod), Node: node };
        const { status, text } = await call(port, "POST", "/v1/bind", JSON.stringify(args));
        return status === 200 && text === '{"Error":""}' ? undefined : `${claimOf(pod)}: ${status} ${text}`;
      },
      paceMs,
      (nth) => nth >= binds,
    );
  const probing = Promise.all([health(port), health(debugPort)]);
  const [bound, freeBound] = await Promise.all([bind(""), bind("-free")]);
  isOver = true;
  const [atExtender, atDebug] = await probing;
  return { bind: bound, freeBind: freeBound, health: atExtender, debugHealth: atDebug };
}

function rejectedIn(metrics: string): Record<string, number> {
  const found = metrics.matchAll(/^berth_calls_rejected_total\{(.*)\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, labels = "", count]) => [labels, Number(count)]));
}

function loopMsIn(metrics: string): number {
  return 1000 * Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(metrics)?.[1]);
}

/** What must hold wherever it runs: no figure of a clock. */
export function overloadCounts({ busy, answers }: Overload): Budget[] {
  const all = [busy.bind, busy.freeBind, busy.health, busy.debugHealth];
  const failures = all.flatMap((one) => one.failures);
  const { 200: served = 0, 503: refused = 0, ...others } = answers.counts;
  const odd = Object.values(others).reduce((sum, count) => sum + count, 0);
  return [
    { name: "calls that are neither served nor refused", is: odd, max: 0, unit: "" },
    { name: "binds and probes that failed", is: failures.length, max: 0, unit: "" },
    { name: "calls served for one refused, at least one in a thousand", is: refused / served, max: 1_000, unit: "×" },
  ];
}

/** What the command adds: ratios, and what holds on a machine that has nothing else to do. */
function overloadTimes({ busy, answers }: Overload): Budget[] {
  const filterMs = quantile(answers.servedMs, 0.5);
  const toFilter = ({ times }: Timed): number => quantile(times, 0.5) / filterMs;
  const most = Math.max(quantile(busy.health.times, 1), quantile(busy.debugHealth.times, 1));
  return [
    { name: "a refusal beside an answer, p50", is: quantile(answers.refusedMs, 0.5) / filterMs, max: 0.5, unit: "×" },
    { name: "a bind beside a filter call, p50", is: toFilter(busy.bind), max: 1, unit: "×" },
    { name: "a bind without claims beside a filter call, p50", is: toFilter(busy.freeBind), max: 0.5, unit: "×" },
    { name: "health beside a filter call, p50", is: toFilter(busy.health), max: 0.25, unit: "×" },
    { name: "health, the slowest answer", is: most, max: healthMaxMs, unit: "ms" },
  ];
}

export async function benchOverload(options: OverloadOptions): Promise<{ text: string; budgets: Budget[] }> {
  const overload = await runOverload(options);
  const { quiet, busy, answers, rejected, loopMs } = overload;
  const line = (name: string, times: readonly number[]): string => {
    const cells = [0.5, 0.99, 1].map((share) => quantile(times, share).toFixed(1).padStart(9));
    return `${name.padEnd(44)}${String(times.length).padStart(8)}${cells.join("")}`;
  };
  const rows = (when: string, { bind, freeBind, health, debugHealth }: Phased): string[] => [
    line(`${when}: bind`, bind.times),
    line(`${when}: bind of a Pod without claims`, freeBind.times),
    line(`${when}: health where kube-scheduler asks`, health.times),
    line(`${when}: health beside metrics`, debugHealth.times),
  ];
  const failures = [busy.bind, busy.freeBind, busy.health, busy.debugHealth].flatMap((one) => one.failures);
  const text = [
    `${options.connections} connections ask filter about ${options.nodes} nodes at once`,
    `${"".padEnd(44)}${["calls", "p50 ms", "p99 ms", "most ms"].map((cell, at) => cell.padStart(at === 0 ? 8 : 9)).join("")}`,
    ...rows("quiet", quiet),
    ...rows("overload", busy),
    line("overload: filter, served", answers.servedMs),
    line("overload: filter, refused", answers.refusedMs),
    `answers by status: ${JSON.stringify(answers.counts)}`,
    `refused by Berth's metric: ${JSON.stringify(rejected)}`,
    `the event loop was held up for ${loopMs.toFixed(1)} ms at most`,
    ...failures.slice(0, 5),
  ].join("\n");
  return { text: `${text}\n`, budgets: [...overloadCounts(overload), ...overloadTimes(overload)] };
}
