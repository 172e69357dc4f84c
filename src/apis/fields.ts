/**
 * Reading JSON of unknown shape. A wrong type is a `Fault` that names the field; it is thrown within `apis/` only and becomes a
 * value at the door (`translate`), so that nothing a peer sends is ever an exception outside.
 */

export class Fault {
  readonly field: string;
  readonly problem: string;

  constructor(field: string, problem: string) {
    this.field = field;
    this.problem = problem;
  }
}

export type Fields = Readonly<Record<string, unknown>>;

/** An own property: a field named "constructor" or "__proto__" is data like any other. `null` and absent are the same. */
export function field(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
}

export function object(value: unknown, path: string): Fields {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw new Fault(path, "not an object");
  return value as Fields;
}

export function child(fields: Fields, name: string, path: string): Fields {
  return object(field(fields, name), path);
}

/** A child object, or undefined where there is none: an empty one and none at all mean different things. */
export function present(fields: Fields, name: string, path: string): Fields | undefined {
  const value = field(fields, name);
  return value === undefined ? undefined : object(value, path);
}

/** Absent when unset or empty: the API treats the two alike. */
export function text(fields: Fields, name: string, path: string): string | undefined {
  const value = field(fields, name);
  if (value === undefined || value === "") return undefined;
  if (typeof value !== "string") throw new Fault(path, "not a string");
  return value;
}

export function requiredText(fields: Fields, name: string, path: string): string {
  const value = text(fields, name, path);
  if (value === undefined) throw new Fault(path, "missing");
  return value;
}

/**
 * A text as short as every name and uid is. Longer ones are refused, because what is remembered of a peer's objects and calls is
 * bounded by their number.
 */
export function shortText(fields: Fields, name: string, path: string): string | undefined {
  const value = text(fields, name, path);
  if (value !== undefined && value.length > nameLengthMax)
    throw new Fault(path, `longer than ${nameLengthMax} characters`);
  return value;
}

export function list(fields: Fields, name: string, path: string): readonly unknown[] {
  const value = field(fields, name);
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Fault(path, "not a list");
  return value;
}

export function texts(fields: Fields, name: string, path: string): readonly string[] {
  return list(fields, name, path).map((value, index) => {
    if (typeof value !== "string") throw new Fault(`${path}[${index}]`, "not a string");
    return value;
  });
}

export function flag(fields: Fields, name: string, path: string): boolean {
  const value = field(fields, name);
  if (value === undefined) return false;
  if (typeof value !== "boolean") throw new Fault(path, "not true or false");
  return value;
}

export function entries(fields: Fields, name: string, path: string): readonly (readonly [string, string])[] {
  return Object.entries(child(fields, name, path)).map(([key, value]) => {
    if (typeof value !== "string") throw new Fault(`${path}.${shown(key)}`, "not a string");
    return [key, value] as const;
  });
}

/** The longest name of any object. @see apimachinery pkg/util/validation/validation.go, DNS1123SubdomainMaxLength */
export const nameLengthMax = 253;

/** As much of a peer's text as a message may hold. */
export function shown(text: string): string {
  return text.length <= shownMax ? text : `${text.slice(0, shownMax)}…`;
}
const shownMax = 80;

/** What can stand in a path, which every name and namespace must. @see apimachinery pkg/api/validation/path/name.go */
export function isName(name: string): boolean {
  if (name.length > nameLengthMax || name === "" || name === "." || name === "..") return false;
  return !/[/%]/.test(name) && name.isWellFormed();
}

/** A quantity's text. Bare numbers are as good; files have them. */
export function amount(value: unknown): string | undefined {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined;
}
