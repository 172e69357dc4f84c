/** JSON values as clients send them: nothing about their shape is known until it is asked for. */

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** An object's metadata after `readObject` has looked at it: what is typed here has the type. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: JsonValue[];
  managedFields?: JsonValue[];
}

/** An API object. Everything but the metadata is as the client sent it until validation has passed. */
export interface ApiObject {
  kind: string;
  apiVersion: string;
  metadata: ObjectMeta;
  spec?: JsonValue;
  status?: JsonValue;
  [field: string]: unknown;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value under `path`, only ever through own properties: names like `constructor` are data here. */
export function at(value: unknown, ...path: readonly string[]): JsonValue | undefined {
  let here: unknown = value;
  for (const step of path) {
    if (!isObject(here) || !Object.hasOwn(here, step)) return undefined;
    here = here[step];
  }
  return here as JsonValue | undefined;
}

/** The text under `path`; "" when there is none, as an unset string field reads in Go. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** The list under `path`; empty when there is none. */
export function listAt(value: unknown, ...path: readonly string[]): JsonValue[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The object under `field`, put there when it is missing or no object. */
export function ensureObject(parent: object, field: string): JsonObject {
  const holder = parent as JsonObject;
  const found = at(parent, field);
  if (isObject(found)) return found;
  const made: JsonObject = {};
  holder[field] = made;
  return made;
}

/** Sets `field` where it has no value yet. */
export function setDefault(parent: JsonObject, field: string, value: JsonValue): void {
  if (at(parent, field) === undefined || parent[field] === null) parent[field] = value;
}

export function cloneJson<T>(value: T): T {
  return structuredClone(value);
}

/** Equality of JSON values; the order of keys does not matter, as it does not for the API. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((value, index) => equalJson(value, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key]));
}

const depthMax = 200;

/**
 * What JSON.parse lets through and this server could not keep: numbers that do not survive a round trip, the one key that
 * assignment would turn into a prototype, and nesting that would exhaust the stack of whoever walks it.
 *
 * @returns what is wrong, or `undefined`
 */
export function faultIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "number is out of range";
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= depthMax) return `exceeded max depth of ${depthMax}`;
  if (Array.isArray(value)) {
    for (const part of value) {
      const fault = faultIn(part, depth + 1);
      if (fault) return fault;
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    if (key === "__proto__") return 'field name "__proto__" is not allowed';
    const fault = faultIn((value as JsonObject)[key], depth + 1);
    if (fault) return fault;
  }
  return undefined;
}
