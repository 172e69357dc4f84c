/** The columns of `kubectl get`, kind by kind. Source: kubernetes pkg/printers/internalversion/printers.go. */
import { type ApiObject, at, isObject, type JsonObject, type JsonValue, listAt, numberAt, textAt } from "./json.ts";
import type { Resource } from "./resources.ts";

interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean";
  /** Shown by `-o wide` only. */
  readonly wide: boolean;
  readonly cell: (object: ApiObject, now: number) => JsonValue;
}

type Cell = Column["cell"];

const text = (name: string, cell: Cell): Column => ({ name, type: "string", wide: false, cell });
const wide = (name: string, cell: Cell): Column => ({ name, type: "string", wide: true, cell });
const count = (name: string, ...path: readonly string[]): Column => {
  return { name, type: "integer", wide: false, cell: (object) => numberAt(object, ...path) ?? 0 };
};
/** A field's text, or what kubectl shows when it is unset. */
const field =
  (path: string, unset = ""): Cell =>
  (object) => {
    const value = at(object, ...path.split("."));
    return value === undefined || value === null || value === "" ? unset : String(value);
  };

const secondsInDay = 86_400;

/** Short like `duration.HumanDuration`: two units where one would say too little. */
export function humanDuration(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(seconds / secondsInDay);
  const years = Math.floor(days / 365);
  const pair = (a: number, unit: string, b: number, small: string): string =>
    `${a}${unit}${b > 0 ? `${b}${small}` : ""}`;
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (days < 8) return pair(days, "d", hours % 24, "h");
  if (years < 2) return `${days}d`;
  if (years < 8) return pair(years, "y", days % 365, "d");
  return `${years}y`;
}

const since =
  (read: (object: ApiObject) => string): Cell =>
  (object, now) => {
    const then = Date.parse(read(object));
    return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
  };

const name = text("Name", ({ metadata }) => metadata.name);
const age = text(
  "Age",
  since(({ metadata }) => metadata.creationTimestamp ?? ""),
);

const modeNames = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);

const accessModes =
  (...path: readonly string[]): Cell =>
  (object) =>
    listAt(object, ...path)
      .map((mode) => modeNames.get(String(mode)) ?? String(mode))
      .join(",");

const volumeClass = text("VolumeAttributesClass", field("spec.volumeAttributesClassName", "<unset>"));

function podStatus({ metadata, spec, status }: ApiObject): string {
  if (metadata.deletionTimestamp) return "Terminating";
  const reason = textAt(status, "reason");
  if (reason !== "") return reason;
  const gated = textAt(spec, "nodeName") === "" && listAt(spec, "schedulingGates").length > 0;
  return gated ? "SchedulingGated" : textAt(status, "phase");
}

function readyContainers({ spec, status }: ApiObject): string {
  const ready = listAt(status, "containerStatuses").filter((container) => at(container, "ready") === true);
  return `${ready.length}/${listAt(spec, "containers").length}`;
}

function restarts({ status }: ApiObject): string {
  const counts = listAt(status, "containerStatuses").map((container) => numberAt(container, "restartCount") ?? 0);
  return String(counts.reduce((sum, one) => sum + one, 0));
}

function nodeStatus({ spec, status }: ApiObject): string {
  const ready = listAt(status, "conditions").find((condition) => textAt(condition, "type") === "Ready");
  const words = [ready === undefined ? "Unknown" : textAt(ready, "status") === "True" ? "Ready" : "NotReady"];
  if (at(spec, "unschedulable") === true) words.push("SchedulingDisabled");
  return words.join(",");
}

function nodeRoles({ metadata }: ApiObject): string {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(prefix));
  return roles.map((label) => label.slice(prefix.length)).join(",") || "<none>";
}

const addressOf =
  (type: string): Cell =>
  ({ status }) =>
    textAt(
      listAt(status, "addresses").find((address) => textAt(address, "type") === type),
      "address",
    ) || "<none>";

function claimOf({ spec }: ApiObject): string {
  const claim = at(spec, "claimRef");
  return isObject(claim) ? `${textAt(claim, "namespace")}/${textAt(claim, "name")}` : "";
}

function className({ metadata }: ApiObject): string {
  const isDefault = metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true";
  return isDefault ? `${metadata.name} (default)` : metadata.name;
}

const size =
  (path: string): Cell =>
  (object) => {
    const found = at(object, path);
    return isObject(found) ? Object.keys(found).length : 0;
  };

function eventObject({ involvedObject, regarding }: ApiObject): string {
  const about = involvedObject ?? regarding;
  return `${textAt(about, "kind").toLowerCase()}/${textAt(about, "name")}`;
}

const lastSeen = (event: ApiObject): string =>
  textAt(event, "series", "lastObservedTime") ||
  textAt(event, "lastTimestamp") ||
  textAt(event, "eventTime") ||
  (event.metadata.creationTimestamp ?? "");

const columnsByKind: ReadonlyMap<string, readonly Column[]> = new Map<string, readonly Column[]>([
  [
    "Pod",
    [
      ...[name, text("Ready", readyContainers), text("Status", podStatus), text("Restarts", restarts), age],
      ...[wide("IP", field("status.podIP", "<none>")), wide("Node", field("spec.nodeName", "<none>"))],
      ...[wide("Nominated Node", field("status.nominatedNodeName", "<none>")), wide("Readiness Gates", () => "<none>")],
    ],
  ],
  [
    "Node",
    [
      ...[name, text("Status", nodeStatus), text("Roles", nodeRoles), age],
      text("Version", field("status.nodeInfo.kubeletVersion")),
      ...[wide("Internal-IP", addressOf("InternalIP")), wide("External-IP", addressOf("ExternalIP"))],
      wide("OS-Image", field("status.nodeInfo.osImage", "<unknown>")),
      wide("Kernel-Version", field("status.nodeInfo.kernelVersion", "<unknown>")),
      wide("Container-Runtime", field("status.nodeInfo.containerRuntimeVersion", "<unknown>")),
    ],
  ],
  [
    "PersistentVolume",
    [
      ...[
        name,
        text("Capacity", field("spec.capacity.storage")),
        text("Access Modes", accessModes("spec", "accessModes")),
      ],
      text("Reclaim Policy", field("spec.persistentVolumeReclaimPolicy")),
      ...[text("Status", field("status.phase")), text("Claim", claimOf)],
      ...[text("StorageClass", field("spec.storageClassName")), volumeClass, text("Reason", field("status.reason"))],
      ...[age, wide("VolumeMode", field("spec.volumeMode", "<unset>"))],
    ],
  ],
  [
    "PersistentVolumeClaim",
    [
      ...[
        name,
        text("Status", (claim) => (claim.metadata.deletionTimestamp ? "Terminating" : textAt(claim.status, "phase"))),
      ],
      ...[text("Volume", field("spec.volumeName")), text("Capacity", field("status.capacity.storage"))],
      text("Access Modes", accessModes("status", "accessModes")),
      ...[text("StorageClass", field("spec.storageClassName")), volumeClass, age],
      wide("VolumeMode", field("spec.volumeMode", "<unset>")),
    ],
  ],
  [
    "StorageClass",
    [
      ...[
        text("Name", className),
        text("Provisioner", field("provisioner")),
        text("ReclaimPolicy", field("reclaimPolicy")),
      ],
      text("VolumeBindingMode", field("volumeBindingMode")),
      text("AllowVolumeExpansion", field("allowVolumeExpansion", "false")),
      age,
    ],
  ],
  ["CSINode", [name, text("Drivers", ({ spec }) => listAt(spec, "drivers").length), age]],
  [
    "CSIDriver",
    [
      ...[
        name,
        text("AttachRequired", field("spec.attachRequired")),
        text("PodInfoOnMount", field("spec.podInfoOnMount")),
      ],
      text("StorageCapacity", field("spec.storageCapacity")),
      text("Modes", ({ spec }) => listAt(spec, "volumeLifecycleModes").join(",")),
      age,
    ],
  ],
  [
    "CSIStorageCapacity",
    [name, text("StorageClassName", field("storageClassName")), text("Capacity", field("capacity"))],
  ],
  [
    "Event",
    [
      ...[text("Last Seen", since(lastSeen)), text("Type", field("type")), text("Reason", field("reason"))],
      text("Object", eventObject),
      wide("Source", (event) => textAt(event, "source", "component") || textAt(event, "reportingComponent")),
      text("Message", (event) => (textAt(event, "message") || textAt(event, "note")).trim()),
      { ...count("Count", "count"), wide: true },
      wide("Name", ({ metadata }) => metadata.name),
    ],
  ],
  ["Namespace", [name, text("Status", field("status.phase")), age]],
  ["ConfigMap", [name, text("Data", size("data")), age]],
  ["Secret", [name, text("Type", field("type")), text("Data", size("data")), age]],
  [
    "Service",
    [
      ...[name, text("Type", field("spec.type")), text("Cluster-IP", field("spec.clusterIP", "<none>"))],
      ...[text("External-IP", () => "<none>"), text("Port(s)", servicePorts), age],
    ],
  ],
  ["StatefulSet", [name, text("Ready", readyReplicas), age]],
  [
    "Deployment",
    [
      ...[name, text("Ready", readyReplicas), count("Up-to-date", "status", "updatedReplicas")],
      ...[count("Available", "status", "availableReplicas"), age],
    ],
  ],
  [
    "ReplicaSet",
    [
      ...[name, count("Desired", "spec", "replicas"), count("Current", "status", "replicas")],
      ...[count("Ready", "status", "readyReplicas"), age],
    ],
  ],
  [
    "DaemonSet",
    [
      ...[name, count("Desired", "status", "desiredNumberScheduled")],
      ...[count("Current", "status", "currentNumberScheduled"), count("Ready", "status", "numberReady"), age],
    ],
  ],
  ["Lease", [name, text("Holder", field("spec.holderIdentity")), age]],
  [
    "PodDisruptionBudget",
    [
      ...[name, text("Min Available", field("spec.minAvailable", "N/A"))],
      text("Max Unavailable", field("spec.maxUnavailable", "N/A")),
      ...[count("Allowed Disruptions", "status", "disruptionsAllowed"), age],
    ],
  ],
  [
    "PriorityClass",
    [
      ...[name, count("Value", "value"), text("Global-Default", field("globalDefault", "false")), age],
      text("PreemptionPolicy", field("preemptionPolicy")),
    ],
  ],
]);

function servicePorts({ spec }: ApiObject): string {
  const ports = listAt(spec, "ports");
  return ports.map((port) => `${numberAt(port, "port")}/${textAt(port, "protocol")}`).join(",") || "<none>";
}

function readyReplicas({ spec, status }: ApiObject): string {
  return `${numberAt(status, "readyReplicas") ?? 0}/${numberAt(spec, "replicas") ?? 0}`;
}

export function columnDefinitionsOf({ kind }: Resource): JsonObject[] {
  return columnsOf(kind).map((column) => ({
    name: column.name,
    type: column.type,
    format: column.name === "Name" && !column.wide ? "name" : "",
    description: "",
    priority: column.wide ? 1 : 0,
  }));
}

export function cellsOf(object: ApiObject, { kind }: Resource, now: number): JsonValue[] {
  return columnsOf(kind).map(({ cell }) => cell(object, now));
}

function columnsOf(kind: string): readonly Column[] {
  return columnsByKind.get(kind) ?? [name, age];
}
