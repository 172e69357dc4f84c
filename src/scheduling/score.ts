/**
 * How well feasible nodes hold a Pod's volumes, for kube-scheduler: integers 0..10, more is better.
 *
 * Levels, not ratios: nodes with the same fit share a score, and the best level stands alone at 10, so that a 10Gi claim goes to
 * a 20Gi disk before the 1Ti disk of any other node (FR-001), however the sizes are spread. The strategy `upstream` alone has
 * upstream's ratios. Whatever the strategy, a node that takes what another Pod holds scores 1 or 0 beside one that does not.
 */
import { busyDisks } from "./disk-use.ts";
import { fillGauge } from "./fill.ts";
import type { NodeName } from "./names.ts";
import type { NodeVerdicts } from "./plan.ts";
import { upstreamScore } from "./upstream-score.ts";

/** `MaxExtenderPriority`. @see kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go */
export const scoreMax = 10;
/** The least for a node that takes nothing another Pod holds. */
const uncontendedMin = 2;
/** The most for a node that does; such nodes score 1 and 0. */
export const contendedMax = 1;

/** Below zero where `a` is the better node, 0 where they are of one level. */
type Order = (a: number, b: number) => number;

/** Integers 0..10 in the verdicts' order for feasible nodes; empty when all are equal ("no opinion"). */
export function scoreNodes(verdicts: NodeVerdicts): readonly { node: NodeName; score: number }[] {
  if (verdicts.feasibleCount < 2) return [];
  const feasible = verdicts.names.flatMap((_, index) => (verdicts.fits(index) ? [index] : []));
  const scores = new Uint8Array(verdicts.names.length);
  if (verdicts.scoring.strategy === "upstream") scaleUpstream(verdicts, feasible, scores);
  else {
    const order = idleDisksFirst(verdicts, orderOf(verdicts));
    const contended = feasible.filter((index) => verdicts.contended(index));
    const free = contended.length === 0 ? feasible : feasible.filter((index) => !verdicts.contended(index));
    rank(free, order, { high: scoreMax, low: uncontendedMin }, scores);
    rank(contended, order, { high: contendedMax, low: 0 }, scores);
  }
  const first = scores[feasible[0] ?? 0];
  if (feasible.every((index) => scores[index] === first)) return [];
  return verdicts.names.flatMap((node, index) => (verdicts.fits(index) ? [{ node, score: scores[index] ?? 0 }] : []));
}

/** The strategy's order. What is to decide within one of its levels comes after it, where it says 0. */
function orderOf(verdicts: NodeVerdicts): Order {
  const { strategy } = verdicts.scoring;
  if (strategy !== "most-allocated" && strategy !== "spread") {
    return (a, b) => verdicts.provisions(a) - verdicts.provisions(b) || verdicts.surplus(a) - verdicts.surplus(b);
  }
  const fill = verdicts.measure(fillGauge);
  const sign = strategy === "spread" ? 1 : -1;
  // A node of which nothing is known is the last choice either way.
  const costs = fill.map((percent) => (percent < 0 ? 101 : sign * percent));
  return (a, b) => (costs[a] ?? 0) - (costs[b] ?? 0);
}

/** Within a level, the node whose volumes lie on disks that nobody else uses. */
function idleDisksFirst(verdicts: NodeVerdicts, order: Order): Order {
  if (!verdicts.areDisksKnown) return order;
  const busy = verdicts.measure(busyDisks);
  return (a, b) => order(a, b) || (busy[a] ?? 0) - (busy[b] ?? 0);
}

/** Spreads the group's distinct levels over `high`..`low`. Rounded away from `high`: the best level has it alone. */
function rank(
  group: readonly number[],
  order: Order,
  { high, low }: { readonly high: number; readonly low: number },
  scores: Uint8Array,
): void {
  const [first] = group;
  if (first === undefined) return;
  const levels: number[][] = [];
  const sorted = group.every((index) => order(first, index) === 0) ? group : group.toSorted(order);
  for (const index of sorted) {
    const level = levels.at(-1);
    if (level?.[0] !== undefined && order(level[0], index) === 0) level.push(index);
    else levels.push([index]);
  }
  for (const [position, level] of levels.entries()) {
    const drop = levels.length === 1 ? 0 : Math.ceil((position * (high - low)) / (levels.length - 1));
    for (const index of level) scores[index] = high - drop;
  }
}

/**
 * Upstream's 0..100 to the nearest tenth, halves up: with weight 1 an extender's 10 weighs as much as a plugin's 100. Where some
 * node is contended it scores 1 for upstream's upper half and 0 for the lower, and the others 2 at least.
 */
function scaleUpstream(verdicts: NodeVerdicts, feasible: readonly number[], scores: Uint8Array): void {
  const { shape } = verdicts.scoring;
  const measured = verdicts.measure(
    ({ pools }) =>
      (plan) =>
        upstreamScore(plan, shape, pools),
  );
  const anyContended = feasible.some((index) => verdicts.contended(index));
  for (const index of feasible) {
    const points = Math.max(0, measured[index] ?? 0);
    if (verdicts.contended(index)) scores[index] = Math.round(points / 100);
    else scores[index] = Math.max(anyContended ? uncontendedMin : 0, Math.round(points / 10));
  }
}
