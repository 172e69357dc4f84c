/** A Pod's claims that no volume serves, into the pools of one node: all claims of classes that draw on the same pools together. */
import type { NodeRooms } from "./node-rooms.ts";
import { isUnderway, type Open } from "./open-claim.ts";
import { provisioned } from "./outcome.ts";
import { type Item, pack, whyNotPacked } from "./packing.ts";
import type { Pool } from "./pools.ts";
import type { NodeReason } from "./reasons.ts";
import type { ClusterState } from "./state.ts";
import type { VolumeId } from "./volume-table.ts";

/** Serves one decision. */
export class PoolClaims {
  readonly #open: readonly Open[];
  readonly #rooms: NodeRooms;
  /** Places among all open claims, of those that a pool must have room for. */
  readonly #groups: readonly (readonly number[])[];

  constructor(state: ClusterState, open: readonly Open[], rooms: NodeRooms) {
    this.#open = open;
    this.#rooms = rooms;
    const pooled = [...open.keys()].filter((index) => {
      const claim = open[index] as Open;
      return claim.needsCapacity && !isUnderway(claim);
    });
    const groups = Map.groupBy(pooled, (index) => state.pools.groupOf((open[index] as Open).class.name));
    this.#groups = [...groups.values()];
  }

  /** Some claim is provisioned from a pool where no volume serves it. */
  get areAny(): boolean {
    return this.#groups.length > 0;
  }

  /**
   * @param volumes  per open claim
   * @param pools    per open claim: filled in
   * @returns        the claim that is in the way, by its place, and why; undefined where all have room
   */
  place(
    volumes: readonly VolumeId[],
    pools: (Pool | undefined)[],
  ): { readonly index: number; readonly reason: NodeReason } | undefined {
    let failed: { readonly index: number; readonly items: Item[] } | undefined;
    for (const group of this.#groups) {
      const indices = group.filter((index) => volumes[index] === provisioned);
      const [first] = indices;
      if (first === undefined) continue;
      const items = indices.map((index) => {
        const open = this.#open[index] as Open;
        return { bytes: open.bytes, rooms: this.#rooms.of(open) };
      });
      const packed = pack(items);
      // The first claim in name order speaks for all.
      if (!packed && (failed === undefined || first < failed.index)) failed = { index: first, items };
      for (const [position, index] of indices.entries()) pools[index] = packed?.[position];
    }
    return failed && { index: failed.index, reason: whyNotPacked(failed.items) };
  }
}
