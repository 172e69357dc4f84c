/**
 * Kubernetes objects reduced to the fields that decisions use. `apis/` makes them, once, when an object arrives; nothing
 * else reads the API's own shapes. All are immutable: a change arrives as a new object.
 */
import type { CapacityKey, ClaimKey, ClaimUid, ClassName, NodeName, PodKey, PodUid, VolumeName } from "./names.ts";
import type { Bytes } from "./quantity.ts";
import type { LabelSelector, NodeSelector } from "./selectors.ts";

export type Labels = ReadonlyMap<string, string>;

export type VolumeMode = "Filesystem" | "Block";

/** Access modes as bits, so that "the volume lists every mode the claim asks for" is one AND. No mode implies another. */
export type AccessModes = number;
export const accessModeBits = {
  ReadWriteOnce: 1,
  ReadOnlyMany: 2,
  ReadWriteMany: 4,
  ReadWriteOncePod: 8,
} as const satisfies Record<string, AccessModes>;

/** What every stored object carries. */
export interface Versioned {
  readonly uid: string;
  /** Opaque; compared as an integer only where both parse. */
  readonly resourceVersion: string;
  /** metadata.deletionTimestamp is set. */
  readonly deleting: boolean;
}

/** The claim that a volume's `spec.claimRef` names. `uid` is absent where a user reserved the volume by name alone. */
export interface ClaimRef {
  readonly claim: ClaimKey;
  readonly uid?: ClaimUid;
}

export interface Volume extends Versioned {
  readonly name: VolumeName;
  /** Beta annotation first, then spec.storageClassName, else "". */
  readonly class: ClassName;
  readonly capacity: Bytes;
  readonly mode: VolumeMode;
  readonly accessModes: AccessModes;
  readonly labels: Labels;
  /** Absent: reachable from every node. */
  readonly affinity?: NodeSelector;
  /** status.phase; "" when unset. */
  readonly phase: string;
  /** Since when its phase is Released, ms since 1970: status.lastPhaseTransitionTime; absent in other phases, and of API servers before 1.29. */
  readonly releasedAt?: number;
  readonly claimRef?: ClaimRef;
  /** Annotation pv.kubernetes.io/bound-by-controller is present. */
  readonly boundByController: boolean;
  /** spec.volumeAttributesClassName; "" when unset. */
  readonly attributesClass: string;
  /** Annotation pv.kubernetes.io/provisioned-by: the provisioner that made it, or found its disk; absent for most volumes made by hand. */
  readonly provisionedBy?: string;
  /** spec.csi.driver, or the in-tree plugin's name ("kubernetes.io/gce-pd", …) where it is one that migrates to CSI. */
  readonly plugin?: string;
  /** spec.local.path or spec.hostPath.path: what tells two volumes of one disk. */
  readonly path?: string;
}

export interface Claim extends Versioned {
  readonly key: ClaimKey;
  readonly uid: ClaimUid;
  /** Beta annotation first, then spec.storageClassName, else "". */
  readonly class: ClassName;
  /** spec.resources.requests.storage; absent when the claim asks for no size, which counts as zero. */
  readonly request?: Bytes;
  readonly mode: VolumeMode;
  readonly accessModes: AccessModes;
  /** spec.selector; absent matches every volume. */
  readonly selector?: LabelSelector;
  /** spec.volumeName; absent when empty. */
  readonly volumeName?: VolumeName;
  /** Annotation pv.kubernetes.io/bind-completed is present: with `volumeName`, the claim is bound. */
  readonly bindCompleted: boolean;
  readonly lost: boolean;
  /** Annotation volume.kubernetes.io/selected-node; absent when unset or empty. */
  readonly selectedNode?: NodeName;
  readonly attributesClass: string;
  /** UID of the owner reference with controller=true; absent when nobody controls the claim. */
  readonly controllerUid?: string;
  /** spec.dataSource or dataSourceRef is set. */
  readonly hasDataSource: boolean;
}

export interface StorageClass extends Versioned {
  readonly name: ClassName;
  readonly provisioner: string;
  /** volumeBindingMode; absent when unset, which the API server does not allow. */
  readonly bindingMode?: "Immediate" | "WaitForFirstConsumer";
  /** allowedTopologies as a node selector; absent allows every node. */
  readonly allowedTopologies?: NodeSelector;
}

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

export interface Node extends Versioned {
  readonly name: NodeName;
  readonly labels: Labels;
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  /** Condition Ready is "True". */
  readonly ready: boolean;
  /** status.allocatable as whole units of bytes (storage, memory) or thousandths (cpu, in "m"); kept for explanations and node-sourced capacity. */
  readonly allocatable: ReadonlyMap<string, string>;
  /** Only the annotations that the configuration maps to capacity. */
  readonly annotations: Labels;
}

/** CSIDriver. */
export interface Driver extends Versioned {
  readonly name: string;
  /** spec.storageCapacity: whether capacity objects are to be believed. */
  readonly storageCapacity: boolean;
}

/** CSINode: the drivers registered on a node. */
export interface CsiNode extends Versioned {
  readonly name: NodeName;
  readonly drivers: readonly string[];
  /** Annotation storage.alpha.kubernetes.io/migrated-plugins. */
  readonly migratedPlugins: readonly string[];
}

/** CSIStorageCapacity: what one class can still provision in one topology segment. */
export interface Capacity extends Versioned {
  readonly key: CapacityKey;
  readonly class: ClassName;
  /** nodeTopology; absent: reachable from no node. */
  readonly topology?: LabelSelector;
  readonly capacity?: Bytes;
  readonly maximumVolumeSize?: Bytes;
  /** metadata.creationTimestamp as given, in RFC 3339, so that text order is time order. */
  readonly createdAt: string;
}

/** A PersistentVolumeClaim that a Pod mounts, by name. */
export interface PodClaim {
  readonly claim: ClaimKey;
  /** A generic ephemeral volume: the claim must be controlled by this very Pod. */
  readonly ephemeral: boolean;
}

export interface Pod extends Versioned {
  readonly key: PodKey;
  readonly uid: PodUid;
  /** In the order of spec.volumes, each claim once. */
  readonly claims: readonly PodClaim[];
  /** spec.nodeName; absent while unassigned. */
  readonly nodeName?: NodeName;
  readonly schedulerName: string;
  /** status.phase is Succeeded or Failed. */
  readonly finished: boolean;
  readonly gated: boolean;
  /** spec.nodeSelector; absent when empty. kube-scheduler's matter: for explanations only. */
  readonly nodeSelector?: LabelSelector;
}

/** The kinds that Berth watches, by the name that logs, metrics and `debug/state` use. */
export interface Kinds {
  node: Node;
  volume: Volume;
  claim: Claim;
  class: StorageClass;
  driver: Driver;
  csiNode: CsiNode;
  capacity: Capacity;
  pod: Pod;
}

export type Kind = keyof Kinds;

export const kinds = [
  "node",
  "volume",
  "claim",
  "class",
  "driver",
  "csiNode",
  "capacity",
  "pod",
] as const satisfies readonly Kind[];

/** The name an object is stored under: "namespace/name" for namespaced kinds, else its name. */
export type ObjectKey = string;
