/** The documents of a file, and on which line each of their parts stands. */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from "yaml";

/** Keys and indexes from the top of a document. */
export type Path = readonly (string | number)[];

export interface Source {
  readonly value: unknown;
  /** From 1 on: where the part stands, or the nearest around it that is there. */
  lineOf(path: Path): number;
}

export type Sources =
  | { readonly ok: true; readonly documents: readonly Source[] }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/** Documents that say nothing are left out. */
export function readSources(text: string): Sources {
  const lines = new LineCounter();
  // As kube-scheduler's own reader, which takes "yes" and "on" for true.
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, version: "1.1" });
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const found: Source[] = [];
  for (const document of Array.isArray(documents) ? documents : []) {
    const broken = document.errors[0];
    if (broken) return { ok: false, line: lineAt(broken.pos[0]), problem: broken.message.replaceAll("\n", " ") };
    if (!document.contents || (isScalar(document.contents) && document.contents.value === null)) continue;
    const start = lineAt(document.contents.range?.[0] ?? 0);
    const value = unfold(document);
    if (value instanceof Error) return { ok: false, line: start, problem: value.message };
    found.push({ value, lineOf: (path) => lineAt(offsetOf(document, path)) });
  }
  return { ok: true, documents: found };
}

/** Aliases are followed only here. */
function unfold(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return error as Error;
  }
}

function offsetOf(document: Document, path: Path): number {
  let node: Node | null | undefined = document.contents as Node | null;
  let offset = node?.range?.[0] ?? 0;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
      if (!pair) break;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value as Node | null;
    } else if (isSeq(node) && typeof step === "number" && node.items[step]) {
      node = node.items[step] as Node;
      offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}

export function titleOf(path: Path): string {
  return path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("");
}
