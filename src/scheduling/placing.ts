/**
 * Why kube-scheduler does not offer a node that the Pod's volumes are on: its own filters, as far as the node and the Pods on it tell.
 * For explanations; decides nothing.
 *
 * @see kubernetes pkg/scheduler/framework/plugins: nodeunschedulable, tainttoleration, nodeaffinity, noderesources/fit.go
 */
import { affinityText } from "./hints.ts";
import { compareText, type NodeName } from "./names.ts";
import type { Node, Taint } from "./objects.ts";
import { type PriorityHelp, priorityHelp } from "./priority.ts";
import { parseThousandths } from "./quantity.ts";
import { amountText } from "./resources.ts";
import { type LabelSelector, matchesLabels, matchesNode, type NodeSelector, requirementText } from "./selectors.ts";

/** By resource: thousandths of a CPU, of a byte, or of whatever else is counted. */
export type Amounts = ReadonlyMap<string, bigint>;

/** Said of a node on which nothing of this is found. */
export const notLookedAt = "host ports, affinity between Pods, spreading, or it was not asked since";

export interface Toleration {
  /** Absent: every key. */
  readonly key?: string;
  readonly operator: string;
  readonly value: string;
  /** Absent: every effect. */
  readonly effect?: string;
}

/** What a Pod asks of its node besides volumes. */
export interface PodDemands {
  /** "namespace/name". */
  readonly pod: string;
  readonly uid: string;
  readonly requests: Amounts;
  readonly tolerations: readonly Toleration[];
  readonly nodeSelector?: LabelSelector;
  readonly nodeAffinity?: NodeSelector;
  readonly priority: number;
  /** preemptionPolicy is not Never. */
  readonly preempts: boolean;
  /** It has ended: it takes nothing. */
  readonly finished: boolean;
}

export interface HolderOfResource {
  readonly pod: string;
  readonly priority: number;
  readonly holds: string;
}

export type Obstacle =
  | { readonly kind: "cordoned" | "notReady" | "taint" | "nodeSelector" | "nodeAffinity"; readonly says: string }
  | {
      readonly kind: "resource";
      readonly says: string;
      /** "cpu", "memory", "pods", "nvidia.com/gpu", … */
      readonly resource: string;
      readonly asks: string;
      readonly free: string;
      readonly allocatable: string;
      readonly short: string;
      /** Pods that hold most of it; `holdersLeft` more hold some. */
      readonly holders: readonly HolderOfResource[];
      readonly holdersLeft: number;
    };

/** How the node looks to kube-scheduler. */
export interface NodePlacing {
  readonly node: NodeName;
  /** The bound volumes allow no other node, or few; else: the volumes fit there, and it was not offered. */
  readonly because: "pinned" | "fits";
  readonly obstacles: readonly Obstacle[];
  /** Whether evicting Pods of lower priority could help. Absent where nothing is short. */
  readonly priority?: PriorityHelp;
  /** Why less is known than there is to know. */
  readonly unknown?: string;
}

/** What is short: thousandths. */
export interface Short {
  readonly resource: string;
  readonly short: bigint;
}

const holdersMax = 5;
const unschedulable: Taint = { key: "node.kubernetes.io/unschedulable", value: "", effect: "NoSchedule" };

/** @param occupants  the Pods on the node; undefined where they are not known: then resources are not looked at */
export function placingOn(
  node: Node,
  because: NodePlacing["because"],
  demands: PodDemands,
  occupants: readonly PodDemands[] | undefined,
): NodePlacing {
  const fixed = [...standingOf(node, demands), ...selectionOf(node, demands)];
  const others = occupants?.filter(({ uid, finished }) => uid !== demands.uid && !finished);
  const shorts = others ? shortsOn(node, demands, others) : [];
  const lacking = shorts.map((short) => lackText(node, demands, others ?? [], short));
  const priority =
    others && shorts.length > 0 ? priorityHelp(demands, { others, shorts, isKeptOut: fixed.length > 0 }) : undefined;
  return { node: node.name, because, obstacles: [...fixed, ...lacking], ...(priority && { priority }) };
}

function standingOf(node: Node, { tolerations }: PodDemands): Obstacle[] {
  const tolerated = (taint: Taint): boolean => tolerations.some((one) => tolerates(one, taint));
  const found: Obstacle[] = [];
  if (node.unschedulable && !tolerated(unschedulable)) {
    found.push({ kind: "cordoned", says: "it is cordoned: kubectl uncordon lets Pods come" });
  }
  const taints = node.taints.filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute");
  if (!node.ready) found.push({ kind: "notReady", says: "it is NotReady" });
  for (const taint of taints) {
    if (taint.key === unschedulable.key || tolerated(taint)) continue;
    found.push({ kind: "taint", says: `it has the taint ${taintText(taint)}, which the Pod does not tolerate` });
  }
  return found;
}

/** @see kubernetes staging/src/k8s.io/api/core/v1/toleration.go, ToleratesTaint */
function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key !== undefined && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (operator === "" || operator === "Equal") && key !== undefined && value === taint.value;
}

function taintText({ key, value, effect }: Taint): string {
  return `${key}${value === "" ? "" : `=${value}`}:${effect}`;
}

function selectionOf({ labels, name }: Node, { nodeSelector, nodeAffinity }: PodDemands): Obstacle[] {
  const found: Obstacle[] = [];
  if (nodeSelector && !matchesLabels(nodeSelector, labels)) {
    const unmet = nodeSelector.requirements.filter(
      (one) => !matchesLabels({ requirements: [one], identity: "" }, labels),
    );
    const has = unmet.map(({ key }) => `${key}=${labels.get(key) ?? "(none)"}`);
    found.push({
      kind: "nodeSelector",
      says: `the Pod's nodeSelector asks for ${unmet.map(requirementText).join(" and ")}, it has ${has.join(", ")}`,
    });
  }
  if (nodeAffinity && !matchesNode(nodeAffinity, labels, name)) {
    found.push({ kind: "nodeAffinity", says: `the Pod's node affinity asks for ${affinityText(nodeAffinity)}` });
  }
  return found;
}

/** What is free of it, below zero where more is taken than there is. */
function shortsOn(node: Node, { requests }: PodDemands, others: readonly PodDemands[]): Short[] {
  return [...requests]
    .map(([resource, asked]) => ({ resource, short: asked - freeOn(node, resource, others) }))
    .filter(({ resource, short }) => short > 0n && (requests.get(resource) ?? 0n) > 0n)
    .sort((a, b) => compareText(a.resource, b.resource));
}

function freeOn({ allocatable }: Node, resource: string, others: readonly PodDemands[]): bigint {
  const has = parseThousandths(allocatable.get(resource) ?? "0") ?? 0n;
  return others.reduce((left, { requests }) => left - (requests.get(resource) ?? 0n), has);
}

function lackText(
  node: Node,
  { requests }: PodDemands,
  others: readonly PodDemands[],
  { resource, short }: Short,
): Obstacle {
  const shown = (amount: bigint): string => amountText(resource, amount);
  const holding = others
    .map(({ pod, priority, requests: held }) => ({ pod, priority, amount: held.get(resource) ?? 0n }))
    .filter(({ amount }) => amount > 0n)
    .sort((a, b) => (a.amount === b.amount ? compareText(a.pod, b.pod) : a.amount > b.amount ? -1 : 1));
  const asked = requests.get(resource) ?? 0n;
  const free = asked - short;
  const has = parseThousandths(node.allocatable.get(resource) ?? "0") ?? 0n;
  return {
    kind: "resource",
    says: `${shown(short)} ${nameOf(resource)} short: the Pod asks for ${shown(asked)}, ${shown(free < 0n ? 0n : free)} of ${shown(has)} are free`,
    resource,
    asks: shown(asked),
    free: shown(free < 0n ? 0n : free),
    allocatable: shown(has),
    short: shown(short),
    holders: holding.slice(0, holdersMax).map(({ amount, ...one }) => ({ ...one, holds: shown(amount) })),
    holdersLeft: Math.max(0, holding.length - holdersMax),
  };
}

function nameOf(resource: string): string {
  return resource === "cpu" ? "CPU" : resource === "pods" ? "Pods" : resource;
}
