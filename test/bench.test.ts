/** Every bench in its small size, so that none rots; bounds are ratios within one run, wide enough for a noisy machine. */
import { expect, test } from "vitest";
import { benchAssignment } from "../bench/assignment.ts";
import { benchCore } from "../bench/core.ts";
import { benchGreedy, greedyTable } from "../bench/greedy.ts";
import { type Row, tableOf } from "../bench/measure.ts";

test("a filter call costs what its nodes reach, not what the cluster holds, and allocates little", {
  timeout: 60_000,
}, () => {
  const bench = benchCore({ nodes: 500, rounds: 60 });
  const row = (name: string): Row => bench.rows.find((one) => one.name === name) ?? expect.fail(name);
  // Of the least times, which a busy machine stretches least.
  const plain = row("3 claims").leastMs;
  expect(row("3 claims, ten times the volumes").leastMs / plain).toBeLessThan(3);
  expect(row("3 claims, 1,000 assumed, 1,000 Pods hold").leastMs / plain).toBeLessThan(3);
  expect(plain / row("3 claims on a tenth of the nodes").leastMs).toBeLessThan(30);
  for (const name of ["3 claims", "3 claims, no node fits"]) expect(row(name).bytes / 500).toBeLessThan(600);
  // No strategy walks all volumes: that would cost five times as much.
  const scored = bench.rows.filter(({ name }) => name.includes("scored by"));
  expect(scored).toHaveLength(4);
  for (const { name, leastMs } of scored) expect(leastMs / row("3 claims, not scored").leastMs, name).toBeLessThan(5);
  expect(bench.budgets).toHaveLength(6);
});

test("the worst input for the assignment costs little more than the usual one", { timeout: 60_000 }, () => {
  const bench = benchAssignment({ nodes: 5, rounds: 5 });
  const usual = bench.rows.find(({ name }) => name === "random");
  expect(usual).toBeDefined();
  for (const { leastMs } of bench.rows) expect(leastMs).toBeLessThan(20 * (usual?.mostMs ?? 0));
  expect(tableOf(bench)).toContain("greedy traps");
});

test("claim by claim refuses nothing while claims differ in size alone, and some once they select; Berth serves all that it serves", () => {
  const size = { nodes: 300, seed: 1 };
  const rows = benchGreedy(size);
  expect(rows.map(({ missed }) => missed)).toEqual(rows.map(() => 0));
  for (const { selecting, refused, exact } of rows) {
    expect(exact).toBeGreaterThan(30);
    if (selecting === 0) expect(refused).toBe(0);
    else expect(refused).toBeGreaterThan(0);
  }
  expect(greedyTable(rows, size)).toContain("seed 1");
});
