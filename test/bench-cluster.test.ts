/** What the bench on a real control plane makes of its rows; test/control-plane/throughput.test.ts runs it. */
import { expect, test } from "vitest";
import { cpuSeconds } from "../bench/cluster/cpu.ts";
import { nameOf, tasksOf, wholePlan } from "../bench/cluster/plan.ts";
import type { Row, Task } from "../bench/cluster/row.ts";
import { budgetLineOf, budgetsOf, isKept, lineOf } from "../bench/cluster/table.ts";
import { quantile } from "../bench/measure.ts";

/** Placed at so many Pods a second; a tenth of the CPU is the extender's. */
function rowAt(task: Task, rate: number, findings: readonly string[] = []): Row {
  const { pods } = task;
  const arrivals = { pods, placed: pods, seconds: pods / rate, latencies: [1, 2, 3] };
  const cpu = { "kube-apiserver": 9, ...(task.subject === "Berth" && { extender: 1 }) };
  return { ...task, arrivals, cpu, benchCpu: 0, calls: new Map(), findings };
}

const tasks = wholePlan.sizes.flatMap(tasksOf);

test("the whole plan has a name for each row, and a budget for each figure that is asked for", () => {
  expect(new Set(tasks.map(nameOf)).size).toBe(tasks.length);
  expect(budgetsOf(wholePlan, []).map(budgetLineOf)).toEqual([
    "-    100 nodes, against in-tree: not measured, at least 10 ×",
    "-    500 nodes, against in-tree: not measured, at least 200 ×",
    "-    2000 nodes: not measured, at least 10 pods/s",
    "-    2000 nodes, against the null extender: not measured, at least 0.9 ×",
    "-    2000 nodes, Berth's share of all CPU: not measured, at most 5 %",
    "-    2000 nodes, Pods without claims, against kube-scheduler alone: not measured, at least 0.7 ×",
  ]);
});

test("a figure is over what it may be, or within", () => {
  const rates: Record<string, number> = { "in-tree": 0.1, "null extender": 20, Berth: 18, "no volumes": 30 };
  const rows = tasks.map((task) => rowAt(task, rates[task.subject] ?? 1));
  expect(budgetsOf(wholePlan, rows).map(budgetLineOf)).toEqual([
    "ok   100 nodes, against in-tree: 180.00 ×, at least 10 ×",
    "over 500 nodes, against in-tree: 180.00 ×, at least 200 ×",
    "ok   2000 nodes: 18.00 pods/s, at least 10 pods/s",
    "ok   2000 nodes, against the null extender: 0.90 ×, at least 0.9 ×",
    "over 2000 nodes, Berth's share of all CPU: 10.00 %, at most 5 %",
    "over 2000 nodes, Pods without claims, against kube-scheduler alone: 0.60 ×, at least 0.7 ×",
  ]);
});

test("what stands on a void row is not measured, and the row says what was found", () => {
  const rows = tasks.map((task) => rowAt(task, 1, task.subject === "Berth" ? ["a volume is claimed twice"] : []));
  expect(budgetsOf(wholePlan, rows).filter(isKept)).toEqual([]);
  const [voided] = rows.filter(({ subject }) => subject === "Berth");
  expect(voided && lineOf(voided)).toMatch(/^50 nodes: Berth .* void\n {2}a volume is claimed twice$/);
});

test("CPU seconds grow with what a process does", () => {
  const before = cpuSeconds({ own: process.pid })["own"] ?? Number.NaN;
  const begun = process.cpuUsage();
  const spent = (): number => process.cpuUsage(begun).user + process.cpuUsage(begun).system;
  while (spent() < 300_000);
  const grown = (cpuSeconds({ own: process.pid })["own"] ?? Number.NaN) - before;
  expect(grown).toBeGreaterThan(0.2);
  expect(grown).toBeLessThan(5);
});

test("quantiles are values that were seen", () => {
  expect([0, 0.5, 0.99, 1].map((share) => quantile([1, 2, 3, 4], share))).toEqual([1, 2, 3, 4]);
  expect(quantile([], 0.5)).toBeNaN();
});
