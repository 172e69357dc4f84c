/**
 * How full a plan leaves what it takes from, for `most-allocated` and `spread`: whole percent, so that a few bytes make no
 * difference between nodes of one kind.
 *
 *     claim on a volume      volumes of its class that reach the node and are taken, of all that do, by number
 *     claim to provision     bytes used, promised and asked, of bytes used and published
 *     node                   the mean over the Pod's open claims, each counting once, rounded down
 *
 * A volume is taken unless any claim may have it: one that is Released, reserved or assumed is taken; one that is merely held is
 * not. CSIStorageCapacity publishes what is free and nothing else, so a pool's total is what it publishes and what its
 * classes have used on the node: their taken volumes that reach it. A node that carries its whole capacity says the total itself. A demand that is not settled yet counts beside its volume.
 * Claims of drivers that publish no capacity are left out.
 */
import type { ClassName, NodeName } from "./names.ts";
import type { Plan } from "./plan.ts";
import { type Pool, totalOf } from "./pools.ts";
import type { ClusterState } from "./state.ts";
import type { Topology } from "./topology.ts";

/** Volumes of one class. */
interface Tally {
  readonly class: ClassName;
  count: number;
  free: number;
  /** May round beyond 2^53. */
  takenBytes: number;
}

/** 0..100 of a plan; -1 where nothing is known. Volumes are counted once a class: it serves one call. */
export function fillGauge(state: ClusterState): (plan: Plan) => number {
  const census = new Census(state);
  return (plan) => {
    let sum = 0;
    let known = 0;
    for (const planned of plan.claims) {
      if (planned.kind === "static") {
        sum += volumesTaken(state, plan, census.on(plan.node, planned.volume.class));
      } else if (planned.kind === "provision" && planned.pool !== undefined) {
        const pool = state.pools.get(planned.pool);
        if (!pool) continue;
        sum += poolFill(plan, pool, census);
      } else continue;
      known++;
    }
    return known === 0 ? -1 : Math.floor(sum / known);
  };
}

/** A volume that is reserved or assumed for its claim is among the taken already. */
function volumesTaken({ reservations }: ClusterState, { claims }: Plan, { class: name, count, free }: Tally): number {
  let takes = 0;
  for (const planned of claims) {
    if (planned.kind !== "static" || planned.volume.class !== name || planned.volume.claimRef) continue;
    if (reservations.of(planned.claim.uid) === undefined) takes++;
  }
  return count === 0 ? 100 : Math.floor((100 * (count - free + takes)) / count);
}

/** A claim that is promised capacity already is asked for on one node alone: then there is nothing to rank. */
function poolFill({ node, claims }: Plan, pool: Pool, census: Census): number {
  const used = pool.used?.() ?? takenOn(node, pool, census);
  let asked = 0n;
  for (const planned of claims) {
    if (planned.kind === "provision" && planned.pool === pool.key) asked += planned.bytes;
  }
  return percentOf(used + pool.promised + asked, used + totalOf(pool));
}

/** Of all classes that draw on the pool. */
function takenOn(node: NodeName, { offers }: Pool, census: Census): bigint {
  let bytes = 0;
  for (const name of offers.keys()) bytes += census.on(node, name).takenBytes;
  return BigInt(bytes);
}

/** Rounded down; what is more than full, or has no size, is full. */
function percentOf(part: bigint, whole: bigint): number {
  return whole <= 0n || part >= whole ? 100 : Number((part * 100n) / whole);
}

/** The volumes of each class, counted by topology when the class is first asked about. */
class Census {
  readonly #state: ClusterState;
  readonly #byClass = new Map<ClassName, ReadonlyMap<Topology, Tally>>();
  #lastNode: NodeName | undefined;
  #last: Tally | undefined;

  constructor(state: ClusterState) {
    this.#state = state;
  }

  /** Those that reach the node. */
  on(node: NodeName, name: ClassName): Tally {
    if (this.#last?.class === name && this.#lastNode === node) return this.#last;
    const { topologies } = this.#state;
    const ofClass = this.#byClass.get(name) ?? this.#count(name);
    const sum = emptyTally(name);
    addTally(sum, ofClass.get(topologies.everywhere));
    for (const topology of topologies.nodes.get(node)?.topologies ?? []) addTally(sum, ofClass.get(topology));
    this.#lastNode = node;
    this.#last = sum;
    return sum;
  }

  #count(name: ClassName): ReadonlyMap<Topology, Tally> {
    const { volumes } = this.#state;
    const tallies = new Map<Topology, Tally>();
    this.#byClass.set(name, tallies);
    for (let id = 0; id < volumes.idLimit; id++) {
      const topology = volumes.topologyOf(id);
      if (!topology || volumes.at(id).class !== name) continue;
      const tally = tallies.get(topology) ?? emptyTally(name);
      if (tally.count === 0) tallies.set(topology, tally);
      tally.count++;
      tally.takenBytes += volumes.size[id] ?? 0;
    }
    for (const [topology, tally] of tallies) {
      for (const id of topology.slabs.get(name) ?? []) {
        if (volumes.assumed[id] !== 0) continue;
        tally.free++;
        tally.takenBytes -= volumes.size[id] ?? 0;
      }
    }
    return tallies;
  }
}

function emptyTally(name: ClassName): Tally {
  return { class: name, count: 0, free: 0, takenBytes: 0 };
}

function addTally(to: Tally, from: Tally | undefined): void {
  if (!from) return;
  to.count += from.count;
  to.free += from.free;
  to.takenBytes += from.takenBytes;
}
