/**
 * Which changes of the cluster wake a refused pod. Source: each plugin's EventsToRegister with its hints, VB §6.2 for extenders,
 * and backend/../eventhandlers.go for what counts as a change of a node.
 */
import type { Change } from "../informer.ts";
import { claimsOf, hasEnded, type Kinds, type KubeObject, type Node, type Pod } from "../objects.ts";
import type { Rejector } from "./status.ts";

/** The kinds that kube-scheduler watches beside pods. */
export const watched = [
  "persistentvolumes",
  "persistentvolumeclaims",
  "storageclasses",
  "nodes",
  "csinodes",
  "csidrivers",
  "csistoragecapacities",
] as const;

export type Watched = (typeof watched)[number];

/** "self" is a change of the pod itself, "pods" one of a pod that has a node. */
export interface ClusterEvent {
  readonly resource: Watched | "pods" | "self";
  readonly action: "added" | "updated" | "deleted";
  readonly object: KubeObject;
  /** What an update of a node changed of what matters to scheduling. */
  readonly node?: ReadonlySet<NodePart>;
}

type NodePart = "labels" | "annotations" | "taints" | "allocatable" | "conditions";

const nodeParts: Readonly<Record<NodePart, (node: Node) => unknown>> = {
  labels: ({ metadata }) => metadata.labels,
  annotations: ({ metadata }) => metadata.annotations,
  taints: ({ spec }) => [spec?.taints, spec?.unschedulable],
  allocatable: ({ status }) => status?.allocatable,
  conditions: ({ status }) => status?.conditions?.map(({ type, status: is }) => [type, is]),
};

/** The event of a change; undefined for a change of a node that nobody is told of, such as a heartbeat. */
export function eventOf<P extends Watched>(resource: P, change: Change<Kinds[P]>): ClusterEvent | undefined {
  const { type: action, object } = change;
  if (resource !== "nodes" || change.type !== "updated") return { resource, action, object };
  const [before, after] = [change.before as Node, object as Node];
  const changed = Object.entries(nodeParts).filter(([, part]) => !isSame(part(before), part(after)));
  if (changed.length === 0) return undefined;
  return { resource, action, object, node: new Set(changed.map(([name]) => name as NodePart)) };
}

/** A pod that has ended is gone, as kube-scheduler's watch has it. */
export function assignedPodEvent(pod: Pod, action: ClusterEvent["action"]): ClusterEvent {
  return { resource: "pods", action: hasEnded(pod) ? "deleted" : action, object: pod };
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

type Rule = (event: ClusterEvent, pod: Pod) => boolean;

const either =
  (...rules: Rule[]): Rule =>
  (event, pod) =>
    rules.some((rule) => rule(event, pod));
const isNew =
  (resource: ClusterEvent["resource"]): Rule =>
  (event) =>
    event.resource === resource && event.action === "added";
const isNewOrChanged =
  (resource: ClusterEvent["resource"]): Rule =>
  (event) =>
    event.resource === resource && event.action !== "deleted";
const nodeChanged = (part: NodePart): Rule => either(isNew("nodes"), ({ node }) => node?.has(part) ?? false);
const podGone: Rule = ({ resource, action }) => resource === "pods" && action === "deleted";
const ofItsClaims =
  (rule: Rule): Rule =>
  (event, pod) => {
    const { namespace, name } = event.object.metadata;
    return (
      rule(event, pod) && namespace === pod.metadata.namespace && claimsOf(pod).some((claim) => claim.name === name)
    );
  };

/** What an extender looks at is unknown, so everything that is watched wakes what it refused; hence no row for it. */
const byRejector: Readonly<Record<Exclude<Rejector, "Extender">, Rule>> = {
  InterPodAffinity: either(({ resource }) => resource === "pods", nodeChanged("labels")),
  NodeAffinity: nodeChanged("labels"),
  NodeName: isNew("nodes"),
  NodeResourcesFit: either(podGone, nodeChanged("allocatable")),
  NodeUnschedulable: nodeChanged("taints"),
  NodeVolumeLimits: either(isNewOrChanged("csinodes"), podGone, ofItsClaims(isNew("persistentvolumeclaims"))),
  TaintToleration: nodeChanged("taints"),
  VolumeRestrictions: either(podGone, isNew("nodes"), ofItsClaims(isNew("persistentvolumeclaims"))),
  VolumeZone: either(
    isNew("storageclasses"),
    nodeChanged("labels"),
    ofItsClaims(isNewOrChanged("persistentvolumeclaims")),
    isNewOrChanged("persistentvolumes"),
  ),
};

export function concerns(event: ClusterEvent, rejectors: ReadonlySet<Rejector>, pod: Pod): boolean {
  return [...rejectors].some((rejector) => rejector === "Extender" || byRejector[rejector](event, pod));
}
