/**
 * How well feasible nodes hold a Pod's volumes, for kube-scheduler: integers 0..10, more is better.
 *
 * Levels, not ratios: nodes with the same fit share a score, and the best level stands alone at 10, so that a 10Gi claim goes to
 * a 20Gi disk before the 1Ti disk of any other node (FR-001), however the sizes are spread. The strategy `upstream` alone has
 * upstream's ratios. Whatever the strategy, a node that takes what another Pod holds scores 1 or 0 beside one that does not.
 */
import type { NodeName } from "./names.ts";
import type { NodeVerdicts } from "./plan.ts";

/** `MaxExtenderPriority`. @see kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go */
export const scoreMax = 10;
/** The least for a node that takes nothing another Pod holds. */
const uncontendedMin = 2;
/** The most for a node that does; such nodes score 1 and 0. */
export const contendedMax = 1;

/** Per node, in one order, its level: 0 is the best. */
interface Levels {
  readonly of: Float64Array;
  readonly count: number;
}

/** Integers 0..10 in the verdicts' order for feasible nodes; empty when all are equal ("no opinion"). */
export function scoreNodes(verdicts: NodeVerdicts): readonly { node: NodeName; score: number }[] {
  if (verdicts.feasibleCount < 2) return [];
  const feasible = new Int32Array(verdicts.feasibleCount);
  let count = 0;
  for (let index = 0; index < verdicts.names.length; index++) if (verdicts.fits(index)) feasible[count++] = index;
  const isUpstream = verdicts.scoring.strategy === "upstream";
  const scores = isUpstream ? scaleUpstream(verdicts, feasible) : rankAll(verdicts, feasible);
  if (areEqual(scores)) return [];
  const scored: { node: NodeName; score: number }[] = [];
  for (let place = 0; place < count; place++) {
    scored.push({ node: verdicts.names[feasible[place] ?? 0] as NodeName, score: scores[place] ?? 0 });
  }
  return scored;
}

function rankAll(verdicts: NodeVerdicts, feasible: Int32Array): Uint8Array {
  const levels = levelsOf(verdicts, feasible);
  const contended = feasible.map((index) => (verdicts.contended(index) ? 1 : 0));
  if (!contended.includes(1)) return spreadOver(levels, scoreMax, uncontendedMin);
  const scores = new Uint8Array(feasible.length);
  for (const [kind, high, low] of [
    [0, scoreMax, uncontendedMin],
    [1, contendedMax, 0],
  ] as const) {
    const group = spreadOver(placesOf(levels.of.filter((_, place) => contended[place] === kind)), high, low);
    let next = 0;
    for (let place = 0; place < scores.length; place++)
      if (contended[place] === kind) scores[place] = group[next++] ?? 0;
  }
  return scores;
}

/** By the strategy; within one of its levels, the node whose volumes lie on disks that nobody else uses. */
function levelsOf(verdicts: NodeVerdicts, feasible: Int32Array): Levels {
  const { strategy } = verdicts.scoring;
  const busy = column(feasible, (index) => verdicts.busyDisks(index));
  if (strategy !== "most-allocated" && strategy !== "spread") {
    const provisions = column(feasible, (index) => verdicts.provisions(index));
    const surplus = column(feasible, (index) => verdicts.surplus(index));
    return within(within(placesOf(provisions), placesOf(surplus)), placesOf(busy));
  }
  const sign = strategy === "spread" ? 1 : -1;
  const costs = column(feasible, (index) => {
    const percent = verdicts.percent(index);
    // A node of which nothing is known is the last choice either way.
    return percent < 0 ? 101 : sign * percent;
  });
  return within(placesOf(costs), placesOf(busy));
}

function column(feasible: Int32Array, of: (index: number) => number): Float64Array {
  const values = new Float64Array(feasible.length);
  for (let place = 0; place < values.length; place++) values[place] = of(feasible[place] ?? 0);
  return values;
}

/** By `outer`, and what is of one level there by `inner`. */
function within(outer: Levels, inner: Levels): Levels {
  if (inner.count === 1) return outer;
  if (outer.count === 1) return inner;
  return placesOf(outer.of.map((level, place) => level * inner.count + (inner.of[place] ?? 0)));
}

/** Each value's place among the distinct ones, the smallest first. */
function placesOf(values: Float64Array): Levels {
  const places = new Float64Array(values.length);
  if (areEqual(values)) return { of: places, count: 1 };
  const distinct = values.slice().sort();
  let count = 1;
  for (const value of distinct) if (value !== distinct[count - 1]) distinct[count++] = value;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((distinct[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    places[at] = low;
  }
  return { of: places, count };
}

function areEqual(values: Float64Array | Uint8Array): boolean {
  for (const value of values) if (value !== values[0]) return false;
  return true;
}

/** Spreads the levels over `high`..`low`. Rounded away from `high`: the best level has it alone. */
function spreadOver({ of, count }: Levels, high: number, low: number): Uint8Array {
  const scores = new Uint8Array(of.length);
  for (let place = 0; place < scores.length; place++) {
    const drop = count === 1 ? 0 : Math.ceil(((of[place] ?? 0) * (high - low)) / (count - 1));
    scores[place] = high - drop;
  }
  return scores;
}

/**
 * Upstream's 0..100 to the nearest tenth, halves up: with weight 1 an extender's 10 weighs as much as a plugin's 100. Where some
 * node is contended it scores 1 for upstream's upper half and 0 for the lower, and the others 2 at least.
 */
function scaleUpstream(verdicts: NodeVerdicts, feasible: Int32Array): Uint8Array {
  const least = feasible.some((index) => verdicts.contended(index)) ? uncontendedMin : 0;
  const scores = new Uint8Array(feasible.length);
  for (let place = 0; place < scores.length; place++) {
    const index = feasible[place] ?? 0;
    const points = verdicts.percent(index);
    scores[place] = verdicts.contended(index) ? Math.round(points / 100) : Math.max(least, Math.round(points / 10));
  }
  return scores;
}
