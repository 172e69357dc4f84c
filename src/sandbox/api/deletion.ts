/** Deleting: preconditions, finalizers, a pod's grace, a namespace with all that is in it. */
import type { Version } from "./collection.ts";
import { type ApiObject, isObject, type JsonObject, listAt, numberAt, textAt } from "./json.ts";
import { contentsOf, finishNamespace, removeForGood } from "./namespaces.ts";
import { type Target, wholeNumber } from "./request.ts";
import { getResource, type Resource } from "./resources.ts";
import { conflict, forbidden, notFound } from "./status.ts";
import { parseVersion } from "./store.ts";
import { storedAs, timestamp, type WriteContext } from "./write.ts";

/** A pod that has been told to stop; `finish` says that it has. Calling `finish` late or twice is harmless. */
export type PodTermination = (
  pod: { readonly namespace: string; readonly name: string; readonly uid: string; readonly graceSeconds: number },
  finish: () => void,
) => void;

export interface DeleteContext extends WriteContext {
  readonly terminatePod: PodTermination;
}

export interface DeleteOptions {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly graceSeconds: number | undefined;
  readonly dryRun: boolean;
}

export function readDeleteOptions(body: JsonObject | undefined, query: URLSearchParams): DeleteOptions {
  return {
    uid: textAt(body, "preconditions", "uid"),
    resourceVersion: textAt(body, "preconditions", "resourceVersion"),
    graceSeconds: numberAt(body, "gracePeriodSeconds") ?? wholeNumber(query, "gracePeriodSeconds"),
    dryRun: query.has("dryRun") || listAt(body, "dryRun").length > 0,
  };
}

interface Deleted {
  readonly version: Version;
  /** False while finalizers or a pod's grace keep it. */
  readonly isGone: boolean;
}

/** @throws ApiError 404, or 409 where a precondition fails */
export function remove(context: DeleteContext, target: Target, options: DeleteOptions): Deleted {
  const resource = storedAs(target.resource);
  const { namespace, name } = target;
  const current = context.store.find(resource, namespace, name);
  if (!current) throw notFound(resource, name);
  refuseOther(current, resource, options);
  if (options.dryRun) return { version: current, isGone: true };
  if (resource.plural === "namespaces") return removeNamespace(context, current);
  return removeOne(context, resource, current, options.graceSeconds);
}

function refuseOther({ name, uid, resourceVersion }: Version, resource: Resource, options: DeleteOptions): void {
  if (options.uid !== "" && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(resource, name, why);
  }
  if (options.resourceVersion !== "" && options.resourceVersion !== String(resourceVersion)) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict(resource, name, why);
  }
}

function removeOne(context: DeleteContext, resource: Resource, current: Version, asked: number | undefined): Deleted {
  const object = parseVersion(current);
  const grace = resource.plural === "pods" ? podGrace(object, asked) : 0;
  const { metadata } = object;
  const held = (metadata.finalizers ?? []).length > 0;
  if (grace === 0 && !held) return { version: removeForGood(context.store, resource, object), isGone: true };
  if (metadata.deletionTimestamp !== undefined && grace >= (metadata.deletionGracePeriodSeconds ?? 0)) {
    return { version: current, isGone: false };
  }
  const { store, runtime, terminatePod } = context;
  metadata.deletionTimestamp = timestamp(runtime.wallTime() + grace * 1000);
  metadata.deletionGracePeriodSeconds = grace;
  if (metadata.generation !== undefined) metadata.generation++;
  const version = store.write(resource, object);
  if (grace > 0) {
    const { namespace, name, uid } = version;
    terminatePod({ namespace, name, uid, graceSeconds: grace }, () => finishPod(context, version));
  }
  return { version, isGone: false };
}

/** Seconds a pod has to stop. None for one that runs nowhere: there is nobody who could confirm its end. */
function podGrace({ spec, status }: ApiObject, asked: number | undefined): number {
  const phase = textAt(status, "phase");
  if (textAt(spec, "nodeName") === "" || phase === "Succeeded" || phase === "Failed") return 0;
  return Math.max(0, asked ?? numberAt(spec, "terminationGracePeriodSeconds") ?? 30);
}

/** What a kubelet does once the containers have stopped: it deletes the pod without grace. */
function finishPod(context: DeleteContext, { namespace, name, uid }: Version): void {
  const pods = getResource("pods");
  const current = context.store.find(pods, namespace, name);
  if (current?.uid === uid) removeOne(context, pods, current, 0);
}

const kept = ["default", "kube-system"];

function removeNamespace(context: DeleteContext, current: Version): Deleted {
  const namespaces = getResource("namespaces");
  if (kept.includes(current.name)) throw forbidden(namespaces, current.name, "this namespace may not be deleted");
  const { store, runtime } = context;
  const namespace = parseVersion(current);
  if (!current.isDeleting) {
    namespace.metadata.deletionTimestamp = timestamp(runtime.wallTime());
    namespace.status = { ...(isObject(namespace.status) ? namespace.status : {}), phase: "Terminating" };
    store.write(namespaces, namespace);
  }
  for (const { resource, version } of contentsOf(store, current.name)) removeOne(context, resource, version, undefined);
  finishNamespace(store, current.name);
  const left = store.findNamespace(current.name);
  return { version: left ?? current, isGone: left === undefined };
}
