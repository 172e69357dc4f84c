/**
 * Server-side apply: the configuration is merged, its manager recorded, and what that manager no longer names is removed.
 * Only applied fields have owners here; what is written by other means belongs to nobody and conflicts with nobody.
 */
import type { Milliseconds } from "../../runtime/runtime.ts";
import {
  at,
  cloneJson,
  equalJson,
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  setDefault,
  textAt,
} from "./json.ts";
import { ApiError, badRequest } from "./status.ts";
import { isSetField, mergeKeyOf, strategicMerge } from "./strategic-merge.ts";

export interface ApplyOptions {
  readonly manager: string;
  /** Takes fields over from other managers instead of refusing. */
  readonly force: boolean;
  readonly wallTimeMs: Milliseconds;
}

/** @throws ApiError 409 when another manager applied another value to a field, and `force` is not set */
export function serverSideApply(original: JsonObject, config: JsonObject, o: ApplyOptions): JsonObject {
  const { manager, wallTimeMs } = o;
  if (at(config, "metadata", "managedFields") !== undefined) throw badRequest("metadata.managedFields must be nil");
  const entries = listAt(original, "metadata", "managedFields").filter(isObject).map(cloneJson);
  const before = entries.find((entry) => textAt(entry, "manager") === manager);
  const others = entries.filter((entry) => entry !== before);
  const fieldsV1 = fieldsOf(config);
  settleConflicts(original, config, { fieldsV1, others, force: o.force });

  const merged = cloneJson(strategicMerge(original, config));
  const owned = at(before, "fieldsV1");
  const kept = [fieldsV1, ...others.map((entry) => at(entry, "fieldsV1")).filter(isObject)];
  if (isObject(owned)) removeFields(merged, owned, kept);

  const time = new Date(wallTimeMs).toISOString().replace(/\.\d+Z$/, "Z");
  const apiVersion = textAt(config, "apiVersion");
  const isSame = isObject(owned) && equalJson(owned, fieldsV1);
  const made = { manager, operation: "Apply", apiVersion, time, fieldsType: "FieldsV1", fieldsV1 };
  const metadata = at(merged, "metadata");
  const managedFields = [...others, isSame && before ? before : made];
  return { ...merged, metadata: { ...(isObject(metadata) ? metadata : {}), managedFields } };
}

interface Conflict {
  /** For people: ".data.x", ".spec.containers[name=\"app\"].image". */
  readonly field: string;
  /** The steps to it in a set of fields. */
  readonly steps: readonly string[];
}

function settleConflicts(
  original: JsonObject,
  config: JsonObject,
  o: { fieldsV1: JsonObject; others: readonly JsonObject[]; force: boolean },
): void {
  const causes: JsonObject[] = [];
  for (const entry of o.others) {
    const theirs = at(entry, "fieldsV1");
    if (!isObject(theirs)) continue;
    const conflicts = findConflicts(original, config, { mine: o.fieldsV1, theirs, field: "", steps: [] });
    for (const { field, steps } of conflicts) {
      const message = `conflict with "${textAt(entry, "manager")}"`;
      if (o.force) disown(theirs, steps);
      else causes.push({ reason: "FieldManagerConflict", message, field });
    }
  }
  if (causes.length === 0) return;
  const words = causes.map(({ message, field }) => `${String(message)}: ${String(field)}`).join(", ");
  const message = `Apply failed with ${causes.length} conflict${causes.length > 1 ? "s" : ""}: ${words}`;
  throw new ApiError({ code: 409, reason: "Conflict", message, details: { causes } });
}

/** Fields that both name and in which the configuration asks for another value than the object has. */
function findConflicts(
  live: JsonValue | undefined,
  config: JsonValue | undefined,
  o: { mine: JsonObject; theirs: JsonObject; field: string; steps: readonly string[] },
): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const [name, mine] of Object.entries(o.mine)) {
    const theirs = at(o.theirs, name);
    if (name === "." || name.startsWith("v:") || !isObject(mine) || !isObject(theirs)) continue;
    const { value: wanted, field } = stepInto(config, name);
    const { value: had } = stepInto(live, name);
    const steps = [...o.steps, name];
    const here = `${o.field}${field}`;
    const isLeaf = Object.keys(mine).length === 0 || Object.keys(theirs).length === 0;
    if (!isLeaf) conflicts.push(...findConflicts(had, wanted, { mine, theirs, field: here, steps }));
    // An empty object asks for nothing that could be otherwise.
    else if (isObject(wanted) && Object.keys(wanted).length === 0) continue;
    else if (had !== undefined && !equalJson(had, wanted)) conflicts.push({ field: here, steps });
  }
  return conflicts;
}

/** What "f:field" or "k:{key}" names in `value`, and how people write that step. */
function stepInto(value: JsonValue | undefined, name: string): { value: JsonValue | undefined; field: string } {
  if (name.startsWith("f:")) return { value: at(value, name.slice(2)), field: `.${name.slice(2)}` };
  const [key = "", wanted] = Object.entries(JSON.parse(name.slice(2)) as JsonObject)[0] ?? [];
  const list = Array.isArray(value) ? value : [];
  const field = `[${key}=${JSON.stringify(wanted)}]`;
  return { value: list.find((element) => at(element, key) === wanted), field };
}

function disown(fields: JsonObject, steps: readonly string[]): void {
  const [step = "", ...rest] = steps;
  const below = at(fields, step);
  if (rest.length === 0 || !isObject(below)) delete fields[step];
  else disown(below, rest);
}

/** Which fields an applied configuration speaks of, in the form of FieldsV1: "f:field", "k:{key}", "." for an element itself. */
function fieldsOf(config: JsonObject, isRoot = true): JsonObject {
  const fields: JsonObject = {};
  for (const [key, value] of Object.entries(config)) {
    if (isRoot && (key === "kind" || key === "apiVersion")) continue;
    if (isObject(value)) fields[`f:${key}`] = fieldsOf(value, false);
    else fields[`f:${key}`] = Array.isArray(value) ? listFieldsOf(key, value) : {};
  }
  if (isRoot && isObject(fields["f:metadata"])) {
    for (const identity of ["f:name", "f:namespace"]) delete fields["f:metadata"][identity];
    if (Object.keys(fields["f:metadata"]).length === 0) delete fields["f:metadata"];
  }
  return fields;
}

function listFieldsOf(field: string, list: JsonValue[]): JsonObject {
  const key = mergeKeyOf(field, [list]);
  const fields: JsonObject = {};
  for (const element of list) {
    const value = key === undefined ? undefined : at(element, key);
    if (key !== undefined && value !== undefined && isObject(element)) {
      fields[`k:${JSON.stringify({ [key]: value })}`] = { ".": {}, ...fieldsOf(element, false) };
    } else if (isSetField(field)) fields[`v:${JSON.stringify(element)}`] = {};
  }
  return fields;
}

/** Takes out of `object` what `owned` names and no set of `kept` does: fields their manager no longer applies. */
function removeFields(object: JsonObject, owned: JsonObject, kept: readonly JsonObject[]): void {
  for (const [name, below] of Object.entries(owned)) {
    if (!name.startsWith("f:")) continue;
    const field = name.slice(2);
    const value = at(object, field);
    const keptBelow = kept.map((fields) => at(fields, name)).filter(isObject);
    if (keptBelow.length === 0 && value !== undefined && isObject(below) && Object.keys(below).length === 0) {
      delete object[field];
    } else if (isObject(value) && isObject(below)) {
      removeFields(value, below, keptBelow);
      if (keptBelow.length === 0 && Object.keys(value).length === 0) delete object[field];
    } else if (Array.isArray(value) && isObject(below)) removeElements(object, field, below, keptBelow);
  }
}

function removeElements(parent: JsonObject, field: string, owned: JsonObject, kept: readonly JsonObject[]): void {
  const list = parent[field];
  if (!Array.isArray(list)) return;
  const key = mergeKeyOf(field, [list]);
  parent[field] = list.filter((element) => {
    const name =
      isObject(element) && key ? `k:${JSON.stringify({ [key]: at(element, key) })}` : `v:${JSON.stringify(element)}`;
    const below = at(owned, name);
    if (!isObject(below)) return true;
    const keptBelow = kept.map((fields) => at(fields, name)).filter(isObject);
    if (keptBelow.length === 0) return false;
    if (isObject(element)) removeFields(element, below, keptBelow);
    return true;
  });
  setDefault(parent, field, []);
}
