/**
 * Capacity to provision from, as numbers. A pool is one disk, or whatever else runs out as one, in one topology segment. Mostly it
 * serves one class; classes that draw on the same disk are declared to share theirs, and then each of them offers it.
 */
import type { InFlight } from "./drops.ts";
import { type ClassName, compareText, type VolumeName } from "./names.ts";
import type { Capacity } from "./objects.ts";
import type { PoolKey } from "./plan.ts";
import { type Bytes, largerBytes, smallerBytes, subtractBytes, zero } from "./quantity.ts";
import type { Topology } from "./topology.ts";
import { isLaterVersion } from "./versions.ts";

/** One word about a class in a pool. */
export type Published = Omit<Capacity, "uid" | "deleting" | "topology" | "class">;

/** One class in one pool: what is published for the class there. */
export interface Offer {
  readonly class: ClassName;
  readonly pool: Pool;
  readonly objects: Map<string, Published>;
  /** The newest object, the one that counts: a rebuilt node may leave an old one behind (departure D17). */
  newest: Published;
}

/** Changed only by `CapacityLedger` and its parts. */
export interface Pool {
  readonly key: PoolKey;
  readonly topology: Topology;
  readonly offers: Map<ClassName, Offer>;
  /** What the volumes that exist take, where the published values leave them out; absent where drivers deduct them. */
  readonly used?: () => Bytes;
  /** In the order of their promises. */
  readonly demands: Set<InFlight>;
  /** The sum of them. */
  promised: Bytes;
  held: Bytes;
  holds: number;
}

/** A volume that a provisioner made for a claim. */
export interface Made {
  readonly volume: VolumeName;
  /** What it takes; provisioners round up. */
  readonly bytes: Bytes;
  /** Where it is reached from. */
  readonly topology: Topology;
  /** Its resourceVersion. */
  readonly version: string;
}

/** Whether anything says what the pool has. */
export function isPublished({ offers }: Pool): boolean {
  return offers.size > 0;
}

/** What a class can draw on from a node in these topologies, in a stable order. */
export function offersOf(topologies: readonly Topology[], className: ClassName): Offer[] {
  const found: Offer[] = [];
  for (const topology of topologies) {
    const offer = topology.pools.get(className);
    if (offer) found.push(offer);
  }
  return found.sort((a, b) => compareText(a.pool.key, b.pool.key));
}

const nothing = -1n as Bytes;

/** The largest single volume that the class can get; below zero where the object says no size. @see VB §2.2, limit */
export function limitOf({ newest }: Offer): Bytes {
  return newest.maximumVolumeSize ?? newest.capacity ?? nothing;
}

/** What is published for the class: a maximum above the capacity is believed (decision 10). */
export function publishedOf({ newest }: Offer): Bytes {
  const { capacity = nothing, maximumVolumeSize = nothing } = newest;
  if (maximumVolumeSize > capacity) return maximumVolumeSize;
  return capacity;
}

/**
 * Classes of one pool publish the same bytes at different moments: the least that any of them says. Below zero where nothing is
 * published.
 */
export function leastPublished({ offers }: Pool): Bytes {
  let least: Bytes | undefined;
  for (const offer of offers.values()) {
    const published = publishedOf(offer);
    if (least === undefined || published < least) least = published;
  }
  return least ?? nothing;
}

/** All that could be provisioned if nothing were promised; below zero where nothing is published. */
export function totalOf(pool: Pool): Bytes {
  const published = leastPublished(pool);
  return pool.used ? subtractBytes(published, pool.used()) : published;
}

/** Derived, never stored; below zero after a republication under what is promised. */
export function freeOf(pool: Pool): Bytes {
  return subtractBytes(totalOf(pool), pool.promised);
}

/** The largest single volume of any of its classes that there is room for. */
export function largestOf(pool: Pool): Bytes {
  const free = freeOf(pool);
  let largest = zero;
  for (const offer of pool.offers.values()) largest = largerBytes(largest, smallerBytes(limitOf(offer), free));
  return largest;
}

/** Whether the value that counts was published after the volume was last written. */
export function isAware(pool: Pool, volumeVersion: string): boolean {
  for (const offer of pool.offers.values()) {
    const { newest } = offer;
    if (publishedOf(offer) > leastPublished(pool)) continue;
    if (isLaterVersion(volumeVersion, newest.resourceVersion) === false) return true;
  }
  return false;
}
