/**
 * Whoever asks the API again: how long it waits, and that it stays away for as long as a 429 says. Each kind of request that Berth
 * repeats by itself is a row.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { EventQueue } from "../../src/binding/events.ts";
import type { PodEvent, WriteOutcome } from "../../src/binding/ports.ts";
import { podUid } from "../../src/scheduling/names.ts";
import { virtualRuntime } from "../support/clock.ts";
import { type Body, reply, World } from "./world.ts";

const retryAfterMs = 30_000;
const throttled = () => Promise.resolve(reply(429, {}, { "retry-after": String(retryAfterMs / 1_000) }));

let world: World;
beforeEach(async () => {
  world = new World();
  await world.nodes("n1", "n2");
});

interface Row {
  /** Whether a request is of this kind. */
  readonly is: (method: string, path: string, body: Body) => boolean;
  /** What makes Berth send it. */
  readonly provoke: () => Promise<void>;
  /** So many times in all, where it is given up then: kube-scheduler comes again. */
  readonly timesMax?: number;
}

const isClaimRef = (body: Body): boolean => body.spec?.claimRef?.uid !== undefined;
const oneBind = async (): Promise<void> => void world.bind(await world.oneDisk(), "n1");

const repeated: Readonly<Record<string, Row>> = {
  "the write of a claimRef": {
    is: (method, path, body) => method === "PATCH" && path.endsWith("/persistentvolumes/a") && isClaimRef(body),
    provoke: oneBind,
  },
  "the write of a selected-node": {
    is: (method, path) => method === "PATCH" && path.endsWith("/persistentvolumeclaims/x"),
    provoke: async () => {
      await world.pvc("x", { class: "csi" });
      const pod = await world.pod("p", ["x"]);
      await world.start();
      world.bind(pod, "n1");
    },
  },
  "the Binding": {
    is: (method, path) => method === "POST" && path.endsWith("/binding"),
    provoke: async () => {
      const pod = await world.pod("p", []);
      await world.start();
      world.bind(pod, "n1");
    },
  },
  "the release of a volume": {
    is: (method, path, body) => method === "PATCH" && path.endsWith("/persistentvolumes/a") && !isClaimRef(body),
    provoke: async () => {
      await oneBind();
      await world.runtime.advance(1_000);
      await world.remove("pod", "d/p");
    },
  },
  "the live look at the Pod": {
    is: (method, path) => method === "GET" && path.endsWith("/pods/p"),
    provoke: oneBind,
    // Three looks of two tries each, for a connection may have been closed while it was idle.
    timesMax: 6,
  },
  "the live look at a claim": {
    is: (method, path) => method === "GET" && path.endsWith("/persistentvolumeclaims/x"),
    provoke: oneBind,
    timesMax: 6,
  },
};

/** When requests of the kind came in, while all of them are answered so. */
async function timesOf({ is, provoke }: Row, answer: () => Promise<ReturnType<typeof reply>>, ms: number) {
  const times: number[] = [];
  world.fault = (request) => {
    const { method, path, body } = request;
    if (!is(method, path, body === undefined ? {} : JSON.parse(String(body)))) return undefined;
    times.push(world.runtime.now());
    return answer();
  };
  await provoke();
  await world.runtime.advance(ms);
  return times;
}

const pausesOf = (times: readonly number[]): number[] => times.slice(1).map((at, index) => at - (times[index] ?? 0));

describe.each(Object.entries(repeated))("%s", (_name, row) => {
  test("stays away for as long as a 429 says", async () => {
    const times = await timesOf(row, throttled, 100_000);
    expect(times.length).toBeGreaterThan(1);
    expect(Math.min(...pausesOf(times))).toBeGreaterThanOrEqual(retryAfterMs);
  });

  test("is sent again at growing pauses that chance spreads, or given up after a few", async () => {
    const times = await timesOf(row, () => Promise.resolve(reply(500)), 120_000);
    const pauses = pausesOf(times);
    expect(times.length).toBeGreaterThan(3);
    expect(times.length).toBeLessThanOrEqual(row.timesMax ?? 60);
    expect(new Set(pauses).size).toBe(pauses.length);
    if (row.timesMax === undefined) expect(Math.max(...pauses)).toBeGreaterThan(10 * Math.min(...pauses));
  });
});

test("events stay away for as long as a 429 says, and none is sent twice", async () => {
  const runtime = virtualRuntime();
  const sent: number[] = [];
  const outcome: WriteOutcome = { ok: false, status: 429, message: "", retryAfterMs, ambiguous: false };
  const recordEvent = async (): Promise<WriteOutcome> => {
    sent.push(runtime.now());
    return sent.length === 1 ? outcome : { ok: true };
  };
  const queue = new EventQueue({ runtime, writer: { recordEvent, repeatEvent: recordEvent }, isBusy: () => false });
  const event = (note: string): PodEvent => ({
    namespace: "d",
    pod: "p",
    podUid: podUid("u"),
    type: "Warning",
    reason: "BerthBindFailed",
    note,
  });
  queue.record(event("first"));
  await runtime.advance(1_000);
  for (const note of ["second", "third"]) queue.record(event(note));
  await runtime.advance(60_000);
  expect(sent).toEqual([0, retryAfterMs, retryAfterMs + 100]);
});
