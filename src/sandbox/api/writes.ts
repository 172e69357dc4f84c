/** POST, PUT, PATCH and DELETE: from the request to the write it asks for, and back. */
import type { HttpReply, HttpRequest } from "../../runtime/runtime.ts";
import type { ApplyOptions } from "./apply.ts";
import type { Version } from "./collection.ts";
import { type DeleteContext, readDeleteOptions, remove } from "./deletion.ts";
import { formOf, makeEncoder, viewVersion } from "./encode.ts";
import { faultIn, type JsonObject } from "./json.ts";
import { applyPatch, applyType, type Patch, readPatch } from "./patch.ts";
import { bindPod, evictPod } from "./pods.ts";
import { bodyObject, flag, type Target } from "./request.ts";
import { getScale, scaled } from "./scale.ts";
import { compileSelectors } from "./selectors.ts";
import { badRequest, bytesReply, jsonReply, methodNotAllowed, notFound, success, unknownPath } from "./status.ts";
import { create, storedAs, update } from "./write.ts";

export interface WriteRequest {
  readonly request: HttpRequest;
  readonly method: string;
  readonly target: Target;
  readonly query: URLSearchParams;
}

export function handleWrite(context: DeleteContext, write: WriteRequest): HttpReply {
  const { method, target } = write;
  // Before anything is written: a client that cannot read the answer must not be told so after the fact.
  formOf(write.request.headers["accept"]);
  // What lies in namespaces is written in one of them.
  if (target.resource.namespaced && target.namespace === "") throw methodNotAllowed();
  if (target.subresource === "scale") return handleScale(context, write);
  switch (method) {
    case "POST":
      return handlePost(context, write);
    case "PUT":
      return handlePut(context, write);
    case "PATCH":
      return handlePatch(context, write);
    case "DELETE":
      return target.name === "" ? handleDeleteAll(context, write) : handleDelete(context, write);
    default:
      throw methodNotAllowed();
  }
}

function isDryRun({ query }: WriteRequest): boolean {
  const value = query.get("dryRun");
  if (value !== null && value !== "All")
    throw badRequest(`invalid dryRun: ${JSON.stringify(value)}; supported values: "All"`);
  return value === "All";
}

function requireBody({ request }: WriteRequest): JsonObject {
  const body = bodyObject(request);
  if (!body) throw badRequest("the request has no body");
  return body;
}

function reply(
  context: DeleteContext,
  { request, target, query }: WriteRequest,
  status: number,
  version: Version,
): HttpReply {
  const encoder = makeEncoder({
    resource: target.resource,
    form: formOf(request.headers["accept"]),
    includeObject: query.get("includeObject") ?? "Metadata",
    now: () => context.runtime.wallTime(),
  });
  return bytesReply(status, encoder.object(version));
}

function handlePost(context: DeleteContext, write: WriteRequest): HttpReply {
  const { target } = write;
  const { resource, namespace, name, subresource } = target;
  const dryRun = isDryRun(write);
  if (resource.plural === "pods" && name !== "" && subresource !== "") {
    const o = { namespace, name, body: requireBody(write), dryRun };
    if (subresource === "binding") bindPod(context, o);
    else if (subresource === "eviction") evictPod(context, o);
    else throw unknownPath();
    return jsonReply(201, { ...success(), code: 201 });
  }
  if (name !== "") throw methodNotAllowed();
  return reply(context, write, 201, create(context, target, requireBody(write), dryRun));
}

/** PUT and PATCH reach an object or its status; everything else below an object is not there. */
function refuseOtherSubresource({ resource, name, subresource }: Target): void {
  if (name === "") throw methodNotAllowed();
  const isOwn = subresource === "" || (subresource === "status" && resource.status);
  if (!isOwn) throw unknownPath();
}

function handlePut(context: DeleteContext, write: WriteRequest): HttpReply {
  const { target } = write;
  refuseOtherSubresource(target);
  const body = requireBody(write);
  const { resource, namespace, name } = target;
  if (resource.createsOnUpdate && !context.store.find(storedAs(resource), namespace, name)) {
    return reply(context, write, 201, create(context, target, body, isDryRun(write)));
  }
  return reply(context, write, 200, update(context, target, body, isDryRun(write)));
}

function applyOptions({ runtime }: DeleteContext, query: URLSearchParams): ApplyOptions {
  const manager = query.get("fieldManager") ?? "";
  return { manager, force: flag(query, "force"), wallTimeMs: runtime.wallTime() };
}

function handlePatch(context: DeleteContext, write: WriteRequest): HttpReply {
  const { request, target, query } = write;
  refuseOtherSubresource(target);
  const patch = readPatch(request, applyOptions(context, query));
  const current = context.store.find(storedAs(target.resource), target.namespace, target.name);
  if (!current) return createByApply(context, write, patch);
  const patched = applyPatch(viewVersion(current, target.resource) as unknown as JsonObject, patch);
  const fault = faultIn(patched);
  if (fault) throw badRequest(`the patched object cannot be kept: ${fault}`);
  return reply(context, write, 200, update(context, target, patched, isDryRun(write)));
}

function createByApply(context: DeleteContext, write: WriteRequest, patch: Patch): HttpReply {
  const { target } = write;
  if (patch.type !== applyType || target.subresource !== "") throw notFound(target.resource, target.name);
  const object = applyPatch({ metadata: { name: target.name } }, patch);
  return reply(context, write, 201, create(context, target, object, isDryRun(write)));
}

function handleDelete(context: DeleteContext, write: WriteRequest): HttpReply {
  const { request, target, query } = write;
  if (target.subresource !== "") throw methodNotAllowed();
  const { version, isGone } = remove(context, target, readDeleteOptions(bodyObject(request), query));
  if (!isGone || target.resource.returnsDeleted) return reply(context, write, 200, version);
  const { group, plural } = target.resource;
  const details = { name: version.name, ...(group === "" ? {} : { group }), kind: plural, uid: version.uid };
  return jsonReply(200, success(details));
}

function handleDeleteAll(context: DeleteContext, write: WriteRequest): HttpReply {
  const { request, target, query } = write;
  const { resource, namespace } = target;
  if (resource.plural === "namespaces") throw methodNotAllowed();
  const options = readDeleteOptions(bodyObject(request), query);
  const matches = compileSelectors({
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    resource,
  });
  const { store } = context;
  const now = store.resourceVersion;
  const all = { after: "", resourceVersion: now, limit: Number.POSITIVE_INFINITY, matches };
  const page = store.collection(resource).page({ ...all, prefix: namespace === "" ? "" : `${namespace}/` });
  const versions = page?.versions ?? [];
  for (const { namespace: from, name } of versions) remove(context, { ...target, namespace: from, name }, options);
  const encoder = makeEncoder({
    resource,
    form: formOf(request.headers["accept"]),
    includeObject: query.get("includeObject") ?? "Metadata",
    now: () => context.runtime.wallTime(),
  });
  return bytesReply(200, encoder.list(versions, { resourceVersion: String(store.resourceVersion) }));
}

function handleScale(context: DeleteContext, write: WriteRequest): HttpReply {
  const { method, target, request, query } = write;
  const { resource, namespace, name } = target;
  if (!resource.scale) throw unknownPath();
  const current = context.store.find(resource, namespace, name);
  if (!current) throw notFound(resource, name);
  const scale = getScale(viewVersion(current, resource));
  if (method === "GET") return jsonReply(200, scale);
  if (method !== "PUT" && method !== "PATCH") throw methodNotAllowed();
  const next =
    method === "PUT" ? requireBody(write) : applyPatch(scale, readPatch(request, applyOptions(context, query)));
  const object = scaled(viewVersion(current, resource), next);
  const version = update(context, { ...target, subresource: "" }, object, isDryRun(write));
  return jsonReply(200, getScale(viewVersion(version, resource)));
}
