/**
 * Explanations, a few milliseconds at a time: one of 5,000 nodes that refuse takes half a second in all, and kube-scheduler's
 * calls must not wait for somebody who wants to know why.
 */
import type { Runtime } from "../runtime/runtime.ts";
import { Turns } from "../runtime/turns.ts";
import { type Explained, type ExplainOptions, explainInSteps } from "../scheduling/explain.ts";
import { hintsInSteps } from "../scheduling/hints.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { ClusterState } from "../scheduling/state.ts";

/** Nodes shown of an answer; the others are counted. */
const nodesShownMax = 1_000;

export interface Noted extends Explained {
  /** What holds whatever node one looks at, as sentences. */
  readonly notes: readonly string[];
}

export class Slices {
  readonly #turns: Turns;

  constructor(runtime: Runtime) {
    this.#turns = new Turns(runtime);
  }

  /** Undefined where the caller has gone. All explanations together take one step a turn. */
  async explain(
    state: ClusterState,
    pod: Pod,
    options: Pick<ExplainOptions, "offered">,
    signal: AbortSignal,
  ): Promise<Noted | undefined> {
    const before = state.generation;
    const explained = await this.#run(explainInSteps(state, pod, { ...options, shownMax: nodesShownMax }), signal);
    if (!explained) return undefined;
    const hints = await this.#run(hintsInSteps(state, pod, !explained.explanation.schedulable), signal);
    if (!hints) return undefined;
    const changed = state.generation === before ? [] : [changedNote];
    return { ...explained, notes: [...changed, ...podNotes(pod), ...hints] };
  }

  async #run<T>(steps: Generator<undefined, T>, signal: AbortSignal): Promise<T | undefined> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      await this.#turns.next();
      if (signal.aborted) return undefined;
    }
  }
}

const changedNote =
  "the cluster changed while this was written: what is said of one node may be a moment older than what is said of another";

/** What the Pod itself says. */
export function podNotes(pod: Pod): string[] {
  const notes: string[] = [];
  if (pod.claims.length === 0) notes.push("the Pod mounts no claim: it passes on every node");
  if (pod.gated) notes.push("the Pod has scheduling gates: kube-scheduler does not try it before they are removed");
  if (pod.nodeName !== undefined) notes.push(`the Pod is assigned to node ${pod.nodeName}`);
  if (pod.deleting) notes.push("the Pod is being deleted");
  return notes;
}
