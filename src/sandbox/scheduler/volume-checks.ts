/**
 * What VolumeRestrictions, VolumeZone and NodeVolumeLimits still say with VolumeBinding switched off.
 * Source: framework/plugins/{volumerestrictions,volumezone,nodevolumelimits}.
 */
import type { Agent } from "../agent.ts";
import { type Claim, claimsOf, classOf, type Labels, type Pod, type Volume } from "../objects.ts";
import type { NodeTest } from "./inter-pod-affinity.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Refusal } from "./status.ts";

const refuse = (by: "VolumeRestrictions" | "VolumeZone", reason: string): Refusal => {
  return { code: "unresolvable", by, reasons: [reason] };
};

/** The refusal of the whole pod, on which the cycle ends before anybody looks at a node. */
export function checkClaims(agent: Agent, pod: Pod): Refusal | undefined {
  const named = claimsOf(pod).filter(({ isEphemeral }) => !isEphemeral);
  for (const { name } of named) {
    if (!findClaim(agent, pod, name)) {
      return refuse("VolumeRestrictions", `persistentvolumeclaim "${name}" not found`);
    }
  }
  for (const { name } of named) {
    const claim = findClaim(agent, pod, name);
    const reason = claim && zoneProblem(agent, claim);
    if (reason) return refuse("VolumeZone", reason);
  }
  return undefined;
}

function findClaim(agent: Agent, { metadata }: Pod, name: string): Claim | undefined {
  return agent.informer("persistentvolumeclaims").get(`${metadata.namespace}/${name}`);
}

function zoneProblem(agent: Agent, claim: Claim): string | undefined {
  const { volumeName } = claim.spec;
  if (volumeName) {
    const isThere = agent.informer("persistentvolumes").get(volumeName) !== undefined;
    return isThere ? undefined : `persistentvolume "${volumeName}" not found`;
  }
  const className = classOf(claim);
  if (className === "") return "PersistentVolumeClaim had no pv name and storageClass name";
  const storageClass = agent.informer("storageclasses").get(className);
  if (!storageClass) return `storageclass.storage.k8s.io "${className}" not found`;
  const mode = storageClass.volumeBindingMode;
  if (mode === undefined) return `VolumeBindingMode not set for StorageClass "${className}"`;
  return mode === "WaitForFirstConsumer" ? undefined : "PersistentVolume had no name";
}

const zoneLabels = [
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
];

/** The tests of the nodes: zone labels of bound volumes, and claims that one pod alone may use. */
export function compileVolumeTests(agent: Agent, pod: Pod, snapshot: Snapshot): NodeTest {
  const missing = claimsOf(pod).find(({ name }) => !findClaim(agent, pod, name));
  const claims = claimsOf(pod).flatMap(({ name }) => findClaim(agent, pod, name) ?? []);
  const volumes = claims.flatMap(({ spec }) => agent.informer("persistentvolumes").get(spec.volumeName ?? "") ?? []);
  const isTaken = claims.some(({ metadata, spec }) => {
    if (!spec.accessModes?.includes("ReadWriteOncePod")) return false;
    return [...snapshot.nodes.values()].some(({ pods }) => pods.some((other) => mounts(other, metadata)));
  });
  return ({ node }) => {
    if (missing) {
      // Only claims of ephemeral volumes come this far: the others were missed before any node was looked at.
      const reason = `looking up PVC ${pod.metadata.namespace}/${missing.name}: persistentvolumeclaim "${missing.name}" not found`;
      return { code: "unresolvable", by: "NodeVolumeLimits", reasons: [reason] };
    }
    if (isTaken) {
      const reason =
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";
      return { code: "resolvable", by: "VolumeRestrictions", reasons: [reason] };
    }
    const labels = node.metadata.labels ?? {};
    const isZoned = zoneLabels.some((label) => labels[label] !== undefined);
    if (!isZoned || volumes.every((volume) => isInZone(volume, labels))) return undefined;
    return refuse("VolumeZone", "node(s) had no available volume zone");
  };
}

function mounts(pod: Pod, { namespace, name }: Claim["metadata"]): boolean {
  return pod.metadata.namespace === namespace && claimsOf(pod).some((claim) => claim.name === name);
}

/** A volume's zone label may name several zones, joined by "__". */
function isInZone({ metadata }: Volume, labels: Labels): boolean {
  return zoneLabels.every((label) => {
    const zones = metadata.labels?.[label];
    return zones === undefined || zones.split("__").includes(labels[label] ?? "");
  });
}
