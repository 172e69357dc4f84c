/** Which changes of the cluster wake a refused pod. Source: the EventsToRegister of each plugin, and VB §6.2 for extenders. */
import type { Rejector } from "./status.ts";

/** "Self" is a change of the pod itself, "Pod" one of a pod that has a node. */
export type ClusterEvent =
  | "CSIDriver"
  | "CSINode"
  | "CSIStorageCapacity"
  | "Node"
  | "PersistentVolume"
  | "PersistentVolumeClaim"
  | "Pod"
  | "Self"
  | "StorageClass";

const volumeEvents: readonly ClusterEvent[] = ["PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Node"];

/** What an extender looks at is unknown, so everything that is watched wakes what it refused; hence no row for it. */
const byRejector: Readonly<Record<Exclude<Rejector, "Extender">, readonly ClusterEvent[]>> = {
  InterPodAffinity: ["Pod", "Node"],
  NodeAffinity: ["Node"],
  NodeName: ["Node"],
  NodeResourcesFit: ["Pod", "Node"],
  NodeUnschedulable: ["Node"],
  NodeVolumeLimits: [...volumeEvents, "Pod", "CSINode"],
  TaintToleration: ["Node"],
  VolumeRestrictions: [...volumeEvents, "Pod"],
  VolumeZone: volumeEvents,
};

export function concerns(event: ClusterEvent, rejectors: ReadonlySet<Rejector>): boolean {
  return [...rejectors].some((rejector) => rejector === "Extender" || byRejector[rejector].includes(event));
}
