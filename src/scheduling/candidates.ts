/** What could serve one claim, over the whole cluster: volumes and pools, who has each, and by how much the nearest is too small. */
import { type Holder, Holders } from "./holders.ts";
import { whyNot } from "./matching.ts";
import { type ClaimKey, type ClassName, compareText, type VolumeName } from "./names.ts";
import type { Claim, Pod, Volume } from "./objects.ts";
import { type Reach, reachOf } from "./places.ts";
import type { PoolKey } from "./plan.ts";
import { freeOf, limitOf, type Offer, totalOf } from "./pools.ts";
import { addBytes, atLeastZero, type Bytes, exactBytes, smallerBytes, subtractBytes, zero } from "./quantity.ts";
import type { ClusterState } from "./state.ts";
import type { Topology } from "./topology.ts";

/** Volumes and pools listed of each claim; the count says the rest. */
const listedMax = 8;
/** Looked at between two pauses. */
const stepSize = 2_000;

/** A volume that would do if nobody had it. */
export interface VolumeCandidate {
  readonly volume: VolumeName;
  readonly size: string;
  readonly on: Reach;
  /** Absent: free. */
  readonly holder?: Holder;
  /** What else keeps it from everybody: "phase Failed", "being deleted". */
  readonly why?: string;
}

/** A pool of the claim's class. Sizes are not below zero. */
export interface PoolCandidate {
  readonly pool: PoolKey;
  readonly on: Reach;
  readonly free: string;
  readonly total: string;
  /** The largest single volume that there is room for. */
  readonly largest: string;
  readonly promised: string;
  readonly held: string;
}

/** The largest that is free and too small. */
export interface NearestMiss {
  readonly needs: string;
  readonly largest: string;
  readonly short: string;
  readonly volume?: VolumeName;
  readonly pool?: PoolKey;
  readonly on: Reach;
}

/** What can be said of a claim whatever node one looks at. */
export interface ClaimReport {
  readonly claim: ClaimKey;
  readonly class: ClassName;
  /** Absent where it asks for no size. */
  readonly asks?: string;
  /** The volume that it is bound to, or names. */
  readonly volume?: VolumeName;
  /** Where that is reached from; absent where there is none. */
  readonly on?: Reach;
  /** Volumes of its class that would do; `free` of them nobody has. Absent where it has its volume. */
  readonly volumes?: { readonly count: number; readonly free: number; readonly first: readonly VolumeCandidate[] };
  /** Pools of its class; `fitting` of them have room for it alone. Absent where nothing is published. */
  readonly pools?: { readonly count: number; readonly fitting: number; readonly first: readonly PoolCandidate[] };
  /** Absent where something that is free is large enough, or nothing free is of its kind. */
  readonly nearest?: NearestMiss;
}

/** Looks at every volume of the cluster; yields now and then. */
export function* claimReports(state: ClusterState, pod: Pod): Generator<undefined, ClaimReport[]> {
  const reports: ClaimReport[] = [];
  for (const { claim: key } of pod.claims) {
    const claim = state.get("claim", key);
    if (claim) reports.push(yield* claimReport(state, pod, claim));
  }
  return reports.sort((a, b) => compareText(a.claim, b.claim));
}

function* claimReport(state: ClusterState, pod: Pod, claim: Claim): Generator<undefined, ClaimReport> {
  const { key, class: name, request, volumeName } = claim;
  const report = { claim: key, class: name, ...(request !== undefined && { asks: exactBytes(request) }) };
  if (volumeName !== undefined) {
    const id = state.volumes.id(volumeName);
    const topology = id === undefined ? undefined : state.volumes.topologyOf(id);
    return { ...report, volume: volumeName, ...(topology && { on: reachOf(state, topology) }) };
  }
  const search = new Search(state, pod, claim);
  yield* search.lookAtVolumes();
  yield* search.lookAtPools();
  return { ...report, ...search.found() };
}

interface Found {
  readonly volume: Volume;
  readonly topology: Topology;
  readonly holder: Holder | undefined;
  readonly why: string | undefined;
}

interface Roomy {
  readonly offer: Offer;
  readonly free: Bytes;
  readonly largest: Bytes;
}

class Search {
  readonly #state: ClusterState;
  readonly #pod: Pod;
  readonly #claim: Claim;
  #volumes: Found[] = [];
  #count = 0;
  #free = 0;
  #pools: Roomy[] = [];
  #poolCount = 0;
  #fitting = 0;
  /** The largest free ones that are too small. */
  #small: Found | undefined;
  #smallPool: Roomy | undefined;

  constructor(state: ClusterState, pod: Pod, claim: Claim) {
    this.#state = state;
    this.#pod = pod;
    this.#claim = claim;
  }

  *lookAtVolumes(): Generator<undefined> {
    const { volumes } = this.#state;
    let holders = new Holders(this.#state, this.#pod);
    let looked = 0;
    for (const name of volumes.names()) {
      if (++looked % stepSize === 0) {
        yield;
        holders = new Holders(this.#state, this.#pod);
      }
      const id = volumes.id(name);
      const topology = id === undefined ? undefined : volumes.topologyOf(id);
      if (id !== undefined && topology) this.#lookAt(volumes.at(id), topology, holders);
    }
  }

  #lookAt(volume: Volume, topology: Topology, holders: Holders): void {
    const claim = this.#claim;
    if (volume.class !== claim.class) return;
    const { claimRef: _, ...anybodys } = volume;
    const bare = { ...anybodys, phase: "Available", deleting: false };
    if (whyNot({ ...claim, request: zero }, bare, undefined) !== undefined) return;
    const holder = holders.of(volume, claim);
    const why = holder ? undefined : whyNot({ ...claim, request: zero }, volume, undefined);
    const isFree = !holder && why === undefined;
    if (volume.capacity < (claim.request ?? zero)) {
      const isLarger = !this.#small || volume.capacity > this.#small.volume.capacity;
      const isFirst = volume.capacity === this.#small?.volume.capacity && volume.name < this.#small.volume.name;
      if (isFree && (isLarger || isFirst)) this.#small = { volume, topology, holder, why };
      return;
    }
    this.#count++;
    if (isFree) this.#free++;
    this.#volumes.push({ volume, topology, holder, why });
    if (this.#volumes.length > 8 * listedMax) this.#volumes = this.#volumes.sort(compareFound).slice(0, listedMax);
  }

  *lookAtPools(): Generator<undefined> {
    const state = this.#state;
    state.pools.update();
    const request = this.#claim.request ?? zero;
    for (const offer of state.pools.offersFor(this.#claim.class)) {
      if (++this.#poolCount % stepSize === 0) yield;
      const own = state.pools.demandOf(this.#claim.uid);
      const free = addBytes(freeOf(offer.pool), own?.pool === offer.pool ? own.bytes : zero);
      const roomy = { offer, free, largest: smallerBytes(free, limitOf(offer)) };
      if (roomy.largest >= request) this.#fitting++;
      else if (!this.#smallPool || compareRooms(roomy, this.#smallPool) < 0) this.#smallPool = roomy;
      this.#pools.push(roomy);
      if (this.#pools.length > 8 * listedMax) this.#pools = this.#pools.sort(compareRooms).slice(0, listedMax);
    }
  }

  found(): Pick<ClaimReport, "volumes" | "pools" | "nearest"> {
    const first = this.#volumes.sort(compareFound).slice(0, listedMax);
    const pools = this.#pools.sort(compareRooms).slice(0, listedMax);
    const nearest = this.#free === 0 && this.#fitting === 0 ? this.#nearest() : undefined;
    return {
      volumes: { count: this.#count, free: this.#free, first: first.map((one) => this.#volumeCandidate(one)) },
      ...(this.#poolCount > 0 && {
        pools: { count: this.#poolCount, fitting: this.#fitting, first: pools.map((one) => this.#poolCandidate(one)) },
      }),
      ...(nearest && { nearest }),
    };
  }

  #nearest(): NearestMiss | undefined {
    const [small, pool] = [this.#small, this.#smallPool];
    const ofPool = pool?.largest ?? (-1n as Bytes);
    if (small && small.volume.capacity >= ofPool) {
      const { name, capacity } = small.volume;
      return { ...this.#missing(capacity), volume: name, on: reachOf(this.#state, small.topology) };
    }
    if (!pool) return undefined;
    const { key, topology } = pool.offer.pool;
    return { ...this.#missing(pool.largest), pool: key, on: reachOf(this.#state, topology) };
  }

  #missing(bytes: Bytes): Pick<NearestMiss, "needs" | "largest" | "short"> {
    const request = this.#claim.request ?? zero;
    const largest = atLeastZero(bytes);
    return {
      needs: exactBytes(request),
      largest: exactBytes(largest),
      short: exactBytes(subtractBytes(request, largest)),
    };
  }

  #volumeCandidate({ volume, topology, holder, why }: Found): VolumeCandidate {
    const { name, capacity } = volume;
    const on = reachOf(this.#state, topology);
    return {
      volume: name,
      size: exactBytes(capacity),
      on,
      ...(holder && { holder }),
      ...(why !== undefined && { why }),
    };
  }

  #poolCandidate({ offer, free, largest }: Roomy): PoolCandidate {
    const { pool } = offer;
    return {
      pool: pool.key,
      on: reachOf(this.#state, pool.topology),
      free: exactBytes(atLeastZero(free)),
      total: exactBytes(atLeastZero(totalOf(pool))),
      largest: exactBytes(atLeastZero(largest)),
      promised: exactBytes(pool.promised),
      held: exactBytes(pool.held),
    };
  }
}

/** Free ones first, then those that are only held or promised, the smallest first. */
function compareFound(a: Found, b: Found): number {
  const difference = rankOf(a) - rankOf(b);
  if (difference !== 0) return difference;
  if (a.volume.capacity !== b.volume.capacity) return a.volume.capacity < b.volume.capacity ? -1 : 1;
  return compareText(a.volume.name, b.volume.name);
}

function rankOf({ holder, why }: Found): number {
  if (holder) return holder.kind === "claim" && !holder.isGone ? 2 : 1;
  return why === undefined ? 0 : 1;
}

/** The roomiest first. */
function compareRooms(a: Roomy, b: Roomy): number {
  if (a.largest !== b.largest) return a.largest > b.largest ? -1 : 1;
  return compareText(a.offer.pool.key, b.offer.pool.key);
}
