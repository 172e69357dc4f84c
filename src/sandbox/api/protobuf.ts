/**
 * Just enough of the API's protobuf for what kubectl builds itself (`create namespace`, `drain`, `auth can-i`): its typed
 * clients send nothing else and do not fall back. Answers are JSON always, which every client takes.
 *
 * @see apimachinery runtime/serializer/protobuf for the envelope, and each API group's generated.proto for field numbers
 */
import { isObject, type JsonObject, type JsonValue } from "./json.ts";
import { badRequest, unsupportedMediaType } from "./status.ts";

export const protobufType = "application/vnd.kubernetes.protobuf";

/** "either" is IntOrString: a number or a text such as "25%". */
type Scalar = "text" | "whole" | "truth" | "bytes" | "either" | "ignored";
type FieldType = Scalar | { readonly map: "text" | "bytes" } | { readonly message: Message };
interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly isList: boolean;
}
type Message = ReadonlyMap<number, Field>;

const one = (name: string, type: FieldType = "text"): Field => ({ name, type, isList: false });
const many = (name: string, type: FieldType = "text"): Field => ({ name, type, isList: true });
const message = (fields: Record<number, Field>): Message =>
  new Map(Object.entries(fields).map(([number, field]) => [Number(number), field]));

const objectMeta = message({
  1: one("name"),
  2: one("generateName"),
  3: one("namespace"),
  4: one("selfLink", "ignored"),
  5: one("uid"),
  6: one("resourceVersion"),
  7: one("generation", "ignored"),
  8: one("creationTimestamp", "ignored"),
  11: one("labels", { map: "text" }),
  12: one("annotations", { map: "text" }),
  14: many("finalizers"),
});
const metadata = one("metadata", { message: objectMeta });
const deleteOptions = message({
  1: one("gracePeriodSeconds", "whole"),
  2: one("preconditions", { message: message({ 1: one("uid"), 2: one("resourceVersion") }) }),
  3: one("orphanDependents", "truth"),
  4: one("propagationPolicy"),
  5: many("dryRun"),
});
const port = message({
  1: one("name"),
  2: one("hostPort", "whole"),
  3: one("containerPort", "whole"),
  4: one("protocol"),
});
const container = message({
  1: one("name"),
  2: one("image"),
  3: many("command"),
  4: many("args"),
  5: one("workingDir"),
  6: many("ports", { message: port }),
  7: many("env", { message: message({ 1: one("name"), 2: one("value") }) }),
  8: one("resources", { message: message({}) }),
  14: one("imagePullPolicy"),
});
const podSpec = message({
  2: many("containers", { message: container }),
  3: one("restartPolicy"),
  6: one("dnsPolicy"),
  8: one("serviceAccountName"),
  9: one("serviceAccount"),
  10: one("nodeName"),
  ...Object.fromEntries([11, 12, 13, 37].map((number) => [number, one("hostNamespaces", "ignored")])),
  16: one("hostname"),
  17: one("subdomain"),
  19: one("schedulerName"),
  24: one("priorityClassName"),
});
const selector = one("selector", { message: message({ 1: one("matchLabels", { map: "text" }) }) });
const deploymentSpec = message({
  1: one("replicas", "whole"),
  2: selector,
  3: one("template", { message: message({ 1: metadata, 2: one("spec", { message: podSpec }) }) }),
  4: one("strategy", "ignored"),
  5: one("minReadySeconds", "whole"),
  7: one("paused", "truth"),
});
const budgetSpec = message({ 1: one("minAvailable", "either"), 2: selector, 3: one("maxUnavailable", "either") });
const servicePort = message({
  1: one("name"),
  2: one("protocol"),
  3: one("port", "whole"),
  4: one("targetPort", "either"),
});
const serviceSpec = message({
  1: many("ports", { message: servicePort }),
  2: one("selector", { map: "text" }),
  3: one("clusterIP"),
  4: one("type"),
  7: one("sessionAffinity"),
  10: one("externalName"),
});
const target = message({
  1: one("kind"),
  2: one("namespace"),
  3: one("name"),
  4: one("uid"),
  5: one("apiVersion"),
  6: one("resourceVersion"),
  7: one("fieldPath"),
});
const review = message({ 1: metadata, 2: one("spec", "ignored"), 3: one("status", "ignored") });

const messages: ReadonlyMap<string, Message> = new Map([
  ["Namespace", message({ 1: metadata, 2: one("spec", "ignored"), 3: one("status", "ignored") })],
  [
    "ConfigMap",
    message({
      1: metadata,
      2: one("data", { map: "text" }),
      3: one("binaryData", { map: "bytes" }),
      4: one("immutable", "truth"),
    }),
  ],
  [
    "Secret",
    message({
      1: metadata,
      2: one("data", { map: "bytes" }),
      3: one("type"),
      4: one("stringData", { map: "text" }),
      5: one("immutable", "truth"),
    }),
  ],
  ["ServiceAccount", message({ 1: metadata })],
  [
    "PriorityClass",
    message({
      1: metadata,
      2: one("value", "whole"),
      3: one("globalDefault", "truth"),
      4: one("description"),
      5: one("preemptionPolicy"),
    }),
  ],
  ["Deployment", message({ 1: metadata, 2: one("spec", { message: deploymentSpec }), 3: one("status", "ignored") })],
  [
    "PodDisruptionBudget",
    message({ 1: metadata, 2: one("spec", { message: budgetSpec }), 3: one("status", "ignored") }),
  ],
  ["Service", message({ 1: metadata, 2: one("spec", { message: serviceSpec }), 3: one("status", "ignored") })],
  ["Binding", message({ 1: metadata, 2: one("target", { message: target }) })],
  ["Eviction", message({ 1: metadata, 2: one("deleteOptions", { message: deleteOptions }) })],
  ["DeleteOptions", deleteOptions],
  ["SelfSubjectAccessReview", review],
  ["SubjectAccessReview", review],
  ["SelfSubjectReview", message({ 1: metadata, 2: one("status", "ignored") })],
]);

const envelope = message({
  1: one("type", { message: message({ 1: one("apiVersion"), 2: one("kind") }) }),
  2: one("raw", "bytes"),
  3: one("contentEncoding"),
  4: one("contentType"),
});
const magic = "k8s\0";
const utf8 = new TextDecoder();

/** @throws ApiError 415 for a kind or a field that this reader does not know, 400 for bytes that are no protobuf */
export function readProtobuf(bytes: Uint8Array): JsonObject {
  if (utf8.decode(bytes.subarray(0, magic.length)) !== magic) throw badRequest("the body is no Kubernetes protobuf");
  const { type, raw } = readMessage(new Reader(bytes.subarray(magic.length)), envelope, "Unknown");
  const kind = isObject(type) ? String(type["kind"]) : "";
  const known = messages.get(kind);
  if (!known) throw unsupportedMediaType(`${protobufType} of ${kind}`, ["application/json", "application/yaml"]);
  const object = readMessage(new Reader(Buffer.from(String(raw ?? ""), "base64")), known, kind);
  return { ...(isObject(type) ? type : {}), ...object };
}

class Reader {
  readonly #bytes: Uint8Array;
  #next = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#next >= this.#bytes.length;
  }

  varint(): number {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#next++];
      if (byte === undefined) throw badRequest("the protobuf body ends too early");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
    throw badRequest("the protobuf body holds a number that is too long");
  }

  chunk(): Uint8Array {
    const length = this.varint();
    const end = this.#next + length;
    if (length < 0 || end > this.#bytes.length) throw badRequest("the protobuf body ends too early");
    const found = this.#bytes.subarray(this.#next, end);
    this.#next = end;
    return found;
  }
}

/** Empty texts are left out: Go writes every field, and JSON none that is empty. */
function readMessage(reader: Reader, known: Message, about: string): JsonObject {
  const object: JsonObject = {};
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    const wire = tag & 7;
    if (wire !== 0 && wire !== 2) throw badRequest("the protobuf body holds a wire type that is not used here");
    const content = wire === 0 ? reader.varint() : reader.chunk();
    const field = known.get(tag >> 3);
    const isEmpty = typeof content === "number" ? content === 0 : content.length === 0;
    if (!field) {
      if (isEmpty) continue;
      throw unsupportedMediaType(`${protobufType} with field ${tag >> 3} of ${about}`, ["application/json"]);
    }
    if (field.type !== "ignored") putField(object, field, content);
  }
  return object;
}

function putField(object: JsonObject, { name, type, isList }: Field, content: number | Uint8Array): void {
  if (typeof type === "object" && "map" in type) {
    if (typeof content === "number") throw badRequest(`the protobuf body holds a number for ${name}`);
    const entry = readMessage(new Reader(content), message({ 1: one("key"), 2: one("value", type.map) }), name);
    const held = object[name];
    const key = String(entry["key"] ?? "");
    if (key === "__proto__") throw badRequest('field name "__proto__" is not allowed');
    object[name] = { ...(isObject(held) ? held : {}), [key]: entry["value"] ?? "" };
    return;
  }
  const value = readValue(name, type, content);
  const held = object[name];
  if (isList) object[name] = [...(Array.isArray(held) ? held : []), value];
  else if (value !== "") object[name] = value;
}

function readValue(
  name: string,
  type: Scalar | { readonly message: Message },
  content: number | Uint8Array,
): JsonValue {
  if (typeof content === "number") return type === "truth" ? content !== 0 : content;
  if (type === "either") return readEither(content, name);
  if (typeof type === "object") return readMessage(new Reader(content), type.message, name);
  return type === "bytes" ? Buffer.from(content).toString("base64") : utf8.decode(content);
}

const intOrString = message({ 1: one("isText", "truth"), 2: one("whole", "whole"), 3: one("text") });

function readEither(content: Uint8Array, name: string): JsonValue {
  const { isText, whole, text } = readMessage(new Reader(content), intOrString, name);
  return isText === true ? (text ?? "") : (whole ?? 0);
}
