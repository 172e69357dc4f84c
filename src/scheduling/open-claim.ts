/** A claim that waits for its Pod, with all that a decision needs to know of it before it looks at any node. */
import { areAlike } from "./alike.ts";
import type { DelayedClaim } from "./claims.ts";
import { isReservedFor, type Want, wantOf } from "./matching.ts";
import type { NodeName } from "./names.ts";
import type { Doubt } from "./plan.ts";
import { type Provision, provisionOf } from "./provisioning.ts";
import type { Assumption } from "./reservations.ts";
import type { ClusterState } from "./state.ts";
import type { VolumeId } from "./volume-table.ts";

/** A delayed claim with all that does not depend on the node. */
export interface Open extends Provision {
  readonly want: Want;
  readonly assumption: Assumption | undefined;
  /** Of a node that exists. */
  readonly selectedNode: NodeName | undefined;
  /** Volumes reserved for the claim, preferred first. */
  readonly reserved: readonly VolumeId[];
  /** Claims that may compete for the same volumes, itself included: so many candidates suffice. */
  readonly rivals: number;
  /** Its rivals differ from it in size alone. */
  readonly isAlike: boolean;
}

/** @param doubts  objects that the cache lacks are added here */
export function openClaim(
  state: ClusterState,
  { claim, class: storageClass }: DelayedClaim,
  all: readonly DelayedClaim[],
  doubts: Doubt[],
): Open {
  const want = wantOf(claim, state.volumes);
  const rivals = all.filter(({ claim: other }) => other.class === claim.class);
  let { selectedNode } = claim;
  if (selectedNode !== undefined && !state.topologies.nodes.has(selectedNode)) {
    // A node that is gone binds nobody (departure D12); one live look tells whether it is.
    doubts.push({ kind: "node", key: selectedNode });
    selectedNode = undefined;
  }
  const referring = [...(state.volumes.referringTo(claim.key) ?? [])];
  return {
    ...provisionOf(state, claim, storageClass),
    want,
    assumption: state.reservations.of(claim.uid),
    selectedNode,
    reserved: referring
      .filter((id) => isReservedFor(want, state.volumes, id))
      .sort((a, b) => state.volumes.compare(a, b)),
    rivals: rivals.length,
    isAlike: areAlike(rivals.map((rival) => wantOf(rival.claim, state.volumes))),
  };
}
