/**
 * Does this volume suit this claim: the rules of FindMatchingVolume, cheapest first, read from the volume table's columns.
 *
 * @see VB §3.3; component-helpers storage/volume/pv_helpers.go
 */
import type { LabelMatches } from "./label-sets.ts";
import type { Claim, Volume } from "./objects.ts";
import { type Bytes, formatBytes, zero } from "./quantity.ts";
import { type LabelSelector, matchesLabels } from "./selectors.ts";
import { assumedBit, attributesShift, heldBit, traits, type VolumeId, type VolumeTable } from "./volume-table.ts";

/** What a claim asks of a volume, prepared once a call. */
export interface Want {
  readonly claim: Claim;
  /** The request rounded to a double, as in the table's `size`. */
  readonly size: number;
  /** An offer suits when, promises aside, its bits under `mask` are these. */
  readonly bits: number;
  readonly mask: number;
  readonly selector: LabelSelector | undefined;
  /** Absent where the claim has no selector. */
  readonly matches: LabelMatches | undefined;
}

export function wantOf(claim: Claim, volumes: VolumeTable): Want {
  const wanted = traits(claim.accessModes, claim.mode);
  return {
    claim,
    size: Number(claim.request ?? zero),
    bits: wanted | (volumes.attributesNumber(claim.attributesClass) << attributesShift),
    mask: wanted | (-1 << attributesShift),
    selector: claim.selector,
    matches: claim.selector && volumes.labelSets.matchesOf(claim.selector),
  };
}

/** Whether the volume is large enough, exactly: equal doubles beyond 2^53 may stand for unequal sizes. */
export function isLargeEnough(want: Want, volumes: VolumeTable, id: VolumeId): boolean {
  const size = volumes.size[id] ?? 0;
  if (size !== want.size || size <= Number.MAX_SAFE_INTEGER) return size >= want.size;
  return volumes.at(id).capacity >= (want.claim.request ?? zero);
}

/** Which promised volumes a claim may take, besides those that are promised to nobody. */
export interface Liberty {
  readonly held: boolean;
  /** Whether they are held as well or not. */
  readonly assumed: boolean;
  /** These never: they are promised to other claims of the Pod. */
  readonly except?: readonly VolumeId[];
}

/** Whether an offer has the modes and attributes, promises aside. */
export function offersWanted({ mask, bits }: Want, offer: number): boolean {
  return (offer & mask) === bits;
}

export function mayTake({ held, assumed }: Liberty, offer: number): boolean {
  if ((offer & assumedBit) !== 0) return assumed;
  return held || (offer & heldBit) === 0;
}

/** Whether the volume has the labels that the claim's selector asks for. */
export function hasLabels({ matches }: Want, volumes: VolumeTable, id: VolumeId): boolean {
  return matches === undefined || matches.has(volumes.labels[id] ?? 0);
}

/** Size, modes and attributes. Class, phase, claimRef and affinity are what slabs are made of; promises are another matter. */
function suits(want: Want, volumes: VolumeTable, id: VolumeId): boolean {
  return offersWanted(want, volumes.offerOf(id)) && isLargeEnough(want, volumes, id);
}

/**
 * A volume whose claimRef names the claim is reserved for it: taken before any better fit, whatever its phase, and whatever
 * the claim's selector says. One of another class, too small, of the wrong mode or attributes, being deleted, or that lacks an
 * access mode (departure D14) is no reservation at all.
 */
export function isReservedFor(want: Want, volumes: VolumeTable, id: VolumeId): boolean {
  const { claimRef, deleting, class: name } = volumes.at(id);
  if (claimRef === undefined || deleting || name !== want.claim.class) return false;
  if (claimRef.uid !== undefined && claimRef.uid !== want.claim.uid) return false;
  return suits(want, volumes, id);
}

/** In words, the first rule by which a volume is out for a claim; undefined where it suits. For explanations. */
export function whyNot(claim: Claim, volume: Volume, namedBy: string | undefined): string | undefined {
  const { claimRef } = volume;
  const reserved = claimRef?.claim === claim.key && (claimRef.uid === undefined || claimRef.uid === claim.uid);
  if (volume.class !== claim.class) return `class "${volume.class}", the claim asks for "${claim.class}"`;
  // What no waiting mends comes first: a disk that is too small is no help to anybody who frees it.
  const request = claim.request ?? zero;
  if (volume.capacity < request) return `too small: ${sizesApart(volume.capacity, request)}`;
  if (volume.mode !== claim.mode) return `volumeMode ${volume.mode}, the claim asks for ${claim.mode}`;
  if ((volume.accessModes & claim.accessModes) !== claim.accessModes) return "lacks an access mode the claim asks for";
  if (volume.attributesClass !== claim.attributesClass) {
    return `volumeAttributesClass "${volume.attributesClass}", the claim asks for "${claim.attributesClass}"`;
  }
  if (claimRef && !reserved) return `claimed by ${claimRef.claim}`;
  if (volume.deleting) return "being deleted";
  if (reserved) return undefined;
  if (volume.phase !== "Available") return `phase ${volume.phase === "" ? "not set" : volume.phase}`;
  if (!matchesLabels(claim.selector, volume.labels)) return "labels do not match the claim's selector";
  return namedBy === undefined ? undefined : `named by pending claim ${namedBy}`;
}

/** "4Gi of 10Gi"; to the byte where the short forms are the same. */
function sizesApart(has: Bytes, asked: Bytes): string {
  const [short, long] = [formatBytes(has), formatBytes(asked)];
  return short === long ? `${has} of ${asked} bytes` : `${short} of ${long}`;
}
