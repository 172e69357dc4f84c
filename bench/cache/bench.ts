/**
 * `npm run bench -- cache`: Berth's cache at the size of a large cluster. Three processes: an API server, Berth, and this one, which
 * calls filter and looks on.
 *
 *     sync ──▶ quiet: filter calls ──▶ events: the same calls among watch events ──▶ relist of everything
 */
import { quantile } from "../measure.ts";
import { Calls } from "./calls.ts";
import { Child } from "./children.ts";
import type { Memory } from "./probe.ts";
import type { Size } from "./size.ts";
import { type Listed, type Reading, Subject } from "./subject.ts";

const kindsListed = 8;
/** The first calls compile what the others use. */
const warmUpCalls = 20;

export interface Phase {
  readonly name: string;
  readonly seconds: number;
  /** Of CPU, all threads of Berth's process. */
  readonly cpuSeconds: number;
  /** The longest times that the event loop was not to be had: by the clock, and of its own CPU. */
  readonly blockedMs: number;
  readonly blockedCpuMs: number;
  /** The longest collection of garbage among them, by the clock. */
  readonly collectedMs: number;
  readonly beforeMib: number;
  readonly peakMib: number;
  readonly afterMib: number;
  /** Of filter; empty where none was called. Ascending. */
  readonly callsMs: readonly number[];
}

export interface CacheBench {
  readonly size: Size;
  readonly streamsLists: boolean;
  readonly synced: readonly Listed[];
  readonly phases: { readonly [K in "sync" | "quiet" | "events" | "relist"]: Phase };
  readonly events: {
    readonly sent: number;
    readonly wanted: number;
    readonly takenOver: number;
    readonly lateMs: number;
  };
  readonly troubles: readonly string[];
}

export interface BenchOptions {
  readonly size: Size;
  /** Whether the API server knows sendInitialEvents. */
  readonly streamsLists: boolean;
  /** For Berth's process. */
  readonly nodeArgs?: readonly string[];
  /** Told when each step is done. */
  readonly done?: (step: string) => void;
}

const api = new URL("api.ts", import.meta.url).pathname;

/** @throws Error where a call is not answered as it should be, or a process ends */
export async function benchCache({
  size,
  streamsLists,
  nodeArgs = [],
  done = () => {},
}: BenchOptions): Promise<CacheBench> {
  const server = new Child({ file: api, args: [JSON.stringify(size), String(streamsLists)] });
  let subject: Subject | undefined;
  try {
    const { port } = await server.told<{ port: number }>();
    done("the API server is filled");
    subject = new Subject(port, nodeArgs);
    return await run({ size, streamsLists, server, subject, done });
  } finally {
    await subject?.end();
    await server.end();
  }
}

interface Run {
  readonly size: Size;
  readonly streamsLists: boolean;
  readonly server: Child;
  readonly subject: Subject;
  readonly done: (step: string) => void;
}

async function run({ size, streamsLists, server, subject, done }: Run): Promise<CacheBench> {
  await subject.hasListed(kindsListed);
  const synced = [...subject.listed];
  const seconds = (await subject.isReady()) / 1_000;
  const first = await subject.read();
  const sync = phaseOf({
    name: "sync",
    seconds,
    before: { residentMib: 0, cpuSeconds: 0 },
    reading: first,
    since: subject.startingAt,
  });

  done("sync");
  const calls = new Calls(size, subject.port);
  try {
    for (let call = 0; call < warmUpCalls; call++) await calls.call();
    const quiet = await phase(subject, "quiet", () => calls.steadily(size.seconds));
    done("quiet");
    const known = await subject.changes();
    let sending = { sent: 0, wanted: 0 };
    let lateMs = 0;
    const events = await phase(subject, "events", async () => {
      const sent = server.ask<typeof sending>("events");
      const times = await calls.steadily(size.seconds);
      sending = await sent;
      lateMs = await subject.hasTakenOver(known + sending.sent);
      return times;
    });
    done("events");
    const takenOver = (await subject.changes()) - known;
    // The watches that a relist ends are told of too.
    const troubles = [...subject.troubles];
    const relist = await phase(subject, "relist", async () => {
      await server.ask("compact");
      await subject.hasListed(2 * kindsListed);
      return [];
    });
    const phases = { sync, quiet, events, relist };
    return { size, streamsLists, synced, phases, events: { ...sending, takenOver, lateMs }, troubles };
  } finally {
    calls.close();
  }
}

async function phase(subject: Subject, name: string, work: () => Promise<number[]>): Promise<Phase> {
  const before = await subject.begin();
  const begun = performance.now();
  const times = await work();
  const seconds = (performance.now() - begun) / 1_000;
  const reading = await subject.read();
  return phaseOf({ name, seconds, before, reading, since: 0, times });
}

function phaseOf(o: {
  readonly name: string;
  readonly seconds: number;
  readonly before: Pick<Memory, "residentMib" | "cpuSeconds">;
  readonly reading: Reading;
  /** Blocks that began before are not Berth's: it was being loaded. */
  readonly since: number;
  readonly times?: readonly number[];
}): Phase {
  const isOwn = ({ at }: { readonly at: number }): boolean => at >= o.since;
  const blocks = o.reading.blocks.filter(isOwn);
  const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);
  return {
    name: o.name,
    seconds: o.seconds,
    cpuSeconds: o.reading.cpuSeconds - o.before.cpuSeconds,
    blockedMs: most(blocks.map(({ wallMs }) => wallMs)),
    blockedCpuMs: most(blocks.map(({ cpuMs }) => cpuMs)),
    collectedMs: most(o.reading.collections.filter(isOwn).map(({ wallMs }) => wallMs)),
    beforeMib: o.before.residentMib,
    peakMib: o.reading.peakMib,
    afterMib: o.reading.residentMib,
    callsMs: (o.times ?? []).toSorted((a, b) => a - b),
  };
}

export function p99Of({ callsMs }: Phase): number {
  return quantile(callsMs, 0.99);
}
