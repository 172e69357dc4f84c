/** How nodes that fit are ranked: what `scoring` in the configuration says. docs/scoring.md has the numbers worked out. */

export const strategies = ["least-surplus", "most-allocated", "spread", "upstream"] as const;

/**
 * - `least-surplus`: fewest claims to provision, then fewest bytes beyond what the claims ask (decision 4, FR-001).
 * - `most-allocated`: the fullest after the placement first, so that whole nodes stay free.
 * - `spread`: the emptiest after the placement first.
 * - `upstream`: kube-scheduler's own numbers by a shape (VB §5).
 */
export type Strategy = (typeof strategies)[number];

/** A point of upstream's curve. @see kubernetes pkg/scheduler/apis/config/types_pluginargs.go, UtilizationShapePoint */
export interface ShapePoint {
  /** Percent, 0..100. */
  readonly utilization: number;
  /** 0..10. */
  readonly score: number;
}

export interface Scoring {
  readonly strategy: Strategy;
  /** For `upstream` only: at least one point, utilizations rising. */
  readonly shape: readonly ShapePoint[];
}

/** The shape is the one that kube-scheduler 1.37 has when nothing is configured: the emptiest first. */
export const defaultScoring: Scoring = {
  strategy: "least-surplus",
  shape: [
    { utilization: 0, score: 10 },
    { utilization: 100, score: 0 },
  ],
};

/** Why kube-scheduler would not take the shape, and which point is to blame; undefined where it would. */
export function shapeProblem(shape: readonly ShapePoint[]): { index: number; problem: string } | undefined {
  if (shape.length === 0) return { index: 0, problem: "has no point; it needs one at least" };
  for (const [index, { utilization }] of shape.entries()) {
    const before = shape[index - 1]?.utilization ?? -1;
    if (utilization <= before)
      return { index, problem: `has utilization ${utilization}, and the point before ${before}: they must rise` };
  }
  return undefined;
}
