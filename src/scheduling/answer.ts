/** All that can be said of a Pod from the state alone: the one answer that explain, simulate and `berth simulate` give. */
import { type ClaimReport, claimReports } from "./candidates.ts";
import { type ExplainOptions, explainInSteps } from "./explain.ts";
import { hintsInSteps } from "./hints.ts";
import { type Meeting, meetingOf } from "./meeting.ts";
import type { NodeName } from "./names.ts";
import type { NodeGroup } from "./node-groups.ts";
import type { Pod } from "./objects.ts";
import type { Explanation } from "./plan.ts";
import type { ClusterState } from "./state.ts";

export interface Answer extends Explanation {
  /** All nodes asked about, by what is said of them. */
  readonly groups: readonly NodeGroup[];
  /** What each claim could have, over the whole cluster. Claims that do not exist are not here. */
  readonly claims: readonly ClaimReport[];
  /** How several claims fare alone and in pairs. Absent where the Pod fits somewhere, or has but one claim. */
  readonly meeting?: Meeting;
  /** The node that what would help is about. */
  readonly nearest?: NodeName;
  /** What holds whatever node one looks at, as sentences. */
  readonly notes: readonly string[];
}

/** An answer, and all nodes that fit, shown or not. */
export interface Answered {
  readonly answer: Answer;
  readonly fitting: readonly NodeName[];
}

const changedNote =
  "the cluster changed while this was written: what is said of one node may be a moment older than what is said of another";

/** In one go. Changes nothing. */
export function answerPod(state: ClusterState, pod: Pod, options: ExplainOptions = {}): Answer {
  const steps = answerInSteps(state, pod, options);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value.answer;
  }
}

/** In steps of a few milliseconds, so that whoever must not be held up can let others go first in between. */
export function* answerInSteps(state: ClusterState, pod: Pod, options: ExplainOptions): Generator<undefined, Answered> {
  const before = state.generation;
  const { explanation, fitting, nearest, groups } = yield* explainInSteps(state, pod, options);
  const hints = yield* hintsInSteps(state, pod, !explanation.schedulable);
  const claims = yield* claimReports(state, pod);
  const isStuck = !explanation.schedulable && explanation.reason === undefined;
  const meeting = isStuck ? yield* meetingOf(state, pod) : undefined;
  const changed = state.generation === before ? [] : [changedNote];
  const notes = [...changed, ...podNotes(pod), ...hints];
  const more = { ...(meeting && { meeting }), ...(nearest !== undefined && { nearest }) };
  return { answer: { ...explanation, groups, claims, ...more, notes }, fitting };
}

/** What the Pod itself says. */
function podNotes(pod: Pod): string[] {
  const notes: string[] = [];
  if (pod.claims.length === 0) notes.push("the Pod mounts no claim: it passes on every node");
  if (pod.gated) notes.push("the Pod has scheduling gates: kube-scheduler does not try it before they are removed");
  if (pod.nodeName !== undefined) notes.push(`the Pod is assigned to node ${pod.nodeName}`);
  if (pod.deleting) notes.push("the Pod is being deleted");
  return notes;
}
