/** Where something is reached from, in a few names: for explanations. */
import { compareText, type NodeName } from "./names.ts";
import type { ClusterState } from "./state.ts";
import type { Topology } from "./topology.ts";

const nodesMax = 3;

/** Where something is reached from. */
export interface Reach {
  /** From every node. */
  readonly everywhere?: true;
  readonly count: number;
  /** The first by name. */
  readonly nodes: readonly NodeName[];
}

export function reachOf(state: ClusterState, topology: Topology): Reach {
  if (topology === state.topologies.everywhere)
    return { everywhere: true, count: state.topologies.nodes.size, nodes: [] };
  const first: NodeName[] = [];
  for (const { node } of topology.members) {
    first.push(node.name);
    if (first.length > 64) first.sort(compareText).splice(nodesMax);
  }
  return { count: topology.members.size, nodes: first.sort(compareText).slice(0, nodesMax) };
}
