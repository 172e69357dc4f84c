/** How a bind can end, as a closed set: metric labels and what the run does with its promises hang on it. */

export type BindEnding =
  /** The Pod is on the node, by us or already. */
  | "bound"
  /** The node cannot hold the Pod's volumes. */
  | "refused"
  /** Our cache has not seen what the API shows, or is not ready to be believed. */
  | "behind"
  /** An object that the Pod touches cannot be understood. */
  | "unreadable"
  /** Deleted, being deleted, or re-created under its name. */
  | "podGone"
  /** Assigned to another node by somebody else. */
  | "podElsewhere"
  /** Something the plan stands on went away or changed during the wait. */
  | "astray"
  /** The API refuses a write for good. */
  | "writeFailed"
  | "readFailed"
  | "timedOut"
  /** Nobody waits for it any more, and nothing of a volume was written. */
  | "detached"
  /** A bind of the Pod to another node took its place, before anything was written or when nothing was left to write. */
  | "superseded"
  | "overloaded"
  | "stopping"
  /** Another Berth leads now, or may. */
  | "lostLead"
  /** A fault of ours. */
  | "fault";

/** Ends a run from whatever depth it is in. Never leaves the binder: callers get values. */
export class BindEnd extends Error {
  readonly ending: Exclude<BindEnding, "bound">;

  constructor(ending: Exclude<BindEnding, "bound">, message: string) {
    super(message);
    this.ending = ending;
  }
}

/** kube-scheduler hands an Error to a Go formatter as the format (FR-091). */
export function withoutPercent(text: string): string {
  return text.replaceAll("%", " percent");
}
