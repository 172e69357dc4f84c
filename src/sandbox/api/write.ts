/** Creating and changing objects: what the server itself puts on them, the preconditions, and what may not change. */
import type { Runtime } from "../../runtime/runtime.ts";
import { admit, admitUpdate } from "./admission.ts";
import type { Version } from "./collection.ts";
import { eventToCore } from "./events.ts";
import { type ApiObject, equalJson, isObject, type JsonObject, type JsonValue, textAt } from "./json.ts";
import { removeForGood } from "./namespaces.ts";
import { readObject, type Target } from "./request.ts";
import { getResource, type Resource } from "./resources.ts";
import { alreadyExists, badRequest, conflict, forbidden, invalid, modified, notFound } from "./status.ts";
import { parseVersion, type Store } from "./store.ts";
import { checkMetadata } from "./validation.ts";

export interface WriteContext {
  readonly store: Store;
  readonly runtime: Runtime;
  /** Whether new volumes and claims get the finalizers of the protection controllers. */
  readonly protects: boolean;
}

/** Events are kept under core, whichever group they come in by. */
export function storedAs(resource: Resource): Resource {
  return resource.group === "events.k8s.io" ? getResource("events") : resource;
}

function readStored(value: JsonObject, resource: Resource): ApiObject {
  const object = readObject(value, resource);
  return resource.group === "events.k8s.io" ? eventToCore(object) : object;
}

/** RFC 3339 in whole seconds, as metav1.Time. */
export function timestamp(wallTimeMs: number): string {
  return new Date(wallTimeMs).toISOString().replace(/\.\d+Z$/, "Z");
}

const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789";
const generatedPrefixMax = 58;

function generateName(prefix: string, runtime: Runtime): string {
  let name = prefix.slice(0, generatedPrefixMax);
  for (let count = 0; count < 5; count++) name += nameAlphabet[Math.floor(runtime.random() * nameAlphabet.length)];
  return name;
}

/** @throws ApiError with the status the real server answers */
export function create(context: WriteContext, target: Target, value: JsonObject, dryRun: boolean): Version {
  const { store, runtime, protects } = context;
  const resource = storedAs(target.resource);
  const object = readStored(value, target.resource);
  const { metadata } = object;
  settleNamespace(object, target, store);
  if (metadata.resourceVersion) throw badRequest("resourceVersion should not be set on objects to be created");
  if (target.name !== "" && metadata.name !== target.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${target.name})`);
  }
  if (metadata.name === "" && metadata.generateName) metadata.name = generateName(metadata.generateName, runtime);
  delete metadata.resourceVersion;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  metadata.uid = runtime.uuid();
  metadata.creationTimestamp = timestamp(runtime.wallTime());
  if (object.spec !== undefined) metadata.generation = 1;
  else delete metadata.generation;
  if (resource.status && !resource.keepsStatusOnCreate) delete object.status;
  if (resource.plural === "namespaces") openNamespace(object);

  resource.fillIn?.(object);
  if (resource.plural === "persistentvolumes") stampPhase(object, undefined, runtime);
  admit(object, resource, { store, protects });
  refuseInvalid(object, resource, [...checkMetadata(object, resource.nameRule), ...(resource.check?.(object) ?? [])]);
  if (store.find(resource, metadata.namespace ?? "", metadata.name)) throw alreadyExists(resource, metadata.name);
  return dryRun ? store.draft(resource, object) : store.write(resource, object);
}

function openNamespace(namespace: ApiObject): void {
  namespace.spec = { finalizers: ["kubernetes"] };
  namespace.status = { phase: "Active" };
  namespace.metadata.labels = { ...namespace.metadata.labels, "kubernetes.io/metadata.name": namespace.metadata.name };
}

/**
 * Says since when a volume is in its phase, unless the client did.
 *
 * @see kubernetes pkg/registry/core/persistentvolume/strategy.go, PrepareForCreate and PrepareForUpdate
 */
function stampPhase(volume: ApiObject, before: ApiObject | undefined, runtime: Runtime): void {
  const [status, known] = [volume.status, before?.status];
  if (!isObject(status) || textAt(status, "phase") === textAt(known, "phase")) return;
  const stands = status["lastPhaseTransitionTime"];
  if (stands !== undefined && stands !== (isObject(known) ? known["lastPhaseTransitionTime"] : undefined)) return;
  status["lastPhaseTransitionTime"] = timestamp(runtime.wallTime());
}

/** The namespace of the path is the object's; it must be there and must not be going away. */
function settleNamespace({ metadata }: ApiObject, { resource, namespace }: Target, store: Store): void {
  if (!resource.namespaced) {
    delete metadata.namespace;
    return;
  }
  const wanted = namespace === "" ? (metadata.namespace ?? "") : namespace;
  if (metadata.namespace && metadata.namespace !== wanted) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (wanted === "") throw badRequest("an empty namespace may not be set during creation");
  const found = store.findNamespace(wanted);
  if (!found) throw notFound(getResource("namespaces"), wanted);
  if (found.isDeleting) {
    const why = `unable to create new content in namespace ${wanted} because it is being terminated`;
    throw forbidden(resource, metadata.name, why);
  }
  metadata.namespace = wanted;
}

function refuseInvalid(object: ApiObject, resource: Resource, errors: Parameters<typeof invalid>[3]): void {
  if (errors.length > 0) throw invalid(resource.group, resource.kind, object.metadata.name, errors);
}

/**
 * Writes `value` over what is there, if it may: its resourceVersion and uid, where given, are preconditions.
 *
 * @returns  the new version, or the old one when nothing changed
 */
export function update(context: WriteContext, target: Target, value: JsonObject, dryRun: boolean): Version {
  const { store } = context;
  const resource = storedAs(target.resource);
  const { namespace, name } = target;
  const current = store.find(resource, namespace, name);
  if (!current) throw notFound(resource, name);
  const next = readStored(value, target.resource);
  return replace(context, { resource, current, next, subresource: target.subresource, dryRun });
}

interface Replacement {
  readonly resource: Resource;
  readonly current: Version;
  readonly next: ApiObject;
  /** "status" changes the status alone, "" all but the status. */
  readonly subresource: string;
  readonly dryRun: boolean;
}

export function replace({ store, runtime }: WriteContext, o: Replacement): Version {
  const { resource, current, dryRun } = o;
  const before = parseVersion(current);
  refuseStale(o, before);
  const next = settle(o, before);
  resource.fillIn?.(next);
  if (resource.plural === "persistentvolumes") stampPhase(next, before, runtime);
  admitUpdate(next, before, resource);
  const errors = [...checkMetadata(next, resource.nameRule), ...(resource.check?.(next) ?? [])];
  refuseInvalid(next, resource, [...errors, ...(resource.checkUpdate?.(next, before) ?? [])]);
  refuseNewFinalizers(next, before, resource);

  if (equalJson(next, before)) return current;
  if (isChangedSpec(next, before)) next.metadata.generation = (before.metadata.generation ?? 0) + 1;
  if (dryRun) return store.draft(resource, next);
  return isFinished(next, resource) ? removeForGood(store, resource, next) : store.write(resource, next);
}

function refuseStale({ resource, current, next }: Replacement, before: ApiObject): void {
  const { name, namespace, uid, resourceVersion } = next.metadata;
  if (name !== "" && name !== current.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${current.name})`);
  }
  if (namespace && namespace !== current.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (uid && uid !== before.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.uid}`;
    throw conflict(resource, current.name, why);
  }
  if (resourceVersion && resourceVersion !== before.metadata.resourceVersion) throw modified(resource, current.name);
}

/** `next` with everything that a client does not decide taken from `before`. */
function settle({ next, resource, subresource }: Replacement, before: ApiObject): ApiObject {
  if (subresource === "status") {
    const status = next.status ?? {};
    return { ...before, metadata: { ...before.metadata }, status };
  }
  const { metadata } = before;
  const settled: ApiObject = { ...next, metadata: { ...next.metadata } };
  Object.assign(settled.metadata, {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
  });
  for (const field of fixedMetadata) {
    if (metadata[field] === undefined) delete settled.metadata[field];
    else Object.assign(settled.metadata, { [field]: metadata[field] });
  }
  if (settled.metadata.managedFields === undefined && metadata.managedFields) {
    settled.metadata.managedFields = metadata.managedFields;
  }
  if (resource.plural === "namespaces") settled.spec ??= before.spec ?? {};
  if (!resource.status) return settled;
  if (before.status === undefined) delete settled.status;
  else settled.status = before.status;
  return settled;
}

const fixedMetadata = [
  "namespace",
  "generation",
  "generateName",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

function refuseNewFinalizers(next: ApiObject, before: ApiObject, resource: Resource): void {
  if (!before.metadata.deletionTimestamp) return;
  const old = before.metadata.finalizers ?? [];
  const added = (next.metadata.finalizers ?? []).filter((finalizer) => !old.includes(finalizer));
  if (added.length === 0) return;
  const message = `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`;
  refuseInvalid(next, resource, [{ field: "metadata.finalizers", type: "Forbidden", message }]);
}

/** Whether anything but metadata and status differs. */
function isChangedSpec(next: ApiObject, before: ApiObject): boolean {
  return before.metadata.generation !== undefined && !equalJson(next.spec as JsonValue, before.spec);
}

/** Whether nothing holds a deleted object any more: no finalizer, and for a pod no grace. */
function isFinished({ metadata }: ApiObject, resource: Resource): boolean {
  if (!metadata.deletionTimestamp || (metadata.finalizers ?? []).length > 0) return false;
  return resource.plural !== "pods" || (metadata.deletionGracePeriodSeconds ?? 0) === 0;
}
