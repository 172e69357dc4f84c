/**
 * How well feasible nodes hold a Pod's volumes, for kube-scheduler: integers 0..10, more is better.
 *
 * Levels, not ratios: nodes with the same fit share a score, and the best level stands alone at 10, so that a 10Gi claim goes to
 * a 20Gi disk before the 1Ti disk of any other node (FR-001), however the sizes are spread.
 */
import { compareText, type NodeName } from "./names.ts";
import type { NodeVerdicts } from "./plan.ts";

/** `MaxExtenderPriority`. @see kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go */
export const scoreMax = 10;
/** The least for a node that takes nothing another Pod holds. */
const uncontendedMin = 2;
/** The most for a node that does; such nodes score 1 and 0. */
export const contendedMax = 1;

/** Integers 0..10 in the verdicts' order for feasible nodes; empty when all are equal ("no opinion"). */
export function scoreNodes(verdicts: NodeVerdicts): readonly { node: NodeName; score: number }[] {
  const scores = new Array<number>(verdicts.names.length).fill(0);
  for (const contended of [false, true]) {
    const group = verdicts.names.flatMap((_, index) =>
      verdicts.fits(index) && verdicts.contended(index) === contended ? [index] : [],
    );
    const [high, low] = contended ? [contendedMax, 0] : [scoreMax, uncontendedMin];
    rank(verdicts, group, high, low, scores);
  }
  const feasible = verdicts.names.flatMap((node, index) =>
    verdicts.fits(index) ? [{ node, score: scores[index] ?? 0 }] : [],
  );
  return feasible.every(({ score }) => score === feasible[0]?.score) ? [] : feasible;
}

/** Spreads the group's distinct levels over `high`..`low`. Rounded away from `high`: the best level has it alone. */
function rank(verdicts: NodeVerdicts, group: number[], high: number, low: number, scores: number[]): void {
  const compare = (a: number, b: number): number =>
    verdicts.provisions(a) - verdicts.provisions(b) || verdicts.surplus(a) - verdicts.surplus(b);
  const sorted = group.toSorted(
    (a, b) => compare(a, b) || compareText(verdicts.names[a] ?? "", verdicts.names[b] ?? ""),
  );
  const levels: number[][] = [];
  for (const index of sorted) {
    const level = levels.at(-1);
    const first = level?.[0];
    if (level && first !== undefined && compare(first, index) === 0) level.push(index);
    else levels.push([index]);
  }
  for (const [position, level] of levels.entries()) {
    const drop = levels.length === 1 ? 0 : Math.ceil((position * (high - low)) / (levels.length - 1));
    for (const index of level) scores[index] = high - drop;
  }
}
