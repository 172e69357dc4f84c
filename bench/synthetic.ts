/** A cluster of one's own size, made of slim records: what the core sees after translation. */
import {
  type ClassName,
  claimKey,
  claimUid,
  className,
  nodeName,
  podKey,
  podUid,
  volumeName,
} from "../src/scheduling/names.ts";
import type { Claim, Node, Pod, StorageClass, Volume } from "../src/scheduling/objects.ts";
import type { Bytes } from "../src/scheduling/quantity.ts";
import { nodeSelector, requirement } from "../src/scheduling/selectors.ts";
import { ClusterState } from "../src/scheduling/state.ts";

const gibibyte = 1n << 30n;
const hostname = "kubernetes.io/hostname";

export interface Shape {
  readonly nodes: number;
  readonly volumesPerNode: number;
  readonly claims: number;
  /** All claims ask for the same size, and so for the same volume. */
  readonly equal?: boolean;
}

const versioned = (uid: string): { uid: string; resourceVersion: string; deleting: boolean } => ({
  uid,
  resourceVersion: "1",
  deleting: false,
});

/** Local disks of growing size on every node, all free; one Pod whose claims ask for 1, 2, 3 … Gi of the one class. */
export function syntheticCluster({ nodes, volumesPerNode, claims, equal = false }: Shape): {
  state: ClusterState;
  pod: Pod;
  names: Node["name"][];
} {
  const state = new ClusterState({ clock: () => 0 });
  const local = className("local");
  state.set("class", local, classOf(local));
  const names = Array.from({ length: nodes }, (_, index) => nodeName(`node-${String(index).padStart(5, "0")}`));
  for (const name of names) {
    state.set("node", name, nodeOf(name));
    for (let disk = 0; disk < volumesPerNode; disk++) {
      const volume = volumeOf(name, disk, local);
      state.set("volume", volume.name, volume);
    }
  }
  const mounted = Array.from({ length: claims }, (_, index) => claimOf(index, equal ? 1 : 1 + index, local));
  for (const claim of mounted) state.set("claim", claim.key, claim);
  const pod: Pod = {
    ...versioned("pod"),
    uid: podUid("pod"),
    key: podKey("d", "pod"),
    claims: mounted.map(({ key }) => ({ claim: key, ephemeral: false })),
    schedulerName: "berth-scheduler",
    finished: false,
    gated: false,
  };
  return { state, pod, names };
}

function classOf(name: ClassName): StorageClass {
  return { ...versioned(name), name, provisioner: "kubernetes.io/no-provisioner", bindingMode: "WaitForFirstConsumer" };
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

function volumeOf(node: Node["name"], disk: number, local: ClassName): Volume {
  const name = volumeName(`${node}-disk-${disk}`);
  const on = requirement(hostname, "In", [node]);
  return {
    ...versioned(name),
    name,
    class: local,
    capacity: (gibibyte * BigInt(1 + disk)) as Bytes,
    mode: "Filesystem",
    accessModes: 1,
    labels: new Map(),
    affinity: nodeSelector([{ labels: on ? [on] : [], fields: [] }]),
    phase: "Available",
    boundByController: false,
    attributesClass: "",
  };
}

function claimOf(index: number, gib: number, local: ClassName): Claim {
  return {
    ...versioned(`claim-${index}`),
    uid: claimUid(`claim-${index}`),
    key: claimKey("d", `claim-${index}`),
    class: local,
    request: (gibibyte * BigInt(gib)) as Bytes,
    mode: "Filesystem",
    accessModes: 1,
    bindCompleted: false,
    lost: false,
    attributesClass: "",
    hasDataSource: false,
  };
}
