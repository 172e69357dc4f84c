/**
 * What can still be provisioned, and what of it is promised.
 *
 * A pool is one class in one topology segment. `free = published − promised`, derived on every look and never stored; it may
 * be negative after a driver republished less than was promised. A demand is in flight from the moment it is promised:
 *
 *     demand ──────────▶ in flight ───────────────────────▶ settling ─────────────────────────▶ gone
 *        assumed by bind, or      the volume exists               the driver published a drop that covers it,
 *        seen as selected-node                                    or twice the driver's poll interval passed
 *
 * Drivers skip unchanged values, publish before the volume exists, or publish a stale read after it: so what counts is how far
 * the published value dropped while demands were in flight, whenever that was. A drop settles as many bytes as it has, once:
 * the volume of one claim never settles the demand of another.
 * Pools are keyed by class and segment, so that objects which vanish and return find their demands again.
 */
import { type ClaimUid, type ClassName, compareText, type NodeName } from "./names.ts";
import type { Capacity } from "./objects.ts";
import type { PoolKey } from "./plan.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { Topologies, Topology } from "./topology.ts";

export interface Demand {
  readonly claim: ClaimUid;
  readonly class: ClassName;
  readonly node: NodeName;
  readonly bytes: Bytes;
  /** Absent while no pool covers the class and the node, or the driver publishes none. */
  pool?: Pool;
  /** When the volume was first seen, or the claim gone: the demand is settling. */
  settlingSince?: number;
}

/** Changed only by `Pools`. */
export interface Pool {
  readonly key: PoolKey;
  readonly class: ClassName;
  readonly topology: Topology;
  readonly objects: Map<string, Capacity>;
  /** The newest object, the one that counts: a rebuilt node may leave an old one behind (departure D17). */
  newest: Capacity | undefined;
  /** How far the published value dropped while demands were in flight, less what drops have settled. */
  dropped: Bytes;
  promised: Bytes;
  held: Bytes;
  demands: number;
  holds: number;
}

export interface PoolOptions {
  readonly clock: () => number;
  /** How often drivers look at their capacity, ms; external-provisioner's default is one minute. */
  readonly pollIntervalMs: number;
}

export class Pools {
  readonly #topologies: Topologies;
  readonly #options: PoolOptions;
  readonly #byKey = new Map<PoolKey, Pool>();
  readonly #ofObject = new Map<string, Pool>();
  readonly #demands = new Map<ClaimUid, Demand>();
  readonly #settling = new Set<Demand>();
  readonly #unplaced = new Set<Demand>();
  #placingMayHelp = false;

  constructor(topologies: Topologies, options: PoolOptions) {
    this.#topologies = topologies;
    this.#options = options;
  }

  /** @returns the pool that the object speaks of */
  setCapacity(object: Capacity): Pool | undefined {
    // An object without nodeTopology is reachable from no node.
    const pool = object.topology && this.#pool(object.class, this.#topologies.ofLabelSelector(object.topology));
    // A demand that finds its pool only now must not miss the drop that this brings.
    this.#placeDemands();
    const known = this.#ofObject.get(object.key);
    if (known && known !== pool) this.deleteCapacity(object.key);
    if (!pool) return undefined;
    if (known === pool) this.#topologies.release(pool.topology);
    this.#ofObject.set(object.key, pool);
    pool.objects.set(object.key, object);
    this.#refresh(pool);
    this.#placingMayHelp = true;
    return pool;
  }

  /** A node came or changed its labels. */
  nodesChanged(): void {
    this.#placingMayHelp = true;
  }

  deleteCapacity(key: string): void {
    const pool = this.#ofObject.get(key);
    if (!pool) return;
    this.#ofObject.delete(key);
    pool.objects.delete(key);
    this.#refresh(pool);
    this.#topologies.release(pool.topology);
    this.#drop(pool);
  }

  get(key: PoolKey): Pool | undefined {
    return this.#byKey.get(key);
  }

  all(): MapIterator<Pool> {
    return this.#byKey.values();
  }

  demandOf(claim: ClaimUid): Demand | undefined {
    return this.#demands.get(claim);
  }

  demands(): MapIterator<Demand> {
    return this.#demands.values();
  }

  /** Promises capacity to a claim, instead of anything promised to it before. */
  demand(claim: ClaimUid, what: { class: ClassName; node: NodeName; bytes: Bytes; pool?: PoolKey }): void {
    this.end(claim);
    const demand: Demand = { claim, class: what.class, node: what.node, bytes: what.bytes };
    this.#demands.set(claim, demand);
    const pool = what.pool === undefined ? undefined : this.#byKey.get(what.pool);
    if (pool) this.#place(demand, pool);
    else {
      this.#unplaced.add(demand);
      this.#placingMayHelp = true;
    }
  }

  end(claim: ClaimUid): void {
    const demand = this.#demands.get(claim);
    if (!demand) return;
    this.#demands.delete(claim);
    this.#settling.delete(demand);
    this.#unplaced.delete(demand);
    const { pool } = demand;
    if (!pool) return;
    pool.promised = subtractBytes(pool.promised, demand.bytes);
    pool.demands--;
    if (pool.demands === 0) pool.dropped = zero;
    this.#topologies.release(pool.topology);
    this.#drop(pool);
  }

  /** The claim's volume exists, or the claim is gone while its volume may still come. */
  settle(claim: ClaimUid): void {
    const demand = this.#demands.get(claim);
    if (!demand || demand.settlingSince !== undefined) return;
    demand.settlingSince = this.#options.clock();
    this.#settling.add(demand);
  }

  /** Ends what has settled and finds pools for demands that had none; called before each decision. */
  update(): void {
    this.#placeDemands();
    if (this.#settling.size === 0) return;
    const now = this.#options.clock();
    for (const demand of this.#settling) {
      const { pool, bytes } = demand;
      const covered = pool !== undefined && pool.dropped >= bytes;
      const waited = now - (demand.settlingSince ?? now) >= 2 * this.#options.pollIntervalMs;
      if (!covered && !waited) continue;
      if (covered) pool.dropped = subtractBytes(pool.dropped, bytes);
      this.end(demand.claim);
    }
  }

  hold(pool: Pool, bytes: Bytes): void {
    pool.held = addBytes(pool.held, bytes);
    pool.holds++;
    pool.topology.uses++;
  }

  /** Takes an amount out of what is held, or puts it back, for the length of one decision. */
  suspendHold(pool: Pool, bytes: Bytes, suspend: boolean): void {
    pool.held = suspend ? subtractBytes(pool.held, bytes) : addBytes(pool.held, bytes);
  }

  releaseHold(pool: Pool, bytes: Bytes): void {
    pool.held = subtractBytes(pool.held, bytes);
    pool.holds--;
    this.#topologies.release(pool.topology);
    this.#drop(pool);
  }

  #placeDemands(): void {
    if (!this.#placingMayHelp) return;
    this.#placingMayHelp = false;
    for (const demand of this.#unplaced) this.#findPool(demand);
  }

  #findPool(demand: Demand): void {
    const node = this.#topologies.nodes.get(demand.node);
    if (!node) return;
    const pools = poolsOf(node.topologies, this.#topologies.everywhere, demand.class);
    const roomy = pools.find((pool) => freeOf(pool) >= demand.bytes && limitOf(pool) >= demand.bytes) ?? pools[0];
    if (!roomy) return;
    this.#unplaced.delete(demand);
    this.#place(demand, roomy);
  }

  #place(demand: Demand, pool: Pool): void {
    demand.pool = pool;
    pool.promised = addBytes(pool.promised, demand.bytes);
    pool.demands++;
    pool.topology.uses++;
  }

  #pool(className: ClassName, topology: Topology): Pool {
    const key: PoolKey = `${className} ${topology.identity}`;
    let pool = this.#byKey.get(key);
    if (!pool) {
      pool = {
        key,
        class: className,
        topology,
        objects: new Map(),
        newest: undefined,
        dropped: zero,
        promised: zero,
        held: zero,
        demands: 0,
        holds: 0,
      };
      this.#byKey.set(key, pool);
      topology.pools.set(className, pool);
    }
    return pool;
  }

  #refresh(pool: Pool): void {
    const before = pool.newest;
    pool.newest = undefined;
    for (const object of pool.objects.values()) {
      if (!pool.newest || isNewer(object, pool.newest)) pool.newest = object;
    }
    const drop = before && pool.newest ? subtractBytes(totalOfObject(before), totalOfObject(pool.newest)) : zero;
    if (pool.demands > 0 && drop > zero) pool.dropped = addBytes(pool.dropped, drop);
  }

  #drop(pool: Pool): void {
    if (pool.objects.size + pool.demands + pool.holds > 0) return;
    this.#byKey.delete(pool.key);
    pool.topology.pools.delete(pool.class);
  }
}

function isNewer(a: Capacity, b: Capacity): boolean {
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt;
  return compareText(a.key, b.key) < 0;
}

/** Pools of a class that a node in these topologies can draw on, in a stable order. */
export function poolsOf(topologies: readonly Topology[], everywhere: Topology, className: ClassName): Pool[] {
  const found: Pool[] = [];
  const add = (topology: Topology): void => {
    const pool = topology.pools.get(className);
    if (pool?.newest) found.push(pool);
  };
  add(everywhere);
  for (const topology of topologies) add(topology);
  return found.length > 1 ? found.sort((a, b) => compareText(a.key, b.key)) : found;
}

const nothing = -1n as Bytes;

/** The largest single volume the pool can provision; below zero where nothing is published. @see VB §2.2, limit */
export function limitOf({ newest }: Pool): Bytes {
  return newest?.maximumVolumeSize ?? newest?.capacity ?? nothing;
}

/** All that the pool has: a maximum above the capacity is believed (decision 10). */
export function totalOf({ newest }: Pool): Bytes {
  return newest ? totalOfObject(newest) : nothing;
}

function totalOfObject({ capacity, maximumVolumeSize }: Capacity): Bytes {
  if (capacity === undefined) return maximumVolumeSize ?? nothing;
  return maximumVolumeSize !== undefined && maximumVolumeSize > capacity ? maximumVolumeSize : capacity;
}

/** Derived, never stored; below zero after a republication under what is promised. */
export function freeOf(pool: Pool): Bytes {
  return subtractBytes(totalOf(pool), pool.promised);
}
