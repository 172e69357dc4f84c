/** Deletes what has lost its owner or its node: the garbage collector and the pod collector of kube-controller-manager. */
import type { Agent } from "./agent.ts";
import { type Claim, keyOf, type ObjectKey, type Pod, parseKey } from "./objects.ts";
import type { Worked, WorkQueue } from "./work-queue.ts";

const owners: Readonly<Record<string, "pods" | "statefulsets">> = { Pod: "pods", StatefulSet: "statefulsets" };
type Dependent = "persistentvolumeclaims" | "pods";
const dependents: readonly Dependent[] = ["persistentvolumeclaims", "pods"];

export function startGarbageCollector(agent: Agent): void {
  const watched = ["pods", "statefulsets", "nodes", "persistentvolumeclaims"] as const;
  const queue = agent.queue(watched, (key) => {
    const [plural, objectKey = ""] = key.split(":") as [Dependent, string];
    const object = agent.informer(plural).get(objectKey);
    return object ? collect(agent, plural, object) : Promise.resolve<Worked>("done");
  });
  for (const plural of dependents) {
    agent.feed(plural, queue, (object) => {
      return object.metadata.ownerReferences || nodeOf(object) ? [`${plural}:${keyOf(object.metadata)}`] : [];
    });
  }
  wakeWithOwners(agent, queue);
}

function wakeWithOwners(agent: Agent, queue: WorkQueue): void {
  const wake = (concerns: (object: Pod | Claim) => boolean): void => {
    for (const plural of dependents) {
      for (const object of agent.informer(plural).values()) {
        if (concerns(object)) queue.add(`${plural}:${keyOf(object.metadata)}`);
      }
    }
  };
  for (const plural of ["pods", "statefulsets"] as const) {
    agent.informer(plural).listen(({ type, object: { metadata } }) => {
      if (type === "deleted")
        wake((object) => !!object.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid));
    });
  }
  agent.informer("nodes").listen(({ type, object }) => {
    if (type === "deleted") wake((other) => nodeOf(other) === object.metadata.name);
  });
}

function nodeOf({ spec }: Pod | Claim): string | undefined {
  return "nodeName" in spec ? spec.nodeName : undefined;
}

async function collect(agent: Agent, plural: Dependent, object: Pod | Claim): Promise<Worked> {
  const { metadata } = object;
  const node = nodeOf(object);
  const lostNode = node !== undefined && (await isGone(agent, "nodes", { name: node }));
  const isDeleting = metadata.deletionTimestamp !== undefined;
  if (!lostNode && (isDeleting || !(await isOrphan(agent, object)))) return "done";
  // The kubelet that could confirm the end of a pod has gone with its node.
  const o = { uid: metadata.uid, ...(lostNode ? { graceSeconds: 0 } : {}) };
  const deleted = await agent.client.delete(plural, metadata, o);
  return deleted.ok || deleted.status === 404 || deleted.status === 409 ? "done" : "retry";
}

async function isOrphan(agent: Agent, { metadata }: Pod | Claim): Promise<boolean> {
  for (const { kind, name, uid } of metadata.ownerReferences ?? []) {
    const plural = owners[kind];
    const key = parseKey(`${metadata.namespace}/${name}`);
    if (plural && (await isGone(agent, plural, key, uid))) return true;
  }
  return false;
}

/** Gone only if a live read says so: the watches of two kinds do not keep step. */
async function isGone(
  agent: Agent,
  plural: "nodes" | "pods" | "statefulsets",
  key: ObjectKey,
  uid?: string,
): Promise<boolean> {
  const known = agent.informer(plural).get(keyOf(key));
  if (known && (uid === undefined || known.metadata.uid === uid)) return false;
  const live = await agent.client.get(plural, key);
  return live.ok ? uid !== undefined && live.value.metadata.uid !== uid : live.status === 404;
}
