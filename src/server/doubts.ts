/**
 * Objects that a decision needed and the cache lacks. A refusal may keep a Pod waiting for minutes, an `Error` is asked again
 * within seconds, so "missing" is said only after the API has said it (decision 1).
 */

import { kindInfo } from "../apis/kubernetes.ts";
import type { ErrorCause } from "../metrics.ts";
import type { Doubt } from "../scheduling/plan.ts";
import type { LiveOutcome, Parts } from "./parts.ts";

export interface Unsettled {
  readonly cause: ErrorCause;
  readonly text: string;
}

/**
 * Reads the first `perCallMax` objects live, a few at a time; undefined when all of these are truly missing. The others are then
 * taken to be missing too: a cache that is behind would have shown itself in the sample, and what is refused for one missing
 * object stays refused. To answer `Error` for the mere number would answer it for ever.
 */
export async function settleDoubts(
  { cluster, config, metrics, runtime }: Parts,
  doubts: readonly Doubt[],
  signal: AbortSignal,
): Promise<Unsettled | undefined> {
  const { perCallMax, inParallelMax, timeoutMs } = config.liveReads;
  const deadline = new AbortController();
  const timer = runtime.timer(timeoutMs, () => deadline.abort());
  const either = AbortSignal.any([signal, deadline.signal]);
  // A read may also wait for its turn, where the signal does not reach it.
  const late = new Promise<LiveOutcome>((resolve) => {
    either.addEventListener("abort", () => resolve({ failed: "no answer in time" }), { once: true });
  });
  const waiting = doubts.slice(0, perCallMax);
  const outcomes: { doubt: Doubt; outcome: LiveOutcome }[] = [];
  const readOn = async (): Promise<void> => {
    for (let doubt = waiting.shift(); doubt; doubt = waiting.shift()) {
      const outcome = await Promise.race([cluster.live(doubt.kind, doubt.key, either), late]);
      metrics.liveReads.inc({
        kind: doubt.kind,
        outcome: "failed" in outcome ? "failed" : outcome.found ? "found" : "missing",
      });
      outcomes.push({ doubt, outcome });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(inParallelMax, waiting.length) }, readOn));
  } finally {
    timer.cancel();
    // Node keeps a combined signal that somebody listens to until one of its sources aborts: this one always does.
    deadline.abort();
  }
  return worstOf(outcomes);
}

function worstOf(outcomes: readonly { doubt: Doubt; outcome: LiveOutcome }[]): Unsettled | undefined {
  for (const { doubt, outcome } of outcomes) {
    const name = nameOf(doubt);
    if ("failed" in outcome) {
      return { cause: "liveReadFailed", text: `${name} is not in the cache and could not be read: ${outcome.failed}` };
    }
    if (outcome.found) return { cause: "behind", text: `${name} exists but has not reached the cache yet` };
  }
  return undefined;
}

/** An object as kubectl names it: kind in lower case and name. */
export function nameOf({ kind, key }: Doubt): string {
  return `${kindInfo[kind].kind.toLowerCase()} "${key}"`;
}
