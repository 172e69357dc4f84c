/**
 * Claims of one class that are all provisioned, from the one pool that the class has on the node: the usual case, in a few
 * comparisons. It says yes where the general case does, with the same pool, and leaves all else to that.
 */
import { driverOf } from "./drivers.ts";
import type { Open } from "./open-claim.ts";
import { freeOf, limitOf, type Offer, type Pool } from "./pools.ts";
import { addBytes, type Bytes, zero } from "./quantity.ts";
import { matchesNode } from "./selectors.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";

/** Serves one decision. */
export class OnePool {
  readonly #state: ClusterState;
  readonly #class: Open["class"];
  /** Absent where no node has to have it. */
  readonly #driver: string | undefined;
  readonly #needsCapacity: boolean;
  readonly #sum: Bytes;
  readonly #largest: Bytes;
  readonly #canTell: boolean;

  /**
   * @param all      open claims of the Pod
   * @param indices  those of one class, one at least
   */
  constructor(state: ClusterState, all: readonly Open[], indices: readonly number[]) {
    const claims = indices.flatMap((index) => all[index] ?? []);
    const first = claims[0] as Open;
    const group = state.pools.groupOf(first.class.name);
    const sized = claims.filter(({ needsCapacity }) => needsCapacity).map(({ bytes }) => bytes);
    this.#state = state;
    this.#class = first.class;
    this.#driver = first.needsDriver ? driverOf(first.class.provisioner) : undefined;
    this.#needsCapacity = sized.length > 0;
    this.#sum = sized.reduce(addBytes, zero);
    let largest = zero;
    for (const bytes of sized) if (bytes > largest) largest = bytes;
    this.#largest = largest;
    this.#canTell =
      claims.every(({ never, resting }) => never === undefined && resting.length === 0) &&
      all.every(
        ({ claim, class: other }) =>
          state.pools.demandOf(claim.uid) === undefined &&
          (other.name === first.class.name || state.pools.groupOf(other.name) !== group),
      );
  }

  /** @returns "none" where the driver publishes no capacity; undefined where this cannot tell */
  on(entry: NodeEntry, avoid: boolean): Pool | "none" | undefined {
    if (!this.#canTell || !this.#isAllowed(entry)) return undefined;
    if (!this.#needsCapacity) return "none";
    const offer = this.#onlyOffer(entry);
    if (offer === undefined || this.#largest > limitOf(offer)) return undefined;
    const { pool } = offer;
    const taken = avoid && pool.held > zero ? addBytes(this.#sum, pool.held) : this.#sum;
    return taken <= freeOf(pool) ? pool : undefined;
  }

  #isAllowed({ node }: NodeEntry): boolean {
    if (!matchesNode(this.#class.allowedTopologies, node.labels, node.name)) return false;
    if (this.#driver === undefined) return true;
    return this.#state.get("csiNode", node.name)?.drivers.includes(this.#driver) ?? false;
  }

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
