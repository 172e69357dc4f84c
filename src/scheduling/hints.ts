/**
 * What is true of a Pod's claims whatever node one looks at, in sentences: what pins the Pod, what the cluster lacks, what
 * somebody probably meant. For explanations; decides nothing.
 */
import { sortClaims } from "./claims.ts";
import { driverOf } from "./drivers.ts";
import { whyNot } from "./matching.ts";
import { affinityOn, type BoundClaim, boundClaim, reachesBound } from "./migration.ts";
import { type ClaimKey, compareText, type NodeName } from "./names.ts";
import { nearMisses } from "./near-misses.ts";
import { accessModeBits, type Claim, type Node, type Pod, type Volume } from "./objects.ts";
import type { Offer, Published } from "./pools.ts";
import { publishesCapacity } from "./provisioning.ts";
import { formatBytes } from "./quantity.ts";
import { matchesLabels, type NodeSelector, requirementText } from "./selectors.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";

/** Names listed of a group; the count says the rest. */
const namesMax = 3;

const zoneLabels = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];

/** @param isStuck  no node fits: what the claims miss is worth saying */
export function hintsFor(state: ClusterState, pod: Pod, isStuck: boolean): string[] {
  const steps = hintsInSteps(state, pod, isStuck);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The same with pauses: it looks at every volume of the cluster. */
export function* hintsInSteps(state: ClusterState, pod: Pod, isStuck: boolean): Generator<undefined, string[]> {
  const sorted = sortClaims(state, pod);
  if (sorted.kind !== "sorted") return yield* hopelessHints(state, pod);
  const bound = sorted.bound.map((claim) => boundClaim(state, claim, []));
  const open = sorted.delayed.map(({ claim }) => claim);
  const near: string[] = [];
  for (const claim of open) {
    near.push(...reservationHints(state, claim));
    // Whoever provisions it does not look at volumes any more.
    near.push(...(yield* nearMisses(state, claim, isStuck && claim.selectedNode === undefined)));
  }
  return [
    ...pinHints(state, pod, bound),
    ...bound.flatMap((one) => zoneHints(state, one)),
    ...sorted.bound.flatMap((claim) => soleUserHints(state, pod, claim)),
    ...(pod.nodeName === undefined ? [] : open.flatMap((claim) => unscheduledHints(claim))),
    ...near,
    ...(isStuck ? capacityHints(state, open) : []),
  ];
}

/** Where the Pod as a whole is refused: a class that is misspelt, or missing, is seen by the volumes of others. */
function* hopelessHints(state: ClusterState, pod: Pod): Generator<undefined, string[]> {
  const hints: string[] = [];
  for (const { claim: key } of pod.claims) {
    const claim = state.get("claim", key);
    if (!claim || claim.volumeName !== undefined || state.get("class", claim.class)) continue;
    hints.push(...(yield* nearMisses(state, claim, true)));
  }
  return hints;
}

/** Where the bound volumes let the Pod be. Nothing where they leave it many nodes. */
function pinHints(state: ClusterState, pod: Pod, bound: readonly BoundClaim[]): string[] {
  const hints: string[] = [];
  const reaches: { readonly claim: Claim; readonly nodes: ReadonlySet<NodeName> }[] = [];
  for (const one of bound) {
    const volume = volumeOf(state, one);
    if (!volume) continue;
    const nodes = nodesWhere(state, (entry) => reachesBound(state, entry, one));
    if (nodes.size === 0) hints.push(unreachable(state, one, volume));
    else if (nodes.size < state.topologies.nodes.size) reaches.push({ claim: one.claim, nodes });
  }
  for (const { claim, nodes } of reaches.filter((reach) => reach.nodes.size <= namesMax)) {
    const states = [...nodes].flatMap((name) => trouble(state.get("node", name)));
    hints.push([`pinned to ${list(nodes)} by claim ${claim.key}`, ...states].join("; "));
  }
  return [...hints, ...disjointHints(state, pod, reaches)];
}

function volumeOf(state: ClusterState, { claim: { volumeName } }: BoundClaim): Volume | undefined {
  return volumeName && state.volumes.get(volumeName);
}

function disjointHints(
  state: ClusterState,
  pod: Pod,
  reaches: readonly { readonly claim: Claim; readonly nodes: ReadonlySet<NodeName> }[],
): string[] {
  const [first, ...rest] = reaches;
  if (!first) return [];
  const other = rest.find(({ nodes }) => nodes.isDisjointFrom(first.nodes));
  if (other) {
    const places = [first, other].map(({ claim, nodes }) => `${claim.key} on ${list(nodes)}`);
    return [`no node reaches the volumes of both claims: ${places.join(", ")}`];
  }
  const wanted = pod.nodeSelector;
  if (wanted === undefined) return [];
  const allowed = nodesWhere(state, ({ node }) => matchesLabels(wanted, node.labels));
  const apart = reaches.find(({ nodes }) => nodes.isDisjointFrom(allowed));
  if (!apart) return [];
  const selects = wanted.requirements.map(requirementText).join(" and ");
  return [
    `the Pod's nodeSelector (${selects}) allows ${list(allowed)}, the volume of claim ${apart.claim.key} ${list(apart.nodes)}: no node is in both`,
  ];
}

/** On nodes where the volume's plugin is migrated, its zone is looked up under the driver's key. */
function unreachable(state: ClusterState, { claim: { key }, migrated }: BoundClaim, volume: Volume): string {
  const isMigrated =
    migrated && nodesWhere(state, ({ node }) => affinityOn(state, node, volume) !== volume.affinity).size > 0;
  const affinity = isMigrated ? migrated.affinity : volume.affinity;
  const terms = affinity?.terms ?? [];
  const keys = new Set(terms.flatMap(({ labels }) => labels.map((requirement) => requirement.key)));
  const isEmpty = terms.some(({ labels }) => labels.some(({ values }) => values.has("")));
  return [
    `claim ${key} is bound to volume ${volume.name}, whose node affinity matches no node of the cluster: ${affinityText(affinity)}`,
    ...(isMigrated ? [`which is how ${migrated.plugin} reads now that a CSI driver serves it`] : []),
    ...(isEmpty ? ["its value is empty"] : []),
    ...[...keys].map((label) => valuesText(state, label)),
    "its data is out of reach unless such a node returns",
  ].join("; ");
}

function valuesText(state: ClusterState, label: string): string {
  const values = new Set([...state.topologies.nodes.values()].flatMap(({ node }) => node.labels.get(label) ?? []));
  return values.size === 0 ? `no node has the label ${label}` : `nodes have ${label} ${list(values)}`;
}

function trouble(node: Node | undefined): string[] {
  if (!node) return [];
  if (node.unschedulable) return [`${node.name} is cordoned`];
  if (!node.ready) return [`${node.name} is not ready`];
  const taint = node.taints.find(({ effect }) => effect !== "PreferNoSchedule");
  return taint ? [`${node.name} has the taint ${taint.key}:${taint.effect}`] : [];
}

/** Zones written as labels are kube-scheduler's own matter (docs/limits.md). */
function zoneHints(state: ClusterState, bound: BoundClaim): string[] {
  const volume = volumeOf(state, bound);
  const label = zoneLabels.find((key) => volume?.labels.has(key));
  if (!volume || label === undefined || volume.affinity) return [];
  return [
    `volume ${volume.name} has its zone as a label (${label}=${volume.labels.get(label)}): kube-scheduler's VolumeZone plugin looks at it, Berth does not`,
  ];
}

function soleUserHints(state: ClusterState, pod: Pod, { key, accessModes }: Claim): string[] {
  if ((accessModes & accessModeBits.ReadWriteOncePod) === 0) return [];
  const others = [...state.keys("pod")].filter((name) => mounts(state.get("pod", name), pod, key));
  const says = `claim ${key} is ReadWriteOncePod: kube-scheduler's VolumeRestrictions plugin lets one Pod at a time use it`;
  if (others.length === 0) return [says];
  return [
    `${says}; ${others.length === 1 ? "Pod" : "Pods"} ${list(others)} ${others.length === 1 ? "mounts" : "mount"} it too`,
  ];
}

/** Another Pod, and one that has not ended. */
function mounts(other: Pod | undefined, pod: Pod, key: ClaimKey): boolean {
  if (!other || other.uid === pod.uid || other.finished) return false;
  return other.claims.some(({ claim }) => claim === key);
}

function unscheduledHints({ key, selectedNode }: Claim): string[] {
  if (selectedNode !== undefined) return [];
  return [
    `the Pod was assigned without Berth and claim ${key} is not bound: nobody will bind it; leave spec.nodeName to the scheduler and use node affinity`,
  ];
}

/** Volumes that somebody meant for the claim and that cannot serve it. */
function reservationHints(state: ClusterState, claim: Claim): string[] {
  return [...(state.volumes.referringTo(claim.key) ?? [])]
    .map((id) => state.volumes.at(id))
    .sort((a, b) => compareText(a.name, b.name))
    .flatMap((volume) => {
      const why = whyNot(claim, volume, undefined);
      if (why === undefined) return [];
      // whyNot tells a claim of another uid by its name, which here is the same.
      const isOlder = volume.claimRef?.uid !== undefined && volume.claimRef.uid !== claim.uid;
      const said = isOlder ? "it belongs to an earlier claim of that name" : why;
      return [`volume ${volume.name} is reserved for claim ${claim.key} and cannot serve it: ${said}`];
    });
}

/** Classes whose driver should publish capacity, and does so nowhere or not for every node that has the driver. */
function capacityHints(state: ClusterState, open: readonly Claim[]): string[] {
  return [...new Set(open.map((claim) => claim.class))].sort(compareText).flatMap((name) => {
    const storageClass = state.get("class", name);
    if (!storageClass || !publishesCapacity(state, storageClass)) return [];
    const driver = driverOf(storageClass.provisioner);
    if (state.pools.nodes.has(name)) return [];
    const offers = [...state.pools.offersFor(name)];
    if (offers.length === 0)
      return [`no capacity object exists for class ${name} anywhere: is the provisioner publishing?`];
    const isSilent = (entry: NodeEntry): boolean =>
      (state.get("csiNode", entry.node.name)?.drivers.includes(driver) ?? false) &&
      state.pools.offersOn(entry, name).length === 0;
    const silent = nodesWhere(state, isSilent);
    const told = `the driver of class ${name} runs on ${list(silent)} and publishes no capacity there: that is not the same as full`;
    return [...(silent.size === 0 ? [] : [told]), ...offers.flatMap(leftOverHints)];
  });
}

/** A rebuilt node may leave an old object behind: it is not added to the new one (departure D17). */
function leftOverHints({ class: name, objects, newest }: Offer): string[] {
  const old = [...objects.values()].filter((object) => object !== newest);
  if (old.length === 0) return [];
  const described = old.map(capacityText);
  return [
    `${objects.size} capacity objects for class ${name} cover the same nodes: the newest counts, ${capacityText(newest)}, and not ${list(described)}`,
  ];
}

function capacityText({ key, capacity }: Published): string {
  return `${key} (${capacity === undefined ? "no capacity" : formatBytes(capacity)})`;
}

function nodesWhere(state: ClusterState, holds: (entry: NodeEntry) => boolean): Set<NodeName> {
  return new Set([...state.topologies.nodes.values()].filter(holds).map(({ node }) => node.name));
}

function list(names: Iterable<string>): string {
  const all = [...names].sort(compareText);
  if (all.length === 0) return "no node";
  const shown = all.slice(0, namesMax).map((name) => (name === "" ? '""' : name));
  return `${shown.join(", ")}${all.length > namesMax ? ` and ${all.length - namesMax} more` : ""}`;
}

/** "zone In [a, b] and disk In [ssd] or …", as the API has it: requirements of a term joined by "and", terms by "or". */
export function affinityText(affinity: NodeSelector | undefined): string {
  const terms = affinity?.terms ?? [];
  if (terms.length === 0) return "it has no terms";
  return terms.map(({ labels, fields }) => [...labels, ...fields].map(requirementText).join(" and ")).join(" or ");
}
