/** The documents of a YAML file, and on which line each of their parts stands. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
  type YAMLMap,
} from "yaml";
import type { Path } from "./sections.ts";

export interface Source {
  readonly value: unknown;
  /** From 1 on: where the part stands, or the nearest around it that is there. */
  lineOf(path: Path): number;
}

export type Sources =
  | { readonly ok: true; readonly documents: readonly Source[] }
  | { readonly ok: false; readonly line: number; readonly problem: string };

interface SourceOptions {
  /** Of YAML: as the program reads it that the file is for. In 1.1 "yes" and "on" are true, and "<<" merges. */
  readonly version: "1.1" | "1.2";
}

/** A place that cannot be read. Never leaves this file. */
class Unreadable extends Error {
  readonly at: number;

  constructor(at: number, problem: string) {
    super(problem);
    this.at = at;
  }
}

const aliasesMax = 100;
const tooDeep = "lists and mappings are nested too deep";
/** Tags that say what would be understood without them. Others make of a value what no key is for. */
const plainTags = ["str", "int", "float", "bool", "null", "map", "seq"].map((name) => `tag:yaml.org,2002:${name}`);

/** Documents that say nothing are left out. Never throws, whatever the text. */
export function readSources(text: string, { version }: SourceOptions): Sources {
  const lines = new LineCounter();
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  try {
    // Keys given twice are found below: the library compares each key with all before it.
    const options = { lineCounter: lines, prettyErrors: false, version, uniqueKeys: false };
    const documents = parseAllDocuments(text, options) as Document[];
    return { ok: true, documents: documents.flatMap((document) => sourceOf(document, lineAt)) };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, line: lineAt(error.at), problem: error.message };
    // The stack is full.
    if (error instanceof RangeError) return { ok: false, line: 1, problem: tooDeep };
    throw error;
  }
}

function sourceOf(document: Document, lineAt: (offset: number) => number): Source[] {
  const broken = document.errors[0];
  if (broken) {
    // The library catches a full stack where it composes, and calls it an error of the file.
    const isDeep = broken.message.includes("call stack");
    throw new Unreadable(broken.pos[0], isDeep ? tooDeep : broken.message.replaceAll("\n", " "));
  }
  if (!document.contents || (isScalar(document.contents) && document.contents.value === null)) return [];
  look(document, lineAt);
  return [{ value: unfold(document), lineOf: (path) => lineAt(offsetOf(document, path)) }];
}

function startOf(node: unknown): number {
  return (node as Node | null)?.range?.[0] ?? 0;
}

/** What the library lets pass, or is slow with. */
function look(document: Document, lineAt: (offset: number) => number): void {
  const anchors = new Set<string>();
  let aliases = 0;
  visit(document, {
    Node: (_, node) => {
      if (isMap(node)) keysOnce(node, lineAt);
      if (!isAlias(node)) {
        if (node.tag !== undefined && !plainTags.includes(node.tag)) {
          throw new Unreadable(
            startOf(node),
            `the tag ${JSON.stringify(node.tag.slice(0, 60))}: write the plain value`,
          );
        }
        if (node.anchor !== undefined) anchors.add(node.anchor);
        return;
      }
      if (!anchors.has(node.source)) {
        const problem = `*${node.source} stands for nothing: no value above has the anchor &${node.source}`;
        throw new Unreadable(startOf(node), problem);
      }
      if (++aliases > aliasesMax) throw new Unreadable(startOf(node), `more than ${aliasesMax} aliases`);
    },
  });
}

function keysOnce({ items }: YAMLMap, lineAt: (offset: number) => number): void {
  const known = new Map<string, number>();
  for (const { key } of items) {
    if (!isScalar(key)) throw new Unreadable(startOf(key), "a key that is no text");
    const name = String(key.value);
    const first = known.get(name);
    // In YAML 1.1 several mappings may be merged.
    if (first !== undefined && name !== "<<") {
      const problem = `the key ${JSON.stringify(name.slice(0, 60))} is given twice, first on line ${lineAt(first)}`;
      throw new Unreadable(startOf(key), problem);
    }
    known.set(name, startOf(key));
  }
}

/** Aliases are followed only here. */
function unfold(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: aliasesMax });
  } catch (error) {
    if (error instanceof RangeError) throw error;
    // An alias of aliases that stands for too much, or of what it stands in.
    throw new Unreadable(startOf(document.contents), "aliases that stand for too much, or for themselves");
  }
}

function offsetOf(document: Document, path: Path): number {
  let node: Node | null | undefined = document.contents as Node | null;
  let offset = startOf(node);
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
      if (!pair) break;
      offset = startOf(pair.key);
      node = pair.value as Node | null;
    } else if (isSeq(node) && typeof step === "number" && node.items[step]) {
      node = node.items[step] as Node;
      offset = startOf(node);
    } else break;
  }
  return offset;
}
