/**
 * `npm run bench -- soak`: a million filter and prioritize calls while the cluster changes without end. The heap and what is open
 * may not grow with the calls, and once everybody has gone every collection has as many entries as it had before.
 */
import { bytesInUse, slopeOf } from "./growth.ts";
import type { Budget } from "./measure.ts";
import { Churn } from "./soak/churn.ts";
import { sizesOf } from "./soak/sizes.ts";
import { World, type WorldOptions } from "./soak/world.ts";

export interface SoakOptions extends WorldOptions {
  readonly calls: number;
  /** The heap may grow by so much a call, least squares over the last eight tenths. */
  readonly bytesMax: number;
  /** Whether Berth's memory of its last answers is filled first: else the heap grows until it is. */
  readonly fillsMemory: boolean;
  /** Told of each tenth as it is over. */
  readonly sampled?: (sample: Sample) => void;
}

interface Sample {
  readonly calls: number;
  readonly heapBytes: number;
  /** Sockets, timers and whatever else keeps Node waiting. */
  readonly handles: number;
  readonly timers: number;
}

interface Size {
  readonly path: string;
  readonly before: number;
  readonly after: number;
}

export interface Soak {
  readonly samples: readonly Sample[];
  readonly binds: number;
  readonly bound: number;
  readonly sizes: readonly Size[];
  /** Counts of `/debug/state` at the end. */
  readonly outstanding: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
  /** Bytes a call. */
  readonly slope: number;
  readonly seconds: number;
}

const samplesCount = 10;
/** Caches fill first; the resting sizes are taken there too. */
const warmUpSamples = 2;
const closingTurns = 100;

/** What remembers on purpose, up to a bound of its own. */
const remembering: readonly { readonly path: RegExp; readonly max: number }[] = [
  // What was said about Pods lately.
  { path: /events\.#said$/, max: 2_000 },
  // Labels and their values, 200,000 at most; none of them is a Pod's or a claim's own.
  { path: /interning\.#(texts|values)$/, max: 5_000 },
  // One for each class that has free volumes at the moment.
  { path: /\.free\.#blocks$/, max: 2 },
  // Numbers are given anew once they are free: as many as there were things at one time.
  { path: /\.(volumes\.(#volumes|#listed|#topology|#unused)|numbers\.(#entries|#names|#unused))$/, max: 2_000 },
];

/** What nobody waits in, and nothing is promised in, once everybody has gone. Each is there: a name that has changed is noticed. */
const emptied = [
  "holds.#holds",
  "holds.#holders",
  "holds.#poolHolds",
  "reservations.#assumptions",
  "reservations.#assumedVolumes",
  "pools.#demands",
  "pools.#settling",
  "rests.#byClaim",
  "waker.#waiting",
  "watchpoints.#byObject",
  "events.#waiting.Warning",
  "events.#waiting.Normal",
  "binder.#runs",
  "binder.#ending",
  "#queue.#waiting",
  "#liveReads.#limiter.#waiting",
  "calls.#whenIdle",
  "#objects.pod",
  "#objects.claim",
];

export async function runSoak(options: SoakOptions): Promise<Soak> {
  const begun = performance.now();
  const world = new World(options);
  await world.open();
  const churn = new Churn(world);
  await churn.open();
  if (options.fillsMemory) await churn.fill();
  const samples: Sample[] = [];
  let before = new Map<string, number>();
  for (let tenth = 1; tenth <= samplesCount; tenth++) {
    await churn.until((options.calls * tenth) / samplesCount);
    // What is under way at the moment is no growth.
    await churn.rest();
    const sample = await sampleOf(churn.calls, world);
    samples.push(sample);
    options.sampled?.(sample);
    if (tenth === warmUpSamples) before = sizesAt(world);
  }
  const after = sizesAt(world);
  const outstanding = countsOf(await world.state());
  await churn.close();
  await world.berth.stop();
  world.sandbox.stop();
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return {
    samples,
    binds: churn.binds,
    bound: churn.bound,
    sizes: paths.map((path) => ({ path, before: before.get(path) ?? 0, after: after.get(path) ?? 0 })),
    outstanding,
    faults: world.faults,
    slope: slopeOf(samples.slice(warmUpSamples).map(({ calls, heapBytes }) => [calls, heapBytes])),
    seconds: (performance.now() - begun) / 1000,
  };
}

function sizesAt({ berth, timers }: World): Map<string, number> {
  return sizesOf(berth).set("timers", timers);
}

async function sampleOf(calls: number, { timers }: World): Promise<Sample> {
  // Sockets of the last calls close in turns of their own.
  let handles = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < closingTurns; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    handles = Math.min(handles, process.getActiveResourcesInfo().length);
  }
  return { calls, heapBytes: bytesInUse(), handles, timers };
}

function countsOf(state: Record<string, unknown>): Record<string, number> {
  const counted = ["bindsInProgress", "assumptions", "holds", "rests"].map(
    (name) => [name, (state[name] as { count: number }).count] as const,
  );
  const pools = (state["pools"] as { first: { held: string; promised: string; demands: number }[] }).first;
  return {
    ...Object.fromEntries(counted),
    "demands on pools": pools.reduce((sum, { demands }) => sum + demands, 0),
    "pools with something held or promised": pools.filter(({ held, promised }) => held !== "0" || promised !== "0")
      .length,
  };
}

/** Collections that are larger than they were at rest before, or are not as empty as they ought to be, or are not found. */
export function grown({ sizes }: Soak): Size[] {
  const found = sizes.filter(({ path, before, after }) => {
    const known = remembering.find((one) => one.path.test(path));
    return after > (emptied.some((end) => path.endsWith(end)) ? 0 : (known?.max ?? before));
  });
  const lost = emptied.filter((end) => !sizes.some(({ path }) => path.endsWith(end)));
  return [...found, ...lost.map((path) => ({ path, before: Number.NaN, after: Number.NaN }))];
}

export function soakBudgets(soak: Soak, { bytesMax }: Pick<SoakOptions, "bytesMax">): Budget[] {
  const { samples, slope, outstanding, faults } = soak;
  const handles = samples.slice(warmUpSamples).map((sample) => sample.handles);
  const left = Object.values(outstanding).reduce((sum, count) => sum + count, 0);
  return [
    { name: "the heap grows by, a call", is: slope, max: bytesMax, unit: "bytes" },
    {
      name: "handles, the most less the first",
      is: Math.max(...handles) - (samples[0]?.handles ?? 0),
      max: 2,
      unit: "",
    },
    { name: "collections that have grown or are not empty", is: grown(soak).length, max: 0, unit: "" },
    { name: "promises, rests and demands left", is: left, max: 0, unit: "" },
    { name: "faults in Berth's log", is: faults.length, max: 0, unit: "" },
  ];
}

/** One line a run, for a table of many: a long run may be made in pieces, each of a seed of its own. */
function rowOf(soak: Soak, { seed, calls }: SoakOptions): string {
  const { samples, binds, bound, slope, faults, outstanding, seconds } = soak;
  const handles = samples.slice(warmUpSamples).map((sample) => sample.handles);
  const left = Object.values(outstanding).reduce((sum, count) => sum + count, 0);
  const cells = [
    `seed ${seed}`,
    `${calls} calls`,
    `${binds} binds`,
    `${bound} bound`,
    `${slope.toFixed(2)} bytes a call`,
    `${Math.min(...handles)} to ${Math.max(...handles)} handles`,
    `${grown(soak).length} collections grown`,
    `${left} left`,
    `${faults.length} faults`,
    `${seconds.toFixed(0)} s`,
  ];
  return `| ${cells.join(" | ")} |`;
}

export async function benchSoak(
  options: SoakOptions,
  print: (text: string) => void,
): Promise<{ text: string; budgets: Budget[] }> {
  const row = (cells: readonly (string | number)[]): string =>
    `${cells.map((cell) => String(cell).padStart(12)).join("")}\n`;
  print(row(["calls", "heap MiB", "handles", "timers"]));
  const sampled = ({ calls, heapBytes, handles, timers }: Sample): void =>
    print(row([calls, (heapBytes / 2 ** 20).toFixed(2), handles, timers]));
  const soak = await runSoak({ ...options, sampled });
  const { binds, bound, outstanding, faults, slope, seconds } = soak;
  const budgets = soakBudgets(soak, options);
  const isGood = grown(soak).length === 0;
  const sizes = isGood ? soak.sizes.filter(({ after }) => after > 0) : grown(soak);
  const text = [
    `${options.nodes} nodes, seed ${options.seed}: ${binds} binds begun, ${bound} Pods bound, ${Math.round(seconds)} s`,
    `slope of the heap after the first ${warmUpSamples} tenths: ${slope.toFixed(3)} bytes a call`,
    `at rest: ${JSON.stringify(outstanding)}`,
    `collections of Berth: ${soak.sizes.length}${isGood ? ", those with entries:" : ", those that are not as they should be:"}`,
    ...sizes.map(({ path, before, after }) => `  ${path}: ${before}, then ${after}`),
    ...faults.slice(0, 5),
    rowOf(soak, options),
  ].join("\n");
  return { text: `${text}\n`, budgets };
}
