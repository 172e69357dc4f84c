/** Reads the YAML document of a configuration against its keys, and says on which line it goes wrong. */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { nearestName } from "../scheduling/near-name.ts";
import type { Form } from "./values.ts";

/** One key of the file: the member of `Config` that it fills, and how it is read. */
export interface Field {
  readonly member: string;
  readonly form: Form<unknown>;
}

/** A list of values of one form, one at least. */
interface Several {
  readonly member: string;
  readonly each: Form<unknown>;
}

/** What was read of a mapping, by the members that its keys fill. */
export type Read = Readonly<Record<string, unknown>>;

/** A mapping of its own keys. `check` says what is wrong with them together, and which key is to blame. */
interface Nested {
  readonly section: Section;
  readonly check?: (read: Read) => { key: string; problem: string } | undefined;
}

/** A list of mappings that need all their keys, or those in `needs`. `check` says what is wrong with one entry beside the others. */
interface Listed {
  readonly listOf: Section;
  readonly needs?: readonly string[];
  readonly check?: (read: readonly Read[]) => { index: number; problem: string } | undefined;
}

/** A mapping in the file. */
export interface Section {
  readonly [key: string]: Field | Several | Nested | Listed;
}

export type DocumentOutcome =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly line: number; readonly problem: string };

const apiVersion = "berth.dev/v1alpha1";
const kind = "BerthConfiguration";

/** A place that cannot be read. Never leaves this file. */
class Misread extends Error {
  readonly at: Node | undefined;

  constructor(at: Node | undefined, problem: string) {
    super(problem);
    this.at = at;
  }
}

export function readDocument(text: string, keys: Section): DocumentOutcome {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineOf = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const broken = document.errors[0];
  if (broken) return { ok: false, line: lineOf(broken.pos[0]), problem: broken.message.replaceAll("\n", " ") };
  try {
    return { ok: true, value: readTop(document, keys) };
  } catch (misread) {
    if (!(misread instanceof Misread)) throw misread;
    return { ok: false, line: lineOf(misread.at?.range?.[0] ?? 0), problem: misread.message };
  }
}

function readTop(document: Document, keys: Section): Record<string, unknown> {
  const top = document.contents ?? undefined;
  const expectWord = (word: string) => ({
    expected: JSON.stringify(word),
    read: (v: unknown) => (v === word ? v : undefined),
  });
  const head: Section = {
    apiVersion: { member: "apiVersion", form: expectWord(apiVersion) },
    kind: { member: "kind", form: expectWord(kind) },
  };
  const { apiVersion: version, kind: named, ...config } = readSection(document, top, { ...head, ...keys }, "");
  if (version === undefined) throw new Misread(top, `apiVersion is missing: begin with "apiVersion: ${apiVersion}"`);
  if (named === undefined) throw new Misread(top, `kind is missing: write "kind: ${kind}"`);
  return config;
}

function readSection(document: Document, node: Node | undefined, keys: Section, path: string): Record<string, unknown> {
  if (!isMap(node)) throw new Misread(node, `${path || "the file"} is not a mapping of keys to values`);
  const read: Record<string, unknown> = {};
  for (const { key, value } of node.items) {
    const keyNode = key as Node;
    if (!isScalar(key)) throw new Misread(keyNode, `${path || "the file"} has a key that is no text`);
    const name = String(key.value);
    const where = path === "" ? name : `${path}.${name}`;
    if (!Object.hasOwn(keys, name)) throw new Misread(keyNode, unknownKey(where, name, Object.keys(keys)));
    const entry = keys[name];
    const target = resolve(document, value as Node | null);
    // A key without a value, as when every line below it is commented out, leaves the default.
    if (!entry || !target || (isScalar(target) && target.value === null)) continue;
    if ("section" in entry) read[name] = readNested(document, target, entry, where);
    else if ("listOf" in entry) read[name] = readList(document, target, entry, where);
    else if ("each" in entry) read[entry.member] = readSeveral(document, target, entry, where);
    else {
      const found = isScalar(target) ? entry.form.read(target.value) : undefined;
      if (found === undefined) throw new Misread(target, `${where} is not ${entry.form.expected}`);
      read[entry.member] = found;
    }
  }
  return read;
}

function readSeveral(document: Document, node: Node, { each }: Several, path: string): unknown[] {
  if (!isSeq(node) || node.items.length === 0) throw new Misread(node, `${path} is not a list of at least one value`);
  return node.items.map((item, index) => {
    const value = resolve(document, item as Node | null);
    const found = isScalar(value) ? each.read(value.value) : undefined;
    if (found === undefined) throw new Misread(value ?? node, `${path}[${index}] is not ${each.expected}`);
    return found;
  });
}

function readNested(document: Document, node: Node, { section, check }: Nested, path: string): Record<string, unknown> {
  const read = readSection(document, node, section, path);
  const wrong = check?.(read);
  if (!wrong) return read;
  const blamed = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === wrong.key) : undefined;
  throw new Misread((blamed?.key as Node | undefined) ?? node, `${path}.${wrong.key} ${wrong.problem}`);
}

function readList(
  document: Document,
  node: Node,
  { listOf, needs, check }: Listed,
  path: string,
): Record<string, unknown>[] {
  if (!isSeq(node)) throw new Misread(node, `${path} is not a list`);
  const entries = node.items.map((item, index) => {
    const entry = resolve(document, item as Node);
    const read = readSection(document, entry, listOf, `${path}[${index}]`);
    for (const key of needs ?? Object.keys(listOf)) {
      if (read[key] === undefined) throw new Misread(entry, `${path}[${index}] has no ${key}; each entry needs one`);
    }
    return read;
  });
  const wrong = check?.(entries);
  if (!wrong) return entries;
  const blamed = node.items[wrong.index] as Node | undefined;
  throw new Misread(blamed ?? node, `${blamed ? `${path}[${wrong.index}]` : path} ${wrong.problem}`);
}

function resolve(document: Document, node: Node | null): Node | undefined {
  if (!isAlias(node)) return node ?? undefined;
  const target = node.resolve(document);
  if (!target)
    throw new Misread(node, `*${node.source} stands for nothing: no value above has the anchor &${node.source}`);
  return target;
}

function unknownKey(where: string, name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return `${where} is not a known key; ${near ? `did you mean "${near}"?` : `known are ${known.join(", ")}`}`;
}
