/** Whether evicting Pods could make room. PodDisruptionBudgets are not looked at. For explanations. */
import { compareText } from "./names.ts";
import type { PodDemands, Short } from "./placing.ts";

export interface PriorityHelp {
  /** The Pod's own priority. */
  readonly priority: number;
  /** Whether kube-scheduler could make room by evicting Pods as things are. */
  readonly helps: boolean;
  readonly says: string;
  /** Pods that would have to go. Absent where no eviction is enough. */
  readonly victims?: readonly string[];
  readonly victimsLeft?: number;
}

/** @see kubernetes pkg/apis/scheduling/types.go, HighestUserDefinablePriority */
const userPriorityMax = 1_000_000_000;
const victimsMax = 5;

/** @param found  `isKeptOut`: the node is barred to the Pod whoever leaves it */
export function priorityHelp(
  pod: PodDemands,
  found: { readonly others: readonly PodDemands[]; readonly shorts: readonly Short[]; readonly isKeptOut: boolean },
): PriorityHelp {
  const { priority } = pod;
  const no = (says: string): PriorityHelp => ({ priority, helps: false, says });
  if (found.isKeptOut) return no("no priority helps while something else keeps the Pod out");
  const victims = enough(found.others, found.shorts);
  if (!victims) return no("no priority helps: all Pods of the node together hold less than is short");
  const highest = victims.reduce((most, one) => Math.max(most, one.priority), Number.NEGATIVE_INFINITY);
  const names = victims.map((one) => one.pod).sort(compareText);
  const who = { victims: names.slice(0, victimsMax), victimsLeft: Math.max(0, names.length - victimsMax) };
  if (highest >= priority) {
    if (highest >= userPriorityMax)
      return no(`no priority helps that users may give: what is short is held by system Pods`);
    const says = `a priority above ${highest} would let kube-scheduler evict Pods for it; the Pod's is ${priority}`;
    return { ...no(says), ...who };
  }
  if (!pod.preempts)
    return { ...no("Pods of lower priority hold enough, but the Pod's preemptionPolicy is Never"), ...who };
  const says = `Pods of lower priority than ${priority} hold enough: kube-scheduler may evict them`;
  return { priority, helps: true, says, ...who };
}

/** The Pods of the lowest priorities that hold all that is short; of equal priority those that hold most of it come first. */
function enough(others: readonly PodDemands[], shorts: readonly Short[]): PodDemands[] | undefined {
  const left = new Map(shorts.map(({ resource, short }) => [resource, short]));
  const holds = (pod: PodDemands, resource: string): bigint => pod.requests.get(resource) ?? 0n;
  const [first] = shorts;
  const most = (pod: PodDemands): bigint => (first ? holds(pod, first.resource) : 0n);
  const inOrder = [...others].sort((a, b) => {
    if (a.priority !== b.priority) return a.priority - b.priority;
    return most(a) === most(b) ? compareText(a.pod, b.pod) : most(a) > most(b) ? -1 : 1;
  });
  const victims: PodDemands[] = [];
  for (const pod of inOrder) {
    const lacking = [...left].filter(([, short]) => short > 0n);
    if (lacking.length === 0) return victims;
    if (!lacking.some(([resource]) => holds(pod, resource) > 0n)) continue;
    victims.push(pod);
    for (const [resource, short] of left) left.set(resource, short - holds(pod, resource));
  }
  return [...left.values()].every((short) => short <= 0n) ? victims : undefined;
}
