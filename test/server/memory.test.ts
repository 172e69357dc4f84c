/** What is remembered of filter calls, and what is forgotten first. */
import { expect, test } from "vitest";
import { nodeName, type PodUid } from "../../src/scheduling/names.ts";
import { CycleMemory } from "../../src/server/memory.ts";
import { virtualRuntime } from "../support/clock.ts";

const told = { outcome: "infeasible", feasibleCount: 0 };
const uid = (index: number): PodUid => `uid-${index}` as PodUid;
const callOf = (nodes: number) => ({ offered: Array(nodes).fill(nodeName("n1")), generation: 1 });

test("a call at the very start of the clock is forgotten like any other", async () => {
  const runtime = virtualRuntime();
  const memory = new CycleMemory(runtime);
  expect(runtime.now()).toBe(0);
  memory.remember(uid(0), told, callOf(1));
  await runtime.advance(599_000);
  expect(memory.remembered(uid(0))).toBeDefined();
  await runtime.advance(2_000);
  expect(memory.remembered(uid(0))).toBeUndefined();
});

test("whoever looks keeps no Pod from being forgotten before younger ones", () => {
  const memory = new CycleMemory(virtualRuntime());
  for (let index = 0; index < 10_000; index++) memory.remember(uid(index), told, callOf(0));
  expect(memory.asked(uid(0))).toBeDefined();
  memory.remember(uid(10_000), told, callOf(0));
  expect([memory.asked(uid(0)), memory.asked(uid(1))?.tries]).toEqual([undefined, 1]);
});

test("nor a call's verdicts, of which all together may name 250,000 nodes", () => {
  const memory = new CycleMemory(virtualRuntime());
  memory.remember(uid(0), told, callOf(100_000));
  memory.remember(uid(1), told, callOf(100_000));
  expect(memory.remembered(uid(0))).toBeDefined();
  memory.remember(uid(2), told, callOf(100_000));
  expect([0, 1, 2].map((index) => memory.remembered(uid(index))?.offered.length)).toEqual([
    undefined,
    100_000,
    100_000,
  ]);
});
