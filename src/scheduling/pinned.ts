/** Where the volumes of a Pod's bound claims let it be. For explanations. */
import { boundClaim, reachesBound } from "./migration.ts";
import { compareText, type NodeName } from "./names.ts";
import type { Pod } from "./objects.ts";
import type { ClusterState } from "./state.ts";

/** Where so many nodes are left, nothing is pinned. */
const pinnedMax = 3;

/** By name; none where the bound volumes leave the Pod many nodes, all of them, or none at all. */
export function pinnedNodes(state: ClusterState, pod: Pod): NodeName[] {
  const bound = pod.claims.flatMap(({ claim: key }) => {
    const claim = state.get("claim", key);
    return claim?.volumeName !== undefined && claim.bindCompleted ? [boundClaim(state, claim, [])] : [];
  });
  if (bound.length === 0) return [];
  const nodes: NodeName[] = [];
  for (const entry of state.topologies.nodes.values()) {
    if (!bound.every((one) => reachesBound(state, entry, one))) continue;
    nodes.push(entry.node.name);
    if (nodes.length > pinnedMax) return [];
  }
  return nodes.length === state.topologies.nodes.size && nodes.length > 1 ? [] : nodes.sort(compareText);
}
