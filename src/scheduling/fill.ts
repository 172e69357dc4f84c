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
 * classes have used on the node: their taken volumes that reach it. A node that carries its whole capacity says the total
 * itself. A demand that is not settled yet counts beside its volume. Claims of drivers that publish no capacity are left out.
 */
import type { ClassName } from "./names.ts";
import { isSettled, type Open } from "./open-claim.ts";
import { type Gauge, type Outcome, provisioned } from "./outcome.ts";
import { percentOf } from "./percent.ts";
import { type Pool, totalOf } from "./pools.ts";
import { addBytes, type Bytes, zero } from "./quantity.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";
import { type Tallies, takenIn } from "./volume-census.ts";

/** Claims that take any free volume of one class. */
interface Takers {
  readonly class: ClassName;
  /** Their places among all open claims. */
  readonly indices: readonly number[];
  readonly tallies: Tallies | undefined;
}

/** 0..100 of a plan; -1 where nothing is known. It serves one call. */
export function fillGauge(state: ClusterState, open: readonly Open[]): Gauge {
  const fill = new Fill(state, open);
  return (node, outcome) => fill.of(state.topologies.numbers.at(node), outcome);
}

class Fill {
  readonly #state: ClusterState;
  readonly #open: readonly Open[];
  readonly #takers: readonly Takers[];
  /** Claims that have a volume of their own: it is among the taken already. */
  readonly #settled: readonly number[];

  constructor(state: ClusterState, open: readonly Open[]) {
    this.#state = state;
    this.#open = open;
    const indices = [...open.keys()];
    const areSettled = open.map(isSettled);
    this.#settled = indices.filter((index) => areSettled[index]);
    const byClass = Map.groupBy(
      indices.filter((index) => !areSettled[index]),
      (index) => (open[index] as Open).class.name,
    );
    this.#takers = [...byClass].map(([name, ofClass]) => {
      return { class: name, indices: ofClass, tallies: state.volumes.census.of(name) };
    });
  }

  of(entry: NodeEntry, outcome: Outcome): number {
    let sum = 0;
    let known = 0;
    for (const takers of this.#takers) {
      const taking = takingOf(takers, outcome);
      if (taking === 0) continue;
      sum += taking * this.#percentTaken(entry, takers.tallies, taking);
      known += taking;
    }
    for (const index of this.#settled) {
      const id = outcome.volumes[index] ?? provisioned;
      if (id === provisioned) continue;
      const { class: name } = this.#state.volumes.at(id);
      const takers = this.#takers.find((one) => one.class === name);
      const taking = takers ? takingOf(takers, outcome) : 0;
      sum += this.#percentTaken(entry, this.#state.volumes.census.of(name), taking);
      known++;
    }
    for (let index = 0; index < this.#open.length; index++) {
      const pool = outcome.volumes[index] === provisioned ? outcome.pools[index] : undefined;
      if (!pool) continue;
      sum += this.#percentUsed(entry, pool, outcome);
      known++;
    }
    return known === 0 ? -1 : Math.floor(sum / known);
  }

  /**
   * Of a class of which the plan takes something that reaches the node.
   *
   * @param taking  volumes that it takes
   */
  #percentTaken(entry: NodeEntry, tallies: Tallies | undefined, taking: number): number {
    const everywhere = tallies?.get(this.#state.topologies.everywhere);
    let count = everywhere?.count ?? 0;
    let free = everywhere?.free ?? 0;
    for (const topology of entry.topologies) {
      const tally = tallies?.get(topology);
      if (!tally) continue;
      count += tally.count;
      free += tally.free;
    }
    return Math.floor((100 * (count - free + taking)) / count);
  }

  /** A claim that is promised capacity already is asked for on one node alone: then there is nothing to rank. */
  #percentUsed(entry: NodeEntry, pool: Pool, { volumes, pools }: Outcome): number {
    const used = pool.used?.() ?? this.#takenOn(entry, pool);
    let promised = pool.promised;
    for (let index = 0; index < this.#open.length; index++) {
      if (volumes[index] !== provisioned || pools[index] !== pool) continue;
      promised = addBytes(promised, (this.#open[index] as Open).bytes);
    }
    return percentOf(addBytes(used, promised), addBytes(used, totalOf(pool)));
  }

  /** Of all classes that draw on the pool. */
  #takenOn({ topologies }: NodeEntry, { offers }: Pool): Bytes {
    const { volumes, topologies: all } = this.#state;
    let bytes = zero;
    for (const name of offers.keys()) {
      bytes = addBytes(bytes, takenIn(topologies, all.everywhere, volumes.census.of(name)));
    }
    return bytes;
  }
}

function takingOf({ indices }: Takers, { volumes }: Outcome): number {
  let taking = 0;
  for (const index of indices) if (volumes[index] !== provisioned) taking++;
  return taking;
}
