/** The cluster as one scheduling cycle sees it: every node with the pods on it, assumed ones included. */
import { hasEnded, keyOf, type Labels, type Node, type Pod } from "../objects.ts";
import { add, parseResources, type Resources, requestsOf } from "./resources.ts";

export interface NodeState {
  readonly node: Node;
  readonly allocatable: Resources & { readonly pods: number };
  readonly pods: readonly Pod[];
  readonly requested: Resources;
}

export interface Snapshot {
  readonly nodes: ReadonlyMap<string, NodeState>;
  readonly namespaceLabels: ReadonlyMap<string, Labels>;
}

export function makeSnapshot(o: {
  readonly nodes: Iterable<Node>;
  readonly pods: Iterable<Pod>;
  /** By uid: pods that were given a node which the cache does not show yet. */
  readonly assumed: ReadonlyMap<string, { readonly pod: Pod; readonly node: string }>;
  readonly namespaceLabels: ReadonlyMap<string, Labels>;
}): Snapshot {
  const byNode = new Map<string, Pod[]>();
  const place = (node: string, pod: Pod): void => {
    const pods = byNode.get(node);
    if (pods) pods.push(pod);
    else byNode.set(node, [pod]);
  };
  for (const pod of o.pods) {
    if (pod.spec.nodeName && !hasEnded(pod)) place(pod.spec.nodeName, pod);
  }
  for (const { pod, node } of o.assumed.values()) place(node, pod);

  const nodes = new Map<string, NodeState>();
  for (const node of o.nodes) nodes.set(node.metadata.name, makeState(node, byNode.get(node.metadata.name) ?? []));
  return { nodes, namespaceLabels: o.namespaceLabels };
}

function makeState(node: Node, pods: readonly Pod[]): NodeState {
  const allocatable = node.status?.allocatable ?? {};
  return {
    node,
    allocatable: { ...parseResources(allocatable), pods: Number(allocatable["pods"] ?? 0) },
    pods,
    requested: pods.map(requestsOf).reduce(add, { milliCpu: 0, memoryBytes: 0 }),
  };
}

/** The same cluster with other pods on one node: what preemption tries out, and what nominated pods take up. */
export function withPods(snapshot: Snapshot, name: string, pods: readonly Pod[]): Snapshot {
  const state = snapshot.nodes.get(name);
  if (!state) return snapshot;
  const nodes = new Map(snapshot.nodes).set(name, makeState(state.node, pods));
  return { ...snapshot, nodes };
}

export function priorityOf({ spec }: Pod): number {
  return spec.priority ?? 0;
}

export function isSamePod(a: Pod, b: Pod): boolean {
  return a.metadata.uid === b.metadata.uid && keyOf(a.metadata) === keyOf(b.metadata);
}
