/** A request taken apart: which resource, which object, which options. */
import { parse as parseYaml } from "yaml";
import type { HttpRequest } from "../../runtime/runtime.ts";
import { type ApiObject, faultIn, isObject, type JsonObject, type JsonValue } from "./json.ts";
import { protobufType, readProtobuf } from "./protobuf.ts";
import { findResource, groupVersionOf, type Resource } from "./resources.ts";
import { badRequest, unknownPath, unsupportedMediaType } from "./status.ts";

/** What the path names. `namespace` is "" for all namespaces and for what has none; `name` is "" for the collection. */
export interface Target {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** @returns the decoded segments of the path and its query. @throws ApiError 400 for an encoding that is none */
export function splitPath(path: string): { segments: string[]; query: URLSearchParams } {
  const mark = path.indexOf("?");
  const bare = mark < 0 ? path : path.slice(0, mark);
  try {
    const segments = bare
      .split("/")
      .filter((segment) => segment !== "")
      .map(decodeURIComponent);
    return { segments, query: new URLSearchParams(mark < 0 ? "" : path.slice(mark + 1)) };
  } catch {
    throw badRequest(`the path ${JSON.stringify(bare)} is not well encoded`);
  }
}

/** @throws ApiError 404 when no resource of this server is there */
export function targetOf(segments: readonly string[]): Target {
  const [root, ...rest] = segments;
  const [group, version, ...under] = root === "api" ? ["", ...rest] : rest;
  if ((root !== "api" && root !== "apis") || group === undefined || version === undefined) throw unknownPath();
  const scoped = under[0] === "namespaces" && under.length > 2 && !isNamespacePart(under[2]);
  const namespace = scoped ? (under[1] ?? "") : "";
  const [plural = "", name = "", subresource = "", ...more] = scoped ? under.slice(2) : under;
  const resource = findResource(group, version, plural);
  if (!resource || more.length > 0 || (scoped && !resource.namespaced)) throw unknownPath();
  // An object without a namespace in its path is only of a kind that has none.
  if (!scoped && resource.namespaced && name !== "") throw unknownPath();
  return { resource, namespace, name, subresource };
}

function isNamespacePart(segment: string | undefined): boolean {
  return segment === "status" || segment === "finalize";
}

export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "false" && value !== "0";
}

/** A whole number of the query that is not negative; `undefined` when it is not given. */
export function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!/^\d{1,18}$/.test(text) || !Number.isSafeInteger(value))
    throw badRequest(`invalid ${name}: ${JSON.stringify(text)}`);
  return value;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function textOf({ body }: HttpRequest): string {
  if (body === undefined) return "";
  if (typeof body === "string") return body;
  try {
    return utf8.decode(body);
  } catch {
    throw badRequest("the body of the request is not UTF-8");
  }
}

export function mediaTypeOf({ headers }: HttpRequest): string {
  return (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

/** JSON, or YAML where `yaml`. @throws ApiError 400 for a text that is neither or that could not be kept */
function parseText(text: string, yaml: boolean): JsonValue {
  let value: unknown;
  try {
    value = yaml ? parseYaml(text, { maxAliasCount: 100 }) : JSON.parse(text);
  } catch (fault) {
    const why = fault instanceof Error ? (fault.message.split("\n")[0] ?? "") : String(fault);
    throw badRequest(`the object provided is unrecognized (must be of type JSON or YAML): ${why}`);
  }
  const fault = faultIn(value);
  if (fault) throw badRequest(`the object provided is unrecognized: ${fault}`);
  return value as JsonValue;
}

export function bodyValue(request: HttpRequest, yaml: boolean): JsonValue {
  return parseText(textOf(request), yaml);
}

const bodyTypes = ["application/json", "application/yaml"];

/** The body of a create, an update or a delete. `undefined` when there is none. */
export function bodyObject(request: HttpRequest): JsonObject | undefined {
  const type = mediaTypeOf(request);
  if (type === protobufType && request.body instanceof Uint8Array) return readProtobuf(request.body);
  const text = textOf(request);
  if (text === "") return undefined;
  // Without a type the real server takes it for JSON; so do curl's users who forget the header.
  const known = type === "" || type === "application/x-www-form-urlencoded" || bodyTypes.includes(type);
  if (!known) throw unsupportedMediaType(type, bodyTypes);
  const value = parseText(text, type === "application/yaml");
  if (!isObject(value)) throw badRequest("the object provided is unrecognized: it is no object");
  return value;
}

const isTextMap = (value: unknown): boolean => {
  return isObject(value) && Object.values(value).every((one) => typeof one === "string");
};

/** What each part of the metadata must be; null counts as not given. */
const metadataShapes: Record<string, (value: JsonValue) => boolean> = {
  name: (value) => typeof value === "string",
  generateName: (value) => typeof value === "string",
  namespace: (value) => typeof value === "string",
  uid: (value) => typeof value === "string",
  resourceVersion: (value) => typeof value === "string",
  creationTimestamp: (value) => typeof value === "string",
  deletionTimestamp: (value) => typeof value === "string",
  generation: (value) => typeof value === "number",
  deletionGracePeriodSeconds: (value) => typeof value === "number",
  labels: isTextMap,
  annotations: isTextMap,
  finalizers: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  ownerReferences: (value) => Array.isArray(value) && value.every(isObject),
  managedFields: Array.isArray,
};

/** Makes an API object of what a client sent, so that its metadata can be relied on. @throws ApiError 400 */
export function readObject(value: JsonObject, resource: Resource): ApiObject {
  const { kind } = resource;
  const apiVersion = groupVersionOf(resource);
  const said = { kind: value["kind"] ?? kind, apiVersion: value["apiVersion"] ?? apiVersion };
  if (said.kind !== kind) {
    throw badRequest(`${String(said.kind)} in version "${String(said.apiVersion)}" cannot be handled as a ${kind}`);
  }
  if (said.apiVersion !== apiVersion) {
    const message = `the API version in the data (${String(said.apiVersion)}) does not match the expected API version (${apiVersion})`;
    throw badRequest(message);
  }
  const metadata = value["metadata"] ?? {};
  if (!isObject(metadata))
    throw badRequest(`${kind} in version "${apiVersion}" cannot be handled: metadata is no object`);
  for (const [field, fits] of Object.entries(metadataShapes)) {
    const part = metadata[field];
    if (part === undefined) continue;
    if (part === null) delete metadata[field];
    else if (!fits(part)) {
      throw badRequest(
        `${kind} in version "${apiVersion}" cannot be handled as a ${kind}: metadata.${field} has the wrong type`,
      );
    }
  }
  for (const field of ["spec", "status"]) {
    const part = value[field];
    if (part === null) delete value[field];
    else if (part !== undefined && !isObject(part)) {
      throw badRequest(`${kind} in version "${apiVersion}" cannot be handled as a ${kind}: ${field} is no object`);
    }
  }
  const unreadable = resource.whyUnreadable?.(value);
  if (unreadable !== undefined) {
    throw badRequest(`${kind} in version "${resource.version}" cannot be handled as a ${kind}: ${unreadable}`);
  }
  return {
    ...value,
    kind,
    apiVersion,
    metadata: { ...metadata, name: metadata["name"] ?? "" },
  } as unknown as ApiObject;
}
