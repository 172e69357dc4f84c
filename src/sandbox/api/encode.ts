/** The forms a client may ask objects in: as they are, as table rows (kubectl get), or as metadata only. */
import type { Version } from "./collection.ts";
import { eventToGrouped } from "./events.ts";
import type { ApiObject, JsonObject } from "./json.ts";
import { groupVersionOf, type Resource } from "./resources.ts";
import { notAcceptable } from "./status.ts";
import { parseVersion, toBytes } from "./store.ts";
import { cellsOf, columnDefinitionsOf } from "./table.ts";

export type Form = "object" | "table" | "metadata";

/**
 * What the Accept header asks for; the first form we can produce wins. Discovery's own forms are left to their fallback.
 *
 * @throws ApiError 406 when nothing that is asked for is JSON
 */
export function formOf(accept: string | undefined): Form {
  if (accept === undefined || accept.trim() === "") return "object";
  for (const choice of accept.split(",")) {
    const [type = "", ...parameters] = choice.split(";").map((part) => part.trim());
    if (type !== "application/json" && type !== "*/*" && type !== "application/*") continue;
    const as = parameters.find((parameter) => parameter.startsWith("as="))?.slice(3);
    if (as === undefined) return "object";
    if (!parameters.includes("g=meta.k8s.io") || !parameters.includes("v=v1")) continue;
    if (as === "Table") return "table";
    if (as.startsWith("PartialObjectMetadata")) return "metadata";
  }
  throw notAcceptable();
}

const encoder = new TextEncoder();
const metaVersion = "meta.k8s.io/v1";
const comma = encoder.encode(",");
const listEnd = encoder.encode("]}");
const openBrace = encoder.encode("{");

export interface ListMeta {
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
}

/** Encodes objects of one resource in one form, for single reads, lists and watches alike. */
export interface Encoder {
  object(version: Version): Uint8Array;
  list(versions: readonly Version[], metadata: ListMeta): Uint8Array;
  /** A bookmark's object: nothing but a kind and metadata. */
  bookmark(metadata: JsonObject): JsonObject;
}

export function makeEncoder(o: { resource: Resource; form: Form; includeObject: string; now: () => number }): Encoder {
  const { resource, form } = o;
  if (form === "table") return tableEncoder(resource, o.includeObject, o.now);
  if (form === "metadata") return metadataEncoder();
  return objectEncoder(resource);
}

/** The object as this group shows it; events live in two. */
export function viewVersion(version: Version, resource: Resource): ApiObject {
  const object = parseVersion(version);
  return resource.group === "events.k8s.io" ? eventToGrouped(object) : object;
}

function viewBytes(version: Version, resource: Resource): Uint8Array {
  return resource.group === "events.k8s.io" ? toBytes(viewVersion(version, resource)) : version.bytes;
}

function joinList(head: string, items: readonly Uint8Array[], itemStart?: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [encoder.encode(head)];
  for (const [index, item] of items.entries()) {
    if (index > 0) parts.push(comma);
    if (itemStart) parts.push(itemStart);
    parts.push(item);
  }
  parts.push(listEnd);
  return Buffer.concat(parts);
}

function objectEncoder(resource: Resource): Encoder {
  const { kind } = resource;
  const apiVersion = groupVersionOf(resource);
  const prefixLength = Buffer.byteLength(`{"kind":"${kind}","apiVersion":"${apiVersion}",`);
  return {
    object: (version) => viewBytes(version, resource),
    list: (versions, metadata) => {
      const head = `{"kind":"${kind}List","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`;
      // Without kind and apiVersion, as the real server's lists are: a client that counts on them must fail here too.
      const items = versions.map((version) => viewBytes(version, resource).subarray(prefixLength));
      return joinList(head, items, openBrace);
    },
    bookmark: (metadata) => ({ kind, apiVersion, metadata, ...emptyParts(kind) }),
  };
}

/** What Go writes for a bookmark of these kinds: their spec and status are no pointers, so they show empty. */
function emptyParts(kind: string): JsonObject {
  if (kind === "Pod") return { spec: { containers: null }, status: {} };
  return kind === "Node" || kind === "PersistentVolume" || kind === "PersistentVolumeClaim"
    ? { spec: {}, status: {} }
    : {};
}

function partial({ metadata }: ApiObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: metaVersion, metadata: metadata as unknown as JsonObject };
}

function metadataEncoder(): Encoder {
  const encode = (version: Version): Uint8Array => encoder.encode(JSON.stringify(partial(parseVersion(version))));
  return {
    object: encode,
    list: (versions, metadata) => {
      const head = `{"kind":"PartialObjectMetadataList","apiVersion":"${metaVersion}","metadata":${JSON.stringify(metadata)},"items":[`;
      return joinList(head, versions.map(encode));
    },
    bookmark: (metadata) => ({ kind: "PartialObjectMetadata", apiVersion: metaVersion, metadata }),
  };
}

function tableEncoder(resource: Resource, includeObject: string, now: () => number): Encoder {
  const columnDefinitions = columnDefinitionsOf(resource);
  const row = (version: Version): JsonObject => {
    const stored = parseVersion(version);
    const object = includeObject === "Object" ? viewVersion(version, resource) : partial(stored);
    const cells = cellsOf(stored, resource, now());
    return includeObject === "None" ? { cells } : { cells, object: object as unknown as JsonObject };
  };
  const table = (versions: readonly Version[], metadata: JsonObject): JsonObject => {
    return { kind: "Table", apiVersion: metaVersion, metadata, columnDefinitions, rows: versions.map(row) };
  };
  return {
    object: (version) => {
      return encoder.encode(JSON.stringify(table([version], { resourceVersion: String(version.resourceVersion) })));
    },
    list: (versions, metadata) => encoder.encode(JSON.stringify(table(versions, { ...metadata }))),
    bookmark: (metadata) => ({ ...table([], metadata), rows: [{ cells: [], object: { ...partialOf(metadata) } }] }),
  };
}

function partialOf(metadata: JsonObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: metaVersion, metadata };
}
