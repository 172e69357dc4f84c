/** One kubelet for all nodes: registers them, and runs the pods assigned to them once their volumes can be mounted. */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Agent } from "./agent.ts";
import { matchesNode } from "./match.ts";
import { claimsOf, hasEnded, isFullyBound, isReady, keyOf, type Node, type Pod, parseKey } from "./objects.ts";
import type { Worked } from "./work-queue.ts";

export interface KubeletOptions {
  /** From the last volume being mountable to the pod being ready. */
  readonly startMs?: Milliseconds;
}

const hostnameLabel = "kubernetes.io/hostname";
/** What a node has that says nothing of its size. */
const allocatable = { cpu: "8", memory: "32Gi", pods: "110" };

export function startKubelet(agent: Agent, { startMs = 0 }: KubeletOptions = {}): void {
  const pods = agent.informer("pods");
  const watched = ["pods", "persistentvolumeclaims", "persistentvolumes", "nodes"] as const;
  const podQueue = agent.queue(watched, (key) => runPod(agent, key, startMs), 16);
  agent.feed("pods", podQueue, (pod) => (isWaiting(pod) ? [keyOf(pod.metadata)] : []));
  agent.feed("persistentvolumeclaims", podQueue, ({ metadata }) =>
    [...pods.values()]
      .filter((pod) => isWaiting(pod) && pod.metadata.namespace === metadata.namespace)
      .filter((pod) => claimsOf(pod).some(({ name }) => name === metadata.name))
      .map((pod) => keyOf(pod.metadata)),
  );

  const nodes = agent.informer("nodes");
  const nodeQueue = agent.queue(["nodes"], async (name) => {
    const node = nodes.get(name);
    return node ? registerNode(agent, node) : "done";
  });
  agent.feed("nodes", nodeQueue, ({ metadata }) => [metadata.name]);
}

function isWaiting({ metadata, spec, status }: Pod): boolean {
  return !!spec.nodeName && status?.phase === "Pending" && metadata.deletionTimestamp === undefined;
}

async function runPod(agent: Agent, key: string, startMs: Milliseconds): Promise<Worked> {
  const mounted = mount(agent, key);
  if (!mounted) return "done";
  if (typeof mounted === "string") {
    const pod = agent.informer("pods").get(key);
    if (pod)
      agent.events.record({ kind: "Pod", object: pod, type: "Warning", reason: "FailedMount", message: mounted });
    // Events about its claims wake it earlier; a volume that changes does not.
    return { againInMs: 10_000 };
  }
  if (startMs > 0) await agent.runtime.sleep(startMs, agent.signal);
  const time = new Date(agent.runtime.wallTime()).toISOString().replace(/\.\d+Z$/, "Z");
  const conditions = ["Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: time,
  }));
  const containerStatuses = containersOf(mounted).map((container) => runningStatus(container, time));
  const status = { phase: "Running", startTime: time, conditions, containerStatuses };
  const patched = await agent.client.patch(
    "pods",
    parseKey(key),
    { metadata: { uid: mounted.metadata.uid }, status },
    {
      type: "strategic-merge-patch",
      subresource: "status",
    },
  );
  return patched.ok || patched.status === 404 || patched.status === 409 ? "done" : "retry";
}

interface NamedContainer {
  readonly name?: string;
  readonly image?: string;
}

function containersOf({ spec }: Pod): readonly NamedContainer[] {
  return (spec.containers ?? []) as readonly NamedContainer[];
}

/** kubectl counts these for its READY column, and leaves the conditions aside. */
function runningStatus({ name = "", image = "" }: NamedContainer, startedAt: string): object {
  const state = { running: { startedAt } };
  return { name, image, imageID: "", ready: true, started: true, restartCount: 0, state, lastState: {} };
}

/** The pod if all its volumes can be mounted, or why not; `undefined` when there is nothing to mount any more. */
function mount(agent: Agent, key: string): Pod | string | undefined {
  const pod = agent.informer("pods").get(key);
  if (!pod || !isWaiting(pod) || hasEnded(pod)) return undefined;
  const node = agent.informer("nodes").get(pod.spec.nodeName ?? "");
  if (!node) return `node "${pod.spec.nodeName}" not found`;
  for (const { name } of claimsOf(pod)) {
    const claim = agent.informer("persistentvolumeclaims").get(`${pod.metadata.namespace}/${name}`);
    if (!claim) return `persistentvolumeclaim "${name}" not found`;
    if (claim.status?.phase !== "Bound" || !isFullyBound(claim)) return `PVC ${name} is not bound`;
    const volume = agent.informer("persistentvolumes").get(claim.spec.volumeName ?? "");
    if (!volume) return `persistentvolume "${claim.spec.volumeName}" not found`;
    const required = volume.spec.nodeAffinity?.required;
    if (required && !matchesNode(required, node)) {
      return `MountVolume.NodeAffinity check failed for volume "${volume.metadata.name}": no matching NodeSelectorTerms`;
    }
  }
  return pod;
}

/** What a real kubelet brings with it: its hostname label, its size, and that it is ready. */
async function registerNode(agent: Agent, node: Node): Promise<Worked> {
  const { name, labels } = node.metadata;
  if (labels?.[hostnameLabel] === undefined) {
    const patched = await agent.client.patch("nodes", { name }, { metadata: { labels: { [hostnameLabel]: name } } });
    if (!patched.ok && patched.status !== 404) return "retry";
  }
  const conditions = node.status?.conditions ?? [];
  const isNew = !isReady(node) && !conditions.some(({ type }) => type === "Ready");
  if (!isNew && node.status?.allocatable) return "done";
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" };
  const status = {
    ...(isNew ? { conditions: [ready] } : {}),
    ...(node.status?.allocatable ? {} : { allocatable, capacity: allocatable }),
  };
  const o = { type: "strategic-merge-patch", subresource: "status" } as const;
  const patched = await agent.client.patch("nodes", { name }, { status }, o);
  return patched.ok || patched.status === 404 ? "done" : "retry";
}
