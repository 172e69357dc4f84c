/** Kubernetes objects from files as `kubectl get … -o yaml` or `-o json` writes them, offline. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Document, isMap, LineCounter, parseAllDocuments } from "yaml";
import { Misuse } from "./arguments.ts";

/** One object and where it stands, for messages. */
export interface Manifest {
  readonly object: Readonly<Record<string, unknown>>;
  /** "FILE:LINE", or "FILE: items[N]" for one of a list. */
  readonly where: string;
}

const extensions = /\.(ya?ml|json)$/;

/**
 * Reads the files, and the YAML and JSON files right in the directories among them; lists come apart into their items.
 *
 * @throws Misuse naming the file, and the line where there is one
 */
export function readManifests(paths: readonly string[]): Manifest[] {
  return paths.flatMap(filesAt).flatMap((path) => {
    const text = readText(path);
    return path.endsWith(".json") ? readJson(path, text) : readYaml(path, text);
  });
}

function filesAt(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const found = readdirSync(path)
      .filter((name) => extensions.test(name))
      .sort()
      .map((name) => join(path, name));
    if (found.length > 0) return found;
  } catch (error) {
    throw new Misuse(`${path}: ${plainReason(error)}`);
  }
  throw new Misuse(`${path}: no .yaml, .yml or .json file in this directory`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Misuse(`${path}: ${plainReason(error)}`);
  }
}

function plainReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "no such file or directory";
  if (code === "EACCES") return "may not be read";
  return message;
}

function readJson(path: string, text: string): Manifest[] {
  try {
    return takeApart(JSON.parse(text), path, path);
  } catch (error) {
    if (error instanceof Misuse) throw error;
    // The parser of YAML, of which JSON is a part, knows the line.
    return readYaml(path, text);
  }
}

function readYaml(path: string, text: string): Manifest[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    strict: false,
    logLevel: "error",
    // As kubectl reads "<<".
    merge: true,
  });
  const found: Manifest[] = [];
  for (const document of Array.isArray(documents) ? documents : []) {
    const broken = document.errors[0];
    if (broken) throw new Misuse(`${path}:${lines.linePos(broken.pos[0]).line}: ${broken.message}`);
    const { contents } = document;
    if (!contents) continue;
    const start = isMap(contents) ? (contents.range?.[0] ?? 0) : 0;
    const where = `${path}:${Math.max(1, lines.linePos(start).line)}`;
    const value = unfold(document, where);
    if (value !== null) found.push(...takeApart(value, path, where));
  }
  return found;
}

/** Aliases are followed only here, so what is wrong with them shows up late, and as an exception. */
function unfold(document: Document, where: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new Misuse(`${where}: ${(error as Error).message}`);
  }
}

/** A list's items, or the object itself. Lists of one kind, as the API gives them, leave the kind out of their items. */
function takeApart(value: unknown, path: string, where: string): Manifest[] {
  if (!isObject(value)) throw new Misuse(`${where}: not a Kubernetes object`);
  const { kind, items, apiVersion } = value;
  if (typeof kind !== "string") throw new Misuse(`${where}: the object has no kind`);
  if (!kind.endsWith("List") || !Array.isArray(items)) return [{ object: value, where }];
  const itemKind = kind.slice(0, -"List".length);
  return items.flatMap((item: unknown, index) => {
    if (!isObject(item)) throw new Misuse(`${where}: items[${index}] is not an object`);
    const named = itemKind === "" || "kind" in item ? item : { apiVersion, kind: itemKind, ...item };
    return takeApart(named, path, `${path}: items[${index}]`);
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
