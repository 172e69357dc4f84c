/** What the JSON Schema has against a file, in words that name the key, what is wanted, and what was likely meant. */
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { type Entry, entryAt, keysOf, type Nested, type Path, titleOf } from "./sections.ts";
import { nameLengthMax, type Place, placesOf, unknownKey } from "./unknown-key.ts";
import type { Form, JsonSchema } from "./values.ts";

/** A mistake at a place of the file. */
export interface Found {
  readonly path: Path;
  readonly problem: string;
}

/** Of a file that has more, the rest is of no use. */
export const foundMax = 200;

/**
 * @param top  what the schema was made of
 * @returns    finds at most `foundMax` mistakes, one a place; `isValid` is the schema's own judgement, with the rules it has of
 *             values together, which `document.ts` puts in words
 */
export function structureOf(schema: JsonSchema, top: Nested): (value: unknown) => { isValid: boolean; found: Found[] } {
  const validate = new Ajv2020({ allErrors: true, allowUnionTypes: true, strictTypes: false }).compile(schema);
  const elsewhere = placesOf(top.section);
  return (value) => {
    const isValid = validate(value);
    const found = new Map<string, Found>();
    for (const error of validate.errors ?? []) {
      if (found.size === foundMax) break;
      // Of a rule's making.
      if (error.schemaPath.includes("/allOf/")) continue;
      const one = told(error, value, top, elsewhere);
      const place = JSON.stringify(one.path);
      if (!found.has(place)) found.set(place, one);
    }
    return { isValid, found: [...found.values()] };
  };
}

function told(error: ErrorObject, value: unknown, top: Nested, elsewhere: readonly Place[]): Found {
  const path = pathOf(error.instancePath, value);
  const entry = entryAt(top, path);
  if (error.keyword === "additionalProperties") {
    const { additionalProperty: key } = error.params as { additionalProperty: string };
    return { path: [...path, key], problem: unknownKey(key, Object.keys(keysOf(entry)), elsewhere) };
  }
  if (error.keyword === "required") {
    const { missingProperty: key } = error.params as { missingProperty: string };
    return { path: [...path, key], problem: `is missing: ${whyNeeded(path, key, entry)}` };
  }
  return { path, problem: misfit(valueAt(value, path), entry, path) };
}

/** Of a JSON Pointer. */
function pathOf(pointer: string, value: unknown): Path {
  const path: (string | number)[] = [];
  for (const step of pointer.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    path.push(Array.isArray(valueAt(value, path)) ? Number(key) : key);
  }
  return path;
}

function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) found = (found as Readonly<Record<string | number, unknown>>)[step];
  return found;
}

function whyNeeded(path: Path, key: string, entry: Entry | undefined): string {
  const inner = keysOf(entry)[key];
  // What can only be one word.
  if (inner && "form" in inner && "const" in inner.form.schema) return `write "${key}: ${inner.form.schema["const"]}"`;
  if (entry && "listOf" in entry)
    return `each entry of ${titleOf(path.slice(0, -1))} needs ${entry.needs.join(" and ")}`;
  const needs = entry && "section" in entry ? (entry.needs ?? []) : [];
  return `${titleOf(path)} needs ${needs.join(", ")}`;
}

function misfit(value: unknown, entry: Entry | undefined, path: Path): string {
  const isEntryOfList = typeof path.at(-1) === "number";
  if (entry && "each" in entry) {
    if (isEntryOfList) return valueMisfit(value, entry.each);
    const meant = typeof value === "string" ? `; write [${JSON.stringify(value.slice(0, nameLengthMax))}]` : "";
    return `is not a list of at least one value${meant}`;
  }
  if (entry && "form" in entry) return valueMisfit(value, entry.form);
  if (entry && "listOf" in entry && !isEntryOfList)
    return `is not a list; begin each entry with "- ${entry.needs[0]}:"`;
  const keys = path.length === 0 ? "" : `; its keys are ${Object.keys(keysOf(entry)).join(", ")}`;
  return `is not a mapping of keys to values${keys}`;
}

/** Why a value is not of the form. */
export function valueMisfit(value: unknown, { expected, hint }: Form<unknown>): string {
  if (value === null || value === "") return `has no value: write ${expected}, or leave the line out`;
  const shown = shownValue(value);
  const meant = hint?.(value);
  const [is, end] = [shown === undefined ? "" : `: it is ${shown}`, meant === undefined ? "" : `; ${meant}`];
  return `is not ${expected}${is}${end}`;
}

function shownValue(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value.length <= nameLengthMax ? JSON.stringify(value) : undefined;
}
