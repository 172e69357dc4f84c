/** What happened how often, over one run or many. */
import type { Act } from "./plan.ts";
import type { Fault } from "./weather.ts";

export class Stats {
  runs = 0;
  steps = 0;
  virtualMs = 0;
  /** Binds that the scheduler was told have succeeded. */
  bound = 0;
  /** From the end of the storm until nobody waited that could be placed; the longest of all runs. */
  waitMaxMs = 0;
  podsPlaced = 0;
  podsWaiting = 0;
  crashes = 0;
  createFaults = 0;
  /** CreateVolume calls that met a full pool. */
  fullPools = 0;
  readonly writes = new Map<string, number>();
  readonly actions = new Map<Act["do"], number>();
  readonly faults = new Map<Fault, number>();

  add(other: Stats): void {
    const sums = [
      "runs",
      "steps",
      "virtualMs",
      "bound",
      "podsPlaced",
      "podsWaiting",
      "crashes",
      "createFaults",
      "fullPools",
    ] as const;
    for (const name of sums) this[name] += other[name];
    this.waitMaxMs = Math.max(this.waitMaxMs, other.waitMaxMs);
    addAll(this.writes, other.writes);
    addAll(this.actions, other.actions);
    addAll(this.faults, other.faults);
  }
}

function addAll<K>(to: Map<K, number>, from: ReadonlyMap<K, number>): void {
  for (const [key, count] of from) to.set(key, (to.get(key) ?? 0) + count);
}
