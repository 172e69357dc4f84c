/**
 * Explanations, a few milliseconds at a time: one of 5,000 nodes that refuse takes half a second in all, and kube-scheduler's
 * calls must not wait for somebody who wants to know why.
 */
import type { Runtime } from "../runtime/runtime.ts";
import { Turns } from "../runtime/turns.ts";
import { type Answered, answerInSteps } from "../scheduling/answer.ts";
import type { ExplainOptions } from "../scheduling/explain.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { ClusterState } from "../scheduling/state.ts";

/** Nodes shown of an answer; the others are counted. */
const nodesShownMax = 1_000;

export class Slices {
  readonly #turns: Turns;

  constructor(runtime: Runtime) {
    this.#turns = new Turns(runtime);
  }

  /** Undefined where the caller has gone. All explanations together take one step a turn. */
  explain(
    state: ClusterState,
    pod: Pod,
    options: Pick<ExplainOptions, "offered" | "nodes">,
    signal: AbortSignal,
  ): Promise<Answered | undefined> {
    return this.run(answerInSteps(state, pod, { ...options, shownMax: nodesShownMax }), signal);
  }

  /** Undefined where the caller has gone. */
  async run<T>(steps: Generator<undefined, T>, signal: AbortSignal): Promise<T | undefined> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      await this.#turns.next();
      if (signal.aborted) return undefined;
    }
  }
}
