/** The bench in its small size, on a control plane of its own: what it counts must be there, whatever it comes to. */
import { expect } from "vitest";
import { benchCluster } from "../../bench/cluster/bench.ts";
import { nameOf, smokePlan } from "../../bench/cluster/plan.ts";
import { budgetsOf, isKept } from "../../bench/cluster/table.ts";
import { onPlane } from "./on-plane.ts";

onPlane(
  "every subject of the bench places all its Pods, and leaves nothing to be found",
  { timeout: 180_000 },
  async ({ facts }) => {
    const rows = await benchCluster({ programs: facts, plan: smokePlan });
    expect(rows.map(nameOf)).toEqual([
      "10 nodes: in-tree",
      "10 nodes: in-tree at 100 %",
      "10 nodes: null extender",
      "10 nodes: Berth",
      "10 nodes: no volumes without claims",
      "10 nodes: null extender without claims",
      "10 nodes: Berth without claims",
    ]);
    for (const row of rows) {
      const { arrivals, findings, cpu, subject } = row;
      expect(findings, nameOf(row)).toEqual([]);
      expect(arrivals.placed, nameOf(row)).toBe(10);
      expect(arrivals.latencies).toHaveLength(10);
      for (const latency of arrivals.latencies) expect(latency).toBeGreaterThan(0);
      expect("extender" in cpu, nameOf(row)).toBe(subject === "Berth" || subject === "null extender");
      expect(cpu["kube-apiserver"]).toBeGreaterThan(0);
      // Each Pod is asked about at least once, and bound.
      if (subject === "Berth") expect(row.calls.get("bind")?.length).toBeGreaterThanOrEqual(10);
    }
    const budgets = budgetsOf(smokePlan, rows);
    expect(budgets.map(({ unit }) => unit)).toEqual(["×", "pods/s", "×", "%", "×"]);
    for (const budget of budgets) expect(isKept(budget), budget.name).toBe(true);
    const voided = rows.map((row) =>
      row.subject === "Berth" ? { ...row, findings: ["a volume is claimed twice"] } : row,
    );
    expect(budgetsOf(smokePlan, voided).filter(isKept)).toEqual([]);
  },
);
