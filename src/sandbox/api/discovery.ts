/** What tells clients which resources there are: /api, /apis, their groups, and the OpenAPI that kubectl asks for. */
import type { JsonObject } from "./json.ts";
import { groupVersionOf, type Resource, resources } from "./resources.ts";

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

const groups: readonly string[] = [...new Set(resources.map(({ group }) => group))];
const grouped = groups.filter((group) => group !== "");

/** @returns the document at that path, or `undefined` when it is none of discovery's */
export function discover(segments: readonly string[]): JsonObject | undefined {
  const path = segments.join("/");
  if (path === "") return { paths: ["/api", "/api/v1", "/apis", ...grouped.map((group) => `/apis/${group}`)] };
  if (path === "version") return version;
  if (path === "api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  if (path === "apis") return { kind: "APIGroupList", apiVersion: "v1", groups: grouped.map(groupOf) };
  if (path === "openapi/v2") return openApiV2();
  if (path === "openapi/v3") return openApiIndex();
  const [root, ...rest] = segments;
  if (root === "apis" && rest.length === 1 && rest[0] !== undefined && grouped.includes(rest[0])) {
    return { kind: "APIGroup", apiVersion: "v1", ...groupOf(rest[0]) };
  }
  if (root === "openapi" && rest[0] === "v3") return openApiV3(rest.slice(1));
  return resourceList(segments);
}

/** The release whose behaviour this server follows. */
const version: JsonObject = { major: "1", minor: "36", gitVersion: "v1.36.0-berth-sandbox", platform: "linux/amd64" };

function groupOf(name: string): JsonObject {
  const [own] = resources.filter(({ group }) => group === name);
  const versions = [...new Set(resources.filter(({ group }) => group === name).map((resource) => resource.version))];
  const described = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  const preferred = { groupVersion: `${name}/${own?.version ?? ""}`, version: own?.version ?? "" };
  return { name, versions: described, preferredVersion: preferred };
}

function ofGroupVersion(segments: readonly string[]): readonly Resource[] {
  const [root, first, second, ...more] = segments;
  if (more.length > 0) return [];
  if (root === "api" && second === undefined) {
    return resources.filter(({ group, version }) => group === "" && version === first);
  }
  if (root !== "apis" || first === "") return [];
  return resources.filter(({ group, version }) => group === first && version === second);
}

function resourceList(segments: readonly string[]): JsonObject | undefined {
  const found = ofGroupVersion(segments);
  const [first] = found;
  if (!first) return undefined;
  const groupVersion = groupVersionOf(first);
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: found.flatMap(describe) };
}

function describe(resource: Resource): JsonObject[] {
  const { plural, kind, namespaced, shortNames } = resource;
  const own: JsonObject = { name: plural, singularName: kind.toLowerCase(), namespaced, kind, verbs };
  if (shortNames.length > 0) own["shortNames"] = [...shortNames];
  if (["pods", "services"].includes(plural) || resource.scale || plural === "daemonsets") own["categories"] = ["all"];
  const described = [own];
  const sub = (name: string, more: JsonObject): void => {
    described.push({ name: `${plural}/${name}`, singularName: "", namespaced, kind, ...more });
  };
  if (resource.status) sub("status", { verbs: ["get", "patch", "update"] });
  if (resource.scale) {
    sub("scale", { group: "autoscaling", version: "v1", kind: "Scale", verbs: ["get", "patch", "update"] });
  }
  if (plural === "pods") {
    sub("binding", { kind: "Binding", verbs: ["create"] });
    sub("eviction", { group: "policy", version: "v1", kind: "Eviction", verbs: ["create"] });
  }
  return described;
}

const title = "Berth sandbox";

function openApiV2(): JsonObject {
  const definitions: JsonObject = {};
  for (const resource of resources) definitions[schemaName(resource)] = schemaOf(resource);
  return { swagger: "2.0", info: { title, version: "v1.36.0" }, paths: {}, definitions };
}

function openApiIndex(): JsonObject {
  const paths: JsonObject = {};
  for (const group of groups) {
    const path = group === "" ? "api/v1" : `apis/${group}/v1`;
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}` };
  }
  return { paths };
}

const schemaName = ({ group, version, kind }: Resource): string => `io.k8s.api.${group || "core"}.${version}.${kind}`;
const kindOf = ({ group, version, kind }: Resource): JsonObject => ({ group, version, kind });

/** Anything goes: what is wrong with an object is found by the server's own validation. */
function schemaOf(resource: Resource): JsonObject {
  return {
    type: "object",
    description: `${resource.kind} as the sandbox keeps it.`,
    properties: { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" } },
    "x-kubernetes-group-version-kind": [kindOf(resource)],
    "x-kubernetes-preserve-unknown-fields": true,
  };
}

function openApiV3(path: readonly string[]): JsonObject | undefined {
  const found = ofGroupVersion(path);
  if (found.length === 0) return undefined;
  const paths: JsonObject = {};
  const schemas: JsonObject = {};
  for (const resource of found) {
    schemas[schemaName(resource)] = schemaOf(resource);
    const place = resource.namespaced ? "namespaces/{namespace}/" : "";
    paths[`/${path.join("/")}/${place}${resource.plural}/{name}`] = { patch: patchOperation(resource) };
  }
  return { openapi: "3.0.0", info: { title, version: "v1.36.0" }, paths, components: { schemas } };
}

/** kubectl looks here whether the server validates and dry-runs, and else does so itself with schemas we do not have. */
function patchOperation(resource: Resource): JsonObject {
  const parameter = (name: string): JsonObject => ({ name, in: "query", schema: { type: "string" } });
  return {
    parameters: ["dryRun", "fieldManager", "fieldValidation", "force"].map(parameter),
    responses: { "200": { description: "OK" } },
    "x-kubernetes-action": "patch",
    "x-kubernetes-group-version-kind": kindOf(resource),
  };
}
