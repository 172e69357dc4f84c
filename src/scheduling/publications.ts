/**
 * What is published of every pool, by CSIStorageCapacity objects or by the nodes themselves. Pools are keyed by class, or by
 * the name that classes share, and by segment, so that objects which vanish and return find their pool and its promises again.
 */
import { drop } from "./drops.ts";
import { deleteIn, setIn } from "./indexes.ts";
import { type ClassName, compareText } from "./names.ts";
import type { PoolKey } from "./plan.ts";
import { type Offer, type Pool, type Published, totalOf } from "./pools.ts";
import { type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { Topologies, Topology } from "./topology.ts";

/** Where an object belongs. */
export interface Place {
  readonly class: ClassName;
  /** One use of it was counted for the object. */
  readonly topology: Topology;
  readonly used?: () => Bytes;
}

export class Publications {
  readonly #topologies: Topologies;
  readonly #shared: ReadonlyMap<ClassName, string>;
  readonly #byKey = new Map<PoolKey, Pool>();
  readonly #byId = new Map<string, Offer>();
  readonly #byClass = new Map<ClassName, Set<Offer>>();
  readonly #silent = new Set<Pool>();

  /** @param shared  names of the pools that classes share */
  constructor(topologies: Topologies, shared: ReadonlyMap<ClassName, string>) {
    this.#topologies = topologies;
    this.#shared = shared;
  }

  get(key: PoolKey): Pool | undefined {
    return this.#byKey.get(key);
  }

  all(): MapIterator<Pool> {
    return this.#byKey.values();
  }

  /** All that is published for a class. */
  of(className: ClassName): ReadonlySet<Offer> {
    return this.#byClass.get(className) ?? noOffers;
  }

  /** Whether demands are in a pool of which nothing is published any more. */
  get areSilent(): boolean {
    return this.#silent.size > 0;
  }

  /** The same for classes whose claims draw on the same pools. No class is named like a shared pool: names hold no slash. */
  groupOf(className: ClassName): string {
    const name = this.#shared.get(className);
    return name === undefined ? className : `pool/${name}`;
  }

  /** Returns the pool that the object now speaks of. */
  put(id: string, object: Published, place: Place): Pool {
    const offer = this.#offer(place, object);
    if (this.#byId.get(id) === offer) this.#topologies.release(place.topology);
    else this.remove(id);
    this.#byId.set(id, offer);
    this.#change(offer, (objects) => objects.set(id, object));
    return offer.pool;
  }

  remove(id: string): void {
    const offer = this.#byId.get(id);
    if (!offer) return;
    const { pool } = offer;
    this.#byId.delete(id);
    if (offer.objects.size > 1) this.#change(offer, (objects) => objects.delete(id));
    else {
      pool.offers.delete(offer.class);
      pool.topology.pools.delete(offer.class);
      deleteIn(this.#byClass, offer.class, offer);
    }
    if (pool.offers.size === 0 && pool.demands.size > 0) this.#silent.add(pool);
    this.release(pool);
  }

  /** One use of the pool ends: by an object, a demand or a hold. */
  release(pool: Pool): void {
    this.#topologies.release(pool.topology);
    if (pool.demands.size === 0) this.#silent.delete(pool);
    if (pool.offers.size + pool.demands.size + pool.holds === 0) this.#byKey.delete(pool.key);
  }

  #offer({ class: name, topology, used }: Place, newest: Published): Offer {
    const known = topology.pools.get(name);
    if (known) return known;
    const key: PoolKey = `${this.groupOf(name)} ${topology.identity}`;
    const pool = this.#byKey.get(key) ?? emptyPool(key, topology, used);
    this.#byKey.set(key, pool);
    this.#silent.delete(pool);
    const offer: Offer = { class: name, pool, objects: new Map(), newest };
    pool.offers.set(name, offer);
    topology.pools.set(name, offer);
    setIn(this.#byClass, name).add(offer);
    return offer;
  }

  /** A drop counts from one word to the next of one object: what comes anew, or vanishes, settles nothing. */
  #change(offer: Offer, change: (objects: Offer["objects"]) => void): void {
    const { pool, objects, newest } = offer;
    const before = totalOf(pool);
    change(objects);
    offer.newest = objects.values().reduce((one, other) => (isNewer(other, one) ? other : one));
    if (pool.used || newest.key !== offer.newest.key) return;
    const dropped = subtractBytes(before, totalOf(pool));
    if (dropped > zero) drop(pool.demands, dropped);
  }
}

const noOffers: ReadonlySet<Offer> = new Set();

function emptyPool(key: PoolKey, topology: Topology, used: (() => Bytes) | undefined): Pool {
  return {
    key,
    topology,
    offers: new Map(),
    ...(used && { used }),
    demands: new Set(),
    promised: zero,
    held: zero,
    holds: 0,
  };
}

function isNewer(a: Published, b: Published): boolean {
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt;
  return compareText(a.key, b.key) < 0;
}
