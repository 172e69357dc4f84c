/**
 * StatefulSets: numbered pods with a claim each, made and removed in order. No rolling updates.
 * Source: pkg/controller/statefulset/stateful_set_control.go, stateful_set_utils.go.
 */
import type { Agent } from "./agent.ts";
import type { Result } from "./client.ts";
import { hasEnded, isControlledBy, isReady, keyOf, type Pod, type PodVolume, type StatefulSet } from "./objects.ts";
import type { Worked } from "./work-queue.ts";

const done: Result<undefined> = { ok: true, value: undefined };

export function startStatefulSetController(agent: Agent): void {
  const sets = agent.informer("statefulsets");
  const queue = agent.queue(["statefulsets", "pods", "persistentvolumeclaims"], async (key) => {
    const set = sets.get(key);
    if (!set || set.metadata.deletionTimestamp !== undefined) return "done";
    const moved = await reconcile(agent, set);
    const reported = await reportStatus(agent, set);
    return worked(moved.ok ? reported : moved);
  });
  agent.feed("statefulsets", queue, ({ metadata }) => [keyOf(metadata)]);
  agent.feed("pods", queue, ({ metadata }) =>
    (metadata.ownerReferences ?? [])
      .filter(({ kind, controller }) => kind === "StatefulSet" && controller === true)
      .map(({ name }) => `${metadata.namespace}/${name}`),
  );
}

function worked(result: Result<unknown>): Worked {
  return result.ok || result.status === 404 ? "done" : "retry";
}

function podsOf(agent: Agent, set: StatefulSet): Map<number, Pod> {
  const found = new Map<number, Pod>();
  for (const pod of agent.informer("pods").values()) {
    const ordinal = Number(/-(\d+)$/.exec(pod.metadata.name)?.[1]);
    if (pod.metadata.namespace === set.metadata.namespace && isControlledBy(pod, set.metadata.uid))
      found.set(ordinal, pod);
  }
  return found;
}

/** Makes the missing pods from the lowest number on, then removes the surplus from the highest on. */
async function reconcile(agent: Agent, set: StatefulSet): Promise<Result<unknown>> {
  const { replicas = 1, podManagementPolicy, ordinals } = set.spec;
  const first = ordinals?.start ?? 0;
  const isParallel = podManagementPolicy === "Parallel";
  const pods = podsOf(agent, set);
  for (let ordinal = first; ordinal < first + replicas; ordinal++) {
    const pod = pods.get(ordinal);
    if (pod && hasEnded(pod) && pod.metadata.deletionTimestamp === undefined) {
      const deleted = await agent.client.delete("pods", pod.metadata, { uid: pod.metadata.uid });
      if (!deleted.ok) return deleted;
    }
    if (!pod) {
      const made = await createPod(agent, set, ordinal);
      if (!made.ok) return made;
    }
    // In order, each waits until all before it are ready; a new pod never is.
    if (!isParallel && !(pod && isReady(pod) && pod.metadata.deletionTimestamp === undefined)) return done;
  }
  const surplus = [...pods].filter(([ordinal]) => ordinal < first || ordinal >= first + replicas);
  for (const [ordinal, pod] of surplus.sort((a, b) => b[0] - a[0])) {
    if (pod.metadata.deletionTimestamp === undefined) {
      const deleted = await removePod(agent, set, pod, ordinal);
      if (!deleted.ok) return deleted;
    }
    if (!isParallel) return done;
  }
  return done;
}

async function createPod(agent: Agent, set: StatefulSet, ordinal: number): Promise<Result<unknown>> {
  const { name: setName, namespace = "", uid } = set.metadata;
  const name = `${setName}-${ordinal}`;
  const { template, volumeClaimTemplates = [] } = set.spec;
  for (const claim of volumeClaimTemplates) {
    const claimName = claimNameOf(claim.metadata.name, set, ordinal);
    if (agent.informer("persistentvolumeclaims").get(`${namespace}/${claimName}`)) continue;
    const { labels, annotations } = claim.metadata;
    const metadata = {
      name: claimName,
      namespace,
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
    };
    // Without an owner: what a set leaves behind, its successor of the same name finds again.
    const made = await agent.client.create("persistentvolumeclaims", { metadata, spec: claim.spec });
    if (!made.ok && made.reason !== "AlreadyExists") return made;
  }
  const claimed: PodVolume[] = volumeClaimTemplates.map(({ metadata }) => {
    const claimName = claimNameOf(metadata.name, set, ordinal);
    return { name: metadata.name, persistentVolumeClaim: { claimName } };
  });
  const own = (template.spec.volumes ?? []).filter((volume) => !claimed.some((other) => other.name === volume.name));
  const owner = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    name: setName,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const pod = {
    metadata: {
      name,
      namespace,
      labels: {
        ...template.metadata?.labels,
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": String(ordinal),
      },
      ...(template.metadata?.annotations ? { annotations: template.metadata.annotations } : {}),
      ownerReferences: [owner],
    },
    spec: { ...template.spec, hostname: name, volumes: [...claimed, ...own] },
  };
  const made = await agent.client.create("pods", pod);
  return made.ok || made.reason === "AlreadyExists" ? done : made;
}

function claimNameOf(template: string, { metadata }: StatefulSet, ordinal: number): string {
  return `${template}-${metadata.name}-${ordinal}`;
}

/** Claims stay unless the set says that they go when it is scaled. */
async function removePod(agent: Agent, set: StatefulSet, pod: Pod, ordinal: number): Promise<Result<unknown>> {
  const { metadata } = pod;
  const deleted = await agent.client.delete("pods", metadata, { uid: metadata.uid });
  if (!deleted.ok && deleted.status !== 404) return deleted;
  if (set.spec.persistentVolumeClaimRetentionPolicy?.whenScaled !== "Delete") return done;
  for (const template of set.spec.volumeClaimTemplates ?? []) {
    const name = claimNameOf(template.metadata.name, set, ordinal);
    const gone = await agent.client.delete("persistentvolumeclaims", { namespace: set.metadata.namespace ?? "", name });
    if (!gone.ok && gone.status !== 404) return gone;
  }
  return done;
}

async function reportStatus(agent: Agent, set: StatefulSet): Promise<Result<unknown>> {
  const pods = [...podsOf(agent, set).values()];
  const ready = pods.filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined).length;
  const counts = {
    replicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    currentReplicas: pods.length,
  };
  const known = (set.status ?? {}) as Readonly<Record<string, unknown>>;
  if (Object.entries(counts).every(([field, count]) => known[field] === count)) return done;
  const status = { ...counts, updatedReplicas: pods.length };
  return agent.client.patch("statefulsets", set.metadata, { status }, { subresource: "status" });
}
