/**
 * Which volume the PV controller gives a claim. Its rules differ from the scheduler's: no node, access modes from few to many.
 * Source: component-helpers storage/volume/pv_helpers.go FindMatchingVolume, controller/volume/persistentvolume/index.go.
 */
import { compareText } from "../scheduling/names.ts";
import { parseBytes } from "../scheduling/quantity.ts";
import { matchesLabels } from "./match.ts";
import { type Claim, classOf, type Volume } from "./objects.ts";

const bytesOf = (text: string | undefined): bigint => parseBytes(text ?? "0") ?? 0n;
const modesOf = ({ spec }: Claim | Volume): readonly string[] => spec.accessModes ?? [];
const setOf = (volume: Volume): string => [...modesOf(volume)].sort(compareText).join();

/** Whether the volume's claimRef names this claim; one without uid names whoever bears the name. */
export function isMeantFor({ spec: { claimRef } }: Volume, { metadata }: Claim): boolean {
  if (!claimRef || claimRef.namespace !== metadata.namespace || claimRef.name !== metadata.name) return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

export function hasSameVolumeMode(claim: Claim, volume: Volume): boolean {
  return (claim.spec.volumeMode ?? "Filesystem") === (volume.spec.volumeMode ?? "Filesystem");
}

/** Whether the claim could live on the volume, where both were tied by hand. Source: checkVolumeSatisfyClaim. */
export function satisfies(volume: Volume, claim: Claim): boolean {
  return canHold(volume, claim) && classOf(volume) === classOf(claim) && hasModes(volume, claim);
}

function hasModes(volume: Volume, claim: Claim): boolean {
  return modesOf(claim).every((mode) => modesOf(volume).includes(mode));
}

function canHold(volume: Volume, claim: Claim): boolean {
  const attributes = (o: Claim | Volume): string => o.spec.volumeAttributesClassName ?? "";
  return (
    bytesOf(volume.spec.capacity?.["storage"]) >= bytesOf(claim.spec.resources?.requests?.["storage"]) &&
    hasSameVolumeMode(claim, volume) &&
    attributes(volume) === attributes(claim) &&
    volume.metadata.deletionTimestamp === undefined
  );
}

/** @param isDelayed  the claim waits for its first consumer: only a volume meant for it will do */
export function findVolumeFor(claim: Claim, volumes: Iterable<Volume>, isDelayed: boolean): Volume | undefined {
  const able: Volume[] = [];
  for (const volume of volumes) {
    const isOpen = isMeantFor(volume, claim) || (!isDelayed && isFreeFor(volume, claim));
    if (isOpen && hasModes(volume, claim) && canHold(volume, claim)) able.push(volume);
  }
  const byModes = (a: Volume, b: Volume): number =>
    modesOf(a).length - modesOf(b).length || compareText(setOf(a), setOf(b));
  const [first] = able.sort(byModes);
  if (!first) return undefined;
  const alike = able.filter((volume) => setOf(volume) === setOf(first));
  return alike.find((volume) => isMeantFor(volume, claim)) ?? alike.reduce(smaller);
}

function isFreeFor(volume: Volume, claim: Claim): boolean {
  return (
    !volume.spec.claimRef &&
    volume.status?.phase === "Available" &&
    classOf(volume) === classOf(claim) &&
    (!claim.spec.selector || matchesLabels(claim.spec.selector, volume.metadata.labels))
  );
}

function smaller(a: Volume, b: Volume): Volume {
  return bytesOf(b.spec.capacity?.["storage"]) < bytesOf(a.spec.capacity?.["storage"]) ? b : a;
}
