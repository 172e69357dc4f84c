/** kube-scheduler's volume score, VB §5, for the tests that set ours beside it. @see volumebinding/scorer.go, shape functions in helper */

/** Utilization in percent → score 0..10. */
export type Shape = readonly (readonly [utilization: number, score: number])[];

/** What unit tests use, and what KEP-1845 meant: the best fit first. */
export const bestFit: Shape = [
  [0, 0],
  [100, 10],
];
/** What a scheduler has when the gate StorageCapacityScoring is on and nothing is configured: the emptiest first. */
export const spread: Shape = [
  [0, 10],
  [100, 0],
];

/** Of one node: per class, what is asked and what there is. Off by default up to 1.36: then no node has a score. */
export function upstreamScore(
  shape: Shape,
  classes: readonly (readonly [requested: number, capacity: number])[],
): number {
  const scores = classes.map(([requested, capacity]) =>
    at(shape, capacity === 0 || requested > capacity ? 100 : Math.floor((requested * 100) / capacity)),
  );
  return scores.length === 0 ? 0 : Math.round(scores.reduce((sum, score) => sum + score, 0) / scores.length);
}

/** Points are joined by lines, in whole numbers, cut toward zero. Scores are scaled to 0..100. */
function at(shape: Shape, utilization: number): number {
  const next = shape.findIndex(([point]) => utilization <= point);
  const [point, score] = shape[next] ?? shape.at(-1) ?? [0, 0];
  if (next <= 0) return score * 10;
  const [before, from] = shape[next - 1] ?? [0, 0];
  return from * 10 + Math.trunc(((score - from) * 10 * (utilization - before)) / (point - before));
}
