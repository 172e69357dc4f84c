/** The one in-tree score that a pod can steer: preferred node affinity. All others are taken for equal. */
import { matchesNode } from "../match.ts";
import type { Pod } from "../objects.ts";
import type { NodeState } from "./snapshot.ts";

/** NodeAffinity's weight among kube-scheduler's default plugins. */
const affinityWeight = 2;
const scoreMax = 100;

/**
 * By node name: the weights of the terms that match, the best node at 100, times the plugin's weight.
 * Source: pkg/scheduler/framework/plugins/nodeaffinity Score and helper.DefaultNormalizeScore.
 */
export function scoreAffinity({ spec }: Pod, states: readonly NodeState[]): Map<string, number> {
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
