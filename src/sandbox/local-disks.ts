/**
 * Stands in for sig-storage-local-static-provisioner: a volume for each disk of a node, made again once it is clean.
 * Source: its pkg/discovery/discovery.go and pkg/deleter/deleter.go.
 */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Agent } from "./agent.ts";
import { annotation, type Labels, type Node } from "./objects.ts";
import type { Worked } from "./work-queue.ts";

export interface LocalDisk {
  /** The volume's name, the same after each cleaning. */
  readonly name: string;
  readonly node: string;
  readonly class: string;
  readonly capacity: string;
  readonly labels?: Labels;
  readonly volumeMode?: string;
  /** From Released to the volume being made anew. */
  readonly cleanMs?: Milliseconds;
}

const hostnameLabel = "kubernetes.io/hostname";

/** The name of a node's own instance. It knows its volumes by it, so those of an earlier Node of that name are nobody's. */
const provisionerOf = ({ metadata }: Node): string => `local-volume-provisioner-${metadata.name}-${metadata.uid}`;

export function startLocalDisks(agent: Agent, disks: readonly LocalDisk[]): void {
  const byName = new Map(disks.map((disk) => [disk.name, disk]));
  const volumes = agent.informer("persistentvolumes");
  const queue = agent.queue(
    ["persistentvolumes", "nodes", "storageclasses"],
    async (name): Promise<Worked> => {
      const disk = byName.get(name);
      const node = disk && agent.informer("nodes").get(disk.node);
      if (!disk || !node) return "done";
      const volume = volumes.get(name);
      if (!volume) return publish(agent, disk, node);
      if (volume.metadata.annotations?.[annotation.provisionedBy] !== provisionerOf(node)) return "done";
      if (volume.status?.phase !== "Released" || volume.spec.persistentVolumeReclaimPolicy !== "Delete") return "done";
      if (volume.metadata.deletionTimestamp !== undefined) return "done";
      if (disk.cleanMs) await agent.runtime.sleep(disk.cleanMs, agent.signal);
      const deleted = await agent.client.delete("persistentvolumes", { name }, { uid: volume.metadata.uid });
      return deleted.ok || deleted.status === 404 || deleted.status === 409 ? "done" : "retry";
    },
    16,
  );
  agent.feed("persistentvolumes", queue, ({ metadata }) => [metadata.name]);
  const namesOf = (isOne: (disk: LocalDisk) => boolean): string[] => disks.filter(isOne).map(({ name }) => name);
  agent.feed("nodes", queue, ({ metadata }) => namesOf(({ node }) => node === metadata.name));
  agent.feed("storageclasses", queue, ({ metadata }) => namesOf((disk) => disk.class === metadata.name));
}

/** The reclaim policy is the class's; a volume that is retained is never cleaned. */
async function publish(agent: Agent, disk: LocalDisk, node: Node): Promise<Worked> {
  const storageClass = agent.informer("storageclasses").get(disk.class);
  const host = node.metadata.labels?.[hostnameLabel];
  // The kubelet has yet to label the node, or the class to be made; that wakes us.
  if (host === undefined || !storageClass) return "done";
  const term = { matchExpressions: [{ key: hostnameLabel, operator: "In", values: [host] }] };
  const made = await agent.client.create("persistentvolumes", {
    metadata: {
      name: disk.name,
      annotations: { [annotation.provisionedBy]: provisionerOf(node) },
      ...(disk.labels ? { labels: disk.labels } : {}),
    },
    spec: {
      capacity: { storage: disk.capacity },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      storageClassName: disk.class,
      volumeMode: disk.volumeMode ?? "Filesystem",
      local: { path: `/mnt/disks/${disk.name}` },
      nodeAffinity: { required: { nodeSelectorTerms: [term] } },
    },
  });
  return made.ok || made.reason === "AlreadyExists" ? "done" : "retry";
}
