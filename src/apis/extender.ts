/**
 * The language of kube-scheduler's extenders: requests decoded by hand, replies encoded with Go's field names.
 *
 * Keys are accepted in any letter case, `null` and absent are the same, unknown keys are ignored: Go's own rules. Nothing
 * here keeps names as keys of plain objects, for a node may well be called `constructor`.
 *
 * @see kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go, pkg/scheduler/extender.go
 */
import { type NodeName, nodeName } from "../scheduling/names.ts";
import { nameLengthMax, shown } from "./fields.ts";
import { findItems } from "./json-items.ts";
import { shapeProblem } from "./json-shape.ts";

/** A request read, or the one sentence that says which field could not be. */
export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** The nodes of a request in the order given. The reply takes the same form. */
export type AskedNodes =
  /** As sent. kube-scheduler names each node once; to make sure of it costs as much as all the rest of reading them. */
  | { readonly form: "NodeNames"; readonly names: readonly NodeName[] }
  /** Each name once. `objects` are the nodes' own bytes, by the index of their names. */
  | { readonly form: "Nodes"; readonly names: readonly NodeName[]; readonly objects: readonly Uint8Array[] };

/** ExtenderArgs, the request of filter and prioritize. */
export interface ExtenderArgs {
  /** The Pod as sent; absent when null. */
  readonly pod?: object;
  /** Absent when both forms are null. */
  readonly nodes?: AskedNodes;
}

export interface ExtenderBindingArgs {
  readonly PodName: string;
  readonly PodNamespace: string;
  readonly PodUID: string;
  readonly Node: string;
}

export interface MetaVictims {
  readonly Pods: readonly { readonly UID: string }[];
  readonly NumPDBViolations: number;
}

/** ExtenderPreemptionArgs; both of its forms come out as the UIDs of the victims. */
export interface ExtenderPreemptionArgs {
  readonly pod?: object;
  /** Absent when both forms are null. */
  readonly candidates?: ReadonlyMap<NodeName, MetaVictims>;
}

export interface HostPriority {
  readonly Host: NodeName;
  /** A whole number, 0..10: a fraction makes Go drop the whole reply. */
  readonly Score: number;
}

type Body = Uint8Array | string | undefined;
type Fields = ReadonlyMap<string, unknown>;

/** A value that is not what its field asks for. Never leaves this file. */
class Mistake extends Error {}

export function decodeExtenderArgs(body: Body): Decoded<ExtenderArgs> {
  return decode(body, (fields, bytes) => {
    const pod = readObject(fields.get("pod"), "Pod");
    // kube-scheduler fills one of the two. Where both came, the names are enough.
    const names = fields.get("nodenames");
    const list = fields.get("nodes");
    const nodes = isNull(names) ? (isNull(list) ? undefined : readNodeList(list, bytes)) : readNodeNames(names);
    return { ...(pod && { pod }), ...(nodes && { nodes }) };
  });
}

export function decodeBindingArgs(body: Body): Decoded<ExtenderBindingArgs> {
  return decode(body, (fields) => ({
    PodName: readString(fields, "PodName"),
    PodNamespace: readString(fields, "PodNamespace"),
    PodUID: readString(fields, "PodUID"),
    Node: readString(fields, "Node"),
  }));
}

export function decodePreemptionArgs(body: Body): Decoded<ExtenderPreemptionArgs> {
  return decode(body, (fields) => {
    const pod = readObject(fields.get("pod"), "Pod");
    const meta = readObject(fields.get("nodenametometavictims"), "NodeNameToMetaVictims");
    const full = readObject(fields.get("nodenametovictims"), "NodeNameToVictims");
    const candidates = meta
      ? readCandidates(meta, "NodeNameToMetaVictims", uidOfMetaPod)
      : full && readCandidates(full, "NodeNameToVictims", uidOfPod);
    return { ...(pod && { pod }), ...(candidates && { candidates }) };
  });
}

/** A Pod alone, as `/debug/simulate` takes it. */
export function decodePod(body: Body): Decoded<object> {
  return decode(body, (_fields, _bytes, json) => json);
}

function decode<T>(body: Body, read: (fields: Fields, bytes: Buffer, json: object) => T): Decoded<T> {
  const bytes = toBuffer(body);
  if (bytes.length === 0) return { ok: false, problem: "the body is empty" };
  const odd = shapeProblem(bytes);
  if (odd !== undefined) return { ok: false, problem: odd };
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString());
  } catch {
    // The parser's own message quotes the body, which may be anything and of any size.
    return { ok: false, problem: "the body is not JSON" };
  }
  if (!isObject(json)) return { ok: false, problem: "the body is not a JSON object" };
  try {
    return { ok: true, value: read(foldKeys(json), bytes, json) };
  } catch (mistake) {
    if (mistake instanceof Mistake) return { ok: false, problem: mistake.message };
    throw mistake;
  }
}

function toBuffer(body: Body): Buffer {
  if (body === undefined || typeof body === "string") return Buffer.from(body ?? "");
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/** The object's fields by lower-case key. Two spellings of one key would be read in different ways by different readers. */
function foldKeys(object: object): Fields {
  const fields = new Map<string, unknown>();
  for (const [key, value] of Object.entries(object)) {
    const folded = key.toLowerCase();
    if (fields.has(folded)) throw new Mistake(`the body names the field ${shown(key)} twice`);
    fields.set(folded, value);
  }
  return fields;
}

function readNodeNames(value: unknown): AskedNodes {
  if (!Array.isArray(value)) throw new Mistake("NodeNames is not an array");
  const names: readonly unknown[] = value;
  const wrong = names.findIndex((name) => typeof name !== "string" || name.length > nameLengthMax);
  if (wrong !== -1) throw new Mistake(`NodeNames[${wrong}] is no name`);
  return { form: "NodeNames", names: names as readonly NodeName[] };
}

function readNodeList(value: unknown, bytes: Buffer): AskedNodes {
  const items = foldKeys(readObject(value, "Nodes") ?? {}).get("items") ?? [];
  if (!Array.isArray(items)) throw new Mistake("Nodes.items is not an array");
  const slices = findItems(bytes, ["nodes", "items"]);
  const objects = new Map<NodeName, Uint8Array>();
  for (const [index, item] of items.entries()) {
    const name = readMember(readMember(item, "metadata"), "name");
    const slice = slices[index];
    const isName = typeof name === "string" && name.length <= nameLengthMax;
    if (!isName || !slice) throw new Mistake(`Nodes.items[${index}].metadata.name is no name`);
    if (!objects.has(nodeName(name))) objects.set(nodeName(name), slice);
  }
  return { form: "Nodes", names: [...objects.keys()], objects: [...objects.values()] };
}

function readCandidates(
  byNode: object,
  field: string,
  uidOf: (pod: unknown) => unknown,
): ReadonlyMap<NodeName, MetaVictims> {
  const candidates = new Map<NodeName, MetaVictims>();
  for (const [name, value] of Object.entries(byNode)) {
    const where = `${field}[${JSON.stringify(shown(name))}]`;
    if (name.length > nameLengthMax) throw new Mistake(`${where} is no name`);
    const victims = foldKeys(readObject(value, where) ?? {});
    const pods = victims.get("pods") ?? [];
    const violations = victims.get("numpdbviolations") ?? 0;
    if (!Array.isArray(pods)) throw new Mistake(`${where}.Pods is not an array`);
    if (!Number.isSafeInteger(violations)) throw new Mistake(`${where}.NumPDBViolations is not a whole number`);
    const uids = pods.map((pod: unknown, index) => {
      const uid = uidOf(pod);
      if (typeof uid !== "string") throw new Mistake(`${where}.Pods[${index}] has no UID`);
      return { UID: uid };
    });
    candidates.set(nodeName(name), { Pods: uids, NumPDBViolations: Number(violations) });
  }
  return candidates;
}

const uidOfMetaPod = (pod: unknown): unknown => (isObject(pod) ? foldKeys(pod).get("uid") : undefined);
const uidOfPod = (pod: unknown): unknown => readMember(readMember(pod, "metadata"), "uid");

function readObject(value: unknown, field: string): object | undefined {
  if (isNull(value)) return undefined;
  if (!isObject(value)) throw new Mistake(`${field} is not an object`);
  return value;
}

function readString(fields: Fields, field: string): string {
  const value = fields.get(field.toLowerCase()) ?? "";
  if (typeof value !== "string") throw new Mistake(`${field} is not a string`);
  return value;
}

/** An own member of a parsed object; never one that every object inherits. */
function readMember(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function isNull(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
