/** Where the kinds that scenarios name live in the API. */

interface Place {
  readonly root: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

const core = "/api/v1";
const storage = "/apis/storage.k8s.io/v1";
const places: ReadonlyMap<string, Place> = new Map([
  ["Pod", { root: core, plural: "pods", namespaced: true }],
  ["PersistentVolumeClaim", { root: core, plural: "persistentvolumeclaims", namespaced: true }],
  ["PersistentVolume", { root: core, plural: "persistentvolumes", namespaced: false }],
  ["Node", { root: core, plural: "nodes", namespaced: false }],
  ["Namespace", { root: core, plural: "namespaces", namespaced: false }],
  ["Event", { root: core, plural: "events", namespaced: true }],
  ["StorageClass", { root: storage, plural: "storageclasses", namespaced: false }],
  ["CSIDriver", { root: storage, plural: "csidrivers", namespaced: false }],
  ["CSINode", { root: storage, plural: "csinodes", namespaced: false }],
  ["CSIStorageCapacity", { root: storage, plural: "csistoragecapacities", namespaced: true }],
  ["StatefulSet", { root: "/apis/apps/v1", plural: "statefulsets", namespaced: true }],
  ["PriorityClass", { root: "/apis/scheduling.k8s.io/v1", plural: "priorityclasses", namespaced: false }],
]);

function placeOf(kind: string): Place {
  const place = places.get(kind);
  if (!place) throw new Error(`scenarios know no kind ${kind}`);
  return place;
}

export function listPathOf(kind: string): string {
  const { root, plural } = placeOf(kind);
  return `${root}/${plural}`;
}

export function objectPathOf(kind: string, namespace: string | undefined, name: string): string {
  const { root, plural, namespaced } = placeOf(kind);
  return namespaced ? `${root}/namespaces/${namespace ?? "default"}/${plural}/${name}` : `${root}/${plural}/${name}`;
}
