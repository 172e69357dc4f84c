/**
 * What there is, added up for monitoring: volumes and claims by class and phase, what classes can provision from, and where their
 * drivers are missing. One look at everything, in steps of microseconds, so that a large cluster never takes a turn for long.
 */
import { ClassNames } from "./class-names.ts";
import { type DriverGap, driverGaps } from "./driver-gaps.ts";
import { mapIn } from "./indexes.ts";
import { className, type NodeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import { freeOf, isPublished, largestOf, type Pool, totalOf } from "./pools.ts";
import { isProvisioned } from "./provisioning.ts";
import { addBytes, atLeastZero, type Bytes, largerBytes, zero } from "./quantity.ts";
import type { ClusterState } from "./state.ts";
import type { Topology } from "./topology.ts";

/** A class by its name, or one of the names for what has none of its own. */
export type ClassLabel = string;

export const volumePhases = ["Pending", "Available", "Bound", "Released", "Failed", "other"] as const;
export type VolumePhase = (typeof volumePhases)[number];
export type ClaimPhase = "pending" | "bound" | "lost";

export interface Amount {
  count: number;
  bytes: Bytes;
}

/** Volumes that any claim of the class may take now. */
export interface FreeStock extends Amount {
  largest: Bytes;
}

/** Pools that one class draws on, or several that share theirs. */
export interface PoolStock {
  pools: number;
  total: Bytes;
  promised: Bytes;
  held: Bytes;
  /** Of pools that have some left. */
  free: Bytes;
  /** The largest single volume that could be provisioned somewhere. */
  largest: Bytes;
  /** What the volumes of its classes have, wherever they are. */
  volumes: Bytes;
}

/** What the class is for whoever asks why its claims wait. */
export interface ClassFacts {
  /** "dynamic" where somebody provisions volumes of it. */
  readonly provisioning: "static" | "dynamic";
  readonly binding: "Immediate" | "WaitForFirstConsumer";
}

/** What one node alone has of a class: its volumes, and what can be provisioned on it. */
export interface NodeStock {
  readonly total: Bytes;
  readonly free: Bytes;
}

export interface Inventory {
  readonly volumes: ReadonlyMap<ClassLabel, ReadonlyMap<VolumePhase, Amount>>;
  readonly free: ReadonlyMap<ClassLabel, FreeStock>;
  /** Milliseconds since 1970 at which the volume was released that has been so for longest, of those that say when. */
  readonly oldestReleased: ReadonlyMap<ClassLabel, number>;
  readonly claims: ReadonlyMap<ClassLabel, ReadonlyMap<ClaimPhase, Amount>>;
  readonly pools: ReadonlyMap<ClassLabel, PoolStock>;
  readonly drivers: ReadonlyMap<ClassLabel, DriverGap>;
  /** Of the classes that exist and are named. */
  readonly classes: ReadonlyMap<ClassLabel, ClassFacts>;
}

/** @param classesMax  classes that get their own name; the others are counted together */
export function* inventoryInSteps(state: ClusterState, classesMax: number): Generator<undefined, Inventory> {
  const names = new ClassNames(state, classesMax);
  const ofVolumes = yield* volumesInSteps(state, names);
  const pools = yield* poolsInSteps(state, names);
  addVolumes(state, pools, ofVolumes.volumes);
  return {
    ...ofVolumes,
    claims: yield* claimsInSteps(state, names),
    pools,
    drivers: yield* driverGaps(state, names),
    classes: classFacts(state, names),
  };
}

function classFacts(state: ClusterState, names: ClassNames): ReadonlyMap<ClassLabel, ClassFacts> {
  const facts = new Map<ClassLabel, ClassFacts>();
  for (const key of state.keys("class")) {
    const found = state.get("class", key);
    if (!found || names.of(found.name) !== found.name) continue;
    const provisioning = isProvisioned(state, found) ? "dynamic" : "static";
    facts.set(found.name, { provisioning, binding: found.bindingMode ?? "Immediate" });
  }
  return facts;
}

function addVolumes(state: ClusterState, pools: Map<ClassLabel, PoolStock>, volumes: Kept<VolumePhase>): void {
  for (const [label, phases] of volumes) {
    const stock = pools.get(state.pools.groupOf(className(label)));
    if (stock) for (const { bytes } of phases.values()) stock.volumes = addBytes(stock.volumes, bytes);
  }
}

type Kept<K extends string> = Map<ClassLabel, Map<K, Amount>>;

function* volumesInSteps(state: ClusterState, names: ClassNames) {
  const volumes: Kept<VolumePhase> = new Map();
  const free = new Map<ClassLabel, FreeStock>();
  const oldestReleased = new Map<ClassLabel, number>();
  for (const name of state.volumes.names()) {
    yield;
    const id = state.volumes.id(name);
    if (id === undefined) continue;
    const volume = state.volumes.at(id);
    const label = names.of(volume.class);
    add(volumes, label, phaseOf(volume), volume.capacity);
    if (volume.releasedAt !== undefined) {
      oldestReleased.set(label, Math.min(oldestReleased.get(label) ?? volume.releasedAt, volume.releasedAt));
    }
    if (state.volumes.isFree(id)) addFree(free, label, volume.capacity);
  }
  return { volumes, free, oldestReleased };
}

function* claimsInSteps(state: ClusterState, names: ClassNames) {
  const claims: Kept<ClaimPhase> = new Map();
  for (const key of state.keys("claim")) {
    yield;
    const claim = state.get("claim", key);
    if (claim) add(claims, names.of(claim.class), claimPhase(claim), claim.request ?? zero);
  }
  return claims;
}

function* poolsInSteps(state: ClusterState, names: ClassNames) {
  const pools = new Map<ClassLabel, PoolStock>();
  for (const pool of state.pools.all()) {
    yield;
    if (isPublished(pool)) addPool(pools, poolLabel(state, pool, names), pool);
  }
  return pools;
}

/** One class's name, or "pool/vg0" for what classes share. */
function poolLabel(state: ClusterState, { offers }: Pool, names: ClassNames): ClassLabel {
  const [first] = offers.keys();
  if (first === undefined) return names.of(undefined);
  const group = state.pools.groupOf(first);
  return group === first ? names.of(first) : group;
}

const nothing = { total: zero, promised: zero, held: zero, free: zero, largest: zero, volumes: zero };

function addPool(pools: Map<ClassLabel, PoolStock>, label: ClassLabel, pool: Pool): void {
  const stock = pools.get(label) ?? { pools: 0, ...nothing };
  pools.set(label, stock);
  const free = atLeastZero(freeOf(pool));
  stock.pools++;
  stock.total = addBytes(stock.total, atLeastZero(totalOf(pool)));
  stock.promised = addBytes(stock.promised, pool.promised);
  stock.held = addBytes(stock.held, pool.held);
  stock.free = addBytes(stock.free, free);
  stock.largest = largerBytes(stock.largest, largestOf(pool));
}

/** What each node has for itself, by class; of what other nodes reach too nothing is said. */
export function* nodeStocksInSteps(
  state: ClusterState,
  classesMax: number,
): Generator<undefined, ReadonlyMap<NodeName, ReadonlyMap<ClassLabel, NodeStock>>> {
  const names = new ClassNames(state, classesMax);
  const stocks = new Map<NodeName, Map<ClassLabel, NodeStock>>();
  for (const name of state.volumes.names()) {
    yield;
    const id = state.volumes.id(name);
    const topology = id === undefined ? undefined : state.volumes.topologyOf(id);
    if (id === undefined || !topology) continue;
    const { class: named, capacity } = state.volumes.at(id);
    addNode(stocks, topology, names.of(named), { total: capacity, free: state.volumes.isFree(id) ? capacity : zero });
  }
  for (const pool of state.pools.all()) {
    yield;
    if (!isPublished(pool)) continue;
    const stock = { total: atLeastZero(totalOf(pool)), free: atLeastZero(freeOf(pool)) };
    addNode(stocks, pool.topology, poolLabel(state, pool, names), stock);
  }
  return stocks;
}

function addNode(
  stocks: Map<NodeName, Map<ClassLabel, NodeStock>>,
  { members }: Topology,
  label: ClassLabel,
  { total, free }: NodeStock,
): void {
  if (members.size !== 1) return;
  for (const { node } of members) {
    const byClass = mapIn(stocks, node.name);
    const known = byClass.get(label);
    byClass.set(label, { total: addBytes(known?.total ?? zero, total), free: addBytes(known?.free ?? zero, free) });
  }
}

function phaseOf({ phase }: Volume): VolumePhase {
  // A volume that was just created has none.
  if (phase === "") return "Pending";
  return volumePhases.find((known) => known === phase) ?? "other";
}

function claimPhase({ lost, volumeName, bindCompleted }: Claim): ClaimPhase {
  if (lost) return "lost";
  return volumeName !== undefined && bindCompleted ? "bound" : "pending";
}

function add<K extends string>(kept: Kept<K>, label: ClassLabel, key: K, bytes: Bytes): void {
  const byKey = mapIn(kept, label);
  const amount = byKey.get(key) ?? { count: 0, bytes: zero };
  byKey.set(key, amount);
  amount.count++;
  amount.bytes = addBytes(amount.bytes, bytes);
}

function addFree(free: Map<ClassLabel, FreeStock>, label: ClassLabel, capacity: Bytes): void {
  const stock = free.get(label) ?? { count: 0, bytes: zero, largest: zero };
  free.set(label, stock);
  stock.count++;
  stock.bytes = addBytes(stock.bytes, capacity);
  stock.largest = largerBytes(stock.largest, capacity);
}
