/** The six scenes: what is applied, what must come of it, and what is worth saying. */
import { greedyMatch } from "../support/greedy.ts";
import { readObjects } from "../support/scenario.ts";
import { type ClusterView, keyOf, type Placement, text } from "./cluster.ts";

export interface Scene {
  readonly title: string;
  readonly files: readonly string[];
  /** Said before the files are applied. */
  readonly before?: (view: ClusterView) => Promise<readonly string[]>;
  /** Undefined once all is as it must be, else what is missing. */
  readonly unmet: (view: ClusterView) => Promise<string | undefined>;
  readonly after?: (view: ClusterView) => Promise<readonly string[]>;
}

const example = (name: string): string => `manifests/examples/${name}.yaml`;

export const scenes: readonly Scene[] = [
  {
    title: "Four nodes, their local disks, and a driver that provisions on three of them",
    files: ["00-cluster", "10-classes", "20-disks"].map(example),
    unmet: async (view) => {
      const free = (await view.list("persistentvolumes")).filter(
        (volume) => text(volume, "status", "phase") === "Available",
      );
      return free.length >= 10 ? undefined : `${free.length} volumes are available`;
    },
  },
  {
    title: "1. A database of three replicas, each with a data disk and a log disk, on three nodes",
    files: [example("30-database")],
    unmet: async (view) => {
      const replicas = (await view.placements()).filter(({ pod }) => pod.startsWith("default/db-"));
      if (replicas.length < 3 || replicas.some(isUnbound)) return `${replicas.length} of 3 replicas are placed`;
      if (new Set(replicas.map(({ node }) => node)).size < 3) return "two replicas share a node";
      const onLarge = replicas.flatMap(({ claims }) => claims).find(({ volume }) => volume === "alpha-nvme-2");
      return onLarge ? "a replica took the terabyte disk" : undefined;
    },
    after: async () => ["The terabyte disk alpha-nvme-2 was left alone: the smallest disk that fits goes first."],
  },
  {
    title: "2. Two claims that greedy matching cannot serve, and Berth can",
    files: [example("40-exact")],
    before: saysGreedyFails,
    unmet: (view) => isPlaced(view, "default/archive", "delta", { cold: "delta-nvme-2", hot: "delta-nvme-1" }),
  },
  {
    title: "3. A local disk and a provisioned volume in one Pod, on one node",
    files: [example("50-mixed")],
    unmet: (view) => isPlaced(view, "default/ingest", "delta", { cache: "delta-ssd-1" }),
  },
  {
    title: "4. A zonal volume that was bound before its Pod came",
    files: [example("60-zonal")],
    unmet: async (view) => {
      const placed = (await view.placements()).find(({ pod }) => pod === "default/reporter");
      if (!placed) return "the Pod has no node";
      return ["charlie", "delta"].includes(placed.node) ? undefined : `the Pod is on ${placed.node}, outside zone west`;
    },
  },
  {
    title: "5. A Pod that fits nowhere, and why",
    files: [example("70-nowhere")],
    unmet: async (view) => {
      const pod = (await view.list("pods")).find((one) => keyOf(one) === "default/search");
      const conditions = (pod?.["status"] as { conditions?: { message?: string }[] } | undefined)?.conditions ?? [];
      const said = conditions.some(({ message }) =>
        message?.includes("didn't find available persistent volumes to bind"),
      );
      return said ? undefined : "kube-scheduler has not been told yet";
    },
    after: async (view) => (await view.explain("default/search")).trimEnd().split("\n"),
  },
  {
    title: "6. The disk that it lacks comes, and the Pod is placed",
    files: [example("71-missing-disk")],
    unmet: (view) => isPlaced(view, "default/search", "bravo", { index: "bravo-ssd-2" }),
  },
];

function isUnbound({ claims }: Placement): boolean {
  return claims.some(({ volume }) => volume === "");
}

async function isPlaced(
  view: ClusterView,
  pod: string,
  node: string,
  volumes: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const placed = (await view.placements()).find((one) => one.pod === pod);
  if (!placed || isUnbound(placed)) return `${pod} is not placed`;
  if (placed.node !== node) return `${pod} is on ${placed.node}, not ${node}`;
  const wrong = placed.claims.find(({ claim, volume }) => volumes[claim] !== undefined && volumes[claim] !== volume);
  return wrong ? `claim ${wrong.claim} has ${wrong.volume}, not ${volumes[wrong.claim]}` : undefined;
}

/** Computed on the very objects of the cluster and the manifest, by an implementation that shares nothing with Berth. */
async function saysGreedyFails(view: ClusterView): Promise<readonly string[]> {
  const objects = readObjects(example("40-exact"));
  const pod = objects.find(({ kind }) => kind === "Pod");
  const claims = objects.filter(({ kind }) => kind === "PersistentVolumeClaim");
  const chosen = greedyMatch(pod ?? {}, claims, await view.list("persistentvolumes"), "delta");
  const steps = [...chosen].map(([claim, volume]) => (volume ? `${claim} takes ${volume}` : `${claim} finds nothing`));
  if (![...chosen.values()].includes(undefined)) throw new Error("greedy matching was to fail here");
  return [`Claim by claim, smallest first, as kube-scheduler matches: ${steps.join(", ")}. It says no.`];
}
