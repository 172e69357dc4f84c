/** One scheduling cycle: from a pod to a node, or to why there is none. Source: pkg/scheduler/schedule_one.go. */
import type { Runtime } from "../../runtime/runtime.ts";
import type { Agent } from "../agent.ts";
import type { Pod } from "../objects.ts";
import type { Extender } from "./extender.ts";
import { compileFilters } from "./filters.ts";
import type { NodeTest } from "./inter-pod-affinity.ts";
import { scoreNodes } from "./scores.ts";
import { isSamePod, type NodeState, priorityOf, type Snapshot, withPods } from "./snapshot.ts";
import { fitMessage, type Refusal, type Rejector } from "./status.ts";
import { checkClaims, compileVolumeTests } from "./volume-checks.ts";

export interface CycleContext {
  readonly agent: Agent;
  readonly runtime: Runtime;
  /** Ignorable ones last. */
  readonly extenders: readonly Extender[];
  readonly snapshot: Snapshot;
  /** Pods that preemption made room for, by uid. */
  readonly nominated: ReadonlyMap<string, { readonly pod: Pod; readonly node: string }>;
}

export type Decision =
  | { readonly kind: "placed"; readonly node: string }
  | {
      readonly kind: "refused";
      /** By node; a node without an entry was dropped by an extender without a word. */
      readonly refusals: ReadonlyMap<string, Refusal>;
      readonly rejectors: ReadonlySet<Rejector>;
      /** Why the pod as a whole cannot go anywhere, if it was not the nodes. */
      readonly preFilter: string | undefined;
    }
  | { readonly kind: "error"; readonly message: string };

interface Feasible {
  readonly states: readonly NodeState[];
  readonly refusals: Map<string, Refusal>;
  readonly rejectors: Set<Rejector>;
}

export async function decide(context: CycleContext, pod: Pod): Promise<Decision> {
  const { snapshot } = context;
  if (snapshot.nodes.size === 0) return refuseAll(context, "no nodes available to schedule pods", []);
  const refusal = checkClaims(context.agent, pod);
  if (refusal) return refuseAll(context, refusal.reasons.join(", "), [refusal.by]);

  const nominated = snapshot.nodes.get(pod.status?.nominatedNodeName ?? "");
  if (nominated) {
    // An error here is only logged: the whole cycle follows.
    const found = await findFeasible(context, pod, [nominated]);
    if (typeof found !== "string" && found.states.length > 0) return place(context, pod, found.states);
  }
  const found = await findFeasible(context, pod, [...snapshot.nodes.values()]);
  if (typeof found === "string") return { kind: "error", message: found };
  if (found.states.length > 0) return place(context, pod, found.states);
  return { kind: "refused", preFilter: undefined, refusals: found.refusals, rejectors: found.rejectors };
}

function refuseAll({ snapshot }: CycleContext, preFilter: string, by: readonly Rejector[]): Decision {
  const [first = "Extender"] = by;
  const refusal: Refusal = { code: "unresolvable", by: first, reasons: [preFilter] };
  const refusals = new Map([...snapshot.nodes.keys()].map((node) => [node, refusal]));
  return { kind: "refused", refusals, rejectors: new Set(by), preFilter };
}

export function messageOf(
  { snapshot }: CycleContext,
  { refusals, preFilter }: Decision & { kind: "refused" },
  postFilter: string,
): string {
  if (snapshot.nodes.size === 0) return preFilter ?? "";
  const reasons = [...refusals.values()].map((refusal) => refusal.reasons);
  return fitMessage({
    nodes: snapshot.nodes.size,
    reasons,
    postFilter,
    ...(preFilter === undefined ? {} : { preFilter }),
  });
}

/** The nodes that pass the in-tree filters and then every extender; an extender's error as text. */
async function findFeasible(context: CycleContext, pod: Pod, states: readonly NodeState[]): Promise<Feasible | string> {
  const refusals = new Map<string, Refusal>();
  const rejectors = new Set<Rejector>();
  const test = compileTests(context, pod, context.snapshot);
  let left: readonly NodeState[] = states.filter((state) => {
    const refusal = test(state) ?? testWithNominated(context, pod, state);
    if (!refusal) return true;
    refusals.set(state.node.metadata.name, refusal);
    rejectors.add(refusal.by);
    return false;
  });
  for (const extender of context.extenders) {
    if (left.length === 0) break;
    if (!extender.isInterestedIn(pod)) continue;
    const answer = await extender.filter(pod, left);
    if (!answer.ok) {
      if (extender.isIgnorable) continue;
      return answer.error;
    }
    const { feasible, failed, unresolvable } = answer.value;
    for (const [node, reason] of failed) refusals.set(node, { code: "resolvable", by: "Extender", reasons: [reason] });
    for (const [node, reason] of unresolvable) {
      refusals.set(node, { code: "unresolvable", by: "Extender", reasons: [reason] });
    }
    if (feasible.length !== left.length) rejectors.add("Extender");
    left = feasible;
  }
  return { states: left, refusals, rejectors };
}

export function compileTests({ agent }: CycleContext, pod: Pod, snapshot: Snapshot): NodeTest {
  const filter = compileFilters(pod, snapshot);
  const volumes = compileVolumeTests(agent, pod, snapshot);
  return (state) => filter(state) ?? volumes(state);
}

/** A node must do with its nominated pods of no lower priority too, and without: they may go elsewhere. */
function testWithNominated(context: CycleContext, pod: Pod, { node, pods }: NodeState): Refusal | undefined {
  const { name } = node.metadata;
  const promised = [...context.nominated.values()]
    .filter((other) => other.node === name && !isSamePod(other.pod, pod) && priorityOf(other.pod) >= priorityOf(pod))
    .map((other) => other.pod);
  if (promised.length === 0) return undefined;
  const fuller = withPods(context.snapshot, name, [...pods, ...promised]);
  const state = fuller.nodes.get(name);
  return state && compileTests(context, pod, fuller)(state);
}

/** One survivor is taken as it is: nobody is asked to score it. */
async function place(context: CycleContext, pod: Pod, states: readonly NodeState[]): Promise<Decision> {
  const scores = scoreNodes(pod, states);
  if (scores.size > 1) {
    const asked = context.extenders.filter((extender) => extender.isInterestedIn(pod));
    const answers = await Promise.all(
      asked.map(async (extender) => ({ extender, answer: await extender.prioritize(pod, states) })),
    );
    for (const { extender, answer } of answers) {
      // A failed answer is no opinion.
      for (const { host, score } of answer.ok ? answer.value : []) {
        const sum = scores.get(host);
        // Extenders score 0 to 10, plugins 0 to 100.
        if (sum !== undefined) scores.set(host, sum + score * extender.weight * 10);
      }
    }
  }
  const best = Math.max(...scores.values());
  const winners = [...scores].filter(([, score]) => score === best).map(([node]) => node);
  return { kind: "placed", node: winners[Math.floor(context.runtime.random() * winners.length)] ?? "" };
}
