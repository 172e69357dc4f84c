/** Each reason in a few words: what is seen of many nodes at one time. The explanation of a Pod says it in full. */
import type { NodeReason } from "../../scheduling/reasons.ts";

export const nodePhrases: Readonly<Record<NodeReason, string>> = {
  volumeNodeConflict: "a bound volume is elsewhere",
  noMatchingVolume: "no free volume suits",
  notEnoughVolumes: "volumes for each claim, not for all",
  volumeAssumed: "its volume is promised to another Pod",
  selectedOtherNode: "being provisioned on another node",
  preboundElsewhere: "a volume is reserved on another node",
  topologyNotAllowed: "the class does not allow the node",
  driverMissing: "the driver does not run there",
  selectorNotProvisionable: "a claim with a selector finds no volume",
  provisioningBackoff: "the provisioner refused a short time ago",
  noCapacityPublished: "no capacity is published",
  claimTooLarge: "larger than the largest volume",
  notEnoughSpace: "not enough space for all claims",
  capacityAssumed: "the space is promised to other Pods",
  boundVolumeMissing: "a bound volume does not exist",
  nodeUnknown: "the node is not known",
};
