/** CONTRACT (implementation follows). See design.md §5 for the picture. */
import type { PodUid } from "./names.ts";
import type { Plan } from "./plan.ts";

export type AssumeOutcome = { readonly ok: true } | { readonly ok: false; readonly why: string };

export declare class Reservations {
  /** Soft: replaces every earlier hold of the Pod by these plans. */
  hold(pod: PodUid, plans: readonly Plan[]): void;
  /** Ends the Pod's holds. */
  release(pod: PodUid): void;
  /**
   * Hard: reserves every claim of the plan or none, and ends the Pod's holds. A claim already assumed for the same target
   * is joined (shared claims, repeated calls); another target is a refusal.
   */
  assume(pod: PodUid, plan: Plan): AssumeOutcome;
  /** The Pod leaves all its assumptions; one that no Pod is left in ends. */
  forget(pod: PodUid): void;
  /** For `/debug/state`: every hold and assumption with its Pods, target and age. */
  dump(): unknown;
}
