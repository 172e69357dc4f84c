/** On how many nodes a class has no driver: there its claims are refused with `driverMissing`, and its volumes cannot be mounted. */
import type { ClassNames } from "./class-names.ts";
import { driverOf } from "./drivers.ts";
import type { ClassName } from "./names.ts";
import type { Node, StorageClass } from "./objects.ts";
import { isProvisioned } from "./provisioning.ts";
import { matchesNode } from "./selectors.ts";
import type { ClusterState } from "./state.ts";

export interface DriverGap {
  /** Nodes in service that the class's allowedTopologies admit. */
  nodes: number;
  /** Of these, those on whose CSINode the driver is not registered. */
  without: number;
}

/**
 * For classes that a CSI driver provisions. Of a provisioner that is no CSI driver the API does not tell where it runs, and a class
 * without a provisioner has volumes on the nodes where somebody made some: that a node has none is no fault.
 */
export function* driverGaps(
  state: ClusterState,
  names: ClassNames,
): Generator<undefined, ReadonlyMap<string, DriverGap>> {
  const gaps = new Map<string, DriverGap>();
  for (const key of state.keys("class")) {
    const found = state.get("class", key as ClassName);
    if (!found || !isCsi(state, found)) continue;
    const driver = driverOf(found.provisioner);
    const label = names.of(found.name);
    const gap = gaps.get(label) ?? { nodes: 0, without: 0 };
    gaps.set(label, gap);
    for (const { node } of state.topologies.nodes.values()) {
      yield;
      if (!isInService(node) || !matchesNode(found.allowedTopologies, node.labels, node.name)) continue;
      gap.nodes++;
      if (!state.get("csiNode", node.name)?.drivers.includes(driver)) gap.without++;
    }
  }
  return gaps;
}

function isCsi(state: ClusterState, storageClass: StorageClass): boolean {
  const driver = driverOf(storageClass.provisioner);
  const isRegistered = state.get("driver", driver) !== undefined || state.driverNodes.has(driver);
  return isRegistered && isProvisioned(state, storageClass);
}

/** Taints that Kubernetes and its installers set: drivers often leave such nodes alone. An operator's own taints say nothing of this. */
const systemTaints = ["node-role.kubernetes.io/", "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/** Pods with claims are meant to come here now. */
function isInService({ ready, unschedulable, deleting, taints }: Node): boolean {
  if (!ready || unschedulable || deleting) return false;
  return !taints.some(
    ({ key, effect }) => effect !== "PreferNoSchedule" && systemTaints.some((prefix) => key.startsWith(prefix)),
  );
}
