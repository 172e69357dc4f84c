/** What a claim says of capacity that somebody was told to take: kept in step with the ledger as claims and volumes change. */
import type { CapacityPromise } from "./capacity-ledger.ts";
import type { NodeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import { type Bytes, zero } from "./quantity.ts";
import type { ClusterState } from "./state.ts";

/**
 * Capacity that a provisioner was told to use, by us or anybody, is in flight until its volume shows.
 *
 * @param before  the claim as it was known
 * @param isNews  it, or its volume, is seen for the first time, after every kind was listed
 */
export function trackDemand(state: ClusterState, claim: Claim, before: Claim | undefined, isNews: boolean): void {
  const { pools, reservations } = state;
  const { uid, selectedNode, volumeName } = claim;
  const demand = pools.demandOf(uid);
  if (volumeName !== undefined && claim.bindCompleted) {
    if (demand) pools.settle(uid, state.volumes.get(volumeName)?.capacity);
    else if (isNews) recoverDemand(state, claim);
    return;
  }
  const assumed = reservations.of(uid);
  // A promise of our own that is not written yet is newer than what the API says.
  if (assumed?.target.kind === "provision" && assumed.node !== selectedNode) return;
  // The provisioner took it back, which is its final word.
  if (selectedNode === undefined) pools.end(uid);
  else trackSelected(state, claim, selectedNode, before);
}

/** A provisioner was told to make the claim's volume. */
function trackSelected(state: ClusterState, claim: Claim, node: NodeName, before: Claim | undefined): void {
  const { pools } = state;
  const demand = pools.demandOf(claim.uid);
  const made = volumeBytes(state, claim);
  const hasSettled = !demand && made !== undefined && before?.selectedNode === node;
  if (hasSettled) return;
  if (demand?.node !== node) pools.demand(claim.uid, promiseOf(claim, node));
  if (made === undefined) pools.resume(claim.uid);
  else pools.settle(claim.uid, made);
}

/** The volume is seen for the first time, or is not the claim's any more. */
export function trackVolume(state: ClusterState, { claimRef }: Volume, isNews: boolean): void {
  const claim = claimRef && state.get("claim", claimRef.claim);
  if (claim && claim.uid === claimRef.uid) trackDemand(state, claim, claim, isNews);
}

/** A claim that was bound before it was seen for the first time: by a provisioner, perhaps just now (decision 23). */
export function recoverDemand({ pools, volumes }: ClusterState, claim: Claim): void {
  const { uid, selectedNode, volumeName, bindCompleted } = claim;
  if (selectedNode === undefined || volumeName === undefined || !bindCompleted) return;
  const volume = volumes.get(volumeName);
  if (volume?.provisionedBy === undefined || volume.claimRef?.uid !== uid || pools.demandOf(uid)) return;
  pools.recover(uid, { class: claim.class, node: selectedNode, bytes: volume.capacity }, volume.resourceVersion);
}

/** What the claim's volume takes; undefined while there is none. */
function volumeBytes({ volumes }: ClusterState, { key, uid }: Claim): Bytes | undefined {
  for (const id of volumes.referringTo(key) ?? []) {
    const { claimRef, capacity } = volumes.at(id);
    if (claimRef?.uid === uid) return capacity;
  }
  return undefined;
}

function promiseOf({ class: name, request = zero }: Claim, node: NodeName): CapacityPromise {
  return { class: name, node, bytes: request };
}
