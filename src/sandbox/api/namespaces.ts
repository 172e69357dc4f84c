/** Namespaces that go away: they stay, closed to new objects, until the last object in them has gone. */
import type { Version } from "./collection.ts";
import type { ApiObject } from "./json.ts";
import { getResource, type Resource, resources } from "./resources.ts";
import { parseVersion, type Store } from "./store.ts";

/** The resources that keep objects of their own in namespaces; events only under their first group. */
const namespaced = resources.filter(({ namespaced, group }) => namespaced && group !== "events.k8s.io");

export function contentsOf(store: Store, namespace: string): { resource: Resource; version: Version }[] {
  return namespaced.flatMap((resource) => {
    const query = { prefix: `${namespace}/`, after: "", resourceVersion: store.resourceVersion, matches: () => true };
    const page = store.collection(resource).page({ ...query, limit: Number.POSITIVE_INFINITY });
    return (page?.versions ?? []).map((version) => ({ resource, version }));
  });
}

/** Removes the object, and with the last object its namespace, if that was waiting for it. */
export function removeForGood(store: Store, resource: Resource, object: ApiObject): Version {
  const version = store.remove(resource, object);
  if (version.namespace !== "") finishNamespace(store, version.namespace);
  return version;
}

export function finishNamespace(store: Store, name: string): void {
  const current = store.findNamespace(name);
  if (!current?.isDeleting) return;
  if (namespaced.some((resource) => store.collection(resource).countIn(name) > 0)) return;
  store.remove(getResource("namespaces"), parseVersion(current));
}
