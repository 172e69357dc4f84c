/** The true cause of a refusal as one note of an event: how many nodes for which reason, what would help, and what is near. */
import { explainInSteps } from "../scheduling/explain.ts";
import { filterNodes } from "../scheduling/filter.ts";
import { hintsInSteps } from "../scheduling/hints.ts";
import type { NodeName } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { NodeVerdicts } from "../scheduling/plan.ts";
import type { NodeReason } from "../scheduling/reasons.ts";
import type { ClusterState } from "../scheduling/state.ts";

export interface Refusal {
  /** The same while the cause is the same; for comparison alone. */
  readonly cause: string;
  readonly note: string;
}

/** Nodes that are looked at for what would help, some of each reason: 25 ms of work at most. */
const lookedAtMax = 256;
/** Events hold 1,024 characters. */
const noteMax = 1_000;

/**
 * In steps of a few milliseconds. Changes nothing.
 *
 * @param offered  the nodes that kube-scheduler asked about
 * @returns undefined where some node would do, or an object cannot be read: then filter says so itself
 */
export function* refusalInSteps(
  state: ClusterState,
  pod: Pod,
  offered: readonly NodeName[],
): Generator<undefined, Refusal | undefined> {
  const verdict = filterNodes(state, pod, offered);
  // What the cache lacks was looked for when filter refused the Pod.
  if (verdict.kind === "free" || verdict.kind === "fault") return undefined;
  if (verdict.kind === "judged" && verdict.nodes.feasibleCount > 0) return undefined;
  yield;
  const refused = verdict.kind === "judged" ? byReason(verdict.nodes) : undefined;
  const nodes = refused ? someOfEach(refused) : [...offered].slice(0, 1);
  const { explanation } = yield* explainInSteps(state, pod, { nodes, shownMax: 0 });
  const hints = yield* hintsInSteps(state, pod, true);
  const help = explanation.suggestion === undefined ? [] : [`Would help: ${explanation.suggestion}`];
  if (verdict.kind === "refused") {
    return { cause: `${verdict.reason} ${verdict.claim}`, note: joined(verdict.text, [...help, ...hints]) };
  }
  const counts = [...(refused ?? [])].map(([reason, names]) => `${names.length} ${reason}`).join(", ");
  const total = verdict.nodes.names.length;
  const first = `${total === 1 ? "The one node" : `None of the ${total} nodes`} offered can hold the volumes: ${counts}`;
  const cause = [...(refused ?? new Map()).keys()].sort().join(" ");
  return { cause, note: joined(first, [...help, ...hints]) };
}

/** The commonest reason first. */
function byReason(verdicts: NodeVerdicts): Map<NodeReason, NodeName[]> {
  const found = new Map<NodeReason, NodeName[]>();
  for (const [index, name] of verdicts.names.entries()) {
    const reason = verdicts.reason(index);
    if (!reason) continue;
    const names = found.get(reason);
    if (names) names.push(name);
    else found.set(reason, [name]);
  }
  return new Map([...found].sort(([, a], [, b]) => b.length - a.length));
}

function someOfEach(refused: ReadonlyMap<NodeReason, readonly NodeName[]>): NodeName[] {
  const share = Math.floor(lookedAtMax / Math.max(1, refused.size));
  return [...refused.values()].flatMap((names) => names.slice(0, share));
}

/** With as many whole sentences as there is room for. */
function joined(first: string, more: readonly string[]): string {
  let note = `${first.slice(0, noteMax)}.`;
  for (const one of more) {
    const longer = `${note} ${one.charAt(0).toUpperCase()}${one.slice(1)}.`;
    if (longer.length <= noteMax) note = longer;
  }
  return note;
}
