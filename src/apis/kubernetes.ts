/** The one door from the API's objects to ours: `translate` is total, whatever it is given. */
import type { Kind, Kinds, ObjectKey, Versioned } from "../scheduling/objects.ts";
import { readNode, readPod } from "./cluster.ts";
import { Fault, type Fields, field, isName, object, text } from "./fields.ts";
import { Interning } from "./interning.ts";
import {
  type Reading,
  readCapacity,
  readClaim,
  readCsiNode,
  readDriver,
  readStorageClass,
  readVolume,
} from "./storage.ts";

export type Translation<T> =
  | { readonly ok: true; readonly key: ObjectKey; readonly object: T }
  /** `key` is absent where the object does not even say its name. */
  | { readonly ok: false; readonly key: ObjectKey | undefined; readonly field: string; readonly problem: string };

export interface KindInfo {
  /** kind of the API. */
  readonly kind: string;
  readonly apiVersion: string;
  /** The list of all namespaces. */
  readonly path: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Objects a list page at most. */
  readonly pageSize: number;
  readonly fieldSelector?: string;
}

const core = { apiVersion: "v1", pageSize: 500 } as const;
const storage = { apiVersion: "storage.k8s.io/v1", pageSize: 500 } as const;
const inStorage = "/apis/storage.k8s.io/v1";

export const kindInfo: { readonly [K in Kind]: KindInfo } = {
  node: { ...core, kind: "Node", plural: "nodes", path: "/api/v1/nodes", namespaced: false, pageSize: 100 },
  volume: {
    ...core,
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    path: "/api/v1/persistentvolumes",
    namespaced: false,
  },
  claim: {
    ...core,
    kind: "PersistentVolumeClaim",
    plural: "persistentvolumeclaims",
    path: "/api/v1/persistentvolumeclaims",
    namespaced: true,
  },
  class: {
    ...storage,
    kind: "StorageClass",
    plural: "storageclasses",
    path: `${inStorage}/storageclasses`,
    namespaced: false,
  },
  driver: { ...storage, kind: "CSIDriver", plural: "csidrivers", path: `${inStorage}/csidrivers`, namespaced: false },
  csiNode: { ...storage, kind: "CSINode", plural: "csinodes", path: `${inStorage}/csinodes`, namespaced: false },
  capacity: {
    ...storage,
    kind: "CSIStorageCapacity",
    plural: "csistoragecapacities",
    path: `${inStorage}/csistoragecapacities`,
    namespaced: true,
  },
  // Only Pods that wait: they are the ones asked about, and a large cluster has many that run.
  pod: {
    ...core,
    kind: "Pod",
    plural: "pods",
    path: "/api/v1/pods",
    namespaced: true,
    fieldSelector: "status.phase=Pending",
  },
};

/** The path of one object; `undefined` for a key that can name none, and would lead elsewhere. */
export function objectPath(kind: Kind, key: ObjectKey): string | undefined {
  const { path, plural, namespaced } = kindInfo[kind];
  if (!namespaced) return isName(key) ? `${path}/${encodeURIComponent(key)}` : undefined;
  const slash = key.indexOf("/");
  const [namespace, name] = [key.slice(0, Math.max(slash, 0)), key.slice(slash + 1)];
  if (!isName(namespace) || !isName(name)) return undefined;
  const parent = `${path.slice(0, -plural.length)}namespaces/${encodeURIComponent(namespace)}`;
  return `${parent}/${plural}/${encodeURIComponent(name)}`;
}

const readers: { readonly [K in Kind]: (raw: Fields, reading: Reading) => Kinds[K] } = {
  node: readNode,
  volume: readVolume,
  claim: readClaim,
  class: readStorageClass,
  driver: readDriver,
  csiNode: readCsiNode,
  capacity: readCapacity,
  pod: readPod,
};

/** Translates many objects of one cluster, sharing what they repeat. */
export class Translator {
  readonly #reading: Reading;

  constructor({ nodeAnnotations = new Set(), interning = new Interning() }: Partial<Reading> = {}) {
    this.#reading = { interning, nodeAnnotations };
  }

  /** @param key  what `keyOf` says, for whoever has asked it already */
  translate<K extends Kind>(kind: K, raw: unknown, key = keyOf(kind, raw)): Translation<Kinds[K]> {
    try {
      const fields = object(raw, "(the object)");
      // Items of a list do not repeat their kind.
      const ownKind = text(fields, "kind", "kind");
      if (ownKind !== undefined && ownKind !== kindInfo[kind].kind)
        throw new Fault("kind", `not ${kindInfo[kind].kind}`);
      const read = readers[kind](fields, this.#reading);
      return key === undefined
        ? { ok: false, key, field: "metadata.name", problem: "not a name" }
        : { ok: true, key, object: read };
    } catch (thrown) {
      if (thrown instanceof Fault) return { ok: false, key, field: thrown.field, problem: thrown.problem };
      // Nothing else is thrown, as far as anybody knows; a peer must not be the one to find out.
      return { ok: false, key, field: "(the object)", problem: `cannot be read: ${thrown}` };
    }
  }
}

/** Translates one object on its own. */
export function translate<K extends Kind>(kind: K, raw: unknown): Translation<Kinds[K]> {
  return new Translator().translate(kind, raw);
}

/** "namespace/name" or the name; undefined where metadata does not give it, or gives what can be no name. Never throws. */
export function keyOf(kind: Kind, raw: unknown): ObjectKey | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const metadata = field(raw as Fields, "metadata");
  if (typeof metadata !== "object" || metadata === null) return undefined;
  const name = field(metadata as Fields, "name");
  if (typeof name !== "string" || !isName(name)) return undefined;
  if (!kindInfo[kind].namespaced) return name;
  const namespace = field(metadata as Fields, "namespace");
  return typeof namespace === "string" && isName(namespace) ? `${namespace}/${name}` : undefined;
}

/** metadata.resourceVersion, opaque; undefined where there is none. Never throws. */
export function versionOf(raw: unknown): string | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const metadata = field(raw as Fields, "metadata");
  if (typeof metadata !== "object" || metadata === null) return undefined;
  const version = field(metadata as Fields, "resourceVersion");
  return typeof version === "string" && version !== "" ? version : undefined;
}

/** Whether `raw` is this very version of the object: to translate it would tell nothing new. Never throws. */
export function isVersion(raw: unknown, { uid, resourceVersion }: Versioned): boolean {
  if (versionOf(raw) !== resourceVersion) return false;
  return field((raw as { readonly metadata: Fields }).metadata, "uid") === uid;
}
