/** All collections under one counter of resourceVersions, as etcd keeps them. */
import { Collection, type Version } from "./collection.ts";
import { type ApiObject, at } from "./json.ts";
import { collectionOf, getResource, type Resource, resources } from "./resources.ts";
import { tooLarge } from "./status.ts";

export class Store {
  readonly #collections: ReadonlyMap<string, Collection>;
  #resourceVersion = 0;

  constructor({ historyMax }: { historyMax: number }) {
    this.#collections = new Map(resources.map((resource) => [collectionOf(resource), new Collection(historyMax)]));
  }

  /** The version of the newest write. */
  get resourceVersion(): number {
    return this.#resourceVersion;
  }

  collection(resource: Resource): Collection {
    const found = this.#collections.get(collectionOf(resource));
    if (!found) throw new Error(`no collection for ${resource.plural}`);
    return found;
  }

  find(resource: Resource, namespace: string, name: string): Version | undefined {
    return this.collection(resource).get(keyOf(resource, namespace, name));
  }

  findNamespace(name: string): Version | undefined {
    return this.find(getResource("namespaces"), "", name);
  }

  /** Writes a new version of `object` and puts its resourceVersion on it. The object must not be touched afterwards. */
  write(resource: Resource, object: ApiObject): Version {
    return this.#commit(resource, object, false);
  }

  /** Removes the object; its last state is `object`, under the version of the deletion. */
  remove(resource: Resource, object: ApiObject): Version {
    return this.#commit(resource, object, true);
  }

  #commit(resource: Resource, object: ApiObject, isRemoval: boolean): Version {
    const collection = this.collection(resource);
    const previous = collection.get(keyOfObject(resource, object));
    const resourceVersion = this.#resourceVersion + 1;
    object.metadata.resourceVersion = String(resourceVersion);
    const version = toVersion(resource, object, resourceVersion);
    // Only now that nothing can throw any more: a refused write must not use up a version.
    this.#resourceVersion = resourceVersion;
    const type = isRemoval ? "DELETED" : previous ? "MODIFIED" : "ADDED";
    collection.apply({ type, version, previous });
    return version;
  }

  /** What `write` would store, for dry runs: nothing is kept and no version is used up. */
  draft(resource: Resource, object: ApiObject): Version {
    return toVersion(resource, object, this.#resourceVersion);
  }

  forgetHistory(): void {
    for (const collection of this.#collections.values()) collection.forgetHistory();
  }
}

export function keyOf(resource: Resource, namespace: string, name: string): string {
  return resource.namespaced ? `${namespace}/${name}` : name;
}

function keyOfObject(resource: Resource, { metadata }: ApiObject): string {
  return keyOf(resource, metadata.namespace ?? "", metadata.name);
}

/** As the limit of a request: patches must not grow an object beyond what could be sent. */
const objectBytesMax = 3 * 1024 * 1024;
const decoder = new TextDecoder();

export function parseVersion({ bytes }: Version): ApiObject {
  return JSON.parse(decoder.decode(bytes)) as ApiObject;
}

function toVersion(resource: Resource, object: ApiObject, resourceVersion: number): Version {
  const { name, namespace = "", uid = "", labels } = object.metadata;
  const fields: string[] = [];
  for (const { path, empty } of resource.fields.values()) {
    const value = at(object, ...path);
    fields.push(value === undefined || value === null ? empty : String(value));
  }
  const bytes = toBytes(object);
  if (bytes.length > objectBytesMax) throw tooLarge(objectBytesMax);
  const key = keyOfObject(resource, object);
  const isDeleting = object.metadata.deletionTimestamp !== undefined;
  return { key, namespace, name, uid, resourceVersion, bytes, isDeleting, labels, fields };
}

/** Kind, apiVersion and metadata first, always: lists cut the first two off (`withoutKind`), as the real server's do. */
export function toBytes({ kind, apiVersion, metadata, ...rest }: ApiObject): Uint8Array {
  const text = JSON.stringify({ kind, apiVersion, metadata, ...rest });
  // Not from Buffer's shared pool, where one survivor would keep its neighbours' memory.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}
