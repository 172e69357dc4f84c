/**
 * Claims of one class that are all provisioned, and from one pool: the usual case, in a few comparisons. It says what the general
 * case says, or leaves the answer to that.
 */
import { driverOf } from "./drivers.ts";
import { compareText, type NodeName } from "./names.ts";
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
  readonly #largest: Bytes;
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
    const largest = this.#bySize.findLast((index) => at(index).needsCapacity);
    this.#largest = largest === undefined ? zero : at(largest).bytes;
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
    const found = this.#find(entry, avoid);
    if (found === undefined || "reason" in found) return found ?? false;
    for (const index of this.#pooled) pools[index] = found;
    return true;
  }

  /** The first pool by its key that has room for all, or why the only one has not; undefined where several have not, or none is. */
  #find({ topologies }: NodeEntry, avoid: boolean): Pool | Refused | undefined {
    const { name } = this.#class;
    let best: Pool | undefined;
    let last: Offer | undefined;
    let count = 0;
    for (const topology of topologies) {
      const offer = topology.pools.get(name);
      if (!offer) continue;
      count++;
      last = offer;
      if (best && compareText(best.key, offer.pool.key) < 0) continue;
      if (this.#largest <= limitOf(offer) && this.#sum <= freeFor(offer.pool, avoid)) best = offer.pool;
    }
    if (best || !last || count > 1) return best;
    if (avoid && last.pool.held > zero) this.avoided = true;
    return this.#whyFull(last, freeFor(last.pool, avoid));
  }

  /** Whoever asks for too much alone comes before all that together do. */
  #whyFull(offer: Offer, free: Bytes): Refused {
    const limit = limitOf(offer);
    for (const index of this.#bySize) {
      if (!this.#pooled.includes(index)) continue;
      const bytes = this.#bytes[index] ?? zero;
      if (bytes > limit) return { index, reason: "claimTooLarge" };
      if (bytes > free) return { index, reason: whyShort(offer.pool, bytes) };
    }
    return { index: this.#pooled[0] ?? 0, reason: whyShort(offer.pool, this.#sum) };
  }

  /** What keeps every claim out is told of the smallest. */
  #all(reason: NodeReason): Refused {
    return { index: this.#bySize[0] ?? 0, reason };
  }

  #isRegistered(node: NodeName, driver: string): boolean {
    return this.#state.get("csiNode", node)?.drivers.includes(driver) ?? false;
  }
}

/** @param avoid  leave alone what other Pods hold */
function freeFor(pool: Pool, avoid: boolean): Bytes {
  return avoid && pool.held > zero ? subtractBytes(freeOf(pool), pool.held) : freeOf(pool);
}

/** Whether there would be room but for what is promised to other Pods. */
function whyShort(pool: Pool, bytes: Bytes): NodeReason {
  return totalOf(pool) >= bytes ? "capacityAssumed" : "notEnoughSpace";
}
