/** The fields of API objects that the sandbox's controllers read. Everything else passes through them untouched. */

export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

/** What every object has once the API server has stored it. */
export interface Metadata extends ObjectKey {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Labels;
  readonly annotations?: Labels;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export type Labels = Readonly<Record<string, string>>;

export interface KubeObject {
  readonly metadata: Metadata;
}

export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

export interface NodeSelector {
  readonly nodeSelectorTerms?: readonly NodeSelectorTerm[];
}

export interface PreferredTerm {
  /** 1..100. */
  readonly weight: number;
  readonly preference: NodeSelectorTerm;
}

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly Requirement[];
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
  readonly status?: { readonly allocatable?: Labels; readonly conditions?: readonly Condition[] };
}

export interface Container {
  readonly resources?: { readonly requests?: Labels; readonly limits?: Labels };
}

export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: {
    readonly volumeClaimTemplate: { readonly metadata?: Partial<Metadata>; readonly spec: object };
  };
}

export interface PodAffinityTerm {
  readonly topologyKey: string;
  readonly labelSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
}

export interface PodAffinityRules {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly schedulerName?: string;
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly nodeSelector?: Labels;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
      readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly PreferredTerm[];
    };
    readonly podAffinity?: PodAffinityRules;
    readonly podAntiAffinity?: PodAffinityRules;
  };
  readonly tolerations?: readonly Toleration[];
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly (Container & { readonly restartPolicy?: string })[];
  readonly overhead?: Labels;
  readonly volumes?: readonly PodVolume[];
}

export interface Pod extends KubeObject {
  readonly spec: PodSpec;
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly nominatedNodeName?: string;
    readonly startTime?: string;
  };
}

export interface Claim extends KubeObject {
  readonly spec: {
    readonly volumeName?: string;
    readonly storageClassName?: string;
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: Labels };
    readonly selector?: LabelSelector;
    readonly volumeMode?: string;
    readonly volumeAttributesClassName?: string;
  };
  readonly status?: { readonly phase?: string; readonly capacity?: Labels; readonly accessModes?: readonly string[] };
}

export interface ClaimReference {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
}

export interface Volume extends KubeObject {
  readonly spec: {
    readonly capacity?: Labels;
    readonly storageClassName?: string;
    readonly accessModes?: readonly string[];
    readonly volumeMode?: string;
    readonly volumeAttributesClassName?: string;
    readonly claimRef?: ClaimReference;
    readonly persistentVolumeReclaimPolicy?: string;
    readonly nodeAffinity?: { readonly required?: NodeSelector };
    readonly csi?: { readonly driver?: string; readonly volumeHandle?: string };
  };
  readonly status?: { readonly phase?: string };
}

export interface StorageClass extends KubeObject {
  readonly provisioner: string;
  readonly volumeBindingMode?: string;
  readonly reclaimPolicy?: string;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
  }[];
}

export interface CsiNode extends KubeObject {
  readonly spec?: {
    readonly drivers?: readonly {
      readonly name: string;
      readonly nodeID: string;
      readonly topologyKeys?: readonly string[];
    }[];
  };
}

export interface StorageCapacity extends KubeObject {
  readonly storageClassName: string;
  readonly nodeTopology?: LabelSelector;
  readonly capacity?: string;
  readonly maximumVolumeSize?: string;
}

export interface StatefulSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly podManagementPolicy?: string;
    readonly ordinals?: { readonly start?: number };
    readonly persistentVolumeClaimRetentionPolicy?: { readonly whenScaled?: string; readonly whenDeleted?: string };
    readonly template: { readonly metadata?: Partial<Metadata>; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly {
      readonly metadata: Partial<Metadata> & { name: string };
      readonly spec: object;
    }[];
  };
  readonly status?: object;
}

/** The kinds that the sandbox's controllers read, by the plural of their path. */
export interface Kinds {
  readonly pods: Pod;
  readonly nodes: Node;
  readonly namespaces: KubeObject;
  readonly persistentvolumes: Volume;
  readonly persistentvolumeclaims: Claim;
  readonly storageclasses: StorageClass;
  readonly csidrivers: KubeObject;
  readonly csinodes: CsiNode;
  readonly csistoragecapacities: StorageCapacity;
  readonly statefulsets: StatefulSet;
  readonly events: KubeObject;
}
export type Plural = keyof Kinds;

export const annotation = {
  bindCompleted: "pv.kubernetes.io/bind-completed",
  boundByController: "pv.kubernetes.io/bound-by-controller",
  provisionedBy: "pv.kubernetes.io/provisioned-by",
  selectedNode: "volume.kubernetes.io/selected-node",
  storageProvisioner: "volume.kubernetes.io/storage-provisioner",
  betaStorageProvisioner: "volume.beta.kubernetes.io/storage-provisioner",
  defaultClass: "storageclass.kubernetes.io/is-default-class",
  betaClass: "volume.beta.kubernetes.io/storage-class",
} as const;

export const noProvisioner = "kubernetes.io/no-provisioner";

/** "namespace/name", or the name alone for an object without namespace. */
export function keyOf({ namespace, name }: ObjectKey): string {
  return namespace ? `${namespace}/${name}` : name;
}

export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The class an object names: the beta annotation goes before the field. "" when it names none. */
export function classOf({ metadata, spec }: Claim | Volume): string {
  return metadata.annotations?.[annotation.betaClass] ?? spec.storageClassName ?? "";
}

/** Whether the claim is bound for good: its `status.phase` says nothing about that. */
export function isFullyBound({ metadata, spec }: Claim): boolean {
  return !!spec.volumeName && metadata.annotations?.[annotation.bindCompleted] !== undefined;
}

/** Names of the claims that a pod mounts, once each; those of its generic ephemeral volumes are marked. */
export function claimsOf(pod: Pod): { readonly name: string; readonly isEphemeral: boolean }[] {
  const claims = new Map<string, boolean>();
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.persistentVolumeClaim) claims.set(volume.persistentVolumeClaim.claimName, false);
    else if (volume.ephemeral) claims.set(`${pod.metadata.name}-${volume.name}`, true);
  }
  return Array.from(claims, ([name, isEphemeral]) => ({ name, isEphemeral }));
}

export function isControlledBy({ metadata }: KubeObject, uid: string): boolean {
  return (metadata.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === uid);
}

export function hasEnded(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

export function isReady(object: Pod | Node): boolean {
  return (object.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
}
