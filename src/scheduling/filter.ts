/** CONTRACT (implementation follows). */
import type { NodeName } from "./names.ts";
import type { Pod } from "./objects.ts";
import type { Doubt, NodeVerdict, NodeVerdicts, PodVerdict } from "./plan.ts";
import type { ClusterState } from "./state.ts";

/** Which of the named nodes can hold all claims of the Pod at once. Names asked twice are judged once. */
export declare function filterNodes(
  state: ClusterState,
  pod: Pod,
  nodes: readonly NodeName[],
): PodVerdict<NodeVerdicts>;

/** The same for one node, for bind: the plan, or why there is none. The Pod's own hold does not count against it. */
export declare function planNode(state: ClusterState, pod: Pod, node: NodeName): PodVerdict<NodeVerdict>;

export type { Doubt };
