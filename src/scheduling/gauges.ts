/** What a call measures of each plan while it has it, for the scores that prioritize asks for next. */
import { fillGauge } from "./fill.ts";
import type { Open } from "./open-claim.ts";
import type { Gauge } from "./outcome.ts";
import type { ClusterState } from "./state.ts";
import { upstreamGauge } from "./upstream-score.ts";

/** What the strategy ranks by; undefined where the volumes that were chosen tell already. It serves one call. */
export function percentGauge(state: ClusterState, open: readonly Open[]): Gauge | undefined {
  if (open.length === 0) return undefined;
  switch (state.scoring.strategy) {
    case "most-allocated":
    case "spread":
      return fillGauge(state, open);
    case "upstream":
      return upstreamGauge(state, open);
    case "least-surplus":
      return undefined;
  }
}
