/** The drivers and local disks of a scenario on the pure core: what they publish, and the volumes that come of them. */
import type { DriverConfiguration } from "../../src/sandbox/backend.ts";
import type { LocalDisk } from "../../src/sandbox/local-disks.ts";
import { addBytes, type Bytes, parseBytes, subtractBytes, zero } from "../../src/scheduling/quantity.ts";
import type { Raw } from "./make.ts";

const hostname = "kubernetes.io/hostname";

/** What the core has no part in; the message is the reason that the scenario gives as `beyondCore`. */
export class BeyondCore extends Error {}

interface Provision {
  readonly claim: Raw;
  readonly claimRef: Raw;
  readonly className: string;
  readonly bytes: Bytes;
  readonly on: Raw;
}

export class CorePools {
  readonly #drivers: DriverConfiguration[] = [];
  /** Bytes taken, by driver and segment. */
  readonly #taken = new Map<string, Bytes>();
  readonly #provisioners = new Map<string, string>();
  readonly #set: (object: Raw) => void;

  constructor(set: (object: Raw) => void) {
    this.#set = set;
  }

  add(driver: DriverConfiguration): void {
    this.#drivers.push(driver);
    const spec = { storageCapacity: driver.publishesCapacity !== false };
    this.#set({ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: driver.name }, spec });
  }

  /** CSINodes of all nodes in a driver's segments, and what each segment has left for each class. */
  publish(nodes: readonly Raw[], classes: readonly Raw[]): void {
    if (this.#drivers.length === 0) return;
    for (const node of nodes) {
      const { name } = node["metadata"] as { name: string };
      const drivers = this.#drivers.flatMap((driver) =>
        segmentOf(driver, node) === undefined
          ? []
          : [{ name: driver.name, nodeID: name, topologyKeys: [keyOf(driver)] }],
      );
      this.#set({ apiVersion: "storage.k8s.io/v1", kind: "CSINode", metadata: { name }, spec: { drivers } });
    }
    for (const made of classes) {
      const { name } = made["metadata"] as { name: string };
      this.#provisioners.set(name, String(made["provisioner"]));
      const driver = this.#drivers.find((one) => one.name === made["provisioner"]);
      if (driver && driver.publishesCapacity !== false) this.#publishFor(driver, name);
    }
  }

  #publishFor(driver: DriverConfiguration, storageClassName: string): void {
    for (const [segment, size] of Object.entries(driver.capacity)) {
      const taken = this.#taken.get(`${driver.name} ${segment}`) ?? zero;
      this.#set({
        apiVersion: "storage.k8s.io/v1",
        kind: "CSIStorageCapacity",
        metadata: { name: `${storageClassName}-${segment}`, namespace: "kube-system" },
        storageClassName,
        nodeTopology: { matchLabels: { [keyOf(driver)]: segment } },
        capacity: String(subtractBytes(parseBytes(size) ?? zero, taken)),
      });
    }
  }

  /** The volume that a driver makes. */
  provision({ claim, claimRef, className, bytes, on }: Provision): Raw {
    const name = this.#provisioners.get(className);
    const driver = this.#drivers.find((one) => one.name === name);
    const key = driver ? keyOf(driver) : hostname;
    const value = (driver && segmentOf(driver, on)) ?? String(labelsOf(on)[hostname]);
    if (driver) {
      if (driver.createMs) throw new BeyondCore("a bind takes time, and the core knows none");
      const pool = `${driver.name} ${value}`;
      const taken = addBytes(this.#taken.get(pool) ?? zero, bytes);
      if (taken > (parseBytes(driver.capacity[value] ?? "") ?? zero))
        throw new BeyondCore("only the driver knows that it is full");
      this.#taken.set(pool, taken);
    }
    const { accessModes, volumeMode = "Filesystem" } = claim["spec"] as { accessModes: string[]; volumeMode?: string };
    const source = { csi: { driver: name, volumeHandle: claimRef["uid"] } };
    const volume = { name: `pvc-${claimRef["uid"]}`, key, value, class: className, size: String(bytes), source };
    const annotations = { "pv.kubernetes.io/provisioned-by": String(name) };
    return volumeAt({ ...volume, annotations, more: { accessModes, volumeMode } });
  }

  volumeOf({ name, node, class: className, capacity, labels, volumeMode = "Filesystem" }: LocalDisk): Raw {
    const source = { local: { path: `/mnt/disks/${name}` } };
    const annotations = { "pv.kubernetes.io/provisioned-by": `local-volume-provisioner-${node}` };
    const place = { name, key: hostname, value: node, class: className, size: capacity, source };
    return volumeAt({
      ...place,
      annotations,
      ...(labels && { labels }),
      more: { accessModes: ["ReadWriteOnce"], volumeMode },
    });
  }
}

function volumeAt(o: {
  readonly name: string;
  readonly key: string;
  readonly value: string;
  readonly class: string;
  readonly size: string;
  readonly source: Raw;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly more: Raw;
}): Raw {
  const term = { matchExpressions: [{ key: o.key, operator: "In", values: [o.value] }] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: o.name, annotations: o.annotations, labels: o.labels ?? {} },
    spec: {
      capacity: { storage: o.size },
      storageClassName: o.class,
      persistentVolumeReclaimPolicy: "Delete",
      ...o.source,
      ...o.more,
      nodeAffinity: { required: { nodeSelectorTerms: [term] } },
    },
  };
}

const keyOf = ({ topologyKey = hostname }: DriverConfiguration): string => topologyKey;

const labelsOf = (node: Raw): Readonly<Record<string, string>> =>
  (node["metadata"] as { labels?: Readonly<Record<string, string>> }).labels ?? {};

/** Undefined where the driver does not run. */
function segmentOf(driver: DriverConfiguration, node: Raw): string | undefined {
  const value = labelsOf(node)[keyOf(driver)];
  return value !== undefined && Object.hasOwn(driver.capacity, value) ? value : undefined;
}
