/** Objects as the API should never send them: one real object of each kind, and each field of it that is read, damaged in each way. */
import type { Kind } from "../../src/scheduling/objects.ts";
import type { Raw } from "../support/make.ts";
import { driver, nodeName } from "./cluster.ts";

export interface Damage {
  readonly kind: Kind;
  /** As a message names it, e.g. "spec.capacity.storage". */
  readonly field: string;
  readonly how: string;
  readonly object: Raw;
}

type Type = "text" | "name" | "size" | "amount" | "object" | "list" | "anyList" | "flag" | "texts";

/** Each field that src/apis reads, with what it must be. A dot leads on, a number into a list; "~" stands for a dot in a key. */
const fields: { readonly [K in Kind]: Readonly<Record<string, Type>> } = {
  node: {
    "metadata.labels": "object",
    "metadata.labels.zone": "text",
    spec: "object",
    "spec.unschedulable": "flag",
    "spec.taints": "list",
    "spec.taints.0": "object",
    "spec.taints.0.key": "name",
    "spec.taints.0.value": "text",
    "spec.taints.0.effect": "text",
    status: "object",
    "status.conditions": "list",
    "status.conditions.0": "object",
    "status.allocatable": "object",
    "status.allocatable.cpu": "amount",
  },
  volume: {
    "metadata.annotations": "object",
    "metadata.annotations.pv~kubernetes~io/provisioned-by": "text",
    "metadata.annotations.volume~beta~kubernetes~io/storage-class": "text",
    "metadata.labels": "object",
    "metadata.labels.zone": "text",
    "metadata.deletionTimestamp": "text",
    spec: "object",
    "spec.capacity": "object",
    "spec.capacity.storage": "size",
    "spec.storageClassName": "text",
    "spec.volumeMode": "text",
    "spec.accessModes": "texts",
    "spec.volumeAttributesClassName": "text",
    "spec.local": "object",
    "spec.local.path": "text",
    "spec.csi": "object",
    "spec.csi.driver": "text",
    "spec.claimRef": "object",
    "spec.claimRef.namespace": "text",
    "spec.claimRef.name": "text",
    "spec.claimRef.uid": "text",
    "spec.nodeAffinity": "object",
    "spec.nodeAffinity.required": "object",
    "spec.nodeAffinity.required.nodeSelectorTerms": "list",
    "spec.nodeAffinity.required.nodeSelectorTerms.0": "object",
    "spec.nodeAffinity.required.nodeSelectorTerms.0.matchExpressions": "list",
    "spec.nodeAffinity.required.nodeSelectorTerms.0.matchExpressions.0": "object",
    "spec.nodeAffinity.required.nodeSelectorTerms.0.matchExpressions.0.key": "name",
    "spec.nodeAffinity.required.nodeSelectorTerms.0.matchExpressions.0.operator": "name",
    "spec.nodeAffinity.required.nodeSelectorTerms.0.matchExpressions.0.values": "texts",
    status: "object",
    "status.phase": "text",
  },
  claim: {
    "metadata.annotations": "object",
    "metadata.annotations.volume~kubernetes~io/selected-node": "text",
    "metadata.annotations.volume~beta~kubernetes~io/storage-class": "text",
    "metadata.ownerReferences": "list",
    "metadata.ownerReferences.0": "object",
    "metadata.ownerReferences.0.controller": "flag",
    "metadata.ownerReferences.0.uid": "text",
    "metadata.deletionTimestamp": "text",
    spec: "object",
    "spec.storageClassName": "text",
    "spec.volumeMode": "text",
    "spec.accessModes": "texts",
    "spec.volumeName": "text",
    "spec.volumeAttributesClassName": "text",
    "spec.resources": "object",
    "spec.resources.requests": "object",
    "spec.resources.requests.storage": "size",
    "spec.selector": "object",
    "spec.selector.matchLabels": "object",
    "spec.selector.matchLabels.zone": "text",
    "spec.selector.matchExpressions": "list",
    "spec.selector.matchExpressions.0": "object",
    "spec.selector.matchExpressions.0.key": "name",
    "spec.selector.matchExpressions.0.operator": "name",
    "spec.selector.matchExpressions.0.values": "texts",
    status: "object",
    "status.phase": "text",
  },
  class: {
    provisioner: "text",
    volumeBindingMode: "text",
    allowedTopologies: "list",
    "allowedTopologies.0": "object",
    "allowedTopologies.0.matchLabelExpressions": "list",
    "allowedTopologies.0.matchLabelExpressions.0": "object",
    "allowedTopologies.0.matchLabelExpressions.0.key": "name",
    "allowedTopologies.0.matchLabelExpressions.0.values": "texts",
  },
  driver: { spec: "object", "spec.storageCapacity": "flag" },
  csiNode: {
    "metadata.annotations": "object",
    "metadata.annotations.storage~alpha~kubernetes~io/migrated-plugins": "text",
    spec: "object",
    "spec.drivers": "list",
    "spec.drivers.0": "object",
    "spec.drivers.0.name": "name",
  },
  capacity: {
    "metadata.creationTimestamp": "text",
    storageClassName: "name",
    capacity: "size",
    maximumVolumeSize: "size",
    nodeTopology: "object",
    "nodeTopology.matchLabels": "object",
    "nodeTopology.matchLabels.kubernetes~io/hostname": "text",
    "nodeTopology.matchExpressions": "list",
    "nodeTopology.matchExpressions.0": "object",
    "nodeTopology.matchExpressions.0.key": "name",
    "nodeTopology.matchExpressions.0.operator": "name",
    "nodeTopology.matchExpressions.0.values": "texts",
  },
  pod: {
    spec: "object",
    "spec.nodeName": "text",
    "spec.schedulerName": "text",
    "spec.schedulingGates": "anyList",
    "spec.nodeSelector": "object",
    "spec.volumes": "list",
    "spec.volumes.0": "object",
    "spec.volumes.0.persistentVolumeClaim": "object",
    "spec.volumes.0.persistentVolumeClaim.claimName": "name",
    status: "object",
    "status.phase": "text",
  },
};

/** Of every kind. */
const everywhere: Readonly<Record<string, Type>> = {
  "metadata.uid": "text",
  kind: "text",
};

const deep: unknown = JSON.parse(`${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`);
const wrongTypes: Readonly<Record<string, unknown>> = {
  "a number": 7,
  "a list": [["x"]],
  "an object": { x: 1 },
  true: true,
  "a text": "surely not",
  "deep nesting": deep,
};

/** Values of the right type that mean nothing, by type. */
const meaningless: Readonly<Partial<Record<Type, Readonly<Record<string, unknown>>>>> = {
  name: { "an empty text": "", nothing: null },
  size: {
    "a negative size": "-1Gi",
    "a size with a strange suffix": "10Zi",
    "no size": "lots",
    "a size of 1,000 digits": "9".repeat(1_000),
    "an exponent beyond all sizes": "1e1000",
    "a fraction of nothing": ".",
    "a number beyond exactness": 1e300,
  },
  list: { "a list of numbers": [1, 2] },
  texts: { "a list of numbers": [1, 2], "a list of a list": [["x"]] },
};

const fits: Readonly<Record<Type, readonly string[]>> = {
  text: ["a text"],
  name: ["a text"],
  size: ["a number"],
  object: ["an object", "deep nesting"],
  amount: ["a text", "a number"],
  list: ["a list"],
  anyList: ["a list"],
  texts: ["a list"],
  flag: ["true"],
};

/** Every field of the object that is read, damaged in every way that it cannot be read in. */
export function damagesOf(kind: Kind, sound: Raw): Damage[] {
  return Object.entries({ ...everywhere, ...fields[kind] }).flatMap(([path, type]) => {
    const wrong = Object.entries(wrongTypes).filter(([how]) => !fits[type].includes(how));
    const odd = Object.entries(meaningless[type] ?? {});
    return [...wrong, ...odd].map(([how, value]) => ({
      kind,
      field: path.replaceAll("~", "."),
      how,
      object: withValue(sound, path.split("."), value),
    }));
  });
}

/** What stands around a damaged field where the object had none: whole for every list. */
const element = {
  key: "zone",
  operator: "In",
  values: ["a"],
  name: "x",
  controller: true,
  uid: "u",
  effect: "NoSchedule",
};

function withValue(from: unknown, [key = "", ...rest]: readonly string[], value: unknown): Raw {
  const name = key.replaceAll("~", ".");
  if (/^\d+$/.test(name)) {
    const list = Array.isArray(from) ? [...from] : [];
    list[Number(name)] = rest.length === 0 ? value : withValue(list[Number(name)] ?? element, rest, value);
    return list as unknown as Raw;
  }
  const object = typeof from === "object" && from !== null && !Array.isArray(from) ? { ...(from as Raw) } : {};
  const own = Object.hasOwn(object, name) ? object[name] : undefined;
  return { ...object, [name]: rest.length === 0 ? value : withValue(own, rest, value) };
}

const one = nodeName(0);

/** The object of each kind that is damaged: each needs another one of them. */
export const victims: Readonly<Record<Kind, string>> = {
  node: one,
  volume: "settled",
  claim: "d/one",
  class: "local",
  driver,
  csiNode: one,
  capacity: `kube-system/room-${one}`,
  pod: "d/one",
};
