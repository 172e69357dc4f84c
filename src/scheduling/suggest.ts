/**
 * The smallest change that would let a Pod be placed, in one sentence. Each sentence is a promise: whoever does all that it says
 * finds that the Pod fits, unless it says "ask again" or data is out of reach.
 */
import { type BoundClaim, boundClaim, reachesBound } from "./migration.ts";
import { type ClaimKey, compareText, type NodeName } from "./names.ts";
import { modesText } from "./near-misses.ts";
import { nearestName } from "./near-name.ts";
import type { Claim, Node } from "./objects.ts";
import { addBytes, type Bytes, compareBytes, exactBytes, zero } from "./quantity.ts";
import type { NodeReason, PodReason } from "./reasons.ts";
import { distanceOf } from "./shortage.ts";
import type { ClusterState } from "./state.ts";
import type { Stuck, Trouble } from "./troubles.ts";

/** A node that was not offered and would do, at once or once its own troubles are mended. */
export interface Elsewhere {
  readonly node: NodeName;
  readonly stuck?: Stuck;
}

/**
 * What to do on the nearest of the nodes.
 *
 * @param elsewhere  asked only where nothing done on these nodes helps
 */
export function suggestForNodes(
  state: ClusterState,
  stuck: readonly Stuck[],
  elsewhere: () => Elsewhere | undefined,
): string | undefined {
  const best = nearest(stuck);
  if (!best) return undefined;
  if (!isPinned(best)) return onNode(state, best);
  const other = elsewhere();
  const pins = best.troubles.filter(({ reason }) => pinning.has(reason));
  const says = pins.map((trouble) => pinText(state, best.node, trouble, other));
  return [...says, ...(other ? [offer(state, other)] : [])].join("; ");
}

/** The node with the fewest things to mend, then the fewest bytes missing, then by name; pinned ones last. */
export function nearest(stuck: readonly Stuck[]): Stuck | undefined {
  let best: Stuck | undefined;
  for (const one of stuck) {
    if (one.troubles.length > 0 && (!best || compareStuck(one, best) < 0)) best = one;
  }
  return best;
}

function compareStuck(a: Stuck, b: Stuck): number {
  if (isPinned(a) !== isPinned(b)) return isPinned(a) ? 1 : -1;
  if (a.troubles.length !== b.troubles.length) return a.troubles.length - b.troubles.length;
  return compareBytes(farness(a), farness(b)) || compareText(a.node, b.node);
}

const pinning: ReadonlySet<NodeReason> = new Set(["volumeNodeConflict", "selectedOtherNode", "preboundElsewhere"]);

/** Nothing that is done on this node helps: a bound volume, or a promise, is elsewhere. */
export function isPinned({ troubles }: Stuck): boolean {
  return troubles.some(({ reason }) => pinning.has(reason));
}

function farness({ troubles }: Stuck): Bytes {
  return troubles
    .map((trouble) => (trouble.short === undefined ? trouble.bytes : distanceOf(trouble)))
    .reduce(addBytes, zero);
}

function onNode(state: ClusterState, stuck: Stuck): string {
  const { node, troubles } = stuck;
  return [...troubles.flatMap((trouble) => remedies(state, node, trouble)), ...waysOut(state, stuck)].join("; ");
}

function offer(state: ClusterState, { node, stuck }: Elsewhere): string {
  return stuck ? `offer node ${node}, and there: ${onNode(state, stuck)}` : `offer node ${node}`;
}

/** No other node will do, and this one is full: a dead end that nothing but people can end. */
function waysOut(state: ClusterState, { node, troubles, bound }: Stuck): string[] {
  if (!troubles.some(({ reason }) => reason === "notEnoughSpace")) return [];
  const reachesHereOnly = (one: BoundClaim): boolean => reachOf(state, one).every(({ name }) => name === node);
  const keys = bound.filter(reachesHereOnly).map(({ claim }) => claim.key);
  if (keys.length === 0) return [];
  const [pin, it] =
    keys.length === 1
      ? [`claim ${keys[0]} pins`, "it, if its"]
      : [`claims ${keys.join(" and ")} pin`, "them, if their"];
  return [`no other node will do while ${pin} the Pod to ${node}: or delete ${it} data may go`];
}

function reachOf(state: ClusterState, bound: BoundClaim): Node[] {
  const entries = [...state.topologies.nodes.values()];
  return entries.filter((entry) => reachesBound(state, entry, bound)).map(({ node }) => node);
}

function remedies(state: ClusterState, node: NodeName, trouble: Trouble): string[] {
  const { reason, claims, bytes, isStray } = trouble;
  const [claim] = claims;
  if (!claim) return [];
  const name = trouble.class ?? claim.class;
  const keys = `${claims.length === 1 ? "claim" : "claims"} ${claims.map(({ key }) => key).join(" and ")}`;
  const need = claims.length === 1 ? "needs" : "need";
  switch (reason) {
    case "noMatchingVolume":
    case "notEnoughVolumes":
    case "selectorNotProvisionable":
      if (isStray)
        return [
          `Take the annotation volume.kubernetes.io/selected-node off ${keys}, which no provisioner serves, and ask again`,
        ];
      return [`Add ${wantedVolume(claim)} on node ${node} for ${keys}`];
    case "volumeAssumed":
    case "capacityAssumed":
      return [`Wait: what ${keys} ${need} on node ${node} is promised to another Pod right now`];
    case "claimTooLarge":
    case "notEnoughSpace":
      return spaceText(node, keys, trouble);
    case "noCapacityPublished": {
      const place = state.pools.nodes.nameOf(name);
      const what = `${keys} ${need} ${exactBytes(bytes)}`;
      if (place !== undefined) return [`Put a size into ${place} of node ${node}, for class ${name}: ${what}`];
      return [`Check the provisioner of class ${name}: it publishes no capacity for node ${node}, and ${what}`];
    }
    case "topologyNotAllowed":
      return [`Let allowedTopologies of class ${name} include node ${node}`];
    case "driverMissing":
      return [`Run the driver of class ${name} on node ${node}`];
    case "provisioningBackoff":
      return [`Wait: the provisioner refused ${keys} on node ${node} a short time ago`];
    case "boundVolumeMissing":
      return [
        `Restore volume ${claim.volumeName}, to which ${keys} is bound and which does not exist; or delete the claim`,
      ];
    case "nodeUnknown":
    case "volumeNodeConflict":
    case "selectedOtherNode":
    case "preboundElsewhere":
      throw new Error(`${reason} is not mended on the node`);
  }
}

function spaceText(node: NodeName, keys: string, { claims, bytes, short = zero, limits = [] }: Trouble): string[] {
  const raise = limits.map(
    ({ class: limited, is, asked }) =>
      `Let the largest volume of class ${limited} on node ${node} be ${exactBytes(asked)} instead of ${exactBytes(is)} for ${keys}`,
  );
  if (short <= zero) return raise;
  const names = [...new Set(claims.map((one) => one.class))].join(" and ");
  return [
    ...raise,
    `Free space for ${exactBytes(bytes)} of class ${names} on node ${node} for ${keys}: ${exactBytes(short)} are missing`,
  ];
}

/** "a volume of class local with at least 5Gi (Filesystem, ReadWriteOnce)": all that a new volume must be to serve the claim. */
function wantedVolume({ class: name, request, mode, accessModes, attributesClass, selector }: Claim): string {
  const properties = [
    mode,
    modesText(accessModes),
    ...(attributesClass === "" ? [] : [`volumeAttributesClass ${attributesClass}`]),
    ...(selector ? ["labels matching the claim's selector"] : []),
  ];
  return `a volume of class ${name} with at least ${exactBytes(request ?? zero)} (${properties.join(", ")})`;
}

/** Why the Pod is held elsewhere, where nothing that is done on the node itself would help. */
function pinText(
  state: ClusterState,
  node: NodeName,
  { reason, claims }: Trouble,
  other: Elsewhere | undefined,
): string {
  const [claim] = claims;
  if (!claim) throw new Error("a trouble without a claim");
  const { key, volumeName } = claim;
  switch (reason) {
    case "volumeNodeConflict": {
      const says = `Claim ${key} is bound to volume ${volumeName}, which`;
      if (other) return `${says} node ${node} cannot reach`;
      const isReachable = reachOf(state, boundClaim(state, claim, [])).length > 0;
      return isReachable
        ? `${says} node ${node} cannot reach, and no node can hold all claims of the Pod: delete the claim if its data may go, and ask again`
        : `${says} no node can reach: bring back a node that its node affinity matches, or delete the claim if its data may go`;
    }
    case "selectedOtherNode": {
      const says = `Claim ${key} is being served on node ${state.reservations.of(claim.uid)?.node ?? claim.selectedNode}`;
      return other
        ? says
        : `${says}, which cannot hold the other claims of the Pod: wait for its volume, and ask again`;
    }
    default: {
      const says = `A volume is reserved for claim ${key} where node ${node} does not reach it`;
      return other ? says : `${says}: clear its claimRef, and ask again`;
    }
  }
}

/** What to do about a claim that keeps the Pod from every node; where nobody can do anything but wait, that. */
export function suggestForPod(state: ClusterState, reason: PodReason, key: ClaimKey): string {
  const claim = state.get("claim", key);
  switch (reason) {
    case "claimNotFound":
      return `Create claim ${key}; where a StatefulSet made the Pod, deleting the Pod re-creates both`;
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
      if (state.get("class", claim.class)) {
        return `Class ${claim.class} binds immediately: the PV controller must bind claim ${key} first; or use a class with WaitForFirstConsumer`;
      }
      return `StorageClass ${claim.class} does not exist: create it, ${meantClass(state, claim)}or bind claim ${key} by hand`;
  }
}

/** A claim keeps its class for life. */
function meantClass(state: ClusterState, { key, class: name }: Claim): string {
  const meant = nearestName(name, [...state.keys("class")].sort());
  return meant === undefined ? "" : `make claim ${key} anew with class ${meant}, `;
}
