/** What the planner says of one node. */
import type { NodeId } from "./node-numbers.ts";
import type { Claim } from "./objects.ts";
import type { Open } from "./open-claim.ts";
import type { Pool } from "./pools.ts";
import type { NodeReason } from "./reasons.ts";
import type { VolumeId } from "./volume-table.ts";

/** Chosen instead of a volume. */
export const provisioned = -1;

/** How a node fares; of a node that fits, only until the planner is asked about the next one. */
export interface Outcome {
  /** In upstream's order; empty where the node fits. */
  readonly refusals: readonly { readonly reason: NodeReason; readonly claim: Claim }[];
  readonly contended: boolean;
  /** Per open claim, in name order: a volume, or `provisioned`. */
  readonly volumes: readonly VolumeId[];
  /** Per open claim: the pool it is provisioned from, where the driver publishes any. Of a claim with a volume it says nothing. */
  readonly pools: readonly (Pool | undefined)[];
  /** Per open claim: the bytes of its volume, rounded to a double. */
  readonly sizes: Float64Array;
}

/** A number of a node that fits. */
export type Gauge = (node: NodeId, outcome: Outcome) => number;

/** A claim that gets a volume, would be provisioned (neither field), or gets nothing. */
export interface Diagnosis {
  readonly open: Open;
  readonly volume?: VolumeId;
  readonly reason?: NodeReason;
}

const nothing: readonly never[] = [];
const noSizes = new Float64Array(0);

export function refusal(refusals: Outcome["refusals"]): Outcome {
  return { refusals, contended: false, volumes: nothing, sizes: noSizes, pools: nothing };
}
