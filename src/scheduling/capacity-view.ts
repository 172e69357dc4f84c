/**
 * What there is of each class and where, and what became of it. Each byte is counted once a class:
 * `total = bound + reserved + free + stranded`. docs/capacity.md says what the words mean.
 */
import { mapIn } from "./indexes.ts";
import { type ClassName, className, compareText, type NodeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import { type Reach, reachOf } from "./places.ts";
import { freeOf, limitOf, type Offer, totalOf } from "./pools.ts";
import { addBytes, atLeastZero, type Bytes, largerBytes, smallerBytes, subtractBytes, zero } from "./quantity.ts";
import type { ClusterState } from "./state.ts";
import type { Topology } from "./topology.ts";
import type { VolumeId } from "./volume-table.ts";

/** Bytes. */
export interface Amounts {
  readonly total: Bytes;
  /** Volumes that claims are bound to. */
  readonly bound: Bytes;
  /** What is promised, held or set aside for claims that have no volume yet. */
  readonly reserved: Bytes;
  readonly free: Bytes;
  /** The largest volume that is free, or that there is room for. */
  readonly largest: Bytes;
  /** What nobody uses and nobody gets until somebody acts. */
  readonly stranded: Bytes;
  /** Of what is bound, the bytes that its claims did not ask for. */
  readonly surplus: Bytes;
}

/** One class in one place, or in all of them. */
export interface CapacityRow extends Amounts {
  readonly class: ClassName;
  readonly on: Reach;
  readonly volumes: number;
  /** Where capacity is published for the class. */
  readonly pools: number;
}

export interface CapacityFilter {
  readonly class?: ClassName;
  readonly node?: NodeName;
}

type Sum = { -readonly [Field in keyof Amounts]: Amounts[Field] } & { volumes: number; pools: number };

/** Looked at between two pauses. */
const stepSize = 2_000;
/** Nodes by which a place is known; one of more is known by its selector. */
const namedMax = 16;

/** Rows by class and place, in their order. Looks at every volume; yields now and then. */
export function* capacityByPlace(state: ClusterState, filter: CapacityFilter): Generator<undefined, CapacityRow[]> {
  const sums = yield* sumUp(state, filter);
  const rows: CapacityRow[] = [];
  for (const [name, byPlace] of sums) {
    for (const { topology, sum } of byPlace.values()) {
      rows.push({ class: name, on: reachOf(state, topology), ...sum });
      if (rows.length % stepSize === 0) yield;
    }
  }
  return rows.sort(compareRows);
}

/** One row a class, in name order. */
export function* capacityByClass(state: ClusterState, filter: CapacityFilter): Generator<undefined, CapacityRow[]> {
  const sums = yield* sumUp(state, filter);
  const rows: CapacityRow[] = [];
  for (const [name, byPlace] of sums) {
    const all = emptySum();
    const nodes = new Set<NodeName>();
    let isEverywhere = false;
    for (const { topology, sum } of byPlace.values()) {
      merge(all, sum);
      if (topology === state.topologies.everywhere) isEverywhere = true;
      for (const { node } of topology.members) nodes.add(node.name);
      yield;
    }
    const count = isEverywhere ? state.topologies.nodes.size : nodes.size;
    const first = [...nodes].sort(compareText).slice(0, 3);
    rows.push({
      class: name,
      on: isEverywhere ? { everywhere: true, count, nodes: [] } : { count, nodes: first },
      ...all,
    });
  }
  return rows.sort(compareRows);
}

function* sumUp(state: ClusterState, filter: CapacityFilter): Generator<undefined, Places["byClass"]> {
  const places = new Places(state.topologies.everywhere);
  const entry = filter.node === undefined ? undefined : state.topologies.nodes.get(filter.node);
  const reached = entry && new Set([state.topologies.everywhere, ...entry.topologies]);
  const isAsked = (name: ClassName, topology: Topology): boolean =>
    (filter.class === undefined || filter.class === name) && (reached === undefined || reached.has(topology));
  const { volumes } = state;
  let looked = 0;
  for (const name of volumes.names()) {
    if (++looked % stepSize === 0) yield;
    const id = volumes.id(name);
    const topology = id === undefined ? undefined : volumes.topologyOf(id);
    if (id === undefined || !topology || !isAsked(volumes.at(id).class, topology)) continue;
    addVolume(state, id, topology, places.sum(volumes.at(id).class, topology));
  }
  state.pools.update();
  for (const pool of state.pools.all()) {
    for (const offer of pool.offers.values()) {
      if (++looked % stepSize === 0) yield;
      if (isAsked(offer.class, pool.topology)) addOffer(state, offer, places.sum(offer.class, pool.topology));
    }
  }
  return places.byClass;
}

function addVolume(state: ClusterState, id: VolumeId, topology: Topology, sum: Sum): void {
  const volume = state.volumes.at(id);
  const { capacity } = volume;
  const fate = fateOf(state, id, volume);
  sum.volumes++;
  sum.total = addBytes(sum.total, capacity);
  if (fate === "free" && takesPods(state, topology)) {
    sum.free = addBytes(sum.free, capacity);
    sum.largest = largerBytes(sum.largest, capacity);
  } else if (fate === "reserved") sum.reserved = addBytes(sum.reserved, capacity);
  else if (typeof fate === "object") {
    sum.bound = addBytes(sum.bound, capacity);
    sum.surplus = addBytes(sum.surplus, atLeastZero(subtractBytes(capacity, fate.request ?? zero)));
  } else sum.stranded = addBytes(sum.stranded, capacity);
}

/** The claim that is bound to the volume, or what becomes of a volume without one. */
function fateOf(state: ClusterState, id: VolumeId, volume: Volume): Claim | "reserved" | "free" | "stranded" {
  const { claimRef, name, phase, deleting } = volume;
  if (claimRef) {
    const claim = state.get("claim", claimRef.claim);
    if (claim && (claimRef.uid === undefined || claim.uid === claimRef.uid)) {
      return claim.bindCompleted && claim.volumeName === name ? claim : "reserved";
    }
    // Reserved by name for a claim that may yet come.
    return claimRef.uid === undefined && !claim && phase === "Available" && !deleting ? "reserved" : "stranded";
  }
  if (phase !== "Available" || deleting) return "stranded";
  const isPromised = state.volumes.assumed[id] === 1 || (state.volumes.held[id] ?? 0) > 0;
  return isPromised || state.volumes.keptFor(name) !== undefined ? "reserved" : "free";
}

function addOffer(state: ClusterState, offer: Offer, sum: Sum): void {
  const { pool } = offer;
  const all = atLeastZero(totalOf(pool));
  const unpromised = atLeastZero(freeOf(pool));
  const free = atLeastZero(subtractBytes(unpromised, pool.held));
  sum.pools++;
  sum.total = addBytes(sum.total, all);
  sum.reserved = addBytes(sum.reserved, subtractBytes(all, free));
  if (takesPods(state, pool.topology)) {
    sum.free = addBytes(sum.free, free);
    sum.largest = largerBytes(sum.largest, smallerBytes(free, atLeastZero(limitOf(offer))));
  } else sum.stranded = addBytes(sum.stranded, free);
}

/** Some node there is ready and not cordoned. */
function takesPods(state: ClusterState, topology: Topology): boolean {
  if (topology === state.topologies.everywhere) return state.topologies.nodes.size > 0;
  return topology.members.values().some(({ node }) => node.ready && !node.unschedulable);
}

/** One class in one place. */
interface Place {
  readonly topology: Topology;
  readonly sum: Sum;
}

/** By class and place. Volumes and pools of one node select it in different words, and are one place all the same. */
class Places {
  readonly byClass = new Map<ClassName, Map<string, Place>>();
  readonly #keys = new Map<Topology, string>();
  readonly #everywhere: Topology;

  constructor(everywhere: Topology) {
    this.#everywhere = everywhere;
  }

  sum(name: ClassName, topology: Topology): Sum {
    const places = mapIn(this.byClass, name);
    const key = this.#keyOf(topology);
    const known = places.get(key);
    if (known) return known.sum;
    const place = { topology, sum: emptySum() };
    places.set(key, place);
    return place.sum;
  }

  #keyOf(topology: Topology): string {
    const known = this.#keys.get(topology);
    if (known !== undefined) return known;
    const { members, identity } = topology;
    const isLarge = topology === this.#everywhere || members.size > namedMax;
    const key = isLarge
      ? identity
      : Array.from(members, ({ node }) => node.name)
          .sort()
          .join();
    this.#keys.set(topology, key);
    return key;
  }
}

function emptySum(): Sum {
  const amounts = {
    total: zero,
    bound: zero,
    reserved: zero,
    free: zero,
    largest: zero,
    stranded: zero,
    surplus: zero,
  };
  return { ...amounts, volumes: 0, pools: 0 };
}

function merge(all: Sum, { volumes, pools, largest, ...sums }: Sum): void {
  all.volumes += volumes;
  all.pools += pools;
  all.largest = largerBytes(all.largest, largest);
  for (const key of ["total", "bound", "reserved", "free", "stranded", "surplus"] as const) {
    all[key] = addBytes(all[key], sums[key]);
  }
}

/** By class, then by the first node: what every node reaches, and what none does, comes first. */
function compareRows(a: CapacityRow, b: CapacityRow): number {
  return compareText(a.class, b.class) || compareText(placeOf(a), placeOf(b));
}

function placeOf({ on }: CapacityRow): string {
  return on.everywhere ? "" : on.nodes.join(",");
}

/** A StorageClass, a volume or something published has the name. */
export function isClassKnown(state: ClusterState, name: string): boolean {
  const asked = className(name);
  return (
    state.get("class", name) !== undefined ||
    state.volumes.census.of(asked) !== undefined ||
    state.pools.offersFor(asked).size > 0
  );
}
