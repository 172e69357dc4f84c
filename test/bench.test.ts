/** Every bench in its small size, so that none rots; bounds are ratios within one run, wide enough for a noisy machine. */
import { expect, test } from "vitest";
import { benchAssignment } from "../bench/assignment.ts";
import { benchCore } from "../bench/core.ts";
import { tableOf } from "../bench/measure.ts";

test("a filter call costs what its nodes reach, not what the cluster holds", { timeout: 60_000 }, () => {
  const bench = benchCore({ nodes: 500, rounds: 30 });
  const ratios = new Map(bench.budgets.map(({ name, is }) => [name, is]));
  expect(ratios.get("ten times the volumes")).toBeLessThan(3);
  expect(ratios.get("ten times the nodes")).toBeLessThan(30);
  expect(ratios.get("promises outstanding")).toBeLessThan(3);
});

test("a filter call allocates a few bytes a node, whatever becomes of the node", { timeout: 60_000 }, () => {
  const { rows } = benchCore({ nodes: 500, rounds: 30 });
  const bytesPerNode = new Map(rows.map(({ name, bytes }) => [name, bytes / 500]));
  expect(bytesPerNode.get("3 claims")).toBeLessThan(150);
  expect(bytesPerNode.get("3 claims, no node fits")).toBeLessThan(150);
});

test("the worst input for the assignment costs little more than the usual one", { timeout: 60_000 }, () => {
  const bench = benchAssignment({ nodes: 5, rounds: 5 });
  const usual = bench.rows.find(({ name }) => name === "random");
  expect(usual).toBeDefined();
  for (const { leastMs } of bench.rows) expect(leastMs).toBeLessThan(20 * (usual?.mostMs ?? 0));
  expect(tableOf(bench)).toContain("greedy traps");
});
