/** Many cases against one Berth, and what did not hold. Binds have a world of their own: a good one changes it, and it is made anew. */
import { type Case, Cases, requestOf } from "./cases.ts";
import { nodeName } from "./cluster.ts";
import { type Finding, judgeRequest } from "./judge.ts";
import { type Growth, growthOf, type Sample, sampled } from "./memory.ts";
import { seedsOf } from "./seeds.ts";
import { FuzzWorld, type Plant } from "./world.ts";

export interface RunOptions {
  readonly seed: number;
  readonly requests: number;
  /** The first case's number (0). */
  readonly from?: number;
  readonly nodes?: number;
  readonly plant?: Plant | undefined;
  /** Findings after which the run ends. */
  readonly stopsAt?: number;
  /** Fills what Berth remembers of Pods before the first case, so that what grows after it is a leak. */
  readonly fillsMemory?: boolean;
  readonly onSample?: (sample: Sample) => void;
  /** How often memory is looked at (15): each time costs two collections. */
  readonly samples?: number;
}

export interface Found {
  readonly nth: number;
  readonly case: Case;
  readonly finding: Finding;
}

export interface Outcome {
  readonly found: readonly Found[];
  /** By "route status". */
  readonly statuses: ReadonlyMap<string, number>;
  /** By what the requests were. */
  readonly meanings: ReadonlyMap<string, number>;
  readonly worlds: number;
  readonly growth: Growth | undefined;
  readonly seconds: number;
}

/** A bind is about one node, and its world is made anew whenever one was good. */
const bindNodes = 10;
const samplesDefault = 15;
/** Virtual time between two requests: holds end after 60 s, some 3,000 requests. */
const pauseMs = 20;

export async function run(options: RunOptions): Promise<Outcome> {
  const { seed, requests, from = 0, stopsAt = 10, onSample, samples: samplesMax = samplesDefault } = options;
  const worlds = new Worlds(options);
  const cases = new Cases(seedsOf(await worlds.forCalls()), seed);
  if (options.fillsMemory) await fillMemory(await worlds.forCalls());
  const found: Found[] = [];
  const statuses = new Map<string, number>();
  const meanings = new Map<string, number>();
  const samples: Sample[] = [];
  const every = Math.max(1, Math.floor(requests / samplesMax));
  const startedAt = performance.now();
  for (let nth = from; nth < from + requests && found.length < stopsAt; nth++) {
    const one = cases.draw(nth);
    const { finding, meaning, status } = await worlds.judge(one);
    if (finding) found.push({ nth, case: one, finding });
    count(meanings, meaning.kind);
    count(statuses, `${one.seed.path.split("/").slice(0, 3).join("/")} ${status}`);
    if (!onSample || (nth - from + 1) % every !== 0) continue;
    const sample = sampled(nth - from + 1);
    samples.push(sample);
    onSample(sample);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  worlds.close();
  const growth = samples.length >= samplesMax ? growthOf(samples) : undefined;
  return { found, statuses, meanings, worlds: worlds.made, growth, seconds };
}

/** Whether one case alone, in a world of its own, breaks the same sentence. */
export async function failsAlone(
  one: Case,
  invariant: string,
  options: Pick<RunOptions, "nodes" | "plant">,
): Promise<boolean> {
  const worlds = new Worlds(options);
  const { finding } = await worlds.judge(one);
  worlds.close();
  return finding?.invariant === invariant;
}

/** As many Pods as are remembered, with as many names, and as many that wait to be woken. */
const podsRemembered = 10_000;
const namesEach = 25;

async function fillMemory(world: FuzzWorld): Promise<void> {
  const pod = world.pods.find(({ metadata }) => metadata.name === "far-too-large");
  const NodeNames = Array.from({ length: namesEach }, (_, index) => nodeName(index));
  for (let nth = 0; nth < podsRemembered; nth++) {
    const metadata = { ...pod.metadata, uid: `remembered-${nth}` };
    const body = Buffer.from(JSON.stringify({ Pod: { ...pod, metadata }, NodeNames }));
    const request = {
      face: "extender",
      method: "POST",
      path: "/v1/filter",
      contentType: "application/json",
      body,
    } as const;
    await world.ask(request);
  }
}

class Worlds {
  made = 0;
  readonly #options: Pick<RunOptions, "nodes" | "plant">;
  #calls: FuzzWorld | undefined;
  #binds: FuzzWorld | undefined;

  constructor(options: Pick<RunOptions, "nodes" | "plant">) {
    this.#options = options;
  }

  async judge(one: Case): Promise<Awaited<ReturnType<typeof judgeRequest>>> {
    const isBind = one.seed.path === "/v1/bind";
    const world = isBind ? await this.#forBinds() : await this.forCalls();
    const writes = world.writes.length;
    const verdict = await judgeRequest(world, requestOf(one));
    if (isBind && world.writes.length > writes) this.#endBinds();
    else await world.pass(pauseMs);
    return verdict;
  }

  async forCalls(): Promise<FuzzWorld> {
    this.#calls ??= await this.#open();
    return this.#calls;
  }

  close(): void {
    this.#calls?.close();
    this.#endBinds();
  }

  async #forBinds(): Promise<FuzzWorld> {
    this.#binds ??= await this.#open(Math.min(bindNodes, this.#options.nodes ?? bindNodes));
    return this.#binds;
  }

  #endBinds(): void {
    this.#binds?.close();
    this.#binds = undefined;
  }

  #open(nodes = this.#options.nodes): Promise<FuzzWorld> {
    this.made++;
    return FuzzWorld.open({ ...this.#options, ...(nodes !== undefined && { nodes }) });
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
