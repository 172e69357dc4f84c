/** What a claim says of capacity that somebody was told to take: kept in step with the ledger as claims and volumes change. */
import type { CapacityPromise } from "./capacity-ledger.ts";
import type { NodeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import type { Made } from "./pools.ts";
import { isMadeByHand } from "./provisioning.ts";
import { zero } from "./quantity.ts";
import type { ClusterState } from "./state.ts";
import type { VolumeId } from "./volume-table.ts";

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
    const id = state.volumes.id(volumeName);
    if (demand) pools.settle(uid, id === undefined ? undefined : madeOf(state, id));
    else if (isNews && id !== undefined) recoverDemand(state, claim, id);
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
  const id = volumeOf(state, claim);
  const hasSettled = !demand && id !== undefined && before?.selectedNode === node;
  if (hasSettled) return;
  const made = id === undefined ? undefined : madeOf(state, id);
  const isElsewhere = demand && made && !isReached(state, node, made);
  if (demand?.node !== node && !isElsewhere) pools.demand(claim.uid, promiseOf(claim, node));
  if (id === undefined) pools.resume(claim.uid);
  else pools.settle(claim.uid, made);
}

/** A claim's own volume is there. */
export function settleVolume(state: ClusterState, id: VolumeId): void {
  const uid = state.volumes.at(id).claimRef?.uid;
  if (uid !== undefined) state.pools.settle(uid, madeOf(state, id));
}

/** The volume is seen for the first time, or is not the claim's any more. One that a claim is not bound to is no news of it. */
export function trackVolume(state: ClusterState, { name, claimRef }: Volume, isNews: boolean): void {
  const claim = claimRef && state.get("claim", claimRef.claim);
  if (claim && claim.uid === claimRef.uid) trackDemand(state, claim, claim, isNews && claim.volumeName === name);
}

/** A volume that was never seen may still be made. One that came and went takes nothing any more. */
export function claimGone({ pools, volumes }: ClusterState, { uid }: Claim): void {
  const volume = pools.demandOf(uid)?.volume;
  if (volume !== undefined && volumes.id(volume) === undefined) pools.conclude(uid);
  else pools.settle(uid, undefined);
}

/** A claim that is still there waits for another volume; one that went before takes nothing any more. */
export function volumeGone(state: ClusterState, volume: Volume): void {
  trackVolume(state, volume, false);
  const { claim: key, uid } = volume.claimRef ?? {};
  if (key === undefined || uid === undefined || state.get("claim", key)?.uid === uid) return;
  if (state.pools.demandOf(uid)?.volume === volume.name) state.pools.conclude(uid);
}

/** A claim that was bound before it was seen for the first time: by a provisioner, perhaps just now (decision 23). */
function recoverDemand(state: ClusterState, { uid, class: name, selectedNode }: Claim, id: VolumeId): void {
  if (selectedNode === undefined || state.volumes.at(id).claimRef?.uid !== uid) return;
  const made = madeOf(state, id);
  if (made) state.pools.recover(uid, { class: name, node: selectedNode }, made);
}

/** The volume that is the claim's own. */
function volumeOf({ volumes }: ClusterState, { key, uid }: Claim): VolumeId | undefined {
  for (const id of volumes.referringTo(key) ?? []) if (volumes.at(id).claimRef?.uid === uid) return id;
  return undefined;
}

/** A volume that was made by hand takes nothing of what is published. */
function madeOf({ volumes }: ClusterState, id: VolumeId): Made | undefined {
  const volume = volumes.at(id);
  const topology = volumes.topologyOf(id);
  if (isMadeByHand(volume) || !topology) return undefined;
  return { volume: volume.name, bytes: volume.capacity, topology, version: volume.resourceVersion };
}

function isReached({ topologies }: ClusterState, node: NodeName, { topology }: Made): boolean {
  const entry = topologies.nodes.get(node);
  return !entry || topologies.reaches(entry, topology);
}

function promiseOf({ class: name, request = zero }: Claim, node: NodeName): CapacityPromise {
  return { class: name, node, bytes: request };
}
