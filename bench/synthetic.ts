/** Clusters of one's own size, made of slim records: what the core sees after translation. */
import {
  type ClassName,
  capacityKey,
  claimKey,
  claimUid,
  className,
  nodeName,
  podKey,
  podUid,
  volumeName,
} from "../src/scheduling/names.ts";
import type { Claim, Node, Pod, StorageClass, Volume } from "../src/scheduling/objects.ts";
import type { Plan } from "../src/scheduling/plan.ts";
import type { Bytes } from "../src/scheduling/quantity.ts";
import type { Scoring } from "../src/scheduling/scoring.ts";
import { labelSelector, nodeSelector, requirement } from "../src/scheduling/selectors.ts";
import { ClusterState } from "../src/scheduling/state.ts";

const hostname = "kubernetes.io/hostname";
const driver = "csi.example";

export interface Shape {
  readonly nodes: number;
  readonly volumesPerNode: number;
  readonly claims: number;
  /** Claims ask for 1, 2, 3 … Gi of the class `local` unless told otherwise. */
  readonly claim?: (place: number) => Partial<Claim>;
  /** Volumes have 1, 2, 3 … Gi, in the class `local` unless told otherwise. */
  readonly volume?: (disk: number, node: number) => Partial<Volume>;
  /** Adds this many Gi to each volume of one node in ten. */
  readonly tenthGib?: number;
  /**
   * On so many nodes the disk `from` is assumed for another Pod's claim; so many Pods hold the next three disks on four nodes each.
   */
  readonly promises?: { readonly assumptions: number; readonly holders: number; readonly from: number };
  readonly scoring?: Scoring;
  /** Gi that the class `csi` is provisioned from on each node, one pool each. */
  readonly poolsGib?: readonly number[];
}

export interface SyntheticCluster {
  readonly state: ClusterState;
  readonly pod: Pod;
  readonly names: Node["name"][];
}

export function gib(count: number): Bytes {
  return (BigInt(count) << 30n) as Bytes;
}

const versioned = (uid: string): { uid: string; resourceVersion: string; deleting: boolean } => ({
  uid,
  resourceVersion: "1",
  deleting: false,
});

/** Local disks on every node, all free, and one Pod. */
export function syntheticCluster(shape: Shape): SyntheticCluster {
  const state = new ClusterState({ clock: () => 0, ...(shape.scoring && { scoring: shape.scoring }) });
  for (const name of ["local", "local-0", "local-1", "local-2"]) {
    setClass(state, className(name), "kubernetes.io/no-provisioner");
  }
  const names = Array.from({ length: shape.nodes }, (_, index) => nodeName(`node-${String(index).padStart(5, "0")}`));
  for (const [index, name] of names.entries()) {
    state.set("node", name, nodeOf(name));
    const more = index % 10 === 0 ? (shape.tenthGib ?? 0) : 0;
    for (let disk = 0; disk < shape.volumesPerNode; disk++) {
      const volume = { ...volumeOf(name, disk, 1 + disk + more), ...shape.volume?.(disk, index) };
      state.set("volume", volume.name, volume);
    }
  }
  if (shape.poolsGib) setPools(state, names, shape.poolsGib);
  const mounted = Array.from({ length: shape.claims }, (_, index) => ({
    ...claimOf(`claim-${index}`, 1 + index),
    ...shape.claim?.(index),
  }));
  for (const claim of mounted) state.set("claim", claim.key, claim);
  if (shape.promises) promise(state, names, shape.promises);
  return { state, pod: podOf(mounted), names };
}

function setClass(state: ClusterState, name: ClassName, provisioner: string): void {
  const made: StorageClass = { ...versioned(name), name, provisioner, bindingMode: "WaitForFirstConsumer" };
  state.set("class", name, made);
}

function setPools(state: ClusterState, names: readonly Node["name"][], poolsGib: readonly number[]): void {
  const name = className("csi");
  setClass(state, name, driver);
  state.set("driver", driver, { ...versioned(driver), name: driver, storageCapacity: true });
  for (const node of names) {
    state.set("csiNode", node, { ...versioned(node), name: node, drivers: [driver], migratedPlugins: [] });
    for (const [pool, size] of poolsGib.entries()) {
      const key = capacityKey("kube-system", `${node}-${pool}`);
      const on = [requirement(hostname, "In", [node]), requirement(`not-${pool}`, "DoesNotExist", [])];
      const topology = labelSelector(on.filter((one) => one !== undefined));
      const createdAt = "2026-01-01T00:00:00Z";
      state.set("capacity", key, { ...versioned(key), key, class: name, topology, capacity: gib(size), createdAt });
    }
  }
}

function promise(
  state: ClusterState,
  names: readonly Node["name"][],
  { assumptions, holders, from }: NonNullable<Shape["promises"]>,
): void {
  const planOf = (node: Node["name"], disks: readonly number[]): Plan => ({
    node,
    contended: false,
    claims: disks.flatMap((disk) => {
      const volume = state.volumes.get(volumeName(`${node}-disk-${disk}`));
      return volume ? [{ kind: "static", claim: claimOf(`of-${volume.name}`, 1), volume }] : [];
    }),
  });
  for (const name of names.slice(0, assumptions))
    state.reservations.assume(podUid(`assumes-${name}`), planOf(name, [from]));
  for (let holder = 0; holder < holders; holder++) {
    const held = names.slice(4 * holder, 4 * holder + 4);
    state.reservations.hold(
      podUid(`holder-${holder}`),
      held.map((name) => planOf(name, [from + 1, from + 2, from + 3])),
    );
  }
}

function podOf(mounted: readonly Claim[]): Pod {
  return {
    ...versioned("pod"),
    uid: podUid("pod"),
    key: podKey("d", "pod"),
    claims: mounted.map(({ key }) => ({ claim: key, ephemeral: false })),
    schedulerName: "berth-scheduler",
    finished: false,
    gated: false,
  };
}

function nodeOf(name: Node["name"]): Node {
  const labels = new Map([[hostname, name as string]]);
  return {
    ...versioned(name),
    name,
    labels,
    unschedulable: false,
    taints: [],
    ready: true,
    allocatable: new Map(),
    annotations: new Map(),
  };
}

function volumeOf(node: Node["name"], disk: number, size: number): Volume {
  const name = volumeName(`${node}-disk-${disk}`);
  const on = requirement(hostname, "In", [node]);
  return {
    ...versioned(name),
    name,
    class: className("local"),
    capacity: gib(size),
    mode: "Filesystem",
    accessModes: 1,
    labels: new Map([["tier", disk % 2 === 0 ? "slow" : "fast"]]),
    affinity: nodeSelector([{ labels: on ? [on] : [], fields: [] }]),
    phase: "Available",
    boundByController: false,
    attributesClass: "",
  };
}

function claimOf(name: string, size: number): Claim {
  return {
    ...versioned(name),
    uid: claimUid(name),
    key: claimKey("d", name),
    class: className("local"),
    request: gib(size),
    mode: "Filesystem",
    accessModes: 1,
    bindCompleted: false,
    lost: false,
    attributesClass: "",
    hasDataSource: false,
  };
}
