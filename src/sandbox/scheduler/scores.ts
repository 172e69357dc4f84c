/** The in-tree scores that steer most: preferred node affinity, and room for CPU and memory. All others are taken for equal. */
import { matchesNode } from "../match.ts";
import type { Pod } from "../objects.ts";
import { nonZeroRequestsOf, type Resources } from "./resources.ts";
import type { NodeState } from "./snapshot.ts";

/** Weights among kube-scheduler's default plugins. */
const affinityWeight = 2;
const resourcesWeight = 1;
const scoreMax = 100;

/** By node name: what the plugins say, each times its weight. */
export function scoreNodes(pod: Pod, states: readonly NodeState[]): Map<string, number> {
  const scores = scoreAffinity(pod, states);
  const wanted = nonZeroRequestsOf(pod);
  for (const state of states) {
    const { name } = state.node.metadata;
    scores.set(name, (scores.get(name) ?? 0) + resourcesWeight * leastAllocated(wanted, state));
  }
  return scores;
}

/**
 * The weights of the terms that match, the best node at 100.
 * Source: pkg/scheduler/framework/plugins/nodeaffinity Score and helper.DefaultNormalizeScore.
 */
function scoreAffinity({ spec }: Pod, states: readonly NodeState[]): Map<string, number> {
  const terms = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const sums = new Map(
    states.map(({ node }) => {
      const met = terms.filter(({ preference }) => matchesNode({ nodeSelectorTerms: [preference] }, node));
      return [node.metadata.name, met.reduce((sum, { weight }) => sum + weight, 0)];
    }),
  );
  const best = Math.max(0, ...sums.values());
  if (best === 0) return sums;
  return new Map(Array.from(sums, ([name, sum]) => [name, affinityWeight * Math.floor((sum * scoreMax) / best)]));
}

/** Source: pkg/scheduler/framework/plugins/noderesources/least_allocated.go, with the default resources and weights. */
function leastAllocated(wanted: Resources, { allocatable, pods }: NodeState): number {
  const all = [wanted, ...pods.map(nonZeroRequestsOf)];
  const shares = (["milliCpu", "memoryBytes"] as const).flatMap((resource) => {
    const has = allocatable[resource];
    const taken = all.reduce((sum, one) => sum + one[resource], 0);
    if (has === 0) return [];
    return [taken > has ? 0 : Math.floor(((has - taken) * scoreMax) / has)];
  });
  return shares.length === 0 ? 0 : Math.floor(shares.reduce((sum, share) => sum + share, 0) / shares.length);
}
