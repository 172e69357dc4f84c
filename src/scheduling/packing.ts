/**
 * Claims of one Pod into the pools of one node, all of them at once (departure D3). Mostly there is one pool, and this is one sum.
 * Several pools that one class can draw on are bin packing: exact by search, up to a bound.
 */
import { type Pool, totalOf } from "./pools.ts";
import type { Room } from "./provisioning.ts";
import { addBytes, type Bytes, compareBytes, subtractBytes, zero } from "./quantity.ts";
import type { NodeReason } from "./reasons.ts";

/** A claim, and what its class can draw on. Claims of classes that share a pool name the same one. */
export interface Item {
  readonly bytes: Bytes;
  readonly rooms: readonly Room[];
}

/**
 * Search is cut off after so many steps and then says no: a packing may exist that is not found. The first that it tries is
 * the greedy one, the largest claim first into the first pool that takes it, so what greed can place is always placed.
 */
const stepsMax = 10_000;

/**
 * All in one pool where one has room for them, else by search.
 *
 * @returns a pool per item in the order given, or undefined
 */
export function pack(items: readonly Item[]): Pool[] | undefined {
  for (const { pool } of items[0]?.rooms ?? []) if (fitsAll(items, pool)) return items.map(() => pool);
  return new Search(items).run();
}

/** Whether they would fit but for what is promised to other Pods. */
export function whyNotPacked(items: readonly Item[]): NodeReason {
  const unpromised = items.map(({ bytes, rooms }) => ({
    bytes,
    rooms: rooms.map((room) => ({ ...room, free: totalOf(room.pool) })),
  }));
  return pack(unpromised) ? "capacityAssumed" : "notEnoughSpace";
}

function fitsAll(items: readonly Item[], pool: Pool): boolean {
  let sum = zero;
  for (const { bytes, rooms } of items) {
    const room = rooms.find((other) => other.pool === pool);
    sum = addBytes(sum, bytes);
    if (!room || bytes > room.limit || sum > room.free) return false;
  }
  return true;
}

class Search {
  /** The largest first: they have the fewest places. */
  readonly #order: readonly { readonly item: Item; readonly index: number }[];
  readonly #left = new Map<Pool, Bytes>();
  readonly #chosen: Pool[] = [];
  #steps = 0;

  constructor(items: readonly Item[]) {
    this.#order = items
      .map((item, index) => ({ item, index }))
      .sort((a, b) => compareBytes(b.item.bytes, a.item.bytes));
    for (const { rooms } of items) for (const { pool, free } of rooms) this.#left.set(pool, free);
  }

  run(): Pool[] | undefined {
    if (this.#left.size < 2) return undefined;
    const asked = this.#order.map(({ item }) => item.bytes).reduce(addBytes);
    const free = [...this.#left.values()].filter((bytes) => bytes > zero).reduce(addBytes, zero);
    return asked <= free && this.#place(0) ? this.#chosen : undefined;
  }

  #place(position: number): boolean {
    const next = this.#order[position];
    if (!next) return true;
    if (++this.#steps > stepsMax) return false;
    const { bytes, rooms } = next.item;
    for (const { pool, limit } of rooms) {
      const free = this.#left.get(pool) ?? zero;
      if (bytes > limit || bytes > free) continue;
      this.#left.set(pool, subtractBytes(free, bytes));
      this.#chosen[next.index] = pool;
      if (this.#place(position + 1)) return true;
      this.#left.set(pool, free);
    }
    return false;
  }
}
