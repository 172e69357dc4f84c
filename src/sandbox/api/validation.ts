/** The rules an object must meet, with the messages of the real server where clients or people look for them. */
import { parseBytes } from "../../scheduling/quantity.ts";
import { type ApiObject, at, isObject, type JsonValue, listAt, numberAt, textAt } from "./json.ts";
import type { FieldError } from "./status.ts";

const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelMessage =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const qualifiedNameMessage =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueMessage =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const quantityMessage = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const dataKey = /^[-._a-zA-Z0-9]+$/;
const annotationBytesMax = 256 * 1024;

export const required = (field: string, message = ""): FieldError => ({ field, type: "Required value", message });
export const wrong = (field: string, value: unknown, message: string): FieldError => {
  return { field, type: "Invalid value", value, message };
};
const unsupported = (field: string, value: unknown, allowed: readonly string[]): FieldError => {
  const message = `supported values: ${allowed.map((text) => JSON.stringify(text)).join(", ")}`;
  return { field, type: "Unsupported value", value, message };
};

function isDnsLabel(text: string): boolean {
  return text.length <= 63 && label.test(text);
}

function isSubdomain(text: string): boolean {
  return text.length <= 253 && subdomain.test(text);
}

/** A label's or an annotation's key: a name with an optional "prefix/". */
export function isQualifiedName(text: string): boolean {
  const [first = "", second, ...more] = text.split("/");
  if (more.length > 0) return false;
  const name = second ?? first;
  if (second !== undefined && !isSubdomain(first)) return false;
  return name.length <= 63 && namePart.test(name);
}

export function isLabelValue(text: string): boolean {
  return text.length <= 63 && labelValue.test(text);
}

/** Name, labels, annotations, finalizers: the rules of every kind. */
export function checkMetadata({ metadata }: ApiObject, nameRule: "subdomain" | "label"): FieldError[] {
  const errors: FieldError[] = [];
  const { name, labels = {}, annotations = {}, finalizers = [] } = metadata;
  if (name === "") errors.push(required("metadata.name", "name or generateName is required"));
  else if (nameRule === "label" && !isDnsLabel(name)) errors.push(wrong("metadata.name", name, labelMessage));
  else if (nameRule === "subdomain" && !isSubdomain(name)) errors.push(wrong("metadata.name", name, subdomainMessage));
  for (const [key, value] of Object.entries(labels)) {
    if (!isQualifiedName(key)) errors.push(wrong("metadata.labels", key, qualifiedNameMessage));
    else if (!isLabelValue(value)) errors.push(wrong("metadata.labels", value, labelValueMessage));
  }
  let annotationBytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    annotationBytes += key.length + value.length;
    if (!isQualifiedName(key.toLowerCase())) errors.push(wrong("metadata.annotations", key, qualifiedNameMessage));
  }
  if (annotationBytes > annotationBytesMax) {
    errors.push(wrong("metadata.annotations", undefined, `must have at most ${annotationBytesMax} bytes`));
  }
  for (const finalizer of finalizers) {
    if (!isQualifiedName(finalizer)) errors.push(wrong("metadata.finalizers", finalizer, qualifiedNameMessage));
  }
  return errors;
}

function checkQuantity(value: JsonValue | undefined, field: string): FieldError[] {
  if (typeof value === "string" && parseBytes(value) !== undefined) return [];
  return [wrong(field, value, quantityMessage)];
}

function checkQuantities(amounts: JsonValue | undefined, field: string): FieldError[] {
  if (amounts === undefined || amounts === null) return [];
  if (!isObject(amounts)) return [wrong(field, amounts, "must be an object")];
  return Object.entries(amounts).flatMap(([name, value]) => checkQuantity(value, `${field}[${name}]`));
}

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

function checkAccessModes(spec: JsonValue | undefined): FieldError[] {
  const modes = listAt(spec, "accessModes");
  if (modes.length === 0) return [required("spec.accessModes", "at least 1 access mode is required")];
  const odd = modes.filter((mode) => !accessModes.includes(String(mode)));
  return odd.map((mode) => unsupported("spec.accessModes", mode, accessModes));
}

/** A pod or a pod template. `path` is where its spec stands. */
function checkPodSpec(spec: JsonValue | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const containers = listAt(spec, "containers");
  if (containers.length === 0) errors.push(required(`${path}.containers`));
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const field = `${path}.containers[${index}]`;
    const name = textAt(container, "name");
    if (name === "") errors.push(required(`${field}.name`));
    else if (!isDnsLabel(name)) errors.push(wrong(`${field}.name`, name, labelMessage));
    else if (names.has(name))
      errors.push({ field: `${field}.name`, type: "Duplicate value", value: name, message: "" });
    names.add(name);
    if (textAt(container, "image") === "") errors.push(required(`${field}.image`));
    errors.push(...checkQuantities(at(container, "resources", "requests"), `${field}.resources.requests`));
    errors.push(...checkQuantities(at(container, "resources", "limits"), `${field}.resources.limits`));
  }
  for (const [index, volume] of listAt(spec, "volumes").entries()) {
    const field = `${path}.volumes[${index}]`;
    if (!isDnsLabel(textAt(volume, "name"))) errors.push(wrong(`${field}.name`, textAt(volume, "name"), labelMessage));
    const claim = at(volume, "persistentVolumeClaim");
    if (claim !== undefined && textAt(claim, "claimName") === "") {
      errors.push(required(`${field}.persistentVolumeClaim.claimName`));
    }
    const template = at(volume, "ephemeral", "volumeClaimTemplate");
    if (template === undefined) continue;
    errors.push(...checkClaimSpec(at(template, "spec"), `${field}.ephemeral.volumeClaimTemplate.spec`));
  }
  return errors;
}

export function checkPod(pod: ApiObject): FieldError[] {
  return checkPodSpec(pod.spec, "spec");
}

function checkClaimSpec(spec: JsonValue | undefined, path: string): FieldError[] {
  const errors = checkAccessModes(spec).map((error) => ({ ...error, field: error.field.replace("spec", path) }));
  const storage = at(spec, "resources", "requests", "storage");
  const field = `${path}.resources[storage]`;
  if (storage === undefined) errors.push(required(field));
  else if (parseBytes(String(storage)) === 0n) errors.push(wrong(field, storage, "must be greater than zero"));
  else errors.push(...checkQuantity(storage, field));
  return errors;
}

export function checkClaim(claim: ApiObject): FieldError[] {
  return checkClaimSpec(claim.spec, "spec");
}

const volumeSources = [
  ...["awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc", "flexVolume", "flocker"],
  ...["gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local", "nfs", "photonPersistentDisk", "portworxVolume"],
  ...["quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"],
];

/** The fields of a volume's spec that say where the data is; immutable, and exactly one must be there. */
export function sourcesOf(spec: JsonValue | undefined): string[] {
  return volumeSources.filter((source) => isObject(at(spec, source)));
}

export function checkVolume({ spec }: ApiObject): FieldError[] {
  const errors = checkAccessModes(spec);
  const capacity = at(spec, "capacity", "storage");
  if (capacity === undefined) errors.push(required("spec.capacity"));
  else errors.push(...checkQuantity(capacity, "spec.capacity[storage]"));

  const sources = sourcesOf(spec);
  if (sources.length === 0) errors.push(required("spec", "must specify a volume type"));
  for (const extra of sources.slice(1)) {
    errors.push({ field: `spec.${extra}`, type: "Forbidden", message: "may not specify more than 1 volume type" });
  }
  if (sources[0] === "local") {
    if (textAt(spec, "local", "path") === "") errors.push(required("spec.local.path"));
    if (!isObject(at(spec, "nodeAffinity"))) {
      errors.push(required("spec.nodeAffinity", "Local volume requires node affinity"));
    }
  }
  if (sources[0] === "csi") {
    if (textAt(spec, "csi", "driver") === "") errors.push(required("spec.csi.driver"));
    if (textAt(spec, "csi", "volumeHandle") === "") errors.push(required("spec.csi.volumeHandle"));
  }
  const affinity = at(spec, "nodeAffinity");
  if (isObject(affinity) && !isObject(affinity["required"])) {
    errors.push(required("spec.nodeAffinity.required", "must specify required node constraints"));
  }
  const policies = ["Delete", "Recycle", "Retain"];
  const policy = textAt(spec, "persistentVolumeReclaimPolicy");
  if (!policies.includes(policy)) errors.push(unsupported("spec.persistentVolumeReclaimPolicy", policy, policies));
  return errors;
}

export function checkNode({ status }: ApiObject): FieldError[] {
  return [
    ...checkQuantities(at(status, "capacity"), "status.capacity"),
    ...checkQuantities(at(status, "allocatable"), "status.allocatable"),
  ];
}

export function checkStorageClass(storageClass: ApiObject): FieldError[] {
  const errors: FieldError[] = [];
  if (textAt(storageClass, "provisioner") === "") errors.push(required("provisioner"));
  const modes = ["Immediate", "WaitForFirstConsumer"];
  const mode = textAt(storageClass, "volumeBindingMode");
  if (!modes.includes(mode)) errors.push(unsupported("volumeBindingMode", mode, modes));
  const policies = ["Delete", "Retain"];
  const policy = textAt(storageClass, "reclaimPolicy");
  if (!policies.includes(policy)) errors.push(unsupported("reclaimPolicy", policy, policies));
  return errors;
}

export function checkCsiNode({ spec }: ApiObject): FieldError[] {
  return listAt(spec, "drivers").flatMap((driver, index) => [
    ...(textAt(driver, "name") === "" ? [required(`spec.drivers[${index}].name`)] : []),
    ...(textAt(driver, "nodeID") === "" ? [required(`spec.drivers[${index}].nodeID`)] : []),
  ]);
}

export function checkCapacity(capacity: ApiObject): FieldError[] {
  return [
    ...(textAt(capacity, "storageClassName") === "" ? [required("storageClassName")] : []),
    ...["capacity", "maximumVolumeSize"].flatMap((field) => {
      const amount = at(capacity, field);
      return amount === undefined ? [] : checkQuantity(amount, field);
    }),
  ];
}

const userPriorityMax = 1_000_000_000;

export function checkPriorityClass(priorityClass: ApiObject): FieldError[] {
  const { name } = priorityClass.metadata;
  const value = numberAt(priorityClass, "value");
  if (value === undefined || !Number.isInteger(value)) return [required("value")];
  if (name.startsWith("system-") || value <= userPriorityMax) return [];
  const message = `maximum allowed value of a user defined priority is ${userPriorityMax}`;
  return [{ field: "value", type: "Forbidden", message }];
}

export function checkConfigMap(map: ApiObject): FieldError[] {
  const data = at(map, "data");
  if (data === undefined || data === null) return [];
  if (!isObject(data)) return [wrong("data", data, "must be an object")];
  const message =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
  return Object.entries(data).flatMap(([key, value]) => {
    if (!dataKey.test(key)) return [wrong(`data[${key}]`, key, message)];
    return typeof value === "string" ? [] : [wrong(`data[${key}]`, value, "must be a string")];
  });
}

export function checkService({ spec }: ApiObject): FieldError[] {
  if (listAt(spec, "ports").length > 0 || textAt(spec, "clusterIP") === "None") return [];
  return textAt(spec, "type") === "ExternalName" ? [] : [required("spec.ports")];
}

export function checkWorkload({ spec, kind }: ApiObject): FieldError[] {
  const errors = checkPodSpec(at(spec, "template", "spec"), "spec.template.spec");
  const chosen = at(spec, "selector", "matchLabels");
  const given = at(spec, "template", "metadata", "labels");
  if (!isObject(at(spec, "selector"))) errors.push(required("spec.selector"));
  else if (isObject(chosen) && Object.entries(chosen).some(([key, value]) => at(given, key) !== value)) {
    const message = "`selector` does not match template `labels`";
    errors.push(wrong("spec.template.metadata.labels", given ?? {}, message));
  }
  const replicas = numberAt(spec, "replicas");
  if (kind !== "DaemonSet" && (replicas === undefined || !Number.isInteger(replicas) || replicas < 0)) {
    errors.push(wrong("spec.replicas", at(spec, "replicas"), "must be greater than or equal to 0"));
  }
  return errors;
}
