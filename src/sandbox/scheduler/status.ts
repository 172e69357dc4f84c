/** What a filter says of a node, and how kube-scheduler counts such answers up in one message. */
import { compareText } from "../../scheduling/names.ts";

/** "resolvable" (Unschedulable): removing pods may help. "unresolvable" (UnschedulableAndUnresolvable): it does not. */
export type Code = "resolvable" | "unresolvable";

/** Who refused, which decides what wakes the pod. Extenders share one name, as in kube-scheduler. */
export type Rejector =
  | "Extender"
  | "InterPodAffinity"
  | "NodeAffinity"
  | "NodeName"
  | "NodeResourcesFit"
  | "NodeUnschedulable"
  | "NodeVolumeLimits"
  | "TaintToleration"
  | "VolumeRestrictions"
  | "VolumeZone";

export interface Refusal {
  readonly code: Code;
  readonly reasons: readonly string[];
  readonly by: Rejector;
}

/** By node name. A node in neither the feasible ones nor here counts as unresolvable without a reason. */
export type Refusals = ReadonlyMap<string, Refusal>;

/** Source: framework/types.go FitError.Error. */
export function fitMessage(o: {
  readonly nodes: number;
  readonly reasons: Iterable<readonly string[]>;
  readonly preFilter?: string;
  readonly postFilter?: string;
}): string {
  const counts = new Map<string, number>();
  for (const reasons of o.reasons) for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const counted = Array.from(counts, ([reason, count]) => `${count} ${reason}`).sort(compareText);
  const why = o.preFilter ?? counted.join(", ");
  const head = `0/${o.nodes} nodes are available:${why === "" ? "" : ` ${why}.`}`;
  return o.postFilter ? `${head} ${o.postFilter}` : head;
}
