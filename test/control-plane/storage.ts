/**
 * A CSI driver with its external-provisioner for one test: both real processes, the driver's disks not. What a kubelet and a
 * node-driver-registrar would do is done here: the nodes' label, their CSINodes, the CSIDriver.
 */
import { join } from "node:path";
import { type Bytes, parseBytes } from "../../src/scheduling/quantity.ts";
import type { Facts } from "./control-plane.ts";
import type { Neighbours } from "./neighbours.ts";
import { freePorts, type Processes } from "./processes.ts";
import { until } from "./reach.ts";
import type { RealStage } from "./real-stage.ts";

/** The label of a driver's own that says which pool a node reaches: its value is the node's name. */
export const topologyKey = "topology.pool.example.com/node";
export const driverName = "pool.example.com";

export interface StorageOptions {
  /** Size of each node's pool, by the node's name. */
  readonly pools: Readonly<Record<string, string>>;
  /** One provisioner a node, each on a socket that reaches that node's pool alone. */
  readonly nodeDeployment?: boolean;
  /** After this the provisioner gives up a call; "10s" by default, as upstream. */
  readonly timeout?: string;
  /** Offers the driver the selected node's pool alone. */
  readonly strictTopology?: boolean;
}

export interface Settings {
  readonly pools: Readonly<Record<string, string>>;
  /** What the driver says is free, where that is a lie. */
  readonly published?: Readonly<Record<string, string>>;
  /** How long it takes to make a volume, which is made to its end whoever waits for it. */
  readonly createMs?: number;
  /** Whether a volume that does not fit where it is wanted goes to another pool that the request allows. */
  readonly spills?: boolean;
  readonly faults?: readonly Fault[];
}

interface Fault {
  readonly segment: string;
  readonly code: keyof typeof codes;
  readonly times: number;
  /** The volume is made all the same. */
  readonly goesOn?: boolean;
}

/** Numbers of gRPC. */
const codes = { InvalidArgument: 3, DeadlineExceeded: 4, ResourceExhausted: 8, Aborted: 10, Internal: 13 } as const;

export interface Storage {
  set(settings: Partial<Settings>): Promise<void>;
  /** Segment by the volume's name. */
  volumes(): Promise<Record<string, string>>;
  /** Each CreateVolume that has ended: the best segment that it named, and a gRPC code. */
  calls(): Promise<{ readonly segment: string; readonly code: string }[]>;
  /** Until what is free is published for each of these classes and each node. */
  published(...classes: readonly string[]): Promise<void>;
  /** Ends a provisioner. @param node  which, where there is one a node */
  stopProvisioner(node?: string): Promise<void>;
}

interface Place {
  readonly facts: Facts;
  readonly neighbours: Neighbours;
  readonly processes: Processes;
  readonly stage: RealStage;
  /** For the sockets: empty at first. */
  readonly folder: string;
}

export async function startStorage(place: Place, options: StorageOptions): Promise<Storage> {
  const { processes, neighbours, stage, folder } = place;
  const nodes = Object.keys(options.pools);
  const [port = 0] = await freePorts(1);
  const control = `http://127.0.0.1:${port}`;
  processes.start("csi-driver", [
    neighbours.driver,
    `--name=${driverName}`,
    `--topology-key=${topologyKey}`,
    `--nodes=${options.nodeDeployment ? nodes.join(",") : ""}`,
    `--folder=${folder}`,
    `--control=127.0.0.1:${port}`,
  ]);
  let settings: Settings = { pools: options.pools };
  const set = async (next: Partial<Settings>): Promise<void> => {
    settings = { ...settings, ...next };
    const reply = await fetch(control, { method: "PUT", body: JSON.stringify(inBytes(settings)) });
    if (!reply.ok) throw new Error(await reply.text());
  };
  await until("the CSI driver answers", () => set({}).then(() => true));
  await register(stage, nodes);
  for (const node of options.nodeDeployment ? nodes : [""]) {
    processes.start(provisionerOf(node), provisionerCommand(place, options, node));
  }
  const seen = async (): Promise<Seen> => (await (await fetch(control)).json()) as Seen;
  return {
    set,
    volumes: async () =>
      Object.fromEntries((await seen()).volumes.map(({ name, segment }) => [name, segment] as const)),
    calls: async () => (await seen()).calls.map(({ segments, code }) => ({ segment: segments[0] ?? "", code })),
    published: async (...classes) => {
      await until("all that is free is published", async () => {
        const found = (await stage.list("CSIStorageCapacity")) as unknown as { storageClassName: string }[];
        return classes.every(
          (name) => found.filter(({ storageClassName }) => storageClassName === name).length === nodes.length,
        );
      });
    },
    stopProvisioner: (node = "") => processes.end(provisionerOf(node)),
  };
}

interface Seen {
  readonly volumes: readonly { readonly name: string; readonly segment: string }[];
  readonly calls: readonly { readonly segments: readonly string[]; readonly code: string }[];
}

const provisionerOf = (node: string): string => (node === "" ? "csi-provisioner" : `csi-provisioner-${node}`);

function provisionerCommand(place: Place, options: StorageOptions, node: string): [string, ...string[]] {
  const { facts, neighbours, folder } = place;
  const { timeout = "10s", strictTopology = false } = options;
  const perNode = ["--node-deployment", "--node-deployment-base-delay=200ms", "--node-deployment-max-delay=1s"];
  return [
    "env",
    "NAMESPACE=kube-system",
    ...(node === "" ? [] : [`NODE_NAME=${node}`]),
    neighbours.provisioner,
    `--csi-address=${join(folder, node === "" ? "csi.sock" : `${node}.sock`)}`,
    `--kubeconfig=${facts.kubeconfig}`,
    "--feature-gates=Topology=true",
    "--enable-capacity",
    // No Pod of this cluster runs it that could own the capacity objects.
    "--capacity-ownerref-level=-1",
    "--capacity-poll-interval=5s",
    `--timeout=${timeout}`,
    `--strict-topology=${strictTopology}`,
    "--v=5",
    ...(node === "" ? [] : perNode),
  ];
}

function inBytes({ pools, published = {}, faults = [], ...others }: Settings): unknown {
  const bytes = (sizes: Readonly<Record<string, string>>): Record<string, number> =>
    Object.fromEntries(Object.entries(sizes).map(([segment, size]) => [segment, Number(bytesOf(size))]));
  const numbered = faults.map((fault) => ({ ...fault, code: codes[fault.code] }));
  return { ...others, pools: bytes(pools), published: bytes(published), faults: numbered };
}

function bytesOf(size: string): Bytes {
  const bytes = parseBytes(size);
  if (bytes === undefined) throw new Error(`"${size}" is no size`);
  return bytes;
}

/** The nodes are there already. As from a kubelet, each CSINode goes with its Node. */
async function register(stage: RealStage, names: readonly string[]): Promise<void> {
  const spec = { attachRequired: false, storageCapacity: true };
  await stage.apply({ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: driverName }, spec });
  const nodes = (await stage.list("Node")) as unknown as { metadata: { name: string; uid: string } }[];
  for (const { metadata } of nodes) {
    const { name, uid } = metadata;
    if (!names.includes(name)) continue;
    await stage.patch("Node", undefined, name, { metadata: { labels: { [topologyKey]: name } } });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    const drivers = [{ name: driverName, nodeID: name, topologyKeys: [topologyKey] }];
    await stage.apply({
      apiVersion: "storage.k8s.io/v1",
      kind: "CSINode",
      metadata: { name, ownerReferences },
      spec: { drivers },
    });
  }
}
