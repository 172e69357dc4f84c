/**
 * kube-scheduler's own matching, VB §3.2 and §3.3, on raw API objects: claim by claim, smallest claim first, each taking the smallest
 * volume that suits. Written from the reference and sharing nothing with `src/scheduling`, to show where its answer differs.
 */
import type { Raw } from "./make.ts";

interface VolumeFields {
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly class: string;
  readonly size: bigint;
  readonly modes: readonly string[];
  readonly mode: string;
  readonly phase: string;
  readonly claim: string | undefined;
  readonly hostnames: readonly string[] | undefined;
}

/** Claim name → volume name for each claim in the order served; undefined for the first that finds none, where it stops. */
export function greedyMatch(
  pod: Raw,
  claims: readonly Raw[],
  volumes: readonly Raw[],
  hostname: string,
): Map<string, string | undefined> {
  const wanted = claimNames(pod)
    .map((name) => claims.find((claim) => at(claim, "metadata.name") === name))
    .filter((claim) => claim !== undefined)
    .sort((a, b) =>
      Number(sizeOf(a, "spec.resources.requests.storage") - sizeOf(b, "spec.resources.requests.storage")),
    );
  const candidates = volumes
    .map(read)
    .filter(({ hostnames }) => hostnames === undefined || hostnames.includes(hostname));
  const chosen = new Map<string, string | undefined>();
  for (const claim of wanted) {
    const taken = [...chosen.values()];
    const fitting = candidates.filter((volume) => !taken.includes(volume.name) && suits(claim, volume));
    fitting.sort((a, b) => Number(a.size - b.size) || (a.name < b.name ? -1 : 1));
    const best = fitting[0]?.name;
    chosen.set(String(at(claim, "metadata.name")), best);
    if (best === undefined) break;
  }
  return chosen;
}

function suits(claim: Raw, volume: VolumeFields): boolean {
  const labels = (at(claim, "spec.selector.matchLabels") ?? {}) as Record<string, string>;
  const modes = (at(claim, "spec.accessModes") ?? []) as string[];
  return (
    volume.claim === undefined &&
    volume.phase === "Available" &&
    volume.class === at(claim, "spec.storageClassName") &&
    volume.size >= sizeOf(claim, "spec.resources.requests.storage") &&
    volume.mode === (at(claim, "spec.volumeMode") ?? "Filesystem") &&
    modes.every((mode) => volume.modes.includes(mode)) &&
    Object.entries(labels).every(([key, value]) => volume.labels[key] === value)
  );
}

function read(volume: Raw): VolumeFields {
  const terms = at(volume, "spec.nodeAffinity.required.nodeSelectorTerms") as
    | { matchExpressions?: { key: string; values?: string[] }[] }[]
    | undefined;
  return {
    name: String(at(volume, "metadata.name")),
    labels: (at(volume, "metadata.labels") ?? {}) as Record<string, string>,
    class: String(at(volume, "spec.storageClassName") ?? ""),
    size: sizeOf(volume, "spec.capacity.storage"),
    modes: (at(volume, "spec.accessModes") ?? []) as string[],
    mode: String(at(volume, "spec.volumeMode") ?? "Filesystem"),
    phase: String(at(volume, "status.phase") ?? ""),
    claim: at(volume, "spec.claimRef.name") as string | undefined,
    hostnames: terms?.flatMap(
      ({ matchExpressions = [] }) => matchExpressions.find(({ key }) => key === "kubernetes.io/hostname")?.values ?? [],
    ),
  };
}

function claimNames(pod: Raw): string[] {
  const volumes = (at(pod, "spec.volumes") ?? []) as { persistentVolumeClaim?: { claimName: string } }[];
  return volumes.flatMap(({ persistentVolumeClaim }) =>
    persistentVolumeClaim ? [persistentVolumeClaim.claimName] : [],
  );
}

/** Whole numbers with a binary suffix, which is all that the examples use. */
function sizeOf(object: Raw, path: string): bigint {
  const match = /^(\d+)(Ki|Mi|Gi|Ti)?$/.exec(String(at(object, path) ?? "0"));
  if (!match) throw new Error(`${path}: not a size that this reads`);
  const powers: Record<string, bigint> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n };
  return BigInt(match[1] ?? "0") << (powers[match[2] ?? ""] ?? 0n);
}

function at(object: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}
