/**
 * Real API objects with only what a test names; everything else is the plainest valid value. They pass through the same
 * translation as production, so a test about matching also tests that the fields were read.
 */

export type Raw = Record<string, unknown>;

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface VolumeFacts {
  /** Value of the label kubernetes.io/hostname that its affinity asks for. */
  readonly on?: string;
  /** Terms of its affinity instead of `on`. */
  readonly terms?: readonly { matchExpressions?: readonly Requirement[]; matchFields?: readonly Requirement[] }[];
  /** spec.nodeAffinity as it stands, instead of both. */
  readonly affinity?: Record<string, unknown>;
  readonly capacity?: string;
  readonly class?: string;
  readonly betaClass?: string;
  readonly modes?: readonly string[];
  readonly volumeMode?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly phase?: string;
  /** status.lastPhaseTransitionTime. */
  readonly since?: unknown;
  /** "namespace/name" or "name" in namespace d, of the claim that it is reserved for or bound to. */
  readonly claim?: string;
  readonly claimUid?: string;
  readonly attributesClass?: string;
  /** The field of spec that says where the data is, instead of `local`. */
  readonly source?: Record<string, unknown>;
  readonly deleting?: boolean;
  readonly uid?: string;
  readonly version?: string;
}

const deletionTimestamp = "2026-01-01T00:00:00Z";

export function makePV(name: string, o: VolumeFacts = {}): Raw {
  const claim = o.claim?.split("/") ?? [];
  const [namespace, claimName] = claim.length === 1 ? ["d", claim[0]] : claim;
  const terms =
    o.terms ??
    (o.on === undefined
      ? undefined
      : [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [o.on] }] }]);
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name,
      uid: o.uid ?? `uid-${name}`,
      resourceVersion: o.version ?? "1",
      ...(o.labels && { labels: o.labels }),
      annotations: {
        ...o.annotations,
        ...(o.betaClass !== undefined && { "volume.beta.kubernetes.io/storage-class": o.betaClass }),
      },
      ...(o.deleting && { deletionTimestamp }),
    },
    spec: {
      capacity: { storage: o.capacity ?? "10Gi" },
      storageClassName: o.class ?? "local",
      accessModes: o.modes ?? ["ReadWriteOnce"],
      ...(o.source ?? { local: { path: `/mnt/${name}` } }),
      ...(o.volumeMode !== undefined && { volumeMode: o.volumeMode }),
      ...(o.attributesClass !== undefined && { volumeAttributesClassName: o.attributesClass }),
      ...(claimName !== undefined && {
        claimRef: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          namespace,
          name: claimName,
          ...(o.claimUid !== undefined && { uid: o.claimUid }),
        },
      }),
      ...(terms && { nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
      ...(o.affinity && { nodeAffinity: o.affinity }),
    },
    status: {
      phase: o.phase ?? (o.claimUid === undefined ? "Available" : "Bound"),
      ...(o.since !== undefined && { lastPhaseTransitionTime: o.since }),
    },
  };
}

export interface ClaimFacts {
  readonly namespace?: string;
  readonly request?: string | null;
  readonly class?: string | null;
  readonly betaClass?: string;
  readonly modes?: readonly string[];
  readonly volumeMode?: string;
  readonly selector?: { matchLabels?: Record<string, string>; matchExpressions?: readonly Requirement[] };
  /** spec.volumeName, with bind-completed unless `halfBound`. */
  readonly volume?: string;
  readonly halfBound?: boolean;
  readonly phase?: string;
  readonly selectedNode?: string;
  readonly attributesClass?: string;
  readonly owner?: string;
  readonly deleting?: boolean;
  readonly dataSource?: boolean;
  readonly uid?: string;
  readonly version?: string;
}

export function makePVC(name: string, o: ClaimFacts = {}): Raw {
  const bound = o.volume !== undefined && !o.halfBound;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      namespace: o.namespace ?? "d",
      uid: o.uid ?? `u${name}`,
      resourceVersion: o.version ?? "1",
      annotations: {
        ...(bound && { "pv.kubernetes.io/bind-completed": "yes" }),
        ...(o.selectedNode !== undefined && { "volume.kubernetes.io/selected-node": o.selectedNode }),
        ...(o.betaClass !== undefined && { "volume.beta.kubernetes.io/storage-class": o.betaClass }),
      },
      ...(o.owner !== undefined && {
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "owner", uid: o.owner, controller: true }],
      }),
      ...(o.deleting && { deletionTimestamp }),
    },
    spec: {
      accessModes: o.modes ?? ["ReadWriteOnce"],
      ...(o.class !== null && { storageClassName: o.class ?? "local" }),
      resources: o.request === null ? {} : { requests: { storage: o.request ?? "5Gi" } },
      ...(o.volumeMode !== undefined && { volumeMode: o.volumeMode }),
      ...(o.selector && { selector: o.selector }),
      ...(o.volume !== undefined && { volumeName: o.volume }),
      ...(o.attributesClass !== undefined && { volumeAttributesClassName: o.attributesClass }),
      ...(o.dataSource && {
        dataSource: { kind: "VolumeSnapshot", name: "snap", apiGroup: "snapshot.storage.k8s.io" },
      }),
    },
    status: { phase: o.phase ?? (bound ? "Bound" : "Pending") },
  };
}

/** A Pod of namespace d that mounts the named claims; a name with a leading "~" is a generic ephemeral volume. */
export function makePod(
  name: string,
  claims: readonly string[],
  o: { uid?: string; node?: string; volumes?: readonly Raw[] } = {},
): Raw {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "d", uid: o.uid ?? `u${name}`, resourceVersion: "1" },
    spec: {
      schedulerName: "berth-scheduler",
      ...(o.node !== undefined && { nodeName: o.node }),
      containers: [{ name: "app", image: "app" }],
      volumes: [
        ...(o.volumes ?? []),
        ...claims.map((claim, index) =>
          claim.startsWith("~")
            ? { name: claim.slice(1), ephemeral: { volumeClaimTemplate: { spec: {} } } }
            : { name: `v${index}`, persistentVolumeClaim: { claimName: claim } },
        ),
      ],
    },
    status: { phase: "Pending" },
  };
}

/** A ready node whose hostname label is its name unless `labels` says otherwise. */
export function makeNode(name: string, labels: Record<string, string> = {}): Raw {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1", labels: { "kubernetes.io/hostname": name, ...labels } },
    spec: {},
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      allocatable: { cpu: "8", memory: "32Gi", pods: "110" },
    },
  };
}

export interface ClassFacts {
  readonly provisioner?: string;
  readonly mode?: string | null;
  readonly topologies?: readonly { matchLabelExpressions?: readonly { key: string; values: readonly string[] }[] }[];
}

export function makeClass(name: string, o: ClassFacts = {}): Raw {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1" },
    provisioner: o.provisioner ?? "kubernetes.io/no-provisioner",
    ...(o.mode !== null && { volumeBindingMode: o.mode ?? "WaitForFirstConsumer" }),
    ...(o.topologies && { allowedTopologies: o.topologies }),
  };
}

export function makeDriver(name: string, storageCapacity?: boolean): Raw {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1" },
    spec: { ...(storageCapacity !== undefined && { storageCapacity }) },
  };
}

export function makeCsiNode(name: string, ...drivers: string[]): Raw {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1" },
    spec: { drivers: drivers.map((driver) => ({ name: driver, nodeID: name, topologyKeys: [] })) },
  };
}

/** A CSINode without drivers that says which in-tree plugins are migrated on the node. */
export function makeMigratedNode(name: string, ...plugins: string[]): Raw {
  const node = makeCsiNode(name);
  const annotations = { "storage.alpha.kubernetes.io/migrated-plugins": plugins.join(",") };
  return { ...node, metadata: { ...(node["metadata"] as Raw), annotations } };
}

export interface CapacityFacts {
  readonly class: string;
  /** Hostname label; `null` leaves nodeTopology out, `"*"` makes it match every node. */
  readonly on: string | null;
  /** Labels that nodeTopology asks for, instead of `on`. */
  readonly topology?: Record<string, string>;
  readonly capacity?: string;
  readonly max?: string;
  readonly created?: string;
  readonly version?: string;
}

export function makeCapacity(name: string, o: CapacityFacts): Raw {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIStorageCapacity",
    metadata: {
      name,
      namespace: "kube-system",
      uid: `uid-${name}`,
      resourceVersion: o.version ?? "1",
      creationTimestamp: o.created ?? "2026-01-01T00:00:00Z",
    },
    storageClassName: o.class,
    ...(o.on !== null && { nodeTopology: o.on === "*" ? {} : { matchLabels: { "kubernetes.io/hostname": o.on } } }),
    ...(o.topology && { nodeTopology: { matchLabels: o.topology } }),
    ...(o.capacity !== undefined && { capacity: o.capacity }),
    ...(o.max !== undefined && { maximumVolumeSize: o.max }),
  };
}
