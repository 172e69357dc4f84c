/** PostFilter: whose removal would make room. Source: pkg/scheduler/framework/preemption/preemption.go. */
import type { Pod } from "../objects.ts";
import { type CycleContext, compileTests } from "./cycle.ts";
import type { Victims } from "./extender.ts";
import { isSamePod, type NodeState, priorityOf, withPods } from "./snapshot.ts";
import { fitMessage, type Refusals } from "./status.ts";

export interface Preemption {
  /** What the pod's message says of it; "" when room was made. */
  readonly message: string;
  readonly chosen?: { readonly node: string; readonly victims: readonly Pod[] };
  /** No node could be made room on: a nomination of before is taken back. In all other cases it stays. */
  readonly isHopeless?: true;
}

type Candidates = Map<string, Victims>;

/** DynamicResources is asked before DefaultPreemption, and says this of every pod that has no ResourceClaims. */
const refusedBy = "no new claims to deallocate, preemption:";
const notHelpful = "Preemption is not helpful for scheduling";
const noVictims = "No preemption victims found for incoming pod";

/** Decides only: the caller deletes the victims and nominates the node. */
export async function preempt(context: CycleContext, pod: Pod, refusals: Refusals): Promise<Preemption> {
  const ineligible = whyIneligible(context, pod);
  if (ineligible !== undefined) return { message: `${refusedBy} ${ineligible}` };
  const { candidates, reasons, error } = findCandidates(context, pod, refusals);
  if (candidates.size === 0) {
    if (error !== undefined) return { message: `preemption: ${error}` };
    const message = `${refusedBy} ${fitMessage({ nodes: context.snapshot.nodes.size, reasons: reasons.values() })}`;
    return { message, isHopeless: true };
  }
  const agreed = await askExtenders(context, pod, candidates);
  if (typeof agreed === "string") return { message: `preemption: ${agreed}` };
  const chosen = pickOne(agreed);
  if (!chosen) return { message: `${refusedBy} no candidate node for preemption` };
  return { message: "", chosen };
}

function whyIneligible({ snapshot }: CycleContext, pod: Pod): string | undefined {
  if (pod.spec.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const nominated = snapshot.nodes.get(pod.status?.nominatedNodeName ?? "");
  const isMakingRoom = nominated?.pods.some(
    (other) => other.metadata.deletionTimestamp !== undefined && priorityOf(other) < priorityOf(pod),
  );
  return isMakingRoom ? "not eligible due to a terminating pod on the nominated node." : undefined;
}

function findCandidates(context: CycleContext, pod: Pod, refusals: Refusals) {
  const candidates: Candidates = new Map();
  const reasons = new Map<string, readonly string[]>();
  let error: string | undefined;
  for (const [name, state] of context.snapshot.nodes) {
    if (refusals.get(name)?.code !== "resolvable") {
      reasons.set(name, [notHelpful]);
      continue;
    }
    const victims = selectVictims(context, pod, state);
    if (!Array.isArray(victims)) reasons.set(name, victims.reasons);
    else if (victims.length > 0) candidates.set(name, { pods: victims, pdbViolations: 0 });
    // Nobody has to go, and still the node was refused: by an extender, with the wrong code.
    else error ??= `expected at least one victim pod on node "${name}"`;
  }
  return { candidates, reasons, error };
}

/** Removes all pods of lower priority, then lets as many stay as fit, the most important first. In-tree filters only. */
function selectVictims(
  context: CycleContext,
  pod: Pod,
  { node, pods }: NodeState,
): Pod[] | { reasons: readonly string[] } {
  const { name } = node.metadata;
  const lower = pods.filter((other) => priorityOf(other) < priorityOf(pod)).sort(byImportance);
  if (lower.length === 0) return { reasons: [noVictims] };
  let kept = pods.filter((other) => priorityOf(other) >= priorityOf(pod));
  const refusal = tryWith(context, pod, name, kept);
  if (refusal) return { reasons: refusal };
  const victims: Pod[] = [];
  for (const other of lower) {
    const more = [...kept, other];
    if (tryWith(context, pod, name, more)) victims.push(other);
    else kept = more;
  }
  return victims;
}

function tryWith(context: CycleContext, pod: Pod, name: string, pods: readonly Pod[]): readonly string[] | undefined {
  const promised = [...context.nominated.values()]
    .filter((other) => other.node === name && !isSamePod(other.pod, pod) && priorityOf(other.pod) >= priorityOf(pod))
    .map((other) => other.pod);
  const snapshot = withPods(context.snapshot, name, [...pods, ...promised]);
  const state = snapshot.nodes.get(name);
  return state && compileTests(context, pod, snapshot)(state)?.reasons;
}

function startOf({ metadata, status }: Pod): string {
  return status?.startTime ?? metadata.creationTimestamp ?? "";
}

/** Higher priority first, then the one that has run longer. */
function byImportance(a: Pod, b: Pod): number {
  return priorityOf(b) - priorityOf(a) || (startOf(a) < startOf(b) ? -1 : 1);
}

/** Every interested extender may strike out nodes and change victims; an error of one that counts ends it. */
async function askExtenders(context: CycleContext, pod: Pod, candidates: Candidates): Promise<Candidates | string> {
  let left = candidates;
  for (const extender of context.extenders) {
    if (left.size === 0) break;
    if (!extender.entry.preemptVerb || !extender.isInterestedIn(pod)) continue;
    const answer = await extender.preempt(pod, left);
    const next: Candidates = new Map();
    let error = answer.ok ? undefined : answer.error;
    for (const [node, { uids, pdbViolations }] of answer.ok ? answer.value : []) {
      const onNode = context.snapshot.nodes.get(node)?.pods ?? [];
      const pods = uids.flatMap((uid) => onNode.find(({ metadata }) => metadata.uid === uid) ?? []);
      const lost = uids.find((uid) => !pods.some(({ metadata }) => metadata.uid === uid));
      if (lost !== undefined) {
        error ??= `extender: ${extender.entry.urlPrefix} claims to preempt pod (UID: ${lost}) on node: ${node}, but the pod is not found on that node`;
      } else if (pods.length > 0) next.set(node, { pods, pdbViolations });
      else if (!extender.isIgnorable) error ??= `expected at least one victim pod on node "${node}"`;
    }
    if (error === undefined) left = next;
    else if (!extender.isIgnorable) return error;
  }
  return left;
}

/** Source: pickOneNodeForPreemption. Each measure decides only between those that the one before left equal. */
function pickOne(candidates: Candidates): { node: string; victims: readonly Pod[] } | undefined {
  const top = ({ pods }: Victims): Pod | undefined => [...pods].sort(byImportance)[0];
  const compare = (a: Victims, b: Victims): number => {
    const [topA, topB] = [top(a), top(b)];
    const sum = ({ pods }: Victims): number => pods.reduce((total, one) => total + priorityOf(one), 0);
    return (
      a.pdbViolations - b.pdbViolations ||
      (topA ? priorityOf(topA) : 0) - (topB ? priorityOf(topB) : 0) ||
      sum(a) - sum(b) ||
      a.pods.length - b.pods.length ||
      // The node whose most important victim has run for the shortest time.
      (topA && topB && startOf(topA) > startOf(topB) ? -1 : 1)
    );
  };
  const [best] = [...candidates].sort((a, b) => compare(a[1], b[1]));
  return best && { node: best[0], victims: best[1].pods };
}
