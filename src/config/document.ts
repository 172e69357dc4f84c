/** Reads the text of a configuration against its keys, and says of all that is wrong on which line it stands. */
import { type Entry, type Nested, type Path, type Read, type Rule, type Section, titleOf } from "./sections.ts";
import { readSources, type Source } from "./source.ts";
import { type Found, foundMax, type structureOf, valueMisfit } from "./structure.ts";
import type { Form } from "./values.ts";

export interface Mistake {
  /** From 1 on. */
  readonly line: number;
  /** Such as "classes[1].capacity"; empty where the whole file is meant. */
  readonly key: string;
  /** Goes on where the key ends. */
  readonly problem: string;
}

export type DocumentOutcome =
  /** `lineOf` takes the keys of the file. */
  | { readonly ok: true; readonly value: Read; lineOf(path: Path): number }
  /** One at least, in the order of the lines. */
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/** No configuration is so long. In characters. */
export const textMax = 256 << 10;

/**
 * @param top        the keys
 * @param structure  of the schema that was made of them
 */
export function readDocument(text: string, top: Nested, structure: ReturnType<typeof structureOf>): DocumentOutcome {
  const broken = (line: number, problem: string): DocumentOutcome => ({
    ok: false,
    mistakes: [{ line, key: "", problem }],
  });
  if (text.length > textMax) return broken(1, "the file is larger than 256 KiB, and no configuration");
  const sources = readSources(text, { version: "1.2" });
  if (!sources.ok) return broken(sources.line, sources.problem);
  const [source, second] = sources.documents;
  if (!source) return broken(1, `the file says nothing: ${beginning(top)}`);
  if (second) return broken(second.lineOf([]), "another document begins here: one file holds one configuration");
  const { isValid, found } = structure(source.value);
  const head = found.filter(({ path }) => path.length === 0 || isHead(path, top));
  if (head.length > 0) return { ok: false, mistakes: placed(head, source, top) };
  const reader = new Reader(found);
  // What the schema did not look at to the end cannot be read.
  const value = found.length < foundMax ? reader.section(source.value, top, []) : {};
  if (reader.found.length > 0) return { ok: false, mistakes: placed(reader.found, source, top) };
  if (!isValid) throw new Error("the schema refuses what no rule explains");
  return { ok: true, value, lineOf: source.lineOf };
}

/** Whether it says what the file is: where that is wrong, all else would be guesswork. */
function isHead([first, ...more]: Path, { needs = [] }: Nested): boolean {
  return more.length === 0 && needs.some((key) => key === first);
}

function beginning({ section, needs = [] }: Nested): string {
  const lines = needs.map((key) => {
    const entry = section[key];
    return entry && "form" in entry ? `"${key}: ${entry.form.schema["const"]}"` : key;
  });
  return `begin with ${lines.join(" and ")}`;
}

function placed(found: readonly Found[], { lineOf }: Source, top: Nested): Mistake[] {
  const whole = (problem: string): string => `the file ${problem}; ${beginning(top)}`;
  return found
    .map(({ path, problem }) => ({
      line: lineOf(path),
      key: titleOf(path),
      problem: path.length === 0 ? whole(problem) : problem,
    }))
    .sort((one, other) => one.line - other.line);
}

/** Reads what the schema has nothing against, and finds what is wrong beyond it. */
class Reader {
  readonly found: Found[];

  constructor(found: readonly Found[]) {
    this.found = [...found];
  }

  section(value: unknown, { section, rules = [] }: Nested, path: Path): Read {
    const read = this.#members(value as Read, section, path);
    if (!this.#isWrong(path)) this.#judge(rules, read, path);
    return read;
  }

  #members(value: Read, section: Section, path: Path): Read {
    const read: Record<string, unknown> = {};
    for (const [key, entry] of Object.entries(section)) {
      if (!Object.hasOwn(value, key) || value[key] === null) continue;
      const inner = [...path, key];
      if (!this.#isWrongAt(inner)) read["member" in entry ? entry.member : key] = this.#entry(value[key], entry, inner);
    }
    return read;
  }

  #entry(value: unknown, entry: Entry, path: Path): unknown {
    if ("section" in entry) return this.section(value, entry, path);
    if ("each" in entry)
      return (value as readonly unknown[]).map((one, at) => this.#value(one, entry.each, [...path, at]));
    if ("form" in entry) return this.#value(value, entry.form, path);
    const entries = (value as readonly Read[]).map((one, at) =>
      this.#isWrongAt([...path, at]) ? {} : this.#members(one, entry.listOf, [...path, at]),
    );
    const right = Array.from(entries.entries()).filter(([at]) => !this.#isWrong([...path, at]));
    this.#judge(entry.rules ?? [], new Map(right), path);
    return entries;
  }

  #value(value: unknown, form: Form<unknown>, path: Path): unknown {
    const read = form.read(value);
    if (read === undefined) this.#find({ path, problem: valueMisfit(value, form) });
    return read;
  }

  #judge<T>(rules: readonly Rule<T>[], read: T, path: Path): void {
    for (const { at, problem } of rules.flatMap((rule) => rule.wrongs(read))) {
      this.#find({ path: [...path, ...at], problem });
    }
  }

  #find(found: Found): void {
    if (this.found.length < foundMax) this.found.push(found);
  }

  /** At this very place. */
  #isWrongAt(path: Path): boolean {
    return this.found.some((one) => one.path.length === path.length && startsWith(one.path, path));
  }

  /** There, or in anything that is in it. */
  #isWrong(path: Path): boolean {
    return this.found.some((one) => startsWith(one.path, path));
  }
}

function startsWith(path: Path, start: Path): boolean {
  return start.every((step, index) => path[index] === step);
}
