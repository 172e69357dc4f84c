/** Volumes, claims, classes and what drivers say of themselves, reduced to what decisions use. */
import {
  type CapacityKey,
  type ClaimKey,
  capacityKey,
  claimKey,
  claimUid,
  className,
  nodeName,
  volumeName,
} from "../scheduling/names.ts";
import {
  type AccessModes,
  accessModeBits,
  type Capacity,
  type Claim,
  type ClaimRef,
  type CsiNode,
  type Driver,
  type Labels,
  type StorageClass,
  type Versioned,
  type Volume,
  type VolumeMode,
} from "../scheduling/objects.ts";
import {
  child,
  entries,
  Fault,
  type Fields,
  field,
  flag,
  list,
  object,
  present,
  requiredText,
  shortText,
  shown,
  text,
  texts,
} from "./fields.ts";
import type { Interning } from "./interning.ts";
import * as labels from "./labels.ts";
import { readLabelSelector, readNodeSelector, readTopologies } from "./selectors.ts";
import { readSize } from "./sizes.ts";

/** What an object is read with. */
export interface Reading {
  readonly interning: Interning;
  /** Node annotations that the configuration maps to capacity. */
  readonly nodeAnnotations: ReadonlySet<string>;
}

export function readVersioned(metadata: Fields): Versioned {
  return {
    uid: shortText(metadata, "uid", "metadata.uid") ?? "",
    resourceVersion: shortText(metadata, "resourceVersion", "metadata.resourceVersion") ?? "",
    deleting: text(metadata, "deletionTimestamp", "metadata.deletionTimestamp") !== undefined,
  };
}

export function readVolume(raw: Fields, { interning }: Reading): Volume {
  const metadata = child(raw, "metadata", "metadata");
  const spec = child(raw, "spec", "spec");
  const annotations = child(metadata, "annotations", "metadata.annotations");
  const affinity = present(child(spec, "nodeAffinity", "spec.nodeAffinity"), "required", "spec.nodeAffinity.required");
  const claimRef = readClaimRef(spec);
  const provisionedBy = text(annotations, labels.provisionedBy, `metadata.annotations.${labels.provisionedBy}`);
  const plugin = readPlugin(spec);
  const path = readPath(spec);
  const status = child(raw, "status", "status");
  const phase = interning.text(text(status, "phase", "status.phase") ?? "");
  const releasedAt = phase === "Released" ? readTime(status, "lastPhaseTransitionTime") : undefined;
  const selector = affinity && readNodeSelector(affinity, "spec.nodeAffinity.required");
  return {
    ...readVersioned(metadata),
    name: volumeName(requiredText(metadata, "name", "metadata.name")),
    class: readClass(annotations, spec, interning),
    capacity: required(
      readSize(child(spec, "capacity", "spec.capacity"), "storage", "spec.capacity.storage", interning),
      "spec.capacity.storage",
    ),
    mode: readMode(spec),
    accessModes: readAccessModes(spec),
    labels: sharedLabels(readLabels(metadata, interning), interning),
    ...(selector && { affinity: interning.value(`node ${selector.identity}`, () => selector) }),
    phase,
    ...(releasedAt !== undefined && { releasedAt }),
    ...(claimRef && { claimRef }),
    boundByController: field(annotations, labels.boundByController) !== undefined,
    attributesClass: readAttributesClass(spec, interning),
    ...(provisionedBy !== undefined && { provisionedBy: interning.text(provisionedBy) }),
    ...(plugin !== undefined && { plugin: interning.text(plugin) }),
    ...(path !== undefined && { path }),
  };
}

/** Milliseconds since 1970. It is shown and decides nothing, so one that cannot be read is as good as none. */
function readTime(fields: Fields, name: string): number | undefined {
  const written = field(fields, name);
  const ms = typeof written === "string" ? Date.parse(written) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

function readClaimRef(spec: Fields): ClaimRef | undefined {
  const ref = present(spec, "claimRef", "spec.claimRef");
  if (!ref) return undefined;
  const namespace = text(ref, "namespace", "spec.claimRef.namespace") ?? "";
  const uid = text(ref, "uid", "spec.claimRef.uid");
  const claim = claimKey(namespace, text(ref, "name", "spec.claimRef.name") ?? "");
  return { claim, ...(uid !== undefined && { uid: claimUid(uid) }) };
}

/** In-tree sources whose volumes may go through a CSI driver. @see csi-translation-lib translate.go */
const migratable: Readonly<Record<string, string>> = {
  awsElasticBlockStore: "kubernetes.io/aws-ebs",
  gcePersistentDisk: "kubernetes.io/gce-pd",
  azureDisk: "kubernetes.io/azure-disk",
  cinder: "kubernetes.io/cinder",
  portworxVolume: "kubernetes.io/portworx-volume",
};

function readPlugin(spec: Fields): string | undefined {
  const driver = text(child(spec, "csi", "spec.csi"), "driver", "spec.csi.driver");
  if (driver !== undefined) return driver;
  const source = Object.keys(migratable).find((name) => field(spec, name) !== undefined);
  return source === undefined ? undefined : migratable[source];
}

function readPath(spec: Fields): string | undefined {
  return (
    text(child(spec, "local", "spec.local"), "path", "spec.local.path") ??
    text(child(spec, "hostPath", "spec.hostPath"), "path", "spec.hostPath.path")
  );
}

export function readClaim(raw: Fields, { interning }: Reading): Claim {
  const metadata = child(raw, "metadata", "metadata");
  const spec = child(raw, "spec", "spec");
  const annotations = child(metadata, "annotations", "metadata.annotations");
  const requests = child(child(spec, "resources", "spec.resources"), "requests", "spec.resources.requests");
  const request = readSize(requests, "storage", "spec.resources.requests.storage", interning);
  const selector = present(spec, "selector", "spec.selector");
  const compiled = selector && readLabelSelector(selector, "spec.selector");
  const name = text(spec, "volumeName", "spec.volumeName");
  const selectedNode = text(annotations, labels.selectedNode, `metadata.annotations.${labels.selectedNode}`);
  const controller = readController(metadata);
  const versioned = readVersioned(metadata);
  return {
    ...versioned,
    uid: claimUid(versioned.uid),
    key: readClaimKey(metadata),
    class: readClass(annotations, spec, interning),
    ...(request !== undefined && { request }),
    mode: readMode(spec),
    accessModes: readAccessModes(spec),
    ...(compiled && { selector: interning.value(`label ${compiled.identity}`, () => compiled) }),
    ...(name !== undefined && { volumeName: volumeName(name) }),
    bindCompleted: field(annotations, labels.bindCompleted) !== undefined,
    lost: text(child(raw, "status", "status"), "phase", "status.phase") === "Lost",
    ...(selectedNode !== undefined && { selectedNode: nodeName(interning.text(selectedNode)) }),
    attributesClass: readAttributesClass(spec, interning),
    ...(controller !== undefined && { controllerUid: controller }),
    hasDataSource: field(spec, "dataSource") !== undefined || field(spec, "dataSourceRef") !== undefined,
  };
}

function readClaimKey(metadata: Fields): ClaimKey {
  const namespace = requiredText(metadata, "namespace", "metadata.namespace");
  return claimKey(namespace, requiredText(metadata, "name", "metadata.name"));
}

export function readController(metadata: Fields): string | undefined {
  for (const [index, raw] of list(metadata, "ownerReferences", "metadata.ownerReferences").entries()) {
    const path = `metadata.ownerReferences[${index}]`;
    const owner = object(raw, path);
    if (flag(owner, "controller", `${path}.controller`)) return text(owner, "uid", `${path}.uid`);
  }
  return undefined;
}

/** The annotation's presence wins, even where it is empty. @see component-helpers storage/volume/helpers.go, GetPersistentVolumeClass */
function readClass(annotations: Fields, spec: Fields, interning: Interning): Volume["class"] {
  const beta = field(annotations, labels.betaStorageClass);
  if (beta !== undefined && typeof beta !== "string") {
    throw new Fault(`metadata.annotations.${labels.betaStorageClass}`, "not a string");
  }
  return interning.text(className(beta ?? text(spec, "storageClassName", "spec.storageClassName") ?? ""));
}

function readMode(spec: Fields): VolumeMode {
  const mode = text(spec, "volumeMode", "spec.volumeMode") ?? "Filesystem";
  if (mode !== "Filesystem" && mode !== "Block")
    throw new Fault("spec.volumeMode", `"${shown(mode)}" is neither Filesystem nor Block`);
  return mode;
}

function readAccessModes(spec: Fields): AccessModes {
  let modes: AccessModes = 0;
  for (const name of texts(spec, "accessModes", "spec.accessModes")) {
    if (!Object.hasOwn(accessModeBits, name)) throw new Fault("spec.accessModes", `"${shown(name)}" is no access mode`);
    modes |= accessModeBits[name as keyof typeof accessModeBits];
  }
  return modes;
}

function readAttributesClass(spec: Fields, interning: Interning): string {
  return interning.text(text(spec, "volumeAttributesClassName", "spec.volumeAttributesClassName") ?? "");
}

const noLabels: Labels = new Map();

export function readLabels(metadata: Fields, interning: Interning): Labels {
  const found = entries(metadata, "labels", "metadata.labels");
  if (found.length === 0) return noLabels;
  return new Map(found.map(([key, value]) => [interning.text(key), interning.text(value)]));
}

/** Many volumes carry equal labels; a map of its own for each would be most of its record. */
function sharedLabels(labels: Labels, interning: Interning): Labels {
  let identity = "labels";
  for (const [key, value] of labels) identity += `\0${key}\0${value}`;
  return interning.value(identity, () => labels);
}

function required<T>(value: T | undefined, path: string): T {
  if (value === undefined) throw new Fault(path, "missing");
  return value;
}

export function readStorageClass(raw: Fields): StorageClass {
  const metadata = child(raw, "metadata", "metadata");
  const mode = text(raw, "volumeBindingMode", "volumeBindingMode");
  if (mode !== undefined && mode !== "Immediate" && mode !== "WaitForFirstConsumer") {
    throw new Fault("volumeBindingMode", `"${shown(mode)}" is neither Immediate nor WaitForFirstConsumer`);
  }
  const topologies = readTopologies(raw, "allowedTopologies");
  return {
    ...readVersioned(metadata),
    name: className(requiredText(metadata, "name", "metadata.name")),
    provisioner: text(raw, "provisioner", "provisioner") ?? "",
    ...(mode !== undefined && { bindingMode: mode }),
    ...(topologies && { allowedTopologies: topologies }),
  };
}

export function readDriver(raw: Fields): Driver {
  const metadata = child(raw, "metadata", "metadata");
  return {
    ...readVersioned(metadata),
    name: requiredText(metadata, "name", "metadata.name"),
    storageCapacity: flag(child(raw, "spec", "spec"), "storageCapacity", "spec.storageCapacity"),
  };
}

export function readCsiNode(raw: Fields, { interning }: Reading): CsiNode {
  const metadata = child(raw, "metadata", "metadata");
  const annotations = child(metadata, "annotations", "metadata.annotations");
  const drivers = list(child(raw, "spec", "spec"), "drivers", "spec.drivers").map((driver, index) =>
    interning.text(requiredText(object(driver, `spec.drivers[${index}]`), "name", `spec.drivers[${index}].name`)),
  );
  const migrated = text(annotations, labels.migratedPlugins, `metadata.annotations.${labels.migratedPlugins}`);
  return {
    ...readVersioned(metadata),
    name: nodeName(interning.text(requiredText(metadata, "name", "metadata.name"))),
    drivers: [...new Set(drivers)],
    migratedPlugins: migrated === undefined ? [] : migrated.split(",").map((name) => interning.text(name)),
  };
}

export function readCapacity(raw: Fields, { interning }: Reading): Capacity {
  const metadata = child(raw, "metadata", "metadata");
  const topology = present(raw, "nodeTopology", "nodeTopology");
  const capacity = readSize(raw, "capacity", "capacity", interning);
  const maximum = readSize(raw, "maximumVolumeSize", "maximumVolumeSize", interning);
  const selector = topology && readLabelSelector(topology, "nodeTopology");
  return {
    ...readVersioned(metadata),
    key: readCapacityKey(metadata),
    class: interning.text(className(requiredText(raw, "storageClassName", "storageClassName"))),
    ...(selector && { topology: interning.value(`label ${selector.identity}`, () => selector) }),
    ...(capacity !== undefined && { capacity }),
    ...(maximum !== undefined && { maximumVolumeSize: maximum }),
    createdAt: text(metadata, "creationTimestamp", "metadata.creationTimestamp") ?? "",
  };
}

function readCapacityKey(metadata: Fields): CapacityKey {
  const namespace = requiredText(metadata, "namespace", "metadata.namespace");
  return capacityKey(namespace, requiredText(metadata, "name", "metadata.name"));
}
