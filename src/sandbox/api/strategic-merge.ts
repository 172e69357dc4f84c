/** Strategic merge patches: lists of the API merge by key where its types say so. Source: apimachinery util/strategicpatch. */
import { at, cloneJson, isObject, type JsonObject, type JsonValue } from "./json.ts";
import { badRequest } from "./status.ts";

/**
 * By which key the list in a field merges: the patchMergeKey of the Go types. Fields not named here are replaced whole, as
 * tolerations, taints, nodeSelectorTerms and accessModes are.
 */
const mergeKeys: ReadonlyMap<string, readonly string[]> = new Map([
  ["containers", ["name"]],
  ["initContainers", ["name"]],
  ["ephemeralContainers", ["name"]],
  ["volumes", ["name"]],
  ["env", ["name"]],
  // Of a container and of a Service.
  ["ports", ["containerPort", "port"]],
  ["volumeMounts", ["mountPath"]],
  ["volumeDevices", ["devicePath"]],
  ["imagePullSecrets", ["name"]],
  ["secrets", ["name"]],
  ["hostAliases", ["ip"]],
  ["topologySpreadConstraints", ["topologyKey"]],
  ["schedulingGates", ["name"]],
  ["resourceClaims", ["name"]],
  ["conditions", ["type"]],
  ["addresses", ["type"]],
  ["ownerReferences", ["uid"]],
  ["podIPs", ["ip"]],
  ["drivers", ["name"]],
]);
/** Lists of plain values that merge as sets. */
const sets: ReadonlySet<string> = new Set(["finalizers", "podCIDRs"]);

/** The key by which the elements of a list in `field` are told apart; `undefined` for a list that is one value. */
export function mergeKeyOf(field: string, lists: readonly JsonValue[][]): string | undefined {
  const keys = mergeKeys.get(field);
  if (!keys) return undefined;
  return keys.find((key) => lists.some((list) => list.some((element) => at(element, key) !== undefined))) ?? keys[0];
}

export function isSetField(field: string): boolean {
  return sets.has(field);
}

/** @returns a new object. @throws ApiError 400 for a directive that is not understood */
export function strategicMerge(original: JsonObject, patch: JsonObject): JsonObject {
  const directive = at(patch, "$patch");
  if (directive === "replace") return withoutDirectives(patch);
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge")
    throw badRequest(`Unknown patch type ${JSON.stringify(directive)}`);

  const merged: JsonObject = { ...original };
  const retained = at(patch, "$retainKeys");
  if (Array.isArray(retained)) {
    for (const key of Object.keys(merged)) if (!retained.includes(key)) delete merged[key];
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith("$deleteFromPrimitiveList/")) removeFromSet(merged, key.slice(key.indexOf("/") + 1), value);
    else if (!key.startsWith("$")) mergeField(merged, key, value);
  }
  return merged;
}

function mergeField(merged: JsonObject, key: string, value: JsonValue): void {
  const old = at(merged, key);
  if (value === null) delete merged[key];
  else if (isObject(value)) {
    if (at(value, "$patch") === "delete") delete merged[key];
    else merged[key] = strategicMerge(isObject(old) ? old : {}, value);
  } else if (Array.isArray(value)) merged[key] = mergeList(key, Array.isArray(old) ? old : [], value);
  else merged[key] = value;
}

function removeFromSet(merged: JsonObject, field: string, value: JsonValue): void {
  const old = at(merged, field);
  if (Array.isArray(old) && Array.isArray(value)) merged[field] = old.filter((one) => !value.includes(one));
}

function mergeList(field: string, original: JsonValue[], patch: JsonValue[]): JsonValue[] {
  const replaces = patch.some((element) => at(element, "$patch") === "replace");
  const elements = patch.filter((element) => at(element, "$patch") !== "replace");
  if (replaces) return elements.map(clean);
  if (isSetField(field)) return [...original, ...elements.filter((element) => !original.includes(element))];
  const key = mergeKeyOf(field, [original, patch]);
  if (key === undefined) return elements.map(clean);
  return mergeByKey(field, key, original, elements);
}

function mergeByKey(field: string, key: string, original: JsonValue[], patch: JsonValue[]): JsonValue[] {
  const merged = [...original];
  for (const element of patch) {
    const value = at(element, key);
    if (!isObject(element) || value === undefined) {
      throw badRequest(`map: ${JSON.stringify(element)} does not contain declared merge key: ${key} (in ${field})`);
    }
    const index = merged.findIndex((old) => at(old, key) === value);
    const old = merged[index];
    if (at(element, "$patch") === "delete") {
      if (index >= 0) merged.splice(index, 1);
    } else if (isObject(old)) merged[index] = strategicMerge(old, element);
    else merged.push(strategicMerge({}, element));
  }
  return merged;
}

function clean(value: JsonValue): JsonValue {
  return isObject(value) ? withoutDirectives(value) : value;
}

function withoutDirectives(patch: JsonObject): JsonObject {
  const kept = cloneJson(patch);
  delete kept["$patch"];
  for (const key of Object.keys(kept)) if (key.startsWith("$")) delete kept[key];
  return kept;
}
