/** What is wrong in a cluster's storage that no single Pod has to meet first. Each kind of mistake by class, claim or node. */
import { driverOf } from "./drivers.ts";
import { affinityText } from "./hints.ts";
import { whyNot } from "./matching.ts";
import { type ClassName, compareText, type NodeName, type VolumeName } from "./names.ts";
import { nearestName } from "./near-name.ts";
import { kinds, type StorageClass, type Volume } from "./objects.ts";
import { isProvisioned, publishesCapacity } from "./provisioning.ts";
import { type Bytes, formatBytes } from "./quantity.ts";
import type { ClusterState } from "./state.ts";
import type { StorageFinding, StorageMistake } from "./storage-findings.ts";
import { pathFindings } from "./storage-paths.ts";

/** What the check reads and decisions do not. */
export interface StorageFacts {
  /** Volumes whose persistentVolumeReclaimPolicy is not Delete. */
  readonly retained: ReadonlySet<VolumeName>;
  /** The size of each node's root file system. */
  readonly rootBytes: ReadonlyMap<NodeName, Bytes>;
}

/** Objects named of a finding; the count says the rest. */
const namesMax = 5;
const noProvisioner = "kubernetes.io/no-provisioner";

/** In the order of the mistakes, then by object. */
export function checkStorage(state: ClusterState, facts: StorageFacts): StorageFinding[] {
  const volumes = [...state.volumes.names()].flatMap((name) => state.volumes.get(name) ?? []);
  volumes.sort((a, b) => compareText(a.name, b.name));
  const ofClass = Map.groupBy(volumes, (volume) => volume.class);
  const classes = named(state, "class", (name) => state.get("class", name));
  return [
    ...unreadable(state),
    ...classes.flatMap((one) => immediate(state, one, ofClass.get(one.name) ?? [])),
    ...[...ofClass].flatMap(([name, its]) => modesMixed(state, name, its)),
    ...unknownClasses(state, ofClass),
    ...[...ofClass].flatMap(([name, its]) => misspeltClass(state, name, its)),
    ...classes.flatMap((one) => misspeltProvisioner(state, one)),
    ...pathFindings(state, volumes, facts.rootBytes),
    ...[...ofClass].flatMap(([name, its]) => released(name, its, facts)),
    ...[...ofClass].flatMap(([name, its]) => outOfReach(state, name, its)),
    ...claimFindings(state),
    ...volumes.flatMap((volume) => reservedInVain(state, volume)),
    ...classes.flatMap((one) => unpublished(state, one)),
  ];
}

function named<T>(state: ClusterState, kind: "class" | "claim", get: (key: string) => T | undefined): T[] {
  return [...state.keys(kind)].sort(compareText).flatMap((key) => get(key) ?? []);
}

function finding(id: StorageMistake, object: string, detail: string): StorageFinding[] {
  return [{ id, object, detail }];
}

function classText(name: ClassName): string {
  return `StorageClass "${name}"`;
}

/** "3 volumes (a, b, c)". */
function some(volumes: readonly Volume[]): string {
  const names = volumes.slice(0, namesMax).map(({ name }) => name);
  const more = volumes.length > namesMax ? ", …" : "";
  return `${volumes.length} ${volumes.length === 1 ? "volume" : "volumes"} (${names.join(", ")}${more})`;
}

function unreadable(state: ClusterState): StorageFinding[] {
  return kinds.flatMap((kind) =>
    [...state.keys(kind)].sort(compareText).flatMap((key) => {
      const problem = state.problem(kind, key);
      return problem === undefined ? [] : finding("unreadable", `${kind} ${key}`, problem);
    }),
  );
}

function immediate(state: ClusterState, { name, provisioner, bindingMode }: StorageClass, its: readonly Volume[]) {
  if (bindingMode === "WaitForFirstConsumer") return [];
  // Where there is but one node, a volume of its zone looks like one of its own.
  const isOnly = state.topologies.nodes.size < 2;
  const local = its.filter(
    ({ name: volume, path }) => reachedFrom(state, volume) === 1 && !(isOnly && path === undefined),
  );
  if (local.length === 0 && provisioner !== noProvisioner) return [];
  const has =
    local.length === 0 ? `its provisioner is ${noProvisioner}` : `has volumes of one node alone: ${some(local)}`;
  return finding("immediate-on-local", classText(name), `it binds at once, and ${has}`);
}

/** Nodes that reach it; undefined where all do. */
function reachedFrom(state: ClusterState, name: VolumeName): number | undefined {
  const id = state.volumes.id(name);
  const topology = id === undefined ? undefined : state.volumes.topologyOf(id);
  return topology === undefined || topology === state.topologies.everywhere ? undefined : topology.members.size;
}

function modesMixed(state: ClusterState, name: ClassName, its: readonly Volume[]): StorageFinding[] {
  const storageClass = state.get("class", name);
  if (storageClass && isProvisioned(state, storageClass)) return [];
  const blocks = its.filter(({ mode }) => mode === "Block");
  if (blocks.length === 0 || blocks.length === its.length) return [];
  const others = its.filter(({ mode }) => mode !== "Block");
  return finding("modes-mixed", classText(name), `Block are ${some(blocks)}, Filesystem ${some(others)}`);
}

function unknownClasses(state: ClusterState, ofClass: ReadonlyMap<ClassName, readonly Volume[]>): StorageFinding[] {
  const known = [...state.keys("class")].sort();
  return named(state, "claim", (key) => state.get("claim", key)).flatMap((claim) => {
    const { key, class: name, volumeName } = claim;
    if (name === "" || volumeName !== undefined || known.includes(name) || ofClass.has(name)) return [];
    const near = nearestName(name, known);
    const meant = near === undefined ? "" : `; "${near}" may be meant`;
    return finding("class-unknown", `PersistentVolumeClaim ${key}`, `there is no class "${name}"${meant}`);
  });
}

function misspeltClass(state: ClusterState, name: ClassName, its: readonly Volume[]): StorageFinding[] {
  if (name === "" || state.get("class", name) || state.problem("class", name) !== undefined) return [];
  const free = its.filter(({ claimRef }) => claimRef === undefined);
  const near = nearestName(name, [...state.keys("class")].sort());
  // Who has a claim of that name means it.
  const isMeant =
    free.length < its.length ||
    named(state, "claim", (key) => state.get("claim", key)).some((one) => one.class === name);
  if (near === undefined || isMeant) return [];
  return finding(
    "class-misspelt",
    classText(name),
    `does not exist, and ${some(free)} name it; "${near}" may be meant`,
  );
}

function misspeltProvisioner(state: ClusterState, { name, provisioner }: StorageClass): StorageFinding[] {
  const driver = driverOf(provisioner);
  const known = [
    ...new Set([...state.keys("driver"), ...state.driverNodes.keys(), ...state.provisionedBy.keys(), noProvisioner]),
  ];
  if (provisioner === "" || known.includes(driver) || known.includes(provisioner)) return [];
  const near = nearestName(provisioner, known.sort());
  if (near === undefined || state.provisioning.has(name)) return [];
  return finding("provisioner-misspelt", classText(name), `nobody is "${provisioner}"; "${near}" may be meant`);
}

function released(name: ClassName, its: readonly Volume[], { retained }: StorageFacts): StorageFinding[] {
  const isRetained = (volume: Volume): boolean => retained.has(volume.name);
  const ended = its.filter(({ phase, deleting }) => !deleting && (phase === "Released" || phase === "Failed"));
  const [kept, left] = [
    ended.filter((one) => isRetained(one) && one.phase === "Released"),
    ended.filter((one) => !isRetained(one)),
  ];
  return [
    ...(kept.length === 0
      ? []
      : finding("released-retained", classText(name), `${some(kept)}, ${sizeOf(kept)} in all`)),
    ...(left.length === 0
      ? []
      : finding("released-undeleted", classText(name), `${some(left)}, ${sizeOf(left)} in all`)),
  ];
}

function sizeOf(volumes: readonly Volume[]): string {
  return formatBytes(volumes.reduce((sum, { capacity }) => (sum + capacity) as Bytes, 0n as Bytes));
}

function outOfReach(state: ClusterState, name: ClassName, its: readonly Volume[]): StorageFinding[] {
  if (state.topologies.nodes.size === 0) return [];
  const lost = its.filter(({ name: volume, phase }) => phase !== "Released" && reachedFrom(state, volume) === 0);
  const [first] = lost;
  if (!first) return [];
  return finding(
    "volume-out-of-reach",
    classText(name),
    `${some(lost)}; ${first.name} asks for ${affinityText(first.affinity)}`,
  );
}

function claimFindings(state: ClusterState): StorageFinding[] {
  return named(state, "claim", (key) => state.get("claim", key)).flatMap(({ key, volumeName, bindCompleted, lost }) => {
    if (volumeName === undefined || (!bindCompleted && !lost)) return [];
    if (state.volumes.get(volumeName) || state.problem("volume", volumeName) !== undefined) return [];
    return finding("volume-missing", `PersistentVolumeClaim ${key}`, `its volume is ${volumeName}`);
  });
}

function reservedInVain(state: ClusterState, volume: Volume): StorageFinding[] {
  const { claimRef, name, phase } = volume;
  const claim = claimRef && state.get("claim", claimRef.claim);
  // Of a claim that was made anew, or has another volume, the volume is Released or about to be.
  if (!claim || phase === "Released" || claim.volumeName !== undefined) return [];
  if (claimRef.uid !== undefined && claimRef.uid !== claim.uid) return [];
  const why = whyNot(claim, volume, undefined);
  return why === undefined
    ? []
    : finding("reserved-in-vain", `PersistentVolume ${name}`, `for claim ${claim.key}: ${why}`);
}

function unpublished(state: ClusterState, storageClass: StorageClass): StorageFinding[] {
  const { name, provisioner } = storageClass;
  if (!isProvisioned(state, storageClass) || !publishesCapacity(state, storageClass)) return [];
  if (storageClass.bindingMode !== "WaitForFirstConsumer" || state.pools.offersFor(name).size > 0) return [];
  const where = state.pools.nodes.has(name) ? "no node carries a size for it" : `driver ${driverOf(provisioner)}`;
  return finding("capacity-unpublished", classText(name), where);
}
