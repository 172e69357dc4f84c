/** From a request to a verdict: the steps that come before any encoding, the same for a filter call in either form. */

import type { ErrorCause } from "../metrics.ts";
import { filterNodes } from "../scheduling/filter.ts";
import type { NodeName } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { Doubt, NodeVerdicts, PodVerdict } from "../scheduling/plan.ts";
import type { PodReason } from "../scheduling/reasons.ts";
import type { ClusterState } from "../scheduling/state.ts";
import { nameOf, settleDoubts, type Unsettled } from "./doubts.ts";
import type { Parts } from "./parts.ts";

export type Judgement =
  /** No claims: passes everywhere. */
  | { readonly kind: "free" }
  | { readonly kind: "error"; readonly cause: ErrorCause; readonly text: string }
  /** One reason for all nodes. */
  | { readonly kind: "refused"; readonly reason: PodReason; readonly text: string }
  | { readonly kind: "judged"; readonly verdicts: NodeVerdicts };

/**
 * Judges the Pod on the named nodes, of which there is at least one. Never refuses on what the cache merely lacks: a refusal
 * may keep the Pod waiting for minutes, an error is asked again within seconds.
 */
export async function judge(
  parts: Parts,
  pod: Pod,
  names: readonly NodeName[],
  signal: AbortSignal,
): Promise<Judgement> {
  // Decided from the Pod alone, before anything that may not be there yet (decision 2).
  if (pod.claims.length === 0) return { kind: "free" };
  const { state } = parts.cluster;
  const first = decideNow(parts, pod, names);
  const doubts = doubtsOf(first);
  if (doubts.length === 0) return toJudgement(first, state);

  const unsettled = await settleDoubts(parts, doubts, signal);
  if (unsettled) return { kind: "error", ...unsettled };
  // Time passed: what is told, held and remembered must be of the state as it is now.
  const second = decideNow(parts, pod, names);
  const missing = new Set(doubts.map(nameOf));
  const fresh = doubtsOf(second).find((doubt) => !missing.has(nameOf(doubt)));
  return fresh
    ? { kind: "error", cause: "behind", text: `${nameOf(fresh)} is not in the cache` }
    : toJudgement(second, state);
}

/** The verdict of this moment, without reading anything live. */
export function decideNow(
  { cluster }: Parts,
  pod: Pod,
  names: readonly NodeName[],
): PodVerdict<NodeVerdicts> | Unsettled {
  const readiness = cluster.readiness();
  if (!readiness.ready) return { cause: "notReady", text: `the volume extender is not ready: ${readiness.why}` };
  return filterNodes(cluster.state, pod, names);
}

function toJudgement(verdict: PodVerdict<NodeVerdicts> | Unsettled, state: ClusterState): Judgement {
  if ("cause" in verdict) return { kind: "error", ...verdict };
  switch (verdict.kind) {
    case "free":
      return verdict;
    case "fault":
      return {
        kind: "error",
        cause: "unreadable",
        text: `${nameOf(verdict.object)} cannot be read: ${verdict.problem}`,
      };
    case "refused":
      return { kind: "refused", reason: verdict.reason, text: verdict.text };
    case "judged":
      return knowsNoNode(verdict.nodes)
        ? { kind: "error", ...whyUnknown(state, verdict.nodes.names) }
        : { kind: "judged", verdicts: verdict.nodes };
  }
}

/** A node that cannot be read is as good as unknown; where no other was asked about, it is named. */
function whyUnknown(state: ClusterState, names: readonly NodeName[]): Unsettled {
  for (const key of names) {
    const problem = state.problem("node", key);
    if (problem === undefined) continue;
    return { cause: "unreadable", text: `${nameOf({ kind: "node", key })} cannot be read: ${problem}` };
  }
  return { cause: "nodesUnknown", text: "none of the nodes is known to the volume extender yet" };
}

/** One unknown node is new, or a simulation's; when all are, it is the cache that is wrong (decision 1). */
function knowsNoNode(verdicts: NodeVerdicts): boolean {
  return verdicts.names.every((_, index) => verdicts.reason(index) === "nodeUnknown");
}

function doubtsOf(verdict: PodVerdict<NodeVerdicts> | Unsettled): readonly Doubt[] {
  return "doubts" in verdict ? verdict.doubts : [];
}
