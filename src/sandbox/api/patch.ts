/** The four patches of the API: merge, JSON, strategic merge, apply. All return a new object and change nothing. */
import type { HttpRequest } from "../../runtime/runtime.ts";
import { type ApplyOptions, serverSideApply } from "./apply.ts";
import { at, cloneJson, equalJson, isObject, type JsonObject, type JsonValue, textAt } from "./json.ts";
import { bodyValue, mediaTypeOf } from "./request.ts";
import { ApiError, badRequest, unsupportedMediaType } from "./status.ts";
import { strategicMerge } from "./strategic-merge.ts";

export const applyType = "application/apply-patch+yaml";
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  applyType,
];

export interface Patch extends ApplyOptions {
  readonly type: string;
  readonly value: JsonValue;
}

/** @throws ApiError 415 for a content type that is no patch, 400 for a body that cannot be read */
export function readPatch(request: HttpRequest, options: ApplyOptions): Patch {
  const type = mediaTypeOf(request);
  if (!patchTypes.includes(type)) throw unsupportedMediaType(type, patchTypes);
  const value = bodyValue(request, type === applyType);
  const isList = type === "application/json-patch+json";
  if (isList ? !Array.isArray(value) : !isObject(value))
    throw badRequest(`the patch is not ${isList ? "a list" : "an object"}`);
  if (type === applyType && options.manager === "")
    throw badRequest("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value: is required for apply patch");
  return { ...options, type, value };
}

export function applyPatch(original: JsonObject, patch: Patch): JsonObject {
  const { value } = patch;
  if (Array.isArray(value)) return jsonPatch(original, value);
  if (!isObject(value)) throw badRequest("the patch is not an object");
  if (patch.type === applyType) return serverSideApply(original, value, patch);
  return patch.type === "application/merge-patch+json" ? mergePatch(original, value) : strategicMerge(original, value);
}

/** RFC 7386. */
function mergePatch(original: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...original };
  for (const [key, value] of Object.entries(patch)) {
    const old = at(merged, key);
    if (value === null) delete merged[key];
    else merged[key] = isObject(value) ? mergePatch(isObject(old) ? old : {}, value) : value;
  }
  return merged;
}

function jsonPatch(original: JsonObject, operations: readonly JsonValue[]): JsonObject {
  // A holder, so that the whole document can be replaced like any value in it.
  const holder: JsonObject = { document: cloneJson(original) };
  if (operations.length > 10_000) throw badRequest("The allowed maximum operations in a JSON patch is 10000");
  for (const operation of operations) runOperation(holder, operation);
  const document = holder["document"];
  if (!isObject(document)) throw badRequest("the patch leaves no object");
  return document;
}

function runOperation(holder: JsonObject, operation: JsonValue): void {
  const path = pointerOf(operation, "path");
  const value = at(operation, "value");
  switch (textAt(operation, "op")) {
    case "add":
      put(holder, path, given(value), "insert");
      break;
    case "replace":
      read(holder, path);
      put(holder, path, given(value), "replace");
      break;
    case "remove":
      take(holder, path);
      break;
    case "move":
      put(holder, path, take(holder, pointerOf(operation, "from")), "insert");
      break;
    case "copy":
      put(holder, path, cloneJson(read(holder, pointerOf(operation, "from"))), "insert");
      break;
    case "test":
      if (!equalJson(find(holder, path) ?? null, value ?? null)) throw failed("testing value failed");
      break;
    default:
      throw badRequest(`unexpected kind of operation: ${JSON.stringify(at(operation, "op") ?? null)}`);
  }
}

function given(value: JsonValue | undefined): JsonValue {
  if (value === undefined) throw badRequest("the operation has no value");
  return cloneJson(value);
}

/** The words and the code by which the real server refuses a patch that does not fit the object. */
function failed(why: string): ApiError {
  const message = `the server rejected our request due to an error in our request: ${why}`;
  return new ApiError({ code: 422, reason: "Invalid", message, details: { causes: [{ message: why }] } });
}

function pointerOf(operation: JsonValue, field: string): string[] {
  const text = at(operation, field);
  if (typeof text !== "string" || (text !== "" && !text.startsWith("/"))) {
    throw badRequest(`${field} is no JSON pointer: ${JSON.stringify(text ?? null)}`);
  }
  const steps = text.split("/").slice(1);
  const path = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (path.includes("__proto__")) throw badRequest('field name "__proto__" is not allowed');
  return ["document", ...path];
}

function indexOf(list: readonly JsonValue[], step: string, end: number): number {
  const index = step === "-" ? list.length : /^(0|[1-9]\d*)$/.test(step) ? Number(step) : Number.NaN;
  if (!(index <= end)) throw failed(`invalid index referenced: ${step}`);
  return index;
}

function find(holder: JsonObject, path: readonly string[]): JsonValue | undefined {
  let here: JsonValue | undefined = holder;
  for (const step of path) {
    if (Array.isArray(here)) here = /^\d+$/.test(step) ? here[Number(step)] : undefined;
    else here = at(here, step);
  }
  return here;
}

function read(holder: JsonObject, path: readonly string[]): JsonValue {
  const found = find(holder, path);
  if (found === undefined) throw failed(`path /${path.slice(1).join("/")} does not exist`);
  return found;
}

function put(holder: JsonObject, path: readonly string[], value: JsonValue, how: "insert" | "replace"): void {
  const parent = read(holder, path.slice(0, -1));
  const step = path.at(-1) ?? "";
  if (Array.isArray(parent)) {
    if (how === "insert") parent.splice(indexOf(parent, step, parent.length), 0, value);
    else parent[indexOf(parent, step, parent.length - 1)] = value;
  } else if (isObject(parent)) parent[step] = value;
  else throw failed(`path /${path.slice(1).join("/")} does not exist`);
}

function take(holder: JsonObject, path: readonly string[]): JsonValue {
  const taken = read(holder, path);
  const parent = read(holder, path.slice(0, -1));
  const step = path.at(-1) ?? "";
  if (Array.isArray(parent)) parent.splice(indexOf(parent, step, parent.length - 1), 1);
  else if (isObject(parent)) delete parent[step];
  return taken;
}
