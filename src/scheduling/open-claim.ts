/** A claim that waits for its Pod, with all that a decision needs to know of it before it looks at any node. */
import type { DelayedClaim } from "./claims.ts";
import { isReservedFor, type Want, wantOf } from "./matching.ts";
import type { NodeName } from "./names.ts";
import type { Doubt } from "./plan.ts";
import { type Provision, provisionOf } from "./provisioning.ts";
import type { NodeReason } from "./reasons.ts";
import type { Assumption } from "./reservations.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";
import type { VolumeId } from "./volume-table.ts";

/** A delayed claim with all that does not depend on the node. */
export interface Open extends Provision {
  readonly want: Want;
  readonly assumption: Assumption | undefined;
  /** Of a node that exists. */
  readonly selectedNode: NodeName | undefined;
  /** Volumes reserved for the claim, preferred first. */
  readonly reserved: readonly VolumeId[];
}

/** What is settled for a claim before any volume is looked for: a volume of its own, or that it is provisioned here. */
export type Settled = { readonly volume: VolumeId } | "provision";

/** @param doubts  objects that the cache lacks are added here */
export function openClaim(state: ClusterState, { claim, class: storageClass }: DelayedClaim, doubts: Doubt[]): Open {
  const want = wantOf(claim, state.volumes);
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
  };
}

/** Whether the claim's place is decided already. */
export function isSettled({ assumption, selectedNode, reserved }: Open): boolean {
  return assumption !== undefined || selectedNode !== undefined || reserved.length > 0;
}

/** A provisioner has been told, or is about to be, to make the claim's volume on one node. */
export function isUnderway({ assumption, selectedNode }: Open): boolean {
  return assumption ? assumption.target.kind === "provision" : selectedNode !== undefined;
}

/** What a settled claim gets on the node, or why it cannot be there. */
export function settledOn(
  { volumes, topologies }: ClusterState,
  entry: NodeEntry,
  { assumption, reserved, selectedNode }: Open,
): Settled | NodeReason {
  const isHere = (id: VolumeId): boolean => {
    const topology = volumes.topologyOf(id);
    return topology !== undefined && topologies.reaches(entry, topology);
  };
  if (assumption?.target.kind === "volume") {
    const id = volumes.id(assumption.target.volume);
    return id !== undefined && isHere(id) ? { volume: id } : "selectedOtherNode";
  }
  const provisionedOn = assumption?.node ?? selectedNode;
  if (provisionedOn !== undefined) return provisionedOn === entry.node.name ? "provision" : "selectedOtherNode";
  const here = reserved.filter(isHere);
  // Assumed they are for another claim: this one has no assumption.
  const id = here.find((one) => volumes.assumed[one] === 0);
  if (id !== undefined) return { volume: id };
  return here.length === 0 ? "preboundElsewhere" : "volumeAssumed";
}
