/**
 * The protection controllers: a claim that a pod uses and a volume that is bound outlive their deletion.
 * Source: pkg/controller/volume/{pvcprotection,pvprotection}.
 */
import type { Agent } from "./agent.ts";
import { claimsOf, type Kinds, keyOf, type Metadata, type Pod, parseKey } from "./objects.ts";
import type { Worked } from "./work-queue.ts";

const claimFinalizer = "kubernetes.io/pvc-protection";
const volumeFinalizer = "kubernetes.io/pv-protection";

export function startVolumeProtection(agent: Agent): void {
  const claims = agent.informer("persistentvolumeclaims");
  const volumes = agent.informer("persistentvolumes");
  const pods = agent.informer("pods");

  const claimQueue = agent.queue(["persistentvolumeclaims", "pods"], async (key) => {
    const claim = claims.get(key);
    if (!claim || !isHeldBy(claim.metadata, claimFinalizer)) return "done";
    return pods.values().some((pod) => uses(pod, key)) ? "done" : dropFinalizer(agent, "persistentvolumeclaims", key);
  });
  const volumeQueue = agent.queue(["persistentvolumes"], async (key) => {
    const volume = volumes.get(key);
    if (!volume || !isHeldBy(volume.metadata, volumeFinalizer)) return "done";
    return volume.status?.phase === "Bound" ? "done" : dropFinalizer(agent, "persistentvolumes", key);
  });
  agent.feed("persistentvolumeclaims", claimQueue, ({ metadata }) =>
    metadata.deletionTimestamp ? [keyOf(metadata)] : [],
  );
  agent.feed("pods", claimQueue, (pod) => claimsOf(pod).map(({ name }) => `${pod.metadata.namespace}/${name}`));
  agent.feed("persistentvolumes", volumeQueue, ({ metadata }) => (metadata.deletionTimestamp ? [metadata.name] : []));

  async function dropFinalizer(
    { client }: Agent,
    plural: "persistentvolumeclaims" | "persistentvolumes",
    key: string,
  ): Promise<Worked> {
    const live = await client.get(plural, parseKey(key));
    if (!live.ok) return live.status === 404 ? "done" : "retry";
    const ours = plural === "persistentvolumes" ? volumeFinalizer : claimFinalizer;
    const { metadata } = live.value;
    const finalizers = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== ours);
    const next = { ...live.value, metadata: { ...metadata, finalizers } } as Kinds[typeof plural];
    const written = await client.update(plural, next);
    return written.ok || written.status === 404 ? "done" : "retry";
  }
}

function isHeldBy({ deletionTimestamp, finalizers = [] }: Metadata, finalizer: string): boolean {
  return deletionTimestamp !== undefined && finalizers.includes(finalizer);
}

/** A pod without a node does not hold its claims: kubelet starts none whose claim is being deleted. */
function uses(pod: Pod, claimKey: string): boolean {
  if (!pod.spec.nodeName) return false;
  return claimsOf(pod).some(({ name }) => `${pod.metadata.namespace}/${name}` === claimKey);
}
