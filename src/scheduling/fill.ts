/**
 * How full a plan leaves what it takes from, for `most-allocated` and `spread`: whole percent, so that a few bytes make no
 * difference between nodes of one kind.
 *
 *     claim on a volume      volumes of its class that reach the node and are taken, of all that do, by number
 *     claim to provision     bytes used, promised and asked, of bytes used and published
 *     node                   the mean over the Pod's open claims, each counting once, rounded down
 *
 * A volume is taken unless any claim may have it: one that is Released, reserved or assumed is taken; one that is merely held is
 * not. CSIStorageCapacity publishes what is free and nothing else, so a pool's total is what it publishes and what the class
 * has used on the node: the taken volumes of the class that reach it. A demand that is not settled yet counts beside its volume.
 * Claims of drivers that publish no capacity are left out.
 */
import type { ClassName } from "./names.ts";
import type { Plan } from "./plan.ts";
import { type Pool, totalOf } from "./pools.ts";
import type { ClusterState } from "./state.ts";
import type { Topology } from "./topology.ts";

/** Volumes of one class. */
interface Tally {
  count: number;
  free: number;
  /** May round beyond 2^53. */
  takenBytes: number;
}

/** 0..100 of a plan; -1 where nothing is known. Volumes are counted once a class: it serves one call. */
export function fillGauge(state: ClusterState): (plan: Plan) => number {
  const tallies = new Map<ClassName, ReadonlyMap<Topology, Tally>>();
  const tallyOn = (node: Plan["node"], name: ClassName): Tally => {
    const ofClass = tallies.get(name) ?? countClass(state, name);
    tallies.set(name, ofClass);
    const entry = state.topologies.nodes.get(node);
    const sum: Tally = { count: 0, free: 0, takenBytes: 0 };
    for (const topology of [state.topologies.everywhere, ...(entry?.topologies ?? [])]) {
      const tally = ofClass.get(topology);
      if (tally) addTally(sum, tally);
    }
    return sum;
  };
  return (plan) => {
    let sum = 0;
    let known = 0;
    for (const planned of plan.claims) {
      let percent: number | undefined;
      if (planned.kind === "static") {
        percent = volumesTaken(state, plan, planned.volume.class, tallyOn(plan.node, planned.volume.class));
      } else if (planned.kind === "provision") {
        const pool = planned.pool === undefined ? undefined : state.pools.get(planned.pool);
        percent = pool && poolFill(plan, pool, tallyOn(plan.node, planned.class.name));
      }
      if (percent === undefined) continue;
      sum += percent;
      known++;
    }
    return known === 0 ? -1 : Math.floor(sum / known);
  };
}

function volumesTaken({ volumes }: ClusterState, { claims }: Plan, name: ClassName, { count, free }: Tally): number {
  let takes = 0;
  for (const planned of claims) {
    if (planned.kind !== "static" || planned.volume.class !== name || planned.volume.claimRef) continue;
    const id = volumes.id(planned.volume.name);
    if (id !== undefined && volumes.assumed[id] === 0) takes++;
  }
  return percentOf(BigInt(count - free + takes), BigInt(count));
}

/** A claim that is promised capacity already is asked for on one node alone: then there is nothing to rank. */
function poolFill({ claims }: Plan, pool: Pool, { takenBytes }: Tally): number {
  const used = BigInt(takenBytes);
  let asked = 0n;
  for (const planned of claims) {
    if (planned.kind === "provision" && planned.pool === pool.key) asked += planned.bytes;
  }
  return percentOf(used + pool.promised + asked, used + totalOf(pool));
}

/** Rounded down; what is more than full, or has no size, is full. */
function percentOf(part: bigint, whole: bigint): number {
  return whole <= 0n || part >= whole ? 100 : Number((part * 100n) / whole);
}

function countClass({ volumes }: ClusterState, name: ClassName): ReadonlyMap<Topology, Tally> {
  const tallies = new Map<Topology, Tally>();
  for (const volume of volumes.names()) {
    const id = volumes.id(volume);
    const topology = id === undefined ? undefined : volumes.topologyOf(id);
    if (id === undefined || !topology || volumes.at(id).class !== name) continue;
    const tally = tallies.get(topology) ?? { count: 0, free: 0, takenBytes: 0 };
    tallies.set(topology, tally);
    addTally(tally, { count: 1, free: 0, takenBytes: volumes.size[id] ?? 0 });
  }
  for (const [topology, tally] of tallies) {
    for (const id of topology.slabs.get(name) ?? []) {
      if (volumes.assumed[id] === 0) addTally(tally, { count: 0, free: 1, takenBytes: -(volumes.size[id] ?? 0) });
    }
  }
  return tallies;
}

function addTally(to: Tally, { count, free, takenBytes }: Tally): void {
  to.count += count;
  to.free += free;
  to.takenBytes += takenBytes;
}
