/** Every resource this API server has, as data: the rest of the server knows no kinds but what these rows say. */
import {
  fillInClaim,
  fillInCsiDriver,
  fillInNode,
  fillInPod,
  fillInPriorityClass,
  fillInSecret,
  fillInService,
  fillInStorageClass,
  fillInVolume,
  fillInWorkload,
} from "./defaults.ts";
import {
  checkCapacityUpdate,
  checkClaimUpdate,
  checkPodUpdate,
  checkPriorityClassUpdate,
  checkStatefulSetUpdate,
  checkStorageClassUpdate,
  checkVolumeUpdate,
  checkWorkloadUpdate,
} from "./immutability.ts";
import type { ApiObject, JsonObject } from "./json.ts";
import { leaseRules } from "./leases.ts";
import type { FieldError } from "./status.ts";
import {
  checkCapacity,
  checkClaim,
  checkConfigMap,
  checkCsiNode,
  checkNode,
  checkPod,
  checkPriorityClass,
  checkService,
  checkStorageClass,
  checkVolume,
  checkWorkload,
} from "./validation.ts";

type NameRule = "subdomain" | "label";

/** A field that clients may select by: where its value is, and what an object without it counts as. */
interface SelectableField {
  readonly path: readonly string[];
  readonly empty: string;
}

export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  /** Has a status subresource: writes to the object itself leave the status alone. */
  readonly status: boolean;
  /** Whether status is dropped from what a client creates. Nodes bring theirs with them. */
  readonly keepsStatusOnCreate: boolean;
  readonly scale: boolean;
  readonly nameRule: NameRule;
  /** Selectable beside metadata.name and metadata.namespace. */
  readonly fields: ReadonlyMap<string, SelectableField>;
  /** DELETE answers with the object, not with a Status. */
  readonly returnsDeleted: boolean;
  /** PUT of a name that is not there creates it. */
  readonly createsOnUpdate: boolean;
  /** Put on at creation where the server is told to, and taken off by the protection controllers. */
  readonly protection?: string;
  /** Why what a client sent is no object of this kind at all. */
  readonly whyUnreadable?: (sent: JsonObject) => string | undefined;
  readonly fillIn?: (object: ApiObject) => void;
  readonly check?: (object: ApiObject) => FieldError[];
  readonly checkUpdate?: (next: ApiObject, before: ApiObject) => FieldError[];
}

type Row = Partial<Omit<Resource, "fields">> & {
  readonly plural: string;
  readonly kind: string;
  /** "path" or "path=what an object without it counts as" or "name<-path". */
  readonly select?: readonly string[];
};

function selectable(text: string): [string, SelectableField] {
  const [named = "", empty = ""] = text.split("=");
  const [name = "", path = name] = named.split("<-");
  return [name, { path: path.split("."), empty }];
}

function makeRows(group: string, version: string, rows: readonly Row[]): Resource[] {
  return rows.map(({ select = [], ...row }) => ({
    group,
    version,
    namespaced: true,
    shortNames: [],
    status: false,
    keepsStatusOnCreate: false,
    scale: false,
    nameRule: "subdomain",
    returnsDeleted: false,
    createsOnUpdate: false,
    ...row,
    fields: new Map(select.map(selectable)),
  }));
}

const cluster = { namespaced: false } as const;
const workload = { status: true, scale: true, fillIn: fillInWorkload, check: checkWorkload } as const;

const eventFields = (about: string, reporter: string): string[] => [
  ...["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"].map(
    (field) => `${about}.${field}<-involvedObject.${field}`,
  ),
  "reason",
  `${reporter}<-reportingComponent`,
  "source<-source.component",
  "type",
];

const core = makeRows("", "v1", [
  { ...cluster, plural: "namespaces", kind: "Namespace", shortNames: ["ns"], status: true, nameRule: "label" },
  {
    ...cluster,
    plural: "nodes",
    kind: "Node",
    shortNames: ["no"],
    status: true,
    keepsStatusOnCreate: true,
    select: ["spec.unschedulable=false"],
    fillIn: fillInNode,
    check: checkNode,
  },
  {
    plural: "pods",
    kind: "Pod",
    shortNames: ["po"],
    status: true,
    returnsDeleted: true,
    select: [
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "spec.hostNetwork=false",
      "status.phase",
      "status.podIP",
      "status.nominatedNodeName",
    ],
    fillIn: fillInPod,
    check: checkPod,
    checkUpdate: checkPodUpdate,
  },
  {
    ...cluster,
    plural: "persistentvolumes",
    kind: "PersistentVolume",
    shortNames: ["pv"],
    status: true,
    returnsDeleted: true,
    protection: "kubernetes.io/pv-protection",
    fillIn: fillInVolume,
    check: checkVolume,
    checkUpdate: checkVolumeUpdate,
  },
  {
    plural: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    shortNames: ["pvc"],
    status: true,
    returnsDeleted: true,
    protection: "kubernetes.io/pvc-protection",
    fillIn: fillInClaim,
    check: checkClaim,
    checkUpdate: checkClaimUpdate,
  },
  {
    plural: "events",
    kind: "Event",
    shortNames: ["ev"],
    createsOnUpdate: true,
    select: eventFields("involvedObject", "reportingComponent"),
  },
  { plural: "configmaps", kind: "ConfigMap", shortNames: ["cm"], check: checkConfigMap },
  { plural: "secrets", kind: "Secret", select: ["type"], fillIn: fillInSecret, check: checkConfigMap },
  {
    plural: "services",
    kind: "Service",
    shortNames: ["svc"],
    status: true,
    returnsDeleted: true,
    nameRule: "label",
    fillIn: fillInService,
    check: checkService,
  },
  { plural: "serviceaccounts", kind: "ServiceAccount", shortNames: ["sa"], returnsDeleted: true },
]);

const apps = makeRows("apps", "v1", [
  {
    ...workload,
    plural: "statefulsets",
    kind: "StatefulSet",
    shortNames: ["sts"],
    checkUpdate: checkStatefulSetUpdate,
  },
  { ...workload, plural: "deployments", kind: "Deployment", shortNames: ["deploy"], checkUpdate: checkWorkloadUpdate },
  { ...workload, plural: "replicasets", kind: "ReplicaSet", shortNames: ["rs"], checkUpdate: checkWorkloadUpdate },
  {
    ...workload,
    scale: false,
    plural: "daemonsets",
    kind: "DaemonSet",
    shortNames: ["ds"],
    checkUpdate: checkWorkloadUpdate,
  },
]);

const storage = makeRows("storage.k8s.io", "v1", [
  {
    ...cluster,
    plural: "storageclasses",
    kind: "StorageClass",
    shortNames: ["sc"],
    returnsDeleted: true,
    fillIn: fillInStorageClass,
    check: checkStorageClass,
    checkUpdate: checkStorageClassUpdate,
  },
  { ...cluster, plural: "csidrivers", kind: "CSIDriver", returnsDeleted: true, fillIn: fillInCsiDriver },
  { ...cluster, plural: "csinodes", kind: "CSINode", returnsDeleted: true, check: checkCsiNode },
  {
    plural: "csistoragecapacities",
    kind: "CSIStorageCapacity",
    check: checkCapacity,
    checkUpdate: checkCapacityUpdate,
  },
  {
    ...cluster,
    plural: "volumeattributesclasses",
    kind: "VolumeAttributesClass",
    shortNames: ["vac"],
    returnsDeleted: true,
  },
]);

const others = [
  ...makeRows("coordination.k8s.io", "v1", [{ plural: "leases", kind: "Lease", createsOnUpdate: true, ...leaseRules }]),
  ...makeRows("events.k8s.io", "v1", [
    {
      plural: "events",
      kind: "Event",
      shortNames: ["ev"],
      createsOnUpdate: true,
      select: eventFields("regarding", "reportingController"),
    },
  ]),
  ...makeRows("policy", "v1", [
    { plural: "poddisruptionbudgets", kind: "PodDisruptionBudget", shortNames: ["pdb"], status: true },
  ]),
  ...makeRows("scheduling.k8s.io", "v1", [
    {
      ...cluster,
      plural: "priorityclasses",
      kind: "PriorityClass",
      shortNames: ["pc"],
      fillIn: fillInPriorityClass,
      check: checkPriorityClass,
      checkUpdate: checkPriorityClassUpdate,
    },
  ]),
];

export const resources: readonly Resource[] = [...core, ...apps, ...storage, ...others];

const byPath = new Map(
  resources.map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
);

export function findResource(group: string, version: string, plural: string): Resource | undefined {
  return byPath.get(`${group}/${version}/${plural}`);
}

/** A core resource or a grouped one that this server's own rules speak of. @throws when the table lacks it */
export function getResource(plural: string): Resource {
  const found = resources.find((resource) => resource.plural === plural);
  if (!found) throw new Error(`no resource ${plural}`);
  return found;
}

export function groupVersionOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Under which name objects are kept: events are one collection, whichever group they are asked for under. */
export function collectionOf(resource: Resource): string {
  return resource.plural;
}
