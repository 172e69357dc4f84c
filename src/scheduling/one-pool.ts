/**
 * Claims of one class that are all provisioned, from the one pool that the class has on the node: the usual case, in a few
 * comparisons. It says what the general case says, or leaves the answer to that.
 */
import { driverOf } from "./drivers.ts";
import type { NodeName } from "./names.ts";
import type { Open } from "./open-claim.ts";
import { freeOf, limitOf, type Offer, type Pool, totalOf } from "./pools.ts";
import { compareLargestFirst } from "./provisioning.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { NodeReason } from "./reasons.ts";
import { matchesNode } from "./selectors.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";

/** The claim that is in the way, by its place among all open claims of the Pod. */
export interface Refused {
  readonly index: number;
  readonly reason: NodeReason;
}

/** Serves one decision. */
export class OnePool {
  /** Capacity was left alone only because another Pod holds it. Cleared by whoever asks. */
  avoided = false;
  readonly #state: ClusterState;
  readonly #class: Open["class"];
  /** Absent where no node has to have it. */
  readonly #driver: string | undefined;
  readonly #indices: readonly number[];
  /** Places among all open claims, the smallest first. */
  readonly #bySize: readonly number[];
  /** Of claims that a pool must have room for, in name order. */
  readonly #pooled: readonly number[];
  readonly #bytes: readonly Bytes[];
  readonly #sum: Bytes;
  readonly #canTell: boolean;

  /**
   * @param all      open claims of the Pod
   * @param indices  those of one class, one at least
   */
  constructor(state: ClusterState, all: readonly Open[], indices: readonly number[]) {
    const at = (index: number): Open => all[index] as Open;
    const first = at(indices[0] ?? 0);
    const group = state.pools.groupOf(first.class.name);
    this.#state = state;
    this.#class = first.class;
    this.#driver = first.needsDriver ? driverOf(first.class.provisioner) : undefined;
    this.#indices = indices;
    this.#bySize = indices.toSorted((a, b) => compareLargestFirst(at(b), at(a)));
    this.#pooled = indices.filter((index) => at(index).needsCapacity);
    this.#bytes = all.map(({ bytes }) => bytes);
    this.#sum = this.#pooled.map((index) => at(index).bytes).reduce(addBytes, zero);
    this.#canTell =
      indices.every((index) => at(index).never === undefined && at(index).resting.length === 0) &&
      all.every(
        ({ claim, class: other }) =>
          state.pools.demandOf(claim.uid) === undefined &&
          (other.name === first.class.name || state.pools.groupOf(other.name) !== group),
      );
  }

  /**
   * @param avoid  leave alone what other Pods hold
   * @param pools  per open claim of the Pod: filled in for those of the class
   * @returns      true where all have room; why not; false where this cannot tell
   */
  provide(entry: NodeEntry, avoid: boolean, pools: (Pool | undefined)[]): Refused | boolean {
    if (!this.#canTell) return false;
    const { node } = entry;
    if (!matchesNode(this.#class.allowedTopologies, node.labels, node.name)) return this.#all("topologyNotAllowed");
    if (this.#driver !== undefined && !this.#isRegistered(node.name, this.#driver)) return this.#all("driverMissing");
    for (const index of this.#indices) pools[index] = undefined;
    if (this.#pooled.length === 0) return true;
    const offer = this.#onlyOffer(entry);
    if (offer === undefined) return false;
    const { pool } = offer;
    const isHeld = avoid && pool.held > zero;
    const limit = limitOf(offer);
    const free = isHeld ? subtractBytes(freeOf(pool), pool.held) : freeOf(pool);
    const refused = this.#whyFull(pool, limit, free);
    if (refused) {
      if (isHeld) this.avoided = true;
      return refused;
    }
    for (const index of this.#pooled) pools[index] = pool;
    return true;
  }

  /** Whoever asks for too much alone comes before all that together do. */
  #whyFull(pool: Pool, limit: Bytes, free: Bytes): Refused | undefined {
    for (const index of this.#bySize) {
      if (!this.#pooled.includes(index)) continue;
      const bytes = this.#bytes[index] ?? zero;
      if (bytes > limit) return { index, reason: "claimTooLarge" };
      if (bytes > free) return { index, reason: whyShort(pool, bytes) };
    }
    return this.#sum > free ? { index: this.#pooled[0] ?? 0, reason: whyShort(pool, this.#sum) } : undefined;
  }

  /** What keeps every claim out is told of the smallest. */
  #all(reason: NodeReason): Refused {
    return { index: this.#bySize[0] ?? 0, reason };
  }

  #isRegistered(node: NodeName, driver: string): boolean {
    return this.#state.get("csiNode", node)?.drivers.includes(driver) ?? false;
  }

  /** The only one that the class can draw on there, if there is just one. */
  #onlyOffer({ topologies }: NodeEntry): Offer | undefined {
    const { name } = this.#class;
    let only = this.#state.topologies.everywhere.pools.get(name);
    if (!only?.newest) only = undefined;
    for (const topology of topologies) {
      const offer = topology.pools.get(name);
      if (!offer?.newest) continue;
      if (only) return undefined;
      only = offer;
    }
    return only;
  }
}

/** Whether there would be room but for what is promised to other Pods. */
function whyShort(pool: Pool, bytes: Bytes): NodeReason {
  return totalOf(pool) >= bytes ? "capacityAssumed" : "notEnoughSpace";
}
