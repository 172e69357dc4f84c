/**
 * Capacity that nodes carry themselves, for drivers that publish no objects: an annotation, or a resource among the allocatable.
 * The configuration says per class where it stands.
 */
import type { Node } from "./objects.ts";
import { type Bytes, parseUnits } from "./quantity.ts";

/** Where a node says what a class can provision on it. */
export interface CapacitySource {
  readonly from: "annotation" | "allocatable";
  /** Of the annotation or the resource. */
  readonly name: string;
  /** A JSON pointer into the annotation's text (RFC 6901); absent where the text is the value. */
  readonly pointer?: string;
  /** What one of the value's units is. */
  readonly unit: Bytes;
  /** "free": what the driver says is left. "total": all there is; volumes that exist are deducted here. */
  readonly means: "free" | "total";
}

export type NodeReading =
  | { readonly bytes: Bytes }
  /** Why the node has no capacity; `isFault` where it carries a value that cannot be read. */
  | { readonly problem: string; readonly isFault: boolean };

/** The text that a node carries for the source: equal texts need no second reading. */
export function sourceText(node: Node, { from, name }: CapacitySource): string | undefined {
  return (from === "annotation" ? node.annotations : node.allocatable).get(name);
}

export function sourceName({ from, name, pointer = "" }: CapacitySource): string {
  return `${from === "annotation" ? "annotation" : "allocatable resource"} ${name}${pointer && ` at ${pointer}`}`;
}

export function readNodeCapacity(node: Node, source: CapacitySource): NodeReading {
  const where = sourceName(source);
  const text = sourceText(node, source);
  if (text === undefined) return { problem: `the node has no ${where}`, isFault: false };
  const value = source.pointer === undefined ? text : valueAt(text, source.pointer);
  if (value === undefined) {
    return { problem: `${where} is not in the node's JSON, or is no size`, isFault: true };
  }
  const bytes = parseUnits(value.trim(), source.unit);
  return bytes === undefined
    ? { problem: `${where} of the node is no size: ${JSON.stringify(value.slice(0, 80))}`, isFault: true }
    : { bytes };
}

/** A text or a number within JSON, as it is written there: numbers beyond 2^53 keep their digits. */
function valueAt(text: string, pointer: string): string | undefined {
  let at: unknown;
  try {
    at = JSON.parse(text, keepDigits);
  } catch {
    return undefined;
  }
  for (const step of pointer.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return typeof at === "string" ? at : undefined;
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === "number" ? (context?.source ?? String(value)) : value;
}
