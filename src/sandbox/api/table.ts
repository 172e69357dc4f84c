/** The columns of `kubectl get`, kind by kind. Source: kubernetes pkg/printers/internalversion/printers.go. */
import { type ApiObject, type JsonObject, type JsonValue, listAt, textAt } from "./json.ts";
import type { Resource } from "./resources.ts";
import {
  accessModes,
  addressOf,
  age,
  type Column,
  claimOf,
  className,
  count,
  eventObject,
  field,
  lastSeen,
  name,
  nodeRoles,
  nodeStatus,
  podStatus,
  readyContainers,
  readyReplicas,
  restarts,
  servicePorts,
  since,
  size,
  text,
  volumeClass,
  wide,
} from "./table-cells.ts";

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
