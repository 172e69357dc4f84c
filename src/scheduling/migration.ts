/**
 * Bound claims, and in-tree volumes among them whose plugin a CSI driver has replaced on a node: there the volume's zone is
 * looked up under the driver's own topology key. Only volumes that are bound are read this way, as upstream has it.
 *
 * @see VB §3.5; csi-translation-lib plugins/in_tree_volume.go, translateTopologyFromInTreeToCSI
 */
import { compareText } from "./names.ts";
import type { Claim, Node, Volume } from "./objects.ts";
import type { Doubt } from "./plan.ts";
import { matchesNode, type NodeSelector, nodeSelector, type Requirement, type Term } from "./selectors.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry, Topology } from "./topology.ts";

/** Plugins that migrate and have zones. Portworx migrates too, without a topology of its own. */
const zoneKeys: ReadonlyMap<string, string> = new Map([
  ["kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"],
  ["kubernetes.io/gce-pd", "topology.gke.io/zone"],
  ["kubernetes.io/azure-disk", "topology.disk.csi.azure.com/zone"],
  ["kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"],
]);

const zone = "topology.kubernetes.io/zone";
const region = "topology.kubernetes.io/region";
const betaZone = "failure-domain.beta.kubernetes.io/zone";
const betaRegion = "failure-domain.beta.kubernetes.io/region";
/** Between the zones of a volume that is in several. */
const zoneDelimiter = "__";

/** A bound claim with all that decides which nodes reach its volume. */
export interface BoundClaim {
  readonly claim: Claim;
  /** Undefined: the volume does not exist. */
  readonly topology: Topology | undefined;
  /** How the volume's affinity reads where its in-tree plugin is migrated. */
  readonly migrated: { readonly plugin: string; readonly affinity: NodeSelector | undefined } | undefined;
}

/** @param doubts  a volume that the cache lacks is added here */
export function boundClaim(state: ClusterState, claim: Claim, doubts: Doubt[]): BoundClaim {
  const id = claim.volumeName === undefined ? undefined : state.volumes.id(claim.volumeName);
  if (id === undefined) {
    doubts.push({ kind: "volume", key: claim.volumeName ?? "" });
    return { claim, topology: undefined, migrated: undefined };
  }
  const volume = state.volumes.at(id);
  const { plugin } = volume;
  const migrates = plugin !== undefined && zoneKeys.has(plugin);
  return {
    claim,
    topology: state.volumes.topologyOf(id),
    migrated: migrates ? { plugin, affinity: migratedAffinity(volume) } : undefined,
  };
}

/** Whether the node reaches the claim's volume, which exists. */
export function reachesBound(state: ClusterState, entry: NodeEntry, { topology, migrated }: BoundClaim): boolean {
  if (topology === undefined) return false;
  const { node } = entry;
  if (migrated && isMigratedOn(state, node, migrated.plugin)) {
    return matchesNode(migrated.affinity, node.labels, node.name);
  }
  return state.topologies.reaches(entry, topology);
}

/** The affinity of a bound volume as it counts on this node. */
export function affinityOn(state: ClusterState, node: Node, volume: Volume): NodeSelector | undefined {
  const { plugin } = volume;
  const migrated = plugin !== undefined && isMigratedOn(state, node, plugin);
  return migrated ? migratedAffinity(volume) : volume.affinity;
}

function isMigratedOn(state: ClusterState, node: Node, plugin: string): boolean {
  return state.get("csiNode", node.name)?.migratedPlugins.includes(plugin) ?? false;
}

/** The zone's key becomes the driver's; a volume whose affinity names no zone takes the one of its labels. */
function migratedAffinity({ plugin = "", affinity, labels }: Volume): NodeSelector | undefined {
  const zoneKey = zoneKeys.get(plugin);
  if (zoneKey === undefined) return affinity;
  const terms = affinity?.terms ?? [];
  const inAffinity = [zone, betaZone].find((key) => names(terms, key));
  const known = inAffinity ?? [zone, betaZone].find((key) => labels.has(key)) ?? zone;
  const keys = new Map(known === betaZone ? [[betaRegion, region]] : []);
  if (names(terms, known)) keys.set(known, zoneKey);
  const renamed = keys.size === 0 ? terms : terms.map((term) => rename(term, keys));
  const labelled = keys.has(known) ? undefined : zonesOf(labels.get(known), zoneKey);
  if (labelled) return nodeSelector(addToEach(renamed, labelled));
  return renamed === terms ? affinity : nodeSelector(renamed);
}

function names(terms: readonly Term[], key: string): boolean {
  return terms.some(({ labels }) => labels.some((requirement) => requirement.key === key));
}

function rename(term: Term, keys: ReadonlyMap<string, string>): Term {
  const labels = term.labels.map((requirement) => ({
    ...requirement,
    key: keys.get(requirement.key) ?? requirement.key,
  }));
  return { ...term, labels };
}

function zonesOf(label: string | undefined, key: string): Requirement | undefined {
  const zones = (label ?? "").split(zoneDelimiter).flatMap((text) => (text.trim() === "" ? [] : [text.trim()]));
  return zones.length === 0 ? undefined : { key, operator: "In", values: new Set(zones.sort(compareText)) };
}

/** A term without requirements matches nothing, and goes on to. */
function addToEach(terms: readonly Term[], requirement: Requirement): Term[] {
  if (terms.length === 0) return [{ labels: [requirement], fields: [] }];
  return terms.map((term) => {
    const isEmpty = term.labels.length + term.fields.length === 0;
    return isEmpty ? term : { ...term, labels: [...term.labels, requirement] };
  });
}
