/** The cluster that all rows share: nodes and their disks, which only grow, and what one row puts there and takes away again. */
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { until } from "../../test/control-plane/reach.ts";
import { objectsOf } from "../../test/support/given.ts";
import type { Raw } from "../../test/support/make.ts";
import { type Api, metaOf, pathOf } from "./api.ts";

const namespace = "bench";
const storageClass = "local";
/** Only one kube-scheduler runs at a time, and all answer to this name. */
export const schedulerName = "bench";

export interface Burst {
  readonly claims: readonly Raw[];
  readonly pods: readonly Raw[];
}

/** What the claims of a Pod are called, and how many Gi they ask for. */
export function claimsOf(pod: string): readonly { readonly name: string; readonly gib: number }[] {
  return [
    { name: `${pod}-a`, gib: 1 },
    { name: `${pod}-b`, gib: 2 },
  ];
}

export class Field {
  readonly #api: Api;
  readonly #volumesPerNode: number;
  #nodes = 0;

  constructor(api: Api, volumesPerNode: number) {
    this.#api = api;
    this.#volumesPerNode = volumesPerNode;
  }

  async prepare(): Promise<void> {
    const class_ = objectsOf({ classes: { [storageClass]: "wait" } });
    await this.#api.createAll([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, ...class_]);
  }

  /** More nodes with more disks, up to this many; resolves when all disks are there to be had. */
  async growTo(count: number): Promise<void> {
    const names = Array.from({ length: count }, (_, index) => `node-${String(index).padStart(5, "0")}`);
    const added = names.slice(this.#nodes);
    const nodes = [...objectsOf({ nodes: Object.fromEntries(added.map((name) => [name, null])) })].map(ready);
    await this.#api.createAll(nodes);
    // As on any new node there is a taint, which here no controller takes away.
    await this.#api.patchAll(nodes.map((node) => [pathOf(node), { spec: { taints: null } }] as const));
    await this.#api.createAll(objectsOf({ volumes: Object.fromEntries(added.flatMap((name) => this.#disksOf(name))) }));
    this.#nodes = count;
    await this.#allAvailable();
  }

  /** Not there yet: claims come first, so that a Pod is as good as its scheduler. */
  burst(count: number, hasClaims: boolean): Burst {
    const names = Array.from({ length: count }, (_, index) => `pod-${index}`);
    const claims = hasClaims ? names.flatMap(claimsOf) : [];
    const spec = (name: string) => ({
      schedulerName,
      ...(hasClaims && { claims: claimsOf(name).map((one) => one.name) }),
    });
    return {
      claims: [
        ...objectsOf({
          claims: Object.fromEntries(
            claims.map(({ name, gib }) => [`${namespace}/${name}`, { class: storageClass, size: `${gib}Gi` }]),
          ),
        }),
      ].filter(({ kind }) => kind !== "Namespace"),
      pods: [
        ...objectsOf({ pods: Object.fromEntries(names.map((name) => [`${namespace}/${name}`, spec(name)])) }),
      ].filter(({ kind }) => kind !== "Namespace"),
    };
  }

  /** Until no claim gets bound any more: what a scheduler began before it was ended. */
  async settled(): Promise<void> {
    let before = -1;
    await until("claims come to rest", async () => {
      const bound = (await this.#api.list("PersistentVolumeClaim")).items.filter(isBound).length;
      if (bound === before) return true;
      before = bound;
      await runtime.sleep(1_000);
      return false;
    });
  }

  /** Nothing is left of a row, and its disks are there to be had again. */
  async clear(): Promise<void> {
    for (const kind of ["Pod", "PersistentVolumeClaim"]) {
      await this.#api.deleteAll(kind, namespace);
      await until(`no ${kind} is left`, async () => (await this.#api.list(kind)).items.length === 0);
    }
    await this.#api.deleteAll("Event", namespace);
    const used = (await this.#api.list("PersistentVolume")).items.filter(isClaimed);
    const anew = {
      metadata: { annotations: { "pv.kubernetes.io/bound-by-controller": null } },
      spec: { claimRef: null },
    };
    await this.#api.patchAll(used.map((volume) => [pathOf({ ...volume, kind: "PersistentVolume" }), anew] as const));
    await this.#allAvailable();
  }

  #disksOf(node: string): [string, Raw][] {
    return Array.from({ length: this.#volumesPerNode }, (_, disk) => [
      `${node}-disk-${disk}`,
      { on: node, class: storageClass, size: `${1 + disk}Gi` },
    ]);
  }

  async #allAvailable(): Promise<void> {
    const count = this.#nodes * this.#volumesPerNode;
    const are = async (): Promise<boolean> => {
      const { items } = await this.#api.list("PersistentVolume");
      if (items.length === count && items.every(isAvailable)) return true;
      // A list of thousands is not to keep the controller from what it waits for.
      await runtime.sleep(count / 10);
      return false;
    };
    await until("every disk is available", are, 300_000);
  }
}

function ready(node: Raw): Raw {
  return { ...node, status: { ...(node["status"] as Raw), conditions: [{ type: "Ready", status: "True" }] } };
}

const phaseOf = ({ status }: Raw): unknown => (status as { phase?: unknown } | undefined)?.phase;
const isBound = (claim: Raw): boolean => phaseOf(claim) === "Bound";
const isAvailable = (volume: Raw): boolean => phaseOf(volume) === "Available" && !isClaimed(volume);
const isClaimed = ({ spec }: Raw): boolean => (spec as { claimRef?: unknown }).claimRef !== undefined;

/** Names of the disks of each node, the smallest first. */
export async function disksByNode(api: Api): Promise<Map<string, { readonly name: string; readonly gib: number }[]>> {
  const { items } = await api.list("PersistentVolume");
  const free = items.filter(isAvailable).map((volume) => {
    const { name } = metaOf(volume);
    const { capacity } = volume["spec"] as { capacity: { storage: string } };
    return { name, node: name.slice(0, name.indexOf("-disk-")), gib: Number.parseInt(capacity.storage, 10) };
  });
  return Map.groupBy(
    free.toSorted((a, b) => a.gib - b.gib),
    ({ node }) => node,
  );
}
