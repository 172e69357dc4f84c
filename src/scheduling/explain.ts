/** CONTRACT (implementation follows). */
import type { NodeName } from "./names.ts";
import type { Pod } from "./objects.ts";
import type { Explanation } from "./plan.ts";
import type { ClusterState } from "./state.ts";

/** Explains the Pod on the given nodes, or on every known node. Changes nothing. Throws nothing. */
export declare function explainPod(state: ClusterState, pod: Pod, nodes?: readonly NodeName[]): Explanation;
