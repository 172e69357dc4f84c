/**
 * Claims that no existing volume serves: whether a node can provision them, and all of a Pod's together (departure D3).
 *
 * @see VB §2.2 F4; kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go, checkVolumeProvisions
 */
import { driverOf } from "./drivers.ts";
import { type ClaimUid, compareText, type NodeName } from "./names.ts";
import type { Claim, StorageClass, Volume } from "./objects.ts";
import type { PoolKey } from "./plan.ts";
import { freeOf, limitOf, type Offer, type Pool, totalOf } from "./pools.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { NodeReason } from "./reasons.ts";
import type { Resting } from "./rests.ts";
import { matchesNode } from "./selectors.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";

const noProvisioner = new Set(["", "kubernetes.io/no-provisioner"]);

/**
 * Whether the volume was there before anybody asked for it: made by hand, or for a disk that sig-storage-local-static-provisioner
 * found. That signs its volumes by node, and no class names it.
 *
 * @see sig-storage-local-static-provisioner pkg/controller/controller.go, StartLocalController: the name
 */
export function isMadeByHand({ provisionedBy }: Volume): boolean {
  return provisionedBy === undefined || provisionedBy.startsWith("local-volume-provisioner-");
}

/**
 * Whether anybody provisions volumes of the class. Static local volumes are often set up under a made-up provisioner: then no
 * driver and no node carries the name, it never made a volume, and the class has volumes made by hand. The configuration
 * can say so either way.
 */
export function isProvisioned(state: ClusterState, { name, provisioner }: StorageClass): boolean {
  if (noProvisioner.has(provisioner)) return false;
  const configured = state.provisioning.get(name);
  if (configured !== undefined) return configured === "dynamic";
  const driver = driverOf(provisioner);
  // In-tree, and never moved to CSI: the controller manager provisions.
  if (driver.startsWith("kubernetes.io/")) return true;
  const known =
    state.get("driver", driver) !== undefined ||
    state.driverNodes.has(driver) ||
    state.provisionedBy.has(driver) ||
    state.provisionedBy.has(provisioner);
  return known || !state.handMade.has(name);
}

/** What provisioning a claim takes, prepared once a call. */
export interface Provision {
  readonly claim: Claim;
  readonly class: StorageClass;
  readonly bytes: Bytes;
  /** Why no node can ever provision it. */
  readonly never: NodeReason | undefined;
  /** The driver publishes its capacity, and the claim asks for a size. */
  readonly needsCapacity: boolean;
  /** The driver is registered on some node, and so must be on the chosen one (FR-032). */
  readonly needsDriver: boolean;
  /** Where a provisioner refused the claim a short time ago (departure D18). */
  readonly resting: readonly Resting[];
  readonly restingNodes: ReadonlySet<NodeName>;
  readonly restingPools: ReadonlySet<PoolKey>;
}

export function provisionOf(state: ClusterState, claim: Claim, storageClass: StorageClass): Provision {
  const driver = driverOf(storageClass.provisioner);
  const provisioned = isProvisioned(state, storageClass);
  const resting = state.rests.of(claim.uid);
  return {
    claim,
    class: storageClass,
    bytes: claim.request ?? zero,
    // Provisioners refuse a claim with a selector, for ever (departure D16).
    never: !provisioned ? "noMatchingVolume" : claim.selector ? "selectorNotProvisionable" : undefined,
    needsCapacity: claim.request !== undefined && publishesCapacity(state, storageClass),
    needsDriver: state.driverNodes.has(driver),
    resting,
    restingNodes: new Set(resting.map(({ node }) => node)),
    restingPools: new Set(resting.flatMap(({ pool }) => (pool === undefined ? [] : [pool]))),
  };
}

/**
 * Whether a node without capacity for the class is to be refused. external-provisioner publishes for classes that name the
 * driver itself; for one that names the in-tree plugin silence means nothing, and only what somebody published counts.
 *
 * @see VB §2.2 F4d, F4e; external-provisioner pkg/capacity/capacity.go, onSCAddOrUpdate
 */
export function publishesCapacity(state: ClusterState, { name, provisioner }: StorageClass): boolean {
  if (state.pools.nodes.has(name)) return true;
  const driver = driverOf(provisioner);
  if (!state.get("driver", driver)?.storageCapacity) return false;
  return driver === provisioner || state.pools.offersFor(name).size > 0;
}

/** Amounts that a decision may use of a pool, for claims of one class. */
export interface Room {
  readonly offer: Offer;
  readonly pool: Pool;
  /** The largest single volume. */
  readonly limit: Bytes;
  readonly free: Bytes;
}

/**
 * @param own    claims of the Pod: what is already promised to them counts as free for them
 * @param avoid  leave alone what other Pods hold
 */
export function roomsOf(
  state: ClusterState,
  entry: NodeEntry,
  { class: { name } }: Provision,
  own: ReadonlySet<ClaimUid>,
  avoid: boolean,
): Room[] {
  return state.pools.offersOn(entry, name).map((offer) => {
    const { pool } = offer;
    let free = freeOf(pool);
    for (const claim of own) {
      const demand = pool.demands.size > 0 ? state.pools.demandOf(claim) : undefined;
      if (demand?.pool === pool) free = addBytes(free, demand.bytes);
    }
    return { offer, pool, limit: limitOf(offer), free: avoid ? subtractBytes(free, pool.held) : free };
  });
}

/**
 * Why this claim alone cannot be provisioned on the node; undefined where it can.
 *
 * @param isUnderway  the provisioner has been told to make it here: what the driver publishes may lack its bytes already, so
 *                    only a node without any published capacity is refused
 */
export function whyNotProvision(
  state: ClusterState,
  entry: NodeEntry,
  { provision, isUnderway }: { readonly provision: Provision; readonly isUnderway: boolean },
  rooms: () => readonly Room[],
): NodeReason | undefined {
  if (provision.never !== undefined) return provision.never;
  const { node } = entry;
  if (!matchesNode(provision.class.allowedTopologies, node.labels, node.name)) return "topologyNotAllowed";
  if (provision.needsDriver && !isRegistered(state, node.name, driverOf(provision.class.provisioner)))
    return "driverMissing";
  if (isUnderway) return provision.needsCapacity && rooms().length === 0 ? "noCapacityPublished" : undefined;
  const full = provision.needsCapacity ? whyNoRoom(provision, rooms()) : undefined;
  return full ?? (isResting(provision, node.name, rooms) ? "provisioningBackoff" : undefined);
}

/** A node rests if it was refused itself, or if all it could draw on are pools that were refused on other nodes. */
function isResting({ restingNodes, restingPools }: Provision, node: NodeName, rooms: () => readonly Room[]): boolean {
  if (restingNodes.has(node)) return true;
  if (restingPools.size === 0) return false;
  const reached = rooms();
  return reached.length > 0 && reached.every(({ pool }) => restingPools.has(pool.key));
}

function isRegistered(state: ClusterState, node: NodeName, driver: string): boolean {
  return state.get("csiNode", node)?.drivers.includes(driver) ?? false;
}

function whyNoRoom({ bytes }: Provision, rooms: readonly Room[]): NodeReason | undefined {
  if (rooms.length === 0) return "noCapacityPublished";
  let reason: NodeReason = "claimTooLarge";
  for (const { pool, limit, free } of rooms) {
    if (limit < bytes) continue;
    if (free >= bytes) return undefined;
    if (totalOf(pool) >= bytes) reason = "capacityAssumed";
    else if (reason === "claimTooLarge") reason = "notEnoughSpace";
  }
  return reason;
}

export function compareLargestFirst(a: { bytes: Bytes; claim: Claim }, b: { bytes: Bytes; claim: Claim }): number {
  if (a.bytes !== b.bytes) return a.bytes > b.bytes ? -1 : 1;
  return compareText(a.claim.key, b.claim.key);
}
