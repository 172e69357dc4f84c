/**
 * How long a pod that failed waits. Source: pkg/scheduler/backend/queue/backoff_queue.go, with SchedulerPopFromBackoffQ, which is
 * on by default: time is cut into whole seconds, and a pod is over its backoff once the second in which it ends is past.
 */
import type { Milliseconds } from "../../runtime/runtime.ts";

export interface Failures {
  /** When the pod failed last. */
  readonly failedAt: Milliseconds;
  /** Cycles that ended in a refusal. */
  readonly refusals: number;
  /** Errors since the last refusal. They count instead of the refusals, so that a long refused pod gets over a short error soon. */
  readonly errors: number;
}

export interface BackoffLimits {
  readonly backoffFirstMs: Milliseconds;
  readonly backoffMaxMs: Milliseconds;
}

const windowMs: Milliseconds = 1_000;

/** The number of the second in which the backoff ends; undefined where the pod has not failed yet. */
export function windowOf(
  { failedAt, refusals, errors }: Failures,
  { backoffFirstMs, backoffMaxMs }: BackoffLimits,
): number | undefined {
  const count = errors > 0 ? errors : refusals;
  if (count === 0) return undefined;
  return Math.floor((failedAt + Math.min(backoffMaxMs, backoffFirstMs * 2 ** (count - 1))) / windowMs);
}

/** When a window is past, ms. */
export function endOf(window: number): Milliseconds {
  return (window + 1) * windowMs;
}
