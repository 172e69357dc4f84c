/** The small parts on their own: the queue, the watchpoints, the comparison of versions. */
import { expect, test } from "vitest";
import { BindQueue } from "../../src/binding/bind-queue.ts";
import { isAtLeast } from "../../src/binding/commitment.ts";
import type { Change } from "../../src/binding/ports.ts";
import { Watchpoints } from "../../src/binding/watchpoints.ts";

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
