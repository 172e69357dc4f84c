/** Makes the claims of generic ephemeral volumes. Source: pkg/controller/volume/ephemeral/controller.go. */
import type { Agent } from "./agent.ts";
import { hasEnded, isControlledBy, keyOf, type Pod, type PodVolume } from "./objects.ts";
import type { Worked } from "./work-queue.ts";

export function startEphemeralController(agent: Agent): void {
  const pods = agent.informer("pods");
  const queue = agent.queue(["pods", "persistentvolumeclaims"], async (key) => {
    const pod = pods.get(key);
    if (!pod || pod.metadata.deletionTimestamp !== undefined || hasEnded(pod)) return "done";
    const worked = await Promise.all((pod.spec.volumes ?? []).map((volume) => ensureClaim(agent, pod, volume)));
    return worked.find((one) => one !== "done") ?? "done";
  });
  agent.feed("pods", queue, ({ metadata, spec }) =>
    spec.volumes?.some(({ ephemeral }) => ephemeral) ? [keyOf(metadata)] : [],
  );
  // A claim that somebody deleted is made anew while its pod still wants it.
  agent.feed("persistentvolumeclaims", queue, ({ metadata }) =>
    (metadata.ownerReferences ?? [])
      .filter(({ kind, controller }) => kind === "Pod" && controller === true)
      .map(({ name }) => `${metadata.namespace}/${name}`),
  );
}

async function ensureClaim(agent: Agent, pod: Pod, { name: volume, ephemeral }: PodVolume): Promise<Worked> {
  if (!ephemeral) return "done";
  const { name: podName, namespace = "", uid } = pod.metadata;
  const name = `${podName}-${volume}`;
  const known = agent.informer("persistentvolumeclaims").get(`${namespace}/${name}`);
  if (known) {
    if (isControlledBy(known, uid)) return "done";
    const message = `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
    const remark = { kind: "Pod", object: pod, type: "Warning" } as const;
    agent.events.record({ ...remark, reason: "FailedBinding", message: `ephemeral volume ${volume}: ${message}` });
    return "retry";
  }
  const { metadata, spec } = ephemeral.volumeClaimTemplate;
  const owner = { apiVersion: "v1", kind: "Pod", name: podName, uid, controller: true, blockOwnerDeletion: true };
  const made = await agent.client.create("persistentvolumeclaims", {
    metadata: {
      name,
      namespace,
      ownerReferences: [owner],
      ...(metadata?.labels ? { labels: metadata.labels } : {}),
      ...(metadata?.annotations ? { annotations: metadata.annotations } : {}),
    },
    spec,
  });
  return made.ok || made.reason === "NotFound" ? "done" : "retry";
}
