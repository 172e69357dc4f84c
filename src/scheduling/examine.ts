/** Nodes that refuse one Pod, in words: each volume of its classes, and why no new one can be made. */
import { driverText } from "./drivers.ts";
import { affinityText } from "./hints.ts";
import { whyNot } from "./matching.ts";
import { affinityOn, type BoundClaim, reachesBound } from "./migration.ts";
import { type ClaimKey, compareText, type NodeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import { isUnderway, type Open } from "./open-claim.ts";
import type { ClaimExplanation } from "./plan.ts";
import type { Planner } from "./planner.ts";
import { totalOf } from "./pools.ts";
import type { Room } from "./provisioning.ts";
import { atLeastZero, type Bytes, formatBytes, zero } from "./quantity.ts";
import { type NodeReason, nodeReasons } from "./reasons.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry, Topology } from "./topology.ts";
import type { Stuck, Trouble } from "./troubles.ts";

/** Volumes listed for a claim on a node; the rest are counted in a last line. */
const refusedVolumesMax = 20;
/** Volumes looked at between two pauses. */
const stepVolumes = 2_000;

type Refused = { readonly volume: string; readonly why: string };

/** The volumes of a Pod's classes by where they are reachable, in name order. */
export class VolumeLists {
  readonly #state: ClusterState;
  readonly #byClass = new Map<string, Map<Topology, Volume[]>>();
  readonly #sorted = new Set<Volume[]>();

  constructor(state: ClusterState) {
    this.#state = state;
  }

  /** Looks at every volume of the cluster; yields now and then, so that whoever must not be held up can pause. */
  *fill(classes: ReadonlySet<string>): Generator<undefined> {
    const { volumes } = this.#state;
    for (const name of classes) this.#byClass.set(name, new Map());
    let looked = 0;
    for (const name of volumes.names()) {
      if (++looked % stepVolumes === 0) yield;
      const id = volumes.id(name);
      const topology = id === undefined ? undefined : volumes.topologyOf(id);
      if (id === undefined || !topology) continue;
      const volume = volumes.at(id);
      const byTopology = this.#byClass.get(volume.class);
      if (!byTopology) continue;
      const here = byTopology.get(topology);
      if (here) here.push(volume);
      else byTopology.set(topology, [volume]);
    }
  }

  /** The first volumes that a node reaches or that are reserved for the claim, and how many there are in all. */
  of(entry: NodeEntry, claim: Claim): { readonly first: readonly Volume[]; readonly count: number } {
    const { topologies, volumes } = this.#state;
    const byTopology = this.#byClass.get(claim.class);
    const lists = [topologies.everywhere, ...entry.topologies].map((topology) =>
      this.#inOrder(byTopology?.get(topology) ?? []),
    );
    const first = lists.flatMap((list) => list.slice(0, refusedVolumesMax));
    let count = lists.reduce((sum, list) => sum + list.length, 0);
    for (const id of volumes.referringTo(claim.key) ?? []) {
      const volume = volumes.at(id);
      if (lists.some((list) => list.includes(volume))) continue;
      first.push(volume);
      count++;
    }
    return { first: first.sort(compareNames).slice(0, refusedVolumesMax), count };
  }

  /** Sorted where somebody asks, once: most volumes of a large cluster are on nodes that are not shown. */
  #inOrder(list: Volume[]): readonly Volume[] {
    if (this.#sorted.has(list)) return list;
    this.#sorted.add(list);
    return list.sort(compareNames);
  }
}

function compareNames(a: Volume, b: Volume): number {
  return compareText(a.name, b.name);
}

/** What is said of each claim on a node that refuses, in name order. */
export function claimsOn(
  state: ClusterState,
  planner: Planner,
  lists: VolumeLists,
  entry: NodeEntry,
  { bound, diagnoses, troubles }: Stuck,
): ClaimExplanation[] {
  const takenBy = new Map(
    diagnoses.flatMap(({ volume, open }) => (volume === undefined ? [] : [[volume, open.claim.key]])),
  );
  const claims = [
    ...bound.map((one) => explainBound(state, entry, one)),
    ...diagnoses.map((diagnosis): ClaimExplanation => {
      const { open, volume } = diagnosis;
      const claim = open.claim.key;
      if (volume !== undefined) return { claim, volume: state.volumes.at(volume).name };
      const trouble = troubles.find(({ claims }) => claims.includes(open.claim));
      const reason = diagnosis.reason ?? trouble?.reason;
      if (reason === undefined) return { claim, provision: open.class.name };
      const why = provisioningText(state, planner, entry, { open, reason, trouble });
      const refused = [...listed(state, lists, entry, open, takenBy)];
      if (why !== undefined) refused.push({ volume: "(new)", why });
      return { claim, refused };
    }),
  ];
  return claims.sort((a, b) => compareText(a.claim, b.claim));
}

function explainBound(state: ClusterState, entry: NodeEntry, bound: BoundClaim): ClaimExplanation {
  const { key, volumeName = "" as never } = bound.claim;
  if (reachesBound(state, entry, bound)) return { claim: key, bound: volumeName };
  const volume = state.volumes.get(volumeName);
  const why = volume
    ? `bound to it, and its node affinity does not match: ${affinityText(affinityOn(state, entry.node, volume))}`
    : "bound to it, and it does not exist";
  return { claim: key, refused: [{ volume: volumeName, why }] };
}

function listed(
  state: ClusterState,
  lists: VolumeLists,
  entry: NodeEntry,
  open: Open,
  takenBy: ReadonlyMap<number, ClaimKey>,
): Refused[] {
  const { first, count } = lists.of(entry, open.claim);
  const refused: Refused[] = first.map((volume) => ({
    volume: volume.name,
    why: whyOut(state, volume, open, takenBy),
  }));
  if (count === first.length) return refused;
  return [...refused, { volume: `(${count - first.length} more)`, why: "out for reasons like these" }];
}

function whyOut(state: ClusterState, volume: Volume, open: Open, takenBy: ReadonlyMap<number, ClaimKey>): string {
  const { claim, assumption, reserved } = open;
  const why = whyNot(claim, volume, state.volumes.keptFor(volume.name));
  if (why !== undefined) return why;
  const assumed = state.reservations.assumedFor(volume.name);
  if (assumed) return `assumed for claim ${assumed.claim}`;
  const sibling = takenBy.get(state.volumes.id(volume.name) ?? -1);
  if (sibling !== undefined) return `needed by claim ${sibling} of the same Pod`;
  if (isUnderway(open)) return "not looked at: the claim has been given to a provisioner";
  if (assumption?.target.kind === "volume") return `not looked at: the claim is promised ${assumption.target.volume}`;
  if (volume.claimRef) return "reserved for the claim, but not reachable from this node";
  const [mine] = reserved;
  if (mine !== undefined) return `not looked at: ${state.volumes.at(mine).name} is reserved for the claim`;
  return "its file system, which other volumes share, has no room left for the claim";
}

/** One line on why no new volume can be made; undefined where the class is static and volumes say it all. */
function provisioningText(
  state: ClusterState,
  planner: Planner,
  entry: NodeEntry,
  {
    open,
    reason,
    trouble,
  }: { readonly open: Open; readonly reason: NodeReason; readonly trouble: Trouble | undefined },
): string | undefined {
  const { name, provisioner } = open.class;
  if (reason === "selectedOtherNode") {
    return `being provisioned or bound on node ${open.assumption?.node ?? open.selectedNode}`;
  }
  if (open.never === "noMatchingVolume") {
    const isStatic = provisioner === "" || provisioner === "kubernetes.io/no-provisioner";
    return isStatic ? undefined : `no driver named ${driverText(provisioner)}`;
  }
  if (open.never === "selectorNotProvisionable") return "a claim with a selector cannot be provisioned";
  if (reason === "topologyNotAllowed") {
    return `allowedTopologies of class ${name} exclude the node: ${affinityText(open.class.allowedTopologies)}`;
  }
  if (reason === "driverMissing") return `driver ${driverText(provisioner)} is not registered on the node`;
  if (nodeReasons[reason] !== nodeReasons.notEnoughSpace) return undefined;
  const rooms = planner.rooms(entry, open);
  if (reason === "provisioningBackoff") return restText(entry.node.name, open, rooms);
  if (rooms.length === 0) {
    const none = state.pools.nodes.whyNone(entry.node, name);
    if (none !== undefined) return `no capacity for class ${name}: ${none}`;
    const anywhere = state.pools.offersFor(name).size > 0;
    return `no capacity published for class ${name} ${anywhere ? "on this node" : "anywhere"}`;
  }
  const { claims = [], bytes = zero } = trouble ?? {};
  const together = claims.length > 1 ? ` (${formatBytes(bytes)} with the Pod's other claims)` : "";
  const shown = (amount: Bytes): string => formatBytes(atLeastZero(amount));
  const pools = rooms.map(
    ({ pool, limit, free }) => `${shown(free)} free of ${shown(totalOf(pool))}, largest volume ${shown(limit)}`,
  );
  return `needs ${formatBytes(open.bytes)}${together}: ${pools.join("; ")}`;
}

function restText(name: NodeName, { resting }: Open, rooms: readonly Room[]): string | undefined {
  const rest =
    resting.find(({ node }) => node === name) ??
    resting.find(({ pool }) => rooms.some((room) => room.pool.key === pool));
  if (!rest) return undefined;
  const { node, refusals, sinceMs, leftMs } = rest;
  const what = node === name ? "this node" : `node ${node}, which draws on the same capacity,`;
  const times = refusals === 1 ? "" : `, ${refusals} times in a row`;
  const seconds = (ms: number): number => Math.ceil(ms / 1000);
  return `the provisioner refused ${what} ${seconds(sinceMs)} s ago${times}; tried again in ${seconds(leftMs)} s`;
}
