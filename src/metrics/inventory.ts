/** What there is in the cluster, as gauges. Labels: a class that exists, `_none`, `_other` or `pool/NAME`; a phase; a node only where asked for. */
import type { DriverGap } from "../scheduling/driver-gaps.ts";
import type { Amount, ClassLabel, FreeStock, Inventory, NodeStock, PoolStock } from "../scheduling/inventory.ts";
import type { NodeName } from "../scheduling/names.ts";
import { type GaugeFamily, headOf, sampleOf } from "./exposition.ts";

const family = (name: string, labels: readonly string[], help: string): GaugeFamily => ({
  name: `berth_${name}`,
  labels,
  help,
});

const volumes = family("volumes", ["class", "phase"], "PersistentVolumes.");
const volumesBytes = family("volumes_bytes", ["class", "phase"], "Capacity of the PersistentVolumes, added up.");
const freeVolumes = family("free_volumes", ["class"], "PersistentVolumes that any claim of the class may take now.");
const freeVolumesBytes = family("free_volumes_bytes", ["class"], "Capacity of the free PersistentVolumes, added up.");
const freeVolumeLargest = family("free_volume_largest_bytes", ["class"], "Capacity of the largest free one.");
const oldestReleased = family(
  "oldest_released_volume_timestamp_seconds",
  ["class"],
  "Since when the PersistentVolume is Released that has been so for longest, in seconds since 1970; needs Kubernetes 1.29 or newer.",
);
const claims = family("claims", ["class", "phase"], "PersistentVolumeClaims.");
const pools = family("pools", ["class"], "Disks or segments that drivers or nodes publish capacity for.");
const poolPublished = family("pool_published_bytes", ["class"], "What could be provisioned if nothing were promised.");
const poolPromised = family("pool_promised_bytes", ["class"], "Promised to claims whose volumes are not deducted yet.");
const poolHeld = family("pool_held_bytes", ["class"], "Softly held for Pods between filter and bind.");
const poolFree = family("pool_free_bytes", ["class"], "What is left to provision, added up over the pools.");
const poolLargest = family(
  "pool_largest_free_bytes",
  ["class"],
  "The largest single volume that could be provisioned.",
);
const poolVolumes = family("pool_volumes_bytes", ["class"], "Capacity of the PersistentVolumes of its classes.");
const classInfo = family(
  "class_info",
  ["class", "provisioning", "binding"],
  "1 for each StorageClass that has a name here: dynamic where somebody provisions volumes of it, else static.",
);
const driverNodes = family(
  "driver_nodes",
  ["class"],
  "Nodes in service that the class's allowedTopologies admit, for classes of CSI drivers.",
);
const driverMissing = family("driver_missing_nodes", ["class"], "Of these, nodes without the class's driver.");
const nodeTotal = family(
  "node_total_bytes",
  ["node", "class"],
  "What one node alone has: its volumes, and what can be provisioned there. With metrics.perNode.",
);
const nodeFree = family("node_free_bytes", ["node", "class"], "What of it is free. With metrics.perNode.");

/** All gauges of this file. */
export const inventoryFamilies: readonly GaugeFamily[] = [
  ...[volumes, volumesBytes, freeVolumes, freeVolumesBytes, freeVolumeLargest, oldestReleased, claims],
  ...[
    pools,
    poolPublished,
    poolPromised,
    poolHeld,
    poolFree,
    poolLargest,
    poolVolumes,
    classInfo,
    driverNodes,
    driverMissing,
  ],
  ...[nodeTotal, nodeFree],
];

type ByPhase = ReadonlyMap<ClassLabel, ReadonlyMap<string, Amount>>;

export function inventoryText(found: Inventory): string {
  return [
    byPhase(volumes, found.volumes, ({ count }) => count),
    byPhase(volumesBytes, found.volumes, ({ bytes }) => bytes),
    byClass<FreeStock>(freeVolumes, found.free, ({ count }) => count),
    byClass<FreeStock>(freeVolumesBytes, found.free, ({ bytes }) => bytes),
    byClass<FreeStock>(freeVolumeLargest, found.free, ({ largest }) => largest),
    byClass<number>(oldestReleased, found.oldestReleased, (ms) => ms / 1000),
    byPhase(claims, found.claims, ({ count }) => count),
    byClass<PoolStock>(pools, found.pools, (stock) => stock.pools),
    byClass<PoolStock>(poolPublished, found.pools, ({ total }) => total),
    byClass<PoolStock>(poolPromised, found.pools, ({ promised }) => promised),
    byClass<PoolStock>(poolHeld, found.pools, ({ held }) => held),
    byClass<PoolStock>(poolFree, found.pools, ({ free }) => free),
    byClass<PoolStock>(poolLargest, found.pools, ({ largest }) => largest),
    byClass<PoolStock>(poolVolumes, found.pools, (stock) => stock.volumes),
    classText(found.classes),
    byClass<DriverGap>(driverNodes, found.drivers, ({ nodes }) => nodes),
    byClass<DriverGap>(driverMissing, found.drivers, ({ without }) => without),
  ].join("");
}

function byPhase(of: GaugeFamily, amounts: ByPhase, value: (amount: Amount) => number | bigint): string {
  let text = headOf(of);
  for (const [label, phases] of amounts) {
    for (const [phase, amount] of phases) text += sampleOf(of, [label, phase], value(amount));
  }
  return text;
}

function byClass<T>(of: GaugeFamily, stocks: ReadonlyMap<ClassLabel, T>, value: (stock: T) => number | bigint): string {
  let text = headOf(of);
  for (const [label, stock] of stocks) text += sampleOf(of, [label], value(stock));
  return text;
}

function classText(classes: Inventory["classes"]): string {
  let text = headOf(classInfo);
  for (const [label, { provisioning, binding }] of classes)
    text += sampleOf(classInfo, [label, provisioning, binding], 1);
  return text;
}

/** In steps of one node, for there may be 15,000. */
export function* nodesTextInSteps(
  stocks: ReadonlyMap<NodeName, ReadonlyMap<ClassLabel, NodeStock>>,
): Generator<undefined, string> {
  let total = headOf(nodeTotal);
  let free = headOf(nodeFree);
  for (const [node, byClass] of stocks) {
    yield;
    for (const [label, stock] of byClass) {
      total += sampleOf(nodeTotal, [node, label], stock.total);
      free += sampleOf(nodeFree, [node, label], stock.free);
    }
  }
  return total + free;
}
