/**
 * Which plans a Pod softly holds between filter and bind. Everywhere it fits only while those are few: a Pod that held its
 * 20Gi disk on every node would push the next one to the 1Ti disks (decision 13).
 */
import type { Pod } from "../scheduling/objects.ts";
import type { NodeVerdicts, Plan } from "../scheduling/plan.ts";
import type { Parts } from "./parts.ts";

/** After filter: all feasible nodes or, while prioritize may still narrow them down, none. */
export function holdFeasible(parts: Parts, pod: Pod, verdicts: NodeVerdicts | undefined): void {
  const { config } = parts;
  const { reservations } = parts.cluster.state;
  if (!verdicts || isPlaced(parts, pod) || verdicts.feasibleCount > config.holds.nodesMax) {
    reservations.release(pod.uid);
    return;
  }
  reservations.hold(pod.uid, plansAt(verdicts, feasible(verdicts)));
}

/**
 * After prioritize: the best nodes. Nothing changes where filter could hold all of them.
 *
 * @param scores  of the feasible nodes in the verdicts' order; empty where all are equal
 */
export function holdBest(
  parts: Parts,
  pod: Pod,
  verdicts: NodeVerdicts,
  scores: readonly { readonly score: number }[],
): void {
  const { cluster, config } = parts;
  const { nodesMax } = config.holds;
  if (isPlaced(parts, pod) || verdicts.feasibleCount <= nodesMax) return;
  const best = bestOf(feasible(verdicts), (place) => scores[place]?.score ?? 0, nodesMax);
  cluster.state.reservations.hold(pod.uid, plansAt(verdicts, best));
}

/** So many with the highest scores, those that come first among equals; in one pass, for nodes may be thousands. */
function bestOf(candidates: readonly number[], scoreOf: (place: number) => number, count: number): number[] {
  const best: { readonly index: number; readonly score: number }[] = [];
  for (const [place, index] of candidates.entries()) {
    const score = scoreOf(place);
    if (best.length === count && score <= (best.at(-1)?.score ?? 0)) continue;
    const at = best.findLastIndex((other) => other.score >= score) + 1;
    best.splice(at, 0, { index, score });
    if (best.length > count) best.pop();
  }
  return best.map(({ index }) => index);
}

/** Assigned, or promised by a bind in progress what it needs (FR-051). */
function isPlaced({ binder }: Parts, pod: Pod): boolean {
  return pod.nodeName !== undefined || binder.runningOn(pod.uid) !== undefined;
}

function feasible(verdicts: NodeVerdicts): number[] {
  return verdicts.names.flatMap((_, index) => (verdicts.fits(index) ? [index] : []));
}

function plansAt(verdicts: NodeVerdicts, indexes: readonly number[]): Plan[] {
  return indexes.flatMap((index) => {
    const verdict = verdicts.verdict(index);
    return verdict.fits ? [verdict.plan] : [];
  });
}
