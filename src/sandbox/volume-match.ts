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
  const able = [...volumes].filter((volume) => hasModes(volume, claim) && canHold(volume, claim));
  const sets = new Map(able.map((volume) => [setOf(volume), modesOf(volume).length]));
  for (const [set] of [...sets].sort((a, b) => a[1] - b[1] || compareText(a[0], b[0]))) {
    const found = smallestFor(
      claim,
      able.filter((volume) => setOf(volume) === set),
      isDelayed,
    );
    if (found) return found;
  }
  return undefined;
}

function smallestFor(claim: Claim, volumes: readonly Volume[], isDelayed: boolean): Volume | undefined {
  const meant = volumes.find((volume) => isMeantFor(volume, claim));
  if (meant || isDelayed) return meant;
  const free = volumes.filter(
    (volume) =>
      !volume.spec.claimRef &&
      volume.status?.phase === "Available" &&
      classOf(volume) === classOf(claim) &&
      (!claim.spec.selector || matchesLabels(claim.spec.selector, volume.metadata.labels)),
  );
  const capacity = ({ spec }: Volume): bigint => bytesOf(spec.capacity?.["storage"]);
  return free.sort((a, b) => (capacity(a) < capacity(b) ? -1 : capacity(a) > capacity(b) ? 1 : 0))[0];
}
