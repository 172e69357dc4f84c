/** What admission plugins of the real server put on new objects: classes, priorities, protection. */
import { compareText } from "../../scheduling/names.ts";
import { type ApiObject, at, isObject, numberAt, setDefault, textAt } from "./json.ts";
import { getResource, type Resource } from "./resources.ts";
import { forbidden } from "./status.ts";
import { parseVersion, type Store } from "./store.ts";

/** Changes `object`, which is about to be created. @throws ApiError 403 where the real plugin refuses */
export function admit(object: ApiObject, resource: Resource, o: { store: Store; protects: boolean }): void {
  if (o.protects && resource.protection) {
    const finalizers = object.metadata.finalizers ?? [];
    if (!finalizers.includes(resource.protection)) object.metadata.finalizers = [...finalizers, resource.protection];
  }
  if (resource.plural === "persistentvolumeclaims") setDefaultClass(object, o.store);
  if (resource.plural === "pods") setPriority(object, o.store);
}

/** Priority again: a client that replaces a pod need not know what was filled in. */
export function admitUpdate(next: ApiObject, before: ApiObject, resource: Resource): void {
  if (resource.plural !== "pods" || !isObject(next.spec)) return;
  for (const field of ["priority", "preemptionPolicy"]) {
    const value = at(before.spec, field);
    if (value !== undefined) setDefault(next.spec, field, value);
  }
}

const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class";
const betaClassAnnotation = "volume.beta.kubernetes.io/storage-class";

/** DefaultStorageClass: the newest of the default classes; "" asks for none and is left alone. */
function setDefaultClass(claim: ApiObject, store: Store): void {
  if (!isObject(claim.spec) || at(claim.spec, "storageClassName") !== undefined) return;
  if (claim.metadata.annotations?.[betaClassAnnotation] !== undefined) return;
  const defaults: ApiObject[] = [];
  for (const version of store.collection(getResource("storageclasses")).values()) {
    const storageClass = parseVersion(version);
    if (storageClass.metadata.annotations?.[defaultClassAnnotation] === "true") defaults.push(storageClass);
  }
  const created = ({ metadata }: ApiObject): string => metadata.creationTimestamp ?? "";
  defaults.sort((a, b) => compareText(created(b), created(a)) || compareText(a.metadata.name, b.metadata.name));
  const chosen = defaults[0];
  if (chosen) claim.spec["storageClassName"] = chosen.metadata.name;
}

/** Priority: the number behind the pod's class, or behind the global default, or 0. */
function setPriority(pod: ApiObject, store: Store): void {
  const { spec } = pod;
  if (!isObject(spec)) return;
  const name = textAt(spec, "priorityClassName");
  const chosen = name === "" ? globalDefault(store) : findClass(store, name);
  if (!chosen && name !== "") {
    throw forbidden(getResource("pods"), pod.metadata.name, `no PriorityClass with name ${name} was found`);
  }
  if (chosen) spec["priorityClassName"] = chosen.metadata.name;
  spec["priority"] = numberAt(chosen, "value") ?? 0;
  spec["preemptionPolicy"] ??= textAt(chosen, "preemptionPolicy") || "PreemptLowerPriority";
}

function findClass(store: Store, name: string): ApiObject | undefined {
  const version = store.find(getResource("priorityclasses"), "", name);
  return version && parseVersion(version);
}

function globalDefault(store: Store): ApiObject | undefined {
  let lowest: ApiObject | undefined;
  for (const version of store.collection(getResource("priorityclasses")).values()) {
    const priorityClass = parseVersion(version);
    if (at(priorityClass, "globalDefault") !== true) continue;
    if (!lowest || (numberAt(priorityClass, "value") ?? 0) < (numberAt(lowest, "value") ?? 0)) lowest = priorityClass;
  }
  return lowest;
}
