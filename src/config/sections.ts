/**
 * What a configuration is made of. `keys.ts` describes Berth's in these terms, once; from there come the published JSON Schema, the
 * validation, the defaults that are printed, and the table in docs/configuration.md.
 */
import type { Form, JsonSchema } from "./values.ts";

/** Keys and indexes from the top of the file. */
export type Path = readonly (string | number)[];

/** What was read of a mapping, by the members that its keys fill. */
export type Read = Readonly<Record<string, unknown>>;

/** What is wrong beyond single values, at a path from the place that the rule is of. */
export interface Wrong {
  readonly at: Path;
  /** Goes on where the key's name ends. */
  readonly problem: string;
}

/** What values must be to each other. */
export interface Rule<T> {
  /** For the page: one sentence without its end. */
  readonly says: string;
  /** As much of it as JSON Schema can say, for editors; `wrongs` finds all of that too, and says it in words. */
  readonly schema?: JsonSchema;
  wrongs(read: T): readonly Wrong[];
}

/** One value. */
export interface Field {
  /** Of `Config`: what the key fills. */
  readonly member: string;
  readonly form: Form<unknown>;
  /** What it is for: sentences. */
  readonly says: string;
  /** Where there is no default: what is done without, and a value to show. */
  readonly without?: string;
  readonly example?: string;
}

/** A list of values of one form, one at least. */
export interface Several extends Omit<Field, "form"> {
  readonly each: Form<unknown>;
}

/** A mapping of its own keys. */
export interface Nested {
  readonly section: Section;
  readonly says: string;
  /** Keys that it cannot be without. */
  readonly needs?: readonly string[];
  readonly rules?: readonly Rule<Read>[];
  /** Where there is no default: what is done without. */
  readonly without?: string;
}

/** A list of mappings. Each is judged by itself; the rules see those that are right, and say nothing of the others. */
export interface Listed {
  readonly listOf: Section;
  readonly says: string;
  /** Keys that no entry can be without. */
  readonly needs: readonly string[];
  /** Those that are wrong are left out, so that indexes stay. */
  readonly rules?: readonly Rule<ReadonlyMap<number, Read>>[];
  /** Lines of YAML, to show. */
  readonly example: string;
  /** Has a default that the file may not repeat, for it goes with another key. */
  readonly shownOnly?: boolean;
}

export type Entry = Field | Several | Nested | Listed;

/** What may stand in a mapping. */
export interface Section {
  readonly [key: string]: Entry;
}

/** What may stand in it, or in each of its entries; nothing in a value. */
export function keysOf(entry: Entry | undefined): Section {
  if (entry && "section" in entry) return entry.section;
  return entry && "listOf" in entry ? entry.listOf : {};
}

/** What is right by itself and in its place: an entry of the file, or undefined. */
export function entryAt(top: Nested, path: Path): Entry | undefined {
  let entry: Entry | undefined = top;
  for (const step of path) {
    const keys = keysOf(entry);
    // An index leads to an entry of the list, which is told by the list.
    if (typeof step === "number") continue;
    entry = Object.hasOwn(keys, step) ? keys[step] : undefined;
  }
  return entry;
}

/** "classes[1].capacity"; what is no plain name stands in brackets and quotes, shortened. */
export function titleOf(path: Path): string {
  return path.map((step, index) => (typeof step === "number" ? `[${step}]` : named(step, index > 0))).join("");
}

const nameLengthMax = 60;

function named(step: string, isInner: boolean): string {
  if (/^[\w-]{1,60}$/.test(step)) return `${isInner ? "." : ""}${step}`;
  const shown = step.length > nameLengthMax ? `${step.slice(0, nameLengthMax)}…` : step;
  return isInner ? `[${JSON.stringify(shown)}]` : JSON.stringify(shown);
}

/** Entries whose member has the value of an earlier one's. */
export function twice(read: ReadonlyMap<number, Read>, member: string): { at: Path; value: unknown }[] {
  const known = new Set<unknown>();
  return Array.from(read).flatMap(([index, entry]) => {
    const value = entry[member];
    const isAgain = known.has(value);
    known.add(value);
    return isAgain ? [{ at: [index], value }] : [];
  });
}
