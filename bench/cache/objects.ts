/**
 * API objects as large as those of a real cluster: Nodes of some 15 KB with 50 images, PersistentVolumes of some 1.9 KB, claims of
 * some 1.5 KB, with what servers write into managedFields. Everything follows from the place in the cluster.
 */
import type { ApiObject, JsonObject } from "../../src/sandbox/api/json.ts";

export const schedulerName = "berth-scheduler";
export const className = "local";

const createdAt = "2026-01-01T00:00:00Z";

export function nodeNameOf(index: number): string {
  return `node-${String(index).padStart(5, "0")}`;
}

/** As the local static provisioner calls them: no order to be had from the name. */
export function volumeNameOf(node: number, disk: number): string {
  return `local-pv-${(Math.imul(node * 64 + disk + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0")}`;
}

function metadataOf(kind: string, name: string, index: number, more: Partial<ApiObject["metadata"]> = {}) {
  const uid = `${kind}-0000-4000-8000-${String(index).padStart(12, "0")}`;
  return { name, uid, creationTimestamp: createdAt, generation: 1, ...more } as ApiObject["metadata"];
}

/** About 100 bytes a field. */
function managedBy(manager: string, fields: readonly string[]): JsonObject {
  const owned = Object.fromEntries(fields.map((field) => [`f:${field}`, { ".": {}, [`f:${field}-of`]: {} }]));
  const fieldsV1 = { "f:metadata": owned, "f:spec": owned };
  return { manager, operation: "Update", apiVersion: "v1", time: createdAt, fieldsType: "FieldsV1", fieldsV1 };
}

export function classObject(): ApiObject {
  return {
    kind: "StorageClass",
    apiVersion: "storage.k8s.io/v1",
    metadata: metadataOf("sc", className, 0),
    provisioner: "kubernetes.io/no-provisioner",
    volumeBindingMode: "WaitForFirstConsumer",
    reclaimPolicy: "Delete",
  };
}

const images = Array.from({ length: 50 }, (_, image) => ({
  names: [
    `registry.example/team-${image % 7}/service-${image}@sha256:${String(image).padStart(64, "0")}`,
    `registry.example/team-${image % 7}/service-${image}:v1.${image}.0`,
  ],
  sizeBytes: 100_000_000 + image,
}));

const managedNode = [managedBy("kubelet", "labels annotations allocatable capacity conditions images".split(" "))];

/** @param beat  the kubelet's last report: any text */
export function nodeObject(index: number, beat: string): ApiObject {
  const name = nodeNameOf(index);
  const zone = `zone-${index % 3}`;
  const condition = (type: string, status: string, reason: string) => {
    const message = `kubelet reports that ${reason} holds on this node since it was last looked at`;
    return { type, status, reason, message, lastHeartbeatTime: beat, lastTransitionTime: createdAt };
  };
  const amounts = {
    cpu: "64",
    memory: "263856104Ki",
    pods: "110",
    "ephemeral-storage": "961119Mi",
    "hugepages-2Mi": "0",
  };
  return {
    kind: "Node",
    apiVersion: "v1",
    metadata: metadataOf("node", name, index, {
      labels: {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": `metal-${index % 5}`,
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/region": "region",
        "example.com/rack": `rack-${index % 400}`,
        "example.com/pool": `pool-${index % 11}`,
      },
      annotations: { "node.alpha.kubernetes.io/ttl": "300", "csi.volume.kubernetes.io/nodeid": `{"csi":"${name}"}` },
      managedFields: managedNode,
    }),
    spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"], providerID: `metal://${name}` },
    status: {
      capacity: amounts,
      allocatable: amounts,
      conditions: [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        condition("Ready", "True", "KubeletReady"),
      ],
      addresses: [{ type: "InternalIP", address: `10.${index >> 8}.${index & 255}.1` }],
      nodeInfo: { kernelVersion: "6.12.0", osImage: "Linux", kubeletVersion: "v1.36.3", architecture: "amd64" },
      images,
    },
  };
}

const managedVolume = [
  managedBy("local-static-provisioner", ["capacity", "accessModes", "local", "nodeAffinity"]),
  managedBy("kube-controller-manager", ["claimRef", "phase"]),
];

export interface Bond {
  readonly claim: ApiObject;
  readonly phase: string;
}

/** @param to  the claim that it is bound to, or was */
export function volumeObject(node: number, disk: number, to?: Bond): ApiObject {
  const name = volumeNameOf(node, disk);
  const values = [nodeNameOf(node)];
  const { metadata } = to?.claim ?? {};
  const annotations = {
    "pv.kubernetes.io/provisioned-by": "local-volume-provisioner",
    ...(metadata && { "pv.kubernetes.io/bound-by-controller": "yes" }),
  };
  return {
    kind: "PersistentVolume",
    apiVersion: "v1",
    metadata: metadataOf("pv", name, node * 64 + disk, {
      annotations,
      finalizers: ["kubernetes.io/pv-protection"],
      managedFields: managedVolume,
    }),
    spec: {
      capacity: { storage: `${disk + 1}Gi` },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: className,
      volumeMode: "Filesystem",
      local: { path: `/mnt/disks/${disk}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values }] }],
        },
      },
      ...(metadata && {
        claimRef: {
          kind: "PersistentVolumeClaim",
          apiVersion: "v1",
          namespace: metadata.namespace ?? "",
          name: metadata.name,
          uid: metadata.uid ?? "",
        },
      }),
    },
    status: { phase: to?.phase ?? "Available" },
  };
}

const managedClaim = [
  managedBy("kube-controller-manager", ["bind-completed", "volumeName", "phase"]),
  managedBy("kubectl-create", ["accessModes", "resources", "storageClassName"]),
];

export interface ClaimState {
  readonly volume?: string;
  readonly phase?: string;
  /** The how-manieth of its name: each has a uid of its own. */
  readonly life?: number;
}

/** @param owner  "app-17", "spare-3": of that Pod or of nobody */
export function claimObject(owner: string, index: number, o: ClaimState = {}): ApiObject {
  const { volume, phase, life = 0 } = o;
  const [kind = "", number = "0"] = owner.split("-");
  const annotations =
    volume === undefined
      ? {}
      : { "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes" };
  const storage = `${index + 1}Gi`;
  return {
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    metadata: metadataOf(`${kind}-${index}-${life}`, claimNameOf(owner, index), Number(number), {
      namespace: namespaceOf(owner),
      labels: { "app.kubernetes.io/name": kind, "app.kubernetes.io/part-of": `team-${Number(number) % 50}` },
      annotations,
      finalizers: ["kubernetes.io/pvc-protection"],
      managedFields: managedClaim,
    }),
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage } },
      storageClassName: className,
      volumeMode: "Filesystem",
      ...(volume !== undefined && { volumeName: volume }),
    },
    status: {
      phase: phase ?? "Pending",
      ...(phase === "Bound" && { capacity: { storage }, accessModes: ["ReadWriteOnce"] }),
    },
  };
}

export function claimNameOf(owner: string, index: number): string {
  return `data-${index}-${owner}`;
}

function namespaceOf(owner: string): string {
  return `team-${Number(owner.split("-")[1]) % 50}`;
}

const managedPod = [managedBy("kube-controller-manager", ["containers", "volumes", "tolerations", "schedulerName"])];

/** @param told  what kube-scheduler said of it last */
export function podObject(index: number, claims: number, told: string): ApiObject {
  const owner = `app-${index}`;
  const names = Array.from({ length: claims }, (_, claim) => claimNameOf(owner, claim));
  return {
    kind: "Pod",
    apiVersion: "v1",
    metadata: metadataOf("pod", owner, index, {
      namespace: namespaceOf(owner),
      labels: { "app.kubernetes.io/name": "app", "apps.kubernetes.io/pod-index": String(index) },
      managedFields: managedPod,
    }),
    spec: {
      schedulerName,
      containers: [
        {
          name: "app",
          image: "registry.example/team/app:v1",
          resources: { requests: { cpu: "1", memory: "2Gi" } },
          volumeMounts: names.map((name) => ({ name, mountPath: `/data/${name}` })),
        },
      ],
      volumes: names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
      ],
    },
    status: {
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: told }],
    },
  };
}
