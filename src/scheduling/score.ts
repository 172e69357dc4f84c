/** CONTRACT (implementation follows). */
import type { NodeName } from "./names.ts";
import type { NodeVerdicts } from "./plan.ts";

/** Integers 0..10 in the verdicts' order for feasible nodes; empty when all are equal ("no opinion"). */
export declare function scoreNodes(verdicts: NodeVerdicts): readonly { node: NodeName; score: number }[];
