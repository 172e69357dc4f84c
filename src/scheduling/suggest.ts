/** The smallest change that would let a Pod be placed, in one sentence. */
import { type ClaimKey, compareText, type NodeName } from "./names.ts";
import { accessModeBits, type Claim } from "./objects.ts";
import { addBytes, type Bytes, formatBytes, zero } from "./quantity.ts";
import type { NodeReason, PodReason } from "./reasons.ts";
import type { ClusterState } from "./state.ts";

/** A node that refuses, and what stands in the way of each claim. */
export interface Stuck {
  readonly node: NodeName;
  readonly troubles: readonly { readonly claim: Claim; readonly reason: NodeReason }[];
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
  const { node, troubles } = best.node;
  return troubles.map(({ claim, reason }) => remedy(state, node, claim, reason)).join("; ");
}

/** Nothing that is done on this node helps: a bound volume, or a promise, is elsewhere. */
function isPinned({ reason }: { reason: NodeReason }): boolean {
  return reason === "volumeNodeConflict" || reason === "selectedOtherNode" || reason === "preboundElsewhere";
}

function bytesOf({ troubles }: Stuck): Bytes {
  return troubles.reduce((sum, { claim }) => addBytes(sum, claim.request ?? zero), zero);
}

function remedy(state: ClusterState, node: NodeName, claim: Claim, reason: NodeReason): string {
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
      return `Free space for ${size} of class ${claim.class} on node ${node} for claim ${claim.key}`;
    case "noCapacityPublished":
      return `Check the provisioner of class ${claim.class}: it publishes no capacity for node ${node}`;
    case "topologyNotAllowed":
      return `Let allowedTopologies of class ${claim.class} include node ${node}`;
    case "driverMissing":
      return `Run the driver of class ${claim.class} on node ${node}`;
    case "provisioningBackoff":
      return `Wait: the provisioner refused claim ${claim.key} on node ${node} a short time ago`;
    case "volumeNodeConflict":
      return `Claim ${claim.key} is bound to volume ${claim.volumeName}, which node ${node} cannot reach: offer the node that can`;
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
