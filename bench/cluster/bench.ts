/** All rows of a plan on one control plane, one after the other. */
import type { Facts } from "../../test/control-plane/control-plane.ts";
import { startControlPlane } from "../../test/control-plane/control-plane.ts";
import { Api } from "./api.ts";
import { Field } from "./field.ts";
import { type Plan, tasksOf } from "./plan.ts";
import { type Row, runRow, type Task } from "./row.ts";

export interface BenchOptions {
  readonly programs: Pick<Facts, "programs" | "version">;
  readonly plan: Plan;
  readonly isWanted?: (task: Task) => boolean;
  /** Told of each row as it ends. */
  readonly told?: (row: Row) => void;
}

export async function benchCluster({ programs, plan, isWanted = () => true, told }: BenchOptions): Promise<Row[]> {
  const plane = await startControlPlane(programs);
  const api = new Api(plane.facts.server);
  let isWhole = false;
  try {
    // Each row starts its own: nobody else is to watch meanwhile.
    await plane.processes.end("kube-scheduler-berth-scheduler");
    await plane.processes.end("berth", "SIGTERM");
    const field = new Field(api, plan.volumesPerNode);
    await field.prepare();
    const rows: Row[] = [];
    for (const size of plan.sizes) {
      const tasks = tasksOf(size).filter(isWanted);
      if (tasks.length > 0) await field.growTo(size.nodes);
      for (const task of tasks) {
        const row = await runRow({ plane, api, field }, task);
        rows.push(row);
        told?.(row);
      }
    }
    isWhole = true;
    return rows;
  } catch (error) {
    throw new Error(`${(error as Error).message}; logs in ${plane.facts.folder}`);
  } finally {
    api.close();
    await plane.stop({ keep: !isWhole });
  }
}
