/** An extender's replies, read as Go's encoding/json reads them into the types of k8s.io/kube-scheduler/extender/v1. */

/** A reply that does not decode, with the text Go would give. */
export class DecodeError extends Error {}

export interface FilterReply {
  /** The names accepted; `undefined` for null or absent, which are the same. */
  readonly nodeNames: readonly string[] | undefined;
  /** Names of the whole nodes accepted. */
  readonly nodes: readonly string[] | undefined;
  readonly failed: ReadonlyMap<string, string>;
  readonly unresolvable: ReadonlyMap<string, string>;
  readonly error: string;
}

export interface HostScore {
  readonly host: string;
  readonly score: number;
}

export interface MetaVictims {
  readonly uids: readonly string[];
  readonly pdbViolations: number;
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseJson = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** A number that is written with a fraction or an exponent: "1.0" is no integer for Go, though it is one for us. */
class Fraction {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

const keepSource: Reviver = (_key, value, { source }) =>
  typeof value === "number" && source !== undefined && /[.eE]/.test(source) ? new Fraction(source) : value;

/** The first JSON value of the text; what follows it is not looked at. */
function parseFirst(text: string): unknown {
  try {
    return parseJson(text, keepSource);
  } catch (error) {
    const end = /after JSON at position (\d+)/.exec(String(error))?.[1];
    if (end !== undefined) return parseJson(text.slice(0, Number(end)), keepSource);
    throw new DecodeError(text.trim() === "" ? "EOF" : `invalid character in JSON: ${String(error)}`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

function kindOf(value: unknown): string {
  if (value instanceof Fraction) return `number ${value.source}`;
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function mismatch(value: unknown, where: string, type: string): DecodeError {
  return new DecodeError(`json: cannot unmarshal ${kindOf(value)} into Go ${where} of type ${type}`);
}

function asFields(value: unknown, where: string, type: string): Fields {
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value) || value instanceof Fraction)
    throw mismatch(value, where, type);
  return value as Fields;
}

/** The value of a key in any letter case; the exact spelling goes first. */
function fieldOf(fields: Fields, name: string): unknown {
  if (Object.hasOwn(fields, name)) return fields[name];
  const wanted = name.toLowerCase();
  return Object.entries(fields).find(([key]) => key.toLowerCase() === wanted)?.[1];
}

function textOf(value: unknown, where: string): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") throw mismatch(value, where, "string");
  return value;
}

function wholeOf(value: unknown, where: string): number {
  if (value === null || value === undefined) return 0;
  if (typeof value !== "number" || !Number.isInteger(value)) throw mismatch(value, where, "int64");
  return value;
}

function listOf(value: unknown, where: string, type: string): readonly unknown[] | undefined {
  if (value === null || value === undefined) return undefined;
  if (!Array.isArray(value)) throw mismatch(value, where, type);
  return value;
}

function reasonsOf(value: unknown, where: string): Map<string, string> {
  const fields = asFields(value, where, "v1.FailedNodesMap");
  return new Map(Object.entries(fields).map(([node, reason]) => [node, textOf(reason, where)]));
}

/** @throws DecodeError */
export function decodeFilterReply(text: string): FilterReply {
  const reply = asFields(parseFirst(text), "value", "v1.ExtenderFilterResult");
  const where = (field: string): string => `struct field ExtenderFilterResult.${field}`;
  const list = fieldOf(reply, "Nodes");
  const nodes = list === null || list === undefined ? undefined : asFields(list, where("Nodes"), "v1.NodeList");
  const names = listOf(fieldOf(reply, "NodeNames"), where("NodeNames"), "[]string");
  return {
    nodeNames: names?.map((name) => textOf(name, where("NodeNames"))),
    nodes: nodes && (listOf(fieldOf(nodes, "items"), where("Nodes.items"), "[]v1.Node") ?? []).map(nameOfNode),
    failed: reasonsOf(fieldOf(reply, "FailedNodes"), where("FailedNodes")),
    unresolvable: reasonsOf(fieldOf(reply, "FailedAndUnresolvableNodes"), where("FailedAndUnresolvableNodes")),
    error: textOf(fieldOf(reply, "Error"), where("Error")),
  };
}

function nameOfNode(node: unknown): string {
  const metadata = asFields(fieldOf(asFields(node, "value", "v1.Node"), "metadata"), "value", "v1.ObjectMeta");
  return textOf(fieldOf(metadata, "name"), "struct field ObjectMeta.name");
}

/** @throws DecodeError, for a fractional score too */
export function decodePriorities(text: string): HostScore[] {
  const list = listOf(parseFirst(text), "value", "v1.HostPriorityList") ?? [];
  return list.map((entry) => {
    const fields = asFields(entry, "value", "v1.HostPriority");
    return {
      host: textOf(fieldOf(fields, "Host"), "struct field HostPriority.Host"),
      score: wholeOf(fieldOf(fields, "Score"), "struct field HostPriority.Score"),
    };
  });
}

/** @throws DecodeError */
export function decodePreemption(text: string): Map<string, MetaVictims> {
  const reply = asFields(parseFirst(text), "value", "v1.ExtenderPreemptionResult");
  const victims = asFields(fieldOf(reply, "NodeNameToMetaVictims"), "value", "map[string]*v1.MetaVictims");
  const entries = Object.entries(victims).map(([node, value]): [string, MetaVictims] => {
    const fields = asFields(value, "value", "v1.MetaVictims");
    const pods = listOf(fieldOf(fields, "Pods"), "struct field MetaVictims.Pods", "[]*v1.MetaPod") ?? [];
    const uids = pods.map((pod) =>
      textOf(fieldOf(asFields(pod, "value", "v1.MetaPod"), "UID"), "struct field MetaPod.UID"),
    );
    const pdbViolations = wholeOf(fieldOf(fields, "NumPDBViolations"), "struct field MetaVictims.NumPDBViolations");
    return [node, { uids, pdbViolations }];
  });
  return new Map(entries);
}

/** The error of a bind reply; "" for success. @throws DecodeError */
export function decodeBindError(text: string): string {
  const reply = asFields(parseFirst(text), "value", "v1.ExtenderBindingResult");
  return textOf(fieldOf(reply, "Error"), "struct field ExtenderBindingResult.Error");
}
