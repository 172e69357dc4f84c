/** A Pod's open claims of one class, placed on one node after the other. Claims of different classes never compete. */
import { areAlike, Dealer } from "./alike.ts";
import { Choices } from "./choices.ts";
import type { Asker } from "./disk-search.ts";
import { type Liberty, mayTake, offersWanted, type Want } from "./matching.ts";
import type { NodeId } from "./node-numbers.ts";
import { OnePool, type Refused } from "./one-pool.ts";
import { isSettled, type Open } from "./open-claim.ts";
import type { Pool } from "./pools.ts";
import { compareLargestFirst } from "./provisioning.ts";
import { Reach } from "./reach.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";
import { assumedBit, heldBit, type VolumeId } from "./volume-table.ts";

const none = -1;

/** Serves one decision: it must not outlive a change of state. */
export class ClassClaims {
  /** Per claim, in name order, its place among all open claims of the Pod. */
  readonly indices: readonly number[];
  /** All claims are placed on the node, and simply. */
  isPlaced = false;
  /** What they reach on the node that is looked at. */
  readonly reach: Reach;
  readonly #wants: readonly Want[];
  /** Per claim the position of its volume in `reach`, or -1. */
  readonly #positions: Int32Array;
  /** Claims, the largest first. */
  readonly #bySize: readonly number[];
  readonly #order: number[];
  readonly #areAlike: boolean;
  readonly #froms: Int32Array;
  readonly #dealer: Dealer;
  readonly #choices: Choices;
  readonly #onePool: OnePool;
  #avoided = false;

  /** @param indices  of the class's claims among `all` open claims of the Pod, in name order; not empty */
  constructor(state: ClusterState, all: readonly Open[], indices: readonly number[]) {
    const opens = indices.flatMap((index) => all[index] ?? []);
    this.indices = indices;
    this.#wants = opens.map(({ want }) => want);
    this.#bySize = [...opens.keys()].sort((a, b) => compareLargestFirst(opens[a] as Open, opens[b] as Open));
    this.#order = [...this.#bySize];
    this.#areAlike = areAlike(this.#wants);
    this.reach = new Reach(state, this.#wants, all.filter(isSettled).length);
    this.#onePool = new OnePool(state, all, indices);
    this.#positions = new Int32Array(opens.length);
    this.#froms = new Int32Array(opens.length);
    this.#dealer = new Dealer(opens.length);
    this.#choices = new Choices(this.reach, this.#wants);
  }

  /** A volume was left alone only because another Pod holds it, since this was asked last. */
  takeAvoided(): boolean {
    const avoided = this.#avoided || this.#choices.avoided || this.#onePool.avoided;
    this.#avoided = false;
    this.#onePool.avoided = false;
    this.#choices.avoided = false;
    return avoided;
  }

  /**
   * The common cases, without a search; allocates nothing. Claims that are alike take their smallest volumes, the largest claim
   * first. Others take their own smallest, where these differ: then no other assignment is smaller. False where neither serves
   * everybody.
   */
  placeSimply(node: NodeId, avoid: boolean): boolean {
    this.reach.lookAt(node);
    this.isPlaced = this.#placeSimply(avoid);
    return this.isPlaced;
  }

  /**
   * The other common case: the node looked at has no volume of the class at all.
   *
   * @param pools  per open claim of the Pod: filled in
   * @returns      true where all are provisioned; why not, for the class alone; false where this cannot tell
   */
  provisionSimply(entry: NodeEntry, avoid: boolean, pools: (Pool | undefined)[]): Refused | boolean {
    return this.reach.length === 0 && this.#onePool.provide(entry, avoid, pools);
  }

  /** The general case. @param blocked  by place among all open claims: what nobody can provision here comes first */
  assign(liberty: Liberty, blocked: readonly unknown[]): void {
    const order = this.#order;
    let [first, last] = [0, order.length];
    for (let nth = 0; nth < order.length; nth++) {
      const claim = this.#bySize[nth] ?? 0;
      if (blocked[this.indices[claim] ?? 0] !== undefined) order[first++] = claim;
      const other = this.#bySize[order.length - 1 - nth] ?? 0;
      if (blocked[this.indices[other] ?? 0] === undefined) order[--last] = other;
    }
    this.#choices.assign(this.#order, liberty, this.#positions);
  }

  /**
   * Both filled in, by place among all open claims.
   *
   * @param volumes  -1 where the claim has none
   * @param sizes    of the volumes, in bytes
   */
  collect(volumes: VolumeId[], sizes: Float64Array): void {
    for (let claim = 0; claim < this.indices.length; claim++) {
      const index = this.indices[claim] ?? 0;
      const position = this.#positions[claim] ?? none;
      volumes[index] = position === none ? none : this.reach.volume(position);
      sizes[index] = position === none ? 0 : this.reach.capacity(position);
    }
  }

  /** Per claim all volumes that it may take on the node looked at, the smallest first. */
  askers(liberty: Liberty, blocked: readonly unknown[]): Asker[] {
    const { reach } = this;
    return this.indices.map((index, claim) => {
      const want = this.#wants[claim] as Want;
      const candidates: VolumeId[] = [];
      for (let position = reach.firstLargeEnough(want); position < reach.length; position++) {
        const offer = reach.offer(position);
        if (!offersWanted(want, offer) || !reach.hasLabels(want, position)) continue;
        if (mayTake(liberty, offer)) candidates.push(reach.volume(position));
        else if ((offer & assumedBit) === 0) this.#avoided = true;
      }
      return { index, candidates, canBeProvisioned: blocked[index] === undefined };
    });
  }

  /** Whether any volume suits the claim, as the assignment made last saw it. */
  hasAny(claim: number): boolean {
    return this.#choices.hasAny(claim);
  }

  /** Whether a volume suits the claim but for being assumed, and is none of these. */
  hasAssumed(claim: number, except: readonly VolumeId[]): boolean {
    return this.#choices.hasAssumed(claim, except);
  }

  #placeSimply(avoid: boolean): boolean {
    let isDealt = true;
    // Claims come by size, so mostly each position is below all that are taken.
    let lowest = Number.POSITIVE_INFINITY;
    if (this.reach.length === 0) this.#positions.fill(none);
    for (let placed = 0; placed < this.#bySize.length; placed++) {
      const claim = this.#bySize[placed] ?? 0;
      const want = this.#wants[claim] as Want;
      const from = this.reach.firstLargeEnough(want);
      let position = this.#first(want, from, avoid);
      while (position >= lowest && this.#isTaken(position, placed)) {
        if (!this.#areAlike) return false;
        isDealt = false;
        position = this.#first(want, position + 1, avoid);
      }
      if (position === none) return false;
      if (position < lowest) lowest = position;
      this.#froms[claim] = from;
      this.#positions[claim] = position;
    }
    if (!isDealt) this.#dealer.deal(this.#froms, this.#positions);
    return true;
  }

  #first(want: Want, from: number, avoid: boolean): number {
    const { reach } = this;
    for (let position = from; position < reach.length; position++) {
      const offer = reach.offer(position);
      if ((offer & assumedBit) !== 0 || !offersWanted(want, offer)) continue;
      if (want.selector !== undefined && !reach.hasLabels(want, position)) continue;
      if (!avoid || (offer & heldBit) === 0) return position;
      this.#avoided = true;
    }
    return none;
  }

  /** By one of the claims that were placed before. */
  #isTaken(position: number, placed: number): boolean {
    for (let before = 0; before < placed; before++) {
      if (this.#positions[this.#bySize[before] ?? 0] === position) return true;
    }
    return false;
  }
}
