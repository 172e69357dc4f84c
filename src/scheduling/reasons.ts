/**
 * Why a node is refused. The key is the metric label and what `explain` prints; the text is what kube-scheduler is told, in
 * upstream's own words of 1.36, which people search for and alert on. Several keys share one text: upstream has four
 * texts for a dozen causes (departure D13). No text holds a number, and none but the Pod-level ones a name, as upstream's:
 * kube-scheduler counts equal texts over the nodes and takes a changed text for news.
 *
 * @see kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go, ErrReason…
 */

const noVolumes = "node(s) didn't find available persistent volumes to bind";
const noSpace = "node(s) did not have enough free storage";

/** Reasons that hold for one node. */
export const nodeReasons = {
  /** A bound claim's volume cannot be reached from the node. */
  volumeNodeConflict: "node(s) didn't match PersistentVolume's node affinity",
  /** No free volume suits a claim, and the claim cannot be provisioned. */
  noMatchingVolume: noVolumes,
  /** Each claim alone finds a volume on the node, all of them together do not. */
  notEnoughVolumes: noVolumes,
  /** Every suitable volume is assumed for another Pod. */
  volumeAssumed: noVolumes,
  /** The claim's selected-node, or an assumption for it, names another node. */
  selectedOtherNode: noVolumes,
  /** A volume is reserved for the claim on another node (departure D5). */
  preboundElsewhere: noVolumes,
  /** allowedTopologies of the class exclude the node. */
  topologyNotAllowed: noVolumes,
  /** The class's driver is registered on other nodes but not on this one. */
  driverMissing: noVolumes,
  /** No free volume suits, and a claim with a selector cannot be provisioned (departure D16). */
  selectorNotProvisionable: noVolumes,
  /** The provisioner refused this class, node and size a short time ago (departure D18). */
  provisioningBackoff: noSpace,
  /** No capacity object covers the class and the node. */
  noCapacityPublished: noSpace,
  /** A claim is larger than the largest volume the node can provision. */
  claimTooLarge: noSpace,
  /** The claims of the Pod together exceed what the pool has free. */
  notEnoughSpace: noSpace,
  /** They would fit, but for what is promised to other Pods. */
  capacityAssumed: noSpace,
  /** A bound claim's volume does not exist. */
  boundVolumeMissing: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
  nodeUnknown: "node(s) not known to the volume extender",
} as const satisfies Record<string, string>;

/** Key of a reason that holds for one node. */
export type NodeReason = keyof typeof nodeReasons;

/** Reasons that hold for the Pod, and so for every node. */
export const podReasons = {
  claimNotFound: ({ claim }: PodReasonFacts) => `persistentvolumeclaim "${claim}" not found`,
  claimAwaited: ({ claim }: PodReasonFacts) =>
    `waiting for ephemeral volume controller to create the persistentvolumeclaim "${claim}"`,
  claimLost: ({ claim, volume }: PodReasonFacts) =>
    `persistentvolumeclaim "${claim}" bound to non-existent persistentvolume "${volume}"`,
  claimDeleting: ({ claim }: PodReasonFacts) => `persistentvolumeclaim "${claim}" is being deleted`,
  claimNotOwned: ({ namespace, claim, pod }: PodReasonFacts) =>
    `PVC ${namespace}/${claim} was not created for pod ${namespace}/${pod} (pod is not owner)`,
  /** No class, an Immediate class, or a class that does not exist: the PV controller must bind the claim. */
  unboundImmediate: () => "pod has unbound immediate PersistentVolumeClaims",
  /** The claim names its volume and the PV controller has not finished. */
  bindInProgress: () => "pod has unbound immediate PersistentVolumeClaims",
} as const satisfies Record<string, (facts: PodReasonFacts) => string>;

/** Names that the texts hold; `volume` is empty where there is none. */
export interface PodReasonFacts {
  readonly namespace: string;
  readonly pod: string;
  readonly claim: string;
  readonly volume: string;
}

/** Key of a reason that holds for the Pod. */
export type PodReason = keyof typeof podReasons;
export type Reason = NodeReason | PodReason;
