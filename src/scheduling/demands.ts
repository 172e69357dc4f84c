/** What a claim says of capacity that somebody was told to take: kept in step with the ledger as claims and volumes change. */
import type { CapacityPromise } from "./capacity-ledger.ts";
import type { NodeName } from "./names.ts";
import type { Claim } from "./objects.ts";
import { zero } from "./quantity.ts";
import type { ClusterState } from "./state.ts";

/**
 * Capacity that a provisioner was told to use, by us or anybody, is in flight until its volume shows.
 *
 * @param isNews  the claim is seen for the first time, after every kind was listed
 */
export function trackDemand(state: ClusterState, claim: Claim, isNews: boolean): void {
  const { pools, volumes, reservations } = state;
  const { uid, selectedNode, volumeName } = claim;
  const demand = pools.demandOf(uid);
  if (volumeName !== undefined && claim.bindCompleted) {
    if (demand && volumes.id(volumeName) !== undefined) pools.settle(uid, "volumeExists");
    if (!demand && isNews) recoverDemand(state, claim);
  } else if (selectedNode === undefined) {
    // The provisioner took it back, which is its final word; a promise of our own that is not written yet stays.
    if (demand && !reservations.of(uid)) pools.end(uid);
  } else if (demand?.node !== selectedNode) {
    pools.demand(uid, promiseOf(claim, selectedNode));
    // The volume may have been seen before the claim that it is for.
    if (hasVolume(state, claim)) pools.settle(uid, "volumeExists");
  }
}

/** A claim that was bound before it was seen for the first time: by a provisioner, perhaps just now (decision 23). */
export function recoverDemand({ pools, volumes }: ClusterState, claim: Claim): void {
  const { uid, selectedNode, volumeName, bindCompleted } = claim;
  if (selectedNode === undefined || volumeName === undefined || !bindCompleted) return;
  const volume = volumes.get(volumeName);
  if (volume?.provisionedBy === undefined || volume.claimRef?.uid !== uid) return;
  pools.recover(uid, promiseOf(claim, selectedNode), volume.resourceVersion);
}

function hasVolume({ volumes }: ClusterState, { key, uid }: Claim): boolean {
  for (const id of volumes.referringTo(key) ?? []) if (volumes.at(id).claimRef?.uid === uid) return true;
  return false;
}

function promiseOf({ class: name, request = zero }: Claim, node: NodeName): CapacityPromise {
  return { class: name, node, bytes: request };
}
