/** The smallest change that would let a Pod be placed, in one sentence. */
import { boundClaim, reachesBound } from "./migration.ts";
import { type ClaimKey, compareText, type NodeName } from "./names.ts";
import { accessModeBits, type Claim } from "./objects.ts";
import { addBytes, type Bytes, formatBytes, zero } from "./quantity.ts";
import type { NodeReason, PodReason } from "./reasons.ts";
import type { ClusterState } from "./state.ts";

/** A node that refuses, and what stands in the way of each claim. */
export interface Stuck {
  readonly node: NodeName;
  readonly troubles: readonly Trouble[];
  /** Bound claims whose volumes reach this node and not every other. */
  readonly pinnedBy: readonly Claim[];
}

interface Trouble {
  readonly claim: Claim;
  readonly reason: NodeReason;
  /** How much the fullest room that would do lacks for the claims of the Pod. */
  readonly short?: Bytes;
}

/** The node with the fewest claims in trouble, then the fewest bytes, then by name; and what to do there. */
export function suggestForNodes(state: ClusterState, stuck: readonly Stuck[]): string | undefined {
  const [best] = stuck
    .filter(({ troubles }) => troubles.length > 0)
    .map((node) => ({ node, pinned: node.troubles.some(isPinned), bytes: bytesOf(node) }))
    .sort(
      (a, b) =>
        Number(a.pinned) - Number(b.pinned) ||
        a.node.troubles.length - b.node.troubles.length ||
        (a.bytes === b.bytes ? 0 : a.bytes < b.bytes ? -1 : 1) ||
        compareText(a.node.node, b.node.node),
    );
  if (!best) return undefined;
  const { node, troubles, pinnedBy } = best.node;
  const remedies = troubles.map((trouble) => remedy(state, node, trouble));
  return [...remedies, ...waysOut(best.node, pinnedBy)].join("; ");
}

/** No other node will do, and this one is full: a dead end that nothing but people can end. */
function waysOut({ node, troubles }: Stuck, pinnedBy: readonly Claim[]): string[] {
  const isFull = troubles.some(({ reason }) => reason === "notEnoughSpace" || reason === "claimTooLarge");
  if (!isFull || pinnedBy.length === 0) return [];
  const keys = pinnedBy.map(({ key }) => key).join(" and ");
  return [`no other node will do while claim ${keys} pins the Pod to ${node}: or delete it, if its data may go`];
}

/** Nothing that is done on this node helps: a bound volume, or a promise, is elsewhere. */
function isPinned({ reason }: { reason: NodeReason }): boolean {
  return reason === "volumeNodeConflict" || reason === "selectedOtherNode" || reason === "preboundElsewhere";
}

function bytesOf({ troubles }: Stuck): Bytes {
  return troubles.reduce((sum, { claim }) => addBytes(sum, claim.request ?? zero), zero);
}

function remedy(state: ClusterState, node: NodeName, { claim, reason, short }: Trouble): string {
  const size = formatBytes(claim.request ?? zero);
  switch (reason) {
    case "noMatchingVolume":
    case "notEnoughVolumes":
      return `Add a volume of class ${claim.class} with at least ${size} (${claim.mode}, ${modesOf(claim)}${claim.selector ? ", labels matching the claim's selector" : ""}) on node ${node} for claim ${claim.key}`;
    case "selectorNotProvisionable":
      return `Remove the selector of claim ${claim.key}, or add a volume of class ${claim.class} that it matches on node ${node}`;
    case "volumeAssumed":
    case "capacityAssumed":
      return `Wait: what claim ${claim.key} needs on node ${node} is promised to another Pod right now`;
    case "claimTooLarge":
    case "notEnoughSpace":
      return `Free space for ${size} of class ${claim.class} on node ${node} for claim ${claim.key}${short === undefined ? "" : `: ${formatBytes(short)} are missing`}`;
    case "noCapacityPublished":
      return `Check the provisioner of class ${claim.class}: it publishes no capacity for node ${node}`;
    case "topologyNotAllowed":
      return `Let allowedTopologies of class ${claim.class} include node ${node}`;
    case "driverMissing":
      return `Run the driver of class ${claim.class} on node ${node}`;
    case "provisioningBackoff":
      return `Wait: the provisioner refused claim ${claim.key} on node ${node} a short time ago`;
    case "volumeNodeConflict":
      return isReachable(state, claim)
        ? `Claim ${claim.key} is bound to volume ${claim.volumeName}, which node ${node} cannot reach: offer the node that can`
        : `Claim ${claim.key} is bound to volume ${claim.volumeName}, which no node can reach: bring back a node that its node affinity matches, or delete the claim if its data may go`;
    case "boundVolumeMissing":
      return `Claim ${claim.key} is bound to volume ${claim.volumeName}, which does not exist: restore it, or delete the claim`;
    case "selectedOtherNode": {
      const elsewhere = state.reservations.of(claim.uid)?.node ?? claim.selectedNode;
      return `Claim ${claim.key} is being served on node ${elsewhere}: offer that node`;
    }
    case "preboundElsewhere":
      return `A volume is reserved for claim ${claim.key} on another node: offer that node, or clear its claimRef`;
    case "nodeUnknown":
      return `Node ${node} does not exist`;
  }
}

function isReachable(state: ClusterState, claim: Claim): boolean {
  const bound = boundClaim(state, claim, []);
  for (const entry of state.topologies.nodes.values()) if (reachesBound(state, entry, bound)) return true;
  return false;
}

function modesOf({ accessModes }: Claim): string {
  const names = Object.entries(accessModeBits).flatMap(([name, bit]) => ((accessModes & bit) === 0 ? [] : [name]));
  return names.length === 0 ? "any access mode" : names.join("+");
}

export function suggestForPod(state: ClusterState, reason: PodReason, key: ClaimKey): string {
  const claim = state.get("claim", key);
  switch (reason) {
    case "claimNotFound":
      return `Create claim ${key}; where a controller made the Pod, deleting the Pod re-creates both`;
    case "claimAwaited":
      return `Wait for claim ${key}; check that the ephemeral-volume controller runs`;
    case "claimLost":
      return `Claim ${key} has lost its volume ${claim?.volumeName}: restore the volume, or delete the claim`;
    case "claimDeleting":
      return `Claim ${key} is being deleted: let it go and create it anew`;
    case "claimNotOwned":
      return `Delete claim ${key}, or rename the Pod's volume: the name is taken by a claim of somebody else`;
    case "bindInProgress":
      return `Wait: the PV controller is binding claim ${key} to volume ${claim?.volumeName}`;
    case "unboundImmediate":
      if (!claim || claim.class === "")
        return `Claim ${key} has no class: give it one, or a volume that the PV controller can bind`;
      return state.get("class", claim.class)
        ? `Class ${claim.class} binds immediately: the PV controller must bind claim ${key} first; use WaitForFirstConsumer`
        : `StorageClass ${claim.class} does not exist: create it, or bind claim ${key} by hand`;
  }
}
