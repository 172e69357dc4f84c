/**
 * What can still be provisioned, and what of it is promised.
 *
 * `free = published − promised`, derived on every look and never stored; it may be negative after a driver republished less
 * than was promised. A demand is in flight from the moment it is promised:
 *
 *     demand ──────────▶ in flight ───────────────────────▶ settling ─────────────────────────▶ gone
 *        assumed by bind, or      the volume exists               the driver published a drop that covers it,
 *        seen as selected-node                                    or twice the driver's poll interval passed,
 *                                                                 or the volume is gone, and its claim
 *
 * Drivers skip unchanged values, publish before the volume exists, or publish a stale read after it: so what counts is how far
 * the published value dropped since the promise, whenever that was. A drop settles as many bytes as it has, once:
 * the volume of one claim never settles the demand of another. Where a node publishes all it has, volumes are deducted here, and a
 * demand is gone as soon as its volume is there.
 */

import { type InFlight, isCovered, useDrop } from "./drops.ts";
import type { ClaimUid, ClassName, NodeName, VolumeName } from "./names.ts";
import type { CapacitySource } from "./node-capacity.ts";
import { NodeSources } from "./node-sources.ts";
import type { Capacity, Node } from "./objects.ts";
import type { PoolKey } from "./plan.ts";
import { freeOf, isAware, limitOf, type Made, type Offer, offersOf, type Pool } from "./pools.ts";
import { Publications } from "./publications.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { NodeEntry, Topologies } from "./topology.ts";
import { VolumeUsage } from "./volume-usage.ts";

export interface Demand extends InFlight {
  readonly claim: ClaimUid;
  readonly class: ClassName;
  readonly node: NodeName;
  /** What the claim asks for, or its volume takes where that is more. */
  bytes: Bytes;
  /** Absent while no pool covers the class and the node, or the driver publishes none. */
  pool?: Pool;
  /** When the volume was first seen, or none was to be expected any more: the demand is settling. */
  settlingSince?: number;
  /** The claim's, once it was seen. */
  volume?: VolumeName;
}

/** What is promised to a claim. */
export interface CapacityPromise {
  readonly class: ClassName;
  readonly node: NodeName;
  readonly bytes: Bytes;
  readonly pool?: PoolKey;
}

export interface LedgerOptions {
  readonly clock: () => number;
  /** How often drivers look at their capacity, ms; external-provisioner's default is one minute. */
  readonly pollIntervalMs: number;
  /** Classes whose capacity nodes carry themselves. */
  readonly sources?: ReadonlyMap<ClassName, CapacitySource>;
  /** Names of the pools that classes share. */
  readonly shared?: ReadonlyMap<ClassName, string>;
}

export class CapacityLedger {
  readonly #topologies: Topologies;
  readonly #options: LedgerOptions;
  readonly #publications: Publications;
  /** What nodes carry themselves. */
  readonly nodes: NodeSources;
  /** What volumes take where nodes publish all they have. */
  readonly usage: VolumeUsage;
  readonly #demands = new Map<ClaimUid, Demand>();
  readonly #settling = new Set<Demand>();
  readonly #unplaced = new Set<Demand>();
  #placingMayHelp = false;

  constructor(topologies: Topologies, options: LedgerOptions) {
    const { sources = new Map<ClassName, CapacitySource>(), shared = new Map<ClassName, string>() } = options;
    const counted = [...sources].filter(([, { means }]) => means === "total").map(([name]) => name);
    this.#topologies = topologies;
    this.#options = options;
    this.#publications = new Publications(topologies, shared);
    this.usage = new VolumeUsage(topologies, new Set(counted));
    this.nodes = new NodeSources(topologies, this.#publications, this.usage, sources);
  }

  /** Returns the pool that the object speaks of: none where it has no nodeTopology, for then no node reaches it. */
  setCapacity(object: Capacity): Pool | undefined {
    if (!object.topology || this.nodes.has(object.class)) {
      this.deleteCapacity(object.key);
      return undefined;
    }
    const topology = this.#topologies.ofLabelSelector(object.topology);
    return this.#published(() => this.#publications.put(object.key, object, { class: object.class, topology }));
  }

  deleteCapacity(key: string): void {
    this.#publications.remove(key);
    this.#placingMayHelp = true;
  }

  /** A node came or changed. Returns the pools whose published value may have changed. */
  setNode(node: Node, before: Node | undefined): readonly Pool[] {
    return this.#published(() => this.nodes.set(node, before));
  }

  get(key: PoolKey): Pool | undefined {
    return this.#publications.get(key);
  }

  all(): MapIterator<Pool> {
    return this.#publications.all();
  }

  /** All that is published for a class. */
  offersFor(name: ClassName): ReadonlySet<Offer> {
    return this.#publications.of(name);
  }

  /** What a class can draw on from the node, in a stable order. */
  offersOn(entry: NodeEntry, name: ClassName): readonly Offer[] {
    return offersOf(entry.topologies, name);
  }

  /** The same for classes whose claims draw on the same pools. */
  groupOf(name: ClassName): string {
    return this.#publications.groupOf(name);
  }

  demandOf(claim: ClaimUid): Demand | undefined {
    return this.#demands.get(claim);
  }

  demands(): MapIterator<Demand> {
    return this.#demands.values();
  }

  /** Promises capacity to a claim, instead of anything promised to it before. */
  demand(claim: ClaimUid, what: CapacityPromise): void {
    this.end(claim);
    const { class: name, node, bytes } = what;
    const demand: Demand = { claim, class: name, node, bytes, dropped: zero };
    this.#demands.set(claim, demand);
    const pool = what.pool !== undefined && this.get(what.pool);
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
    this.#displace(demand);
  }

  /**
   * The claim's volume was made, or nobody will be told again to make it: the claim is gone, or has a volume that is, or that was
   * made by hand. One that was made elsewhere than it was to be counts where it lies.
   */
  settle(claim: ClaimUid, made: Made | undefined): void {
    const demand = this.#demands.get(claim);
    if (!demand) return;
    if (made) {
      const entry = this.#topologies.nodes.get(demand.node);
      if (entry && !this.#topologies.reaches(entry, made.topology)) {
        this.end(claim);
        this.recover(claim, demand, made);
        return;
      }
      demand.volume = made.volume;
      const more = subtractBytes(made.bytes, demand.bytes);
      if (more > zero) grow(demand, more);
    }
    if (demand.settlingSince !== undefined) return;
    demand.settlingSince = this.#options.clock();
    this.#settling.add(demand);
  }

  /** The claim is there, and its volume is not, or not any more. */
  resume(claim: ClaimUid): void {
    const demand = this.#demands.get(claim);
    if (!demand) return;
    delete demand.volume;
    delete demand.settlingSince;
    this.#settling.delete(demand);
  }

  /**
   * A volume that nothing is promised for, as of a claim that was bound before anybody looked: it may be newer than what is
   * published, and then counts as if it had just been seen (decision 23). Where versions do not tell, the clock does.
   *
   * @param what  the class, and the node that it was to be made for
   */
  recover(claim: ClaimUid, { class: name, node }: Pick<CapacityPromise, "class" | "node">, made: Made): void {
    const entry = this.#entryOf(made, name, node);
    const offers = entry ? this.offersOn(entry, name) : [];
    // Where there are several, nobody knows which gave it: it counts against one that may lack it.
    const unaware = offers.find(({ pool }) => !pool.used && !isAware(pool, made.version));
    if (!entry || !unaware) return;
    this.demand(claim, { class: name, node: entry.node.name, bytes: made.bytes, pool: unaware.pool.key });
    this.settle(claim, made);
  }

  /** Ends what has settled and finds pools for demands that had none; called before each decision. */
  update(): void {
    this.#placeDemands();
    const now = this.#options.clock();
    for (const demand of this.#settling) {
      const isCounted = demand.pool?.used !== undefined && demand.volume !== undefined;
      const waited = now - (demand.settlingSince ?? now) >= 2 * this.#options.pollIntervalMs;
      if (isCounted || waited || isCovered(demand)) this.conclude(demand.claim);
    }
  }

  /** Ends what nothing is taken for any more. A drop that was published for it settles no other. */
  conclude(claim: ClaimUid): void {
    const demand = this.#demands.get(claim);
    if (demand?.pool && isCovered(demand)) useDrop(demand.pool.demands, demand);
    this.end(claim);
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
    this.#publications.release(pool);
  }

  /** The node if it reaches the volume, else one that does and has capacity of the class. */
  #entryOf({ topology }: Made, name: ClassName, node: NodeName): NodeEntry | undefined {
    const entry = this.#topologies.nodes.get(node);
    if (!entry || this.#topologies.reaches(entry, topology)) return entry;
    return topology.members.values().find((member) => this.offersOn(member, name).length > 0);
  }

  #published<R>(publish: () => R): R {
    // A demand that finds its pool only now must not miss the drop that this brings.
    this.#placeDemands();
    const published = publish();
    this.#placingMayHelp = true;
    return published;
  }

  #placeDemands(): void {
    if (!this.#placingMayHelp) return;
    this.#placingMayHelp = false;
    for (const demand of this.#unplaced) this.#findPool(demand);
    if (!this.#publications.areSilent) return;
    // Where drivers tell segments by other labels than before, a node has another pool now.
    for (const demand of this.#demands.values()) if (demand.pool?.offers.size === 0) this.#findPool(demand);
  }

  #findPool(demand: Demand): void {
    const entry = this.#topologies.nodes.get(demand.node);
    if (!entry) return;
    const offers = this.offersOn(entry, demand.class);
    const roomy = offers.find((offer) => freeOf(offer.pool) >= demand.bytes && limitOf(offer) >= demand.bytes);
    const pool = (roomy ?? offers[0])?.pool;
    if (!pool) return;
    this.#unplaced.delete(demand);
    this.#displace(demand);
    this.#place(demand, pool);
  }

  #place(demand: Demand, pool: Pool): void {
    demand.pool = pool;
    pool.promised = addBytes(pool.promised, demand.bytes);
    pool.demands.add(demand);
    pool.topology.uses++;
  }

  #displace(demand: Demand): void {
    const { pool } = demand;
    if (!pool) return;
    delete demand.pool;
    pool.promised = subtractBytes(pool.promised, demand.bytes);
    pool.demands.delete(demand);
    this.#publications.release(pool);
  }
}

function grow(demand: Demand, more: Bytes): void {
  demand.bytes = addBytes(demand.bytes, more);
  if (demand.pool) demand.pool.promised = addBytes(demand.pool.promised, more);
}
