/** The small parts on their own: the queue, the watchpoints, the events, the comparison of versions. */
import { expect, test } from "vitest";
import { BindQueue } from "../../src/binding/bind-queue.ts";
import { isAtLeast } from "../../src/binding/commitment.ts";
import { EventQueue } from "../../src/binding/events.ts";
import type { Change, PodEvent } from "../../src/binding/ports.ts";
import { Watchpoints } from "../../src/binding/watchpoints.ts";
import { podUid } from "../../src/scheduling/names.ts";
import { virtualRuntime } from "../support/clock.ts";

test("the queue serves in the order of arrival", async () => {
  const queue = new BindQueue(1, 10);
  const { signal } = new AbortController();
  const leave = await queue.enter(signal);
  const served: number[] = [];
  const leaves = [1, 2, 3].map((number) =>
    queue.enter(signal).then((next) => {
      served.push(number);
      next?.();
    }),
  );
  expect(queue.queued).toBe(3);
  leave?.();
  await Promise.all(leaves);
  expect(served).toEqual([1, 2, 3]);
  expect(queue.queued).toBe(0);
  expect(await queue.enter(signal)).toBeDefined();
});

test("a change wakes only those who stand on the object, and nothing is kept when they leave", () => {
  let tell: (change: Change) => void = () => {};
  const watchpoints = new Watchpoints({
    subscribe: (listener) => {
      tell = listener;
      return () => {};
    },
  });
  const woken: string[] = [];
  const leaveA = watchpoints.watch([{ kind: "claim", key: "d/a" }], () => woken.push("a"));
  const leaveB = watchpoints.watch([{ kind: "claim", key: "d/b" }], () => woken.push("b"));
  tell({ kind: "claim", key: "d/a", deleted: false });
  tell({ kind: "volume", key: "d/a", deleted: false });
  leaveA();
  tell({ kind: "claim", key: "d/a", deleted: true });
  expect(woken).toEqual(["a"]);
  leaveB();
  expect(watchpoints.size).toBe(0);
});

/** What was written, and a queue that writes it. */
function events(runtime: ReturnType<typeof virtualRuntime>, isBusy: () => boolean = () => false) {
  const written: string[] = [];
  const recordEvent = async ({ note }: PodEvent) => {
    written.push(note);
    return { ok: true } as const;
  };
  const queue = new EventQueue({ runtime, writer: { recordEvent }, isBusy });
  const about = { namespace: "d", pod: "p", podUid: podUid("u") };
  return {
    written,
    fails: (note: string) => queue.record({ ...about, type: "Warning", reason: "BerthBindFailed", note }),
    succeeds: (note: string) => queue.record({ ...about, type: "Normal", reason: "BerthVolumesBound", note }),
  };
}

test("events are few: repeats are dropped, a flood is bounded, one that hangs holds up only events", async () => {
  const runtime = virtualRuntime();
  const { written, fails } = events(runtime);
  for (let times = 0; times < 5; times++) fails("same");
  for (let number = 0; number < 1_500; number++) fails(`${number}`);
  await runtime.advance(200_000);
  expect(written).toHaveLength(1_001);
  fails("same");
  await runtime.settle();
  expect(written).toHaveLength(1_001);
  await runtime.advance(200_000);
  fails("same");
  await runtime.settle();
  expect(written).toHaveLength(1_002);
});

test("events of success give way while many binds are in progress; warnings come first, and soon", async () => {
  const runtime = virtualRuntime();
  let isBusy = true;
  const { written, fails, succeeds } = events(runtime, () => isBusy);
  for (let number = 0; number < 50; number++) succeeds(`good ${number}`);
  await runtime.advance(5_000);
  expect(written.length).toBeGreaterThan(3);
  expect(written.length).toBeLessThan(8);
  fails("bad");
  await runtime.advance(200);
  expect(written.at(-1)).toBe("bad");
  isBusy = false;
  await runtime.advance(6_000);
  expect(written).toHaveLength(51);
});

test.for([
  ["10", "9", true],
  ["9", "10", false],
  ["10", "10", true],
  ["9007199254740993", "9007199254740992", true],
  ["abc", "abc", true],
  ["abc", "10", false],
] as const)("version %s is at least %s: %s", ([a, b, expected]) => {
  expect(isAtLeast(a, b)).toBe(expected);
});
