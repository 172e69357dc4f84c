/**
 * What a request is, read by rules of its own from what docs/verbs.md promises: nothing of Berth's decoding is used, so that a
 * mistake there is not made here again.
 */
export const verbs = ["filter", "prioritize", "preempt", "bind"] as const;
export type Verb = (typeof verbs)[number];

export interface Request {
  readonly face: "extender" | "debug";
  readonly method: string;
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

export type Meaning =
  /** One of these statuses; nothing is decoded. */
  | { readonly kind: "refused"; readonly statuses: readonly number[] }
  /** It decodes, and is no question that has an answer: 200 with `Error`, or with nothing where the verb has no room for one. */
  | { readonly kind: "faulty"; readonly verb: Verb }
  /** As good as any request. */
  | { readonly kind: "sound"; readonly verb: Verb; readonly call: Call }
  /** A page or a health check, which changes nothing. */
  | { readonly kind: "page"; readonly statuses: readonly number[] };

export interface Call {
  /** The Pod's; of bind the one that is bound. */
  readonly podUid: string;
  /** "namespace/name" */
  readonly podKey: string;
  readonly form: "NodeNames" | "Nodes" | "none";
  /** Each once, in order. */
  readonly nodes: readonly string[];
  /** The same call in the plainest words. */
  readonly plain: unknown;
}

export interface Limits {
  readonly bodyBytesMax: number;
  readonly bindBodyBytesMax: number;
}

/** No name of Kubernetes is longer; nor is any UID. */
const nameMax = 253;
/** Claims of one Pod. */
const claimsMax = 1_000;

/** No Error: a stack for each would cost as much as all the rest. */
class Wrong {
  readonly isDecoded: boolean;
  constructor(isDecoded: boolean) {
    this.isDecoded = isDecoded;
  }
}
const undecodable = (): never => {
  throw new Wrong(false);
};
const faulty = (): never => {
  throw new Wrong(true);
};

export function meaningOf({ face, method, path, contentType, body }: Request, limits: Limits): Meaning {
  const plainPath = /^[^?#]*/.exec(path)?.[0] ?? "";
  const health = plainPath === "/livez" || plainPath === "/readyz";
  if (face === "debug" || health) return pageMeaning(face, method, plainPath);
  const verb = verbs.find((one) => plainPath === `/v1/${one}`);
  if (!verb) return { kind: "refused", statuses: [404] };
  if (method !== "POST") return { kind: "refused", statuses: [405] };
  if (contentType !== undefined && !isJson(contentType)) return { kind: "refused", statuses: [415] };
  if (body.length > (verb === "bind" ? limits.bindBodyBytesMax : limits.bodyBytesMax)) {
    return { kind: "refused", statuses: [413] };
  }
  try {
    const fields = folded(JSON.parse(body.toString()));
    return { kind: "sound", verb, call: verb === "bind" ? bindCall(fields) : podCall(verb, fields) };
  } catch (wrong) {
    if (wrong instanceof Wrong && wrong.isDecoded) return { kind: "faulty", verb };
    return { kind: "refused", statuses: [400] };
  }
}

function isJson(contentType: string): boolean {
  return (contentType.split(";")[0] ?? "").trimEnd().toLowerCase() === "application/json";
}

const pages: ReadonlySet<string> = new Set([
  "/metrics",
  "/debug/state",
  "/debug/",
  "/debug/page.css",
  "/debug/page.js",
]);

function pageMeaning(face: Request["face"], method: string, path: string): Meaning {
  const [, first, second, ...rest] = path.split("/");
  const parameters = rest.length === 2 && rest.every(isParameter);
  const isNamed = first === "debug" && ["explain", "claim", "pods"].includes(second ?? "") && parameters;
  const isPage = pages.has(path) && face === "debug";
  const isRedirect = (path === "/" || path === "/debug") && face === "debug";
  const isHealth = path === "/livez" || path === "/readyz";
  if (path === "/debug/simulate" && face === "debug") {
    return method === "POST" ? { kind: "page", statuses: [200, 400] } : { kind: "refused", statuses: [405] };
  }
  if (!isHealth && !isPage && !isNamed && !isRedirect) return { kind: "refused", statuses: [404] };
  if (method !== "GET") return { kind: "refused", statuses: [405] };
  return { kind: "page", statuses: isNamed ? [200, 404] : isRedirect ? [302] : [200] };
}

function isParameter(segment: string): boolean {
  try {
    return decodeURIComponent(segment) !== "";
  } catch {
    return false;
  }
}

type Fields = ReadonlyMap<string, unknown>;

/** Any letter case, but one spelling of a key in each object; null is absent. */
function folded(value: unknown): Fields {
  if (!isObject(value)) return undecodable();
  const fields = new Map<string, unknown>();
  const seen = new Set<string>();
  for (const key of Object.keys(value)) {
    const name = key.toLowerCase();
    if (seen.has(name)) undecodable();
    seen.add(name);
    const own = Object.getOwnPropertyDescriptor(value, key)?.value;
    if (own !== null) fields.set(name, own);
  }
  return fields;
}

function podCall(verb: Verb, fields: Fields): Call {
  const rawPod = fields.get("pod");
  if (rawPod !== undefined && !isObject(rawPod)) undecodable();
  const asked = verb === "preempt" ? candidatesOf(fields) : nodesOf(fields);
  const pod = podOf(rawPod);
  if (verb === "filter" && asked.form === "none") faulty();
  const { metadata } = pod;
  return {
    podUid: metadata.uid,
    podKey: `${metadata.namespace}/${metadata.name}`,
    form: asked.form,
    nodes: [...new Set(asked.names)],
    plain:
      verb === "preempt" ? { Pod: pod, NodeNameToMetaVictims: asked.victims } : { Pod: pod, NodeNames: asked.names },
  };
}

interface Asked {
  readonly form: Call["form"];
  readonly names: readonly string[];
  readonly victims?: Readonly<Record<string, unknown>>;
}

function nodesOf(fields: Fields): Asked {
  const names = fields.get("nodenames");
  if (names !== undefined) {
    if (!Array.isArray(names) || !names.every(isShortText)) return undecodable();
    return { form: "NodeNames", names };
  }
  const list = fields.get("nodes");
  if (list === undefined) return { form: "none", names: [] };
  const items = folded(list).get("items") ?? [];
  if (!Array.isArray(items)) return undecodable();
  const found = items.map((item: unknown) => own(own(item, "metadata"), "name"));
  if (!found.every(isShortText)) return undecodable();
  return { form: "Nodes", names: [...new Set(found)] };
}

function candidatesOf(fields: Fields): Asked {
  const meta = fields.get("nodenametometavictims");
  const full = fields.get("nodenametovictims");
  for (const one of [meta, full]) if (one !== undefined && !isObject(one)) undecodable();
  const chosen = meta ?? full;
  if (!isObject(chosen)) return { form: "none", names: [] };
  const victims = Object.entries(chosen).map(([name, value]): [string, unknown] => {
    if (!isShortText(name)) undecodable();
    const one = value === null ? new Map() : folded(value);
    const pods = one.get("pods") ?? [];
    const violations = one.get("numpdbviolations") ?? 0;
    if (!Array.isArray(pods) || !Number.isSafeInteger(violations)) return undecodable();
    const uids = pods.map((pod: unknown) => {
      const uid = meta ? isObject(pod) && folded(pod).get("uid") : own(own(pod, "metadata"), "uid");
      return typeof uid === "string" ? { UID: uid } : undecodable();
    });
    return [name, { Pods: uids, NumPDBViolations: violations }];
  });
  return { form: "none", names: victims.map(([name]) => name), victims: Object.fromEntries(victims) };
}

function bindCall(fields: Fields): Call {
  const [name, namespace, uid, node] = ["PodName", "PodNamespace", "PodUID", "Node"].map((field) => {
    const value = fields.get(field.toLowerCase()) ?? "";
    return typeof value === "string" ? value : undecodable();
  });
  if (![name, namespace, uid, node].every((value) => isShortText(value) && value !== "")) faulty();
  return { podUid: uid ?? "", podKey: `${namespace}/${name}`, form: "none", nodes: [node ?? ""], plain: undefined };
}

/** The Pod in the fields that decide, each as the API types it. */
function podOf(raw: unknown) {
  if (raw === undefined) return faulty();
  const metadata = objectIn(raw, "metadata");
  const spec = objectIn(raw, "spec");
  const kind = textIn(raw, "kind");
  if (kind !== "" && kind !== "Pod") faulty();
  const [namespace, name] = [textIn(metadata, "namespace"), textIn(metadata, "name")];
  if (!isName(namespace) || !isName(name)) faulty();
  const [uid, version, nodeName] = [
    textIn(metadata, "uid"),
    textIn(metadata, "resourceVersion"),
    textIn(spec, "nodeName"),
  ];
  const deletionTimestamp = textIn(metadata, "deletionTimestamp");
  const phase = textIn(objectIn(raw, "status"), "phase");
  if (![uid, version, nodeName, textIn(spec, "schedulerName")].every(isShortText)) faulty();
  listIn(spec, "schedulingGates");
  objectIn(spec, "nodeSelector");
  const claims = claimsOf(spec, name);
  return {
    metadata: { name, namespace, uid, resourceVersion: version, deletionTimestamp },
    spec: { volumes: claims, nodeName },
    status: { phase },
  };
}

function claimsOf(spec: unknown, pod: string): unknown[] {
  const claims = new Map<string, unknown[]>();
  for (const volume of listIn(spec, "volumes")) {
    if (volume !== null && !isObject(volume)) faulty();
    const [claim, ephemeral] = [own(volume, "persistentVolumeClaim"), own(volume, "ephemeral")];
    if (claim === undefined && ephemeral === undefined) continue;
    if (claim !== undefined && ephemeral !== undefined) faulty();
    const volumeName = ephemeral !== undefined ? textIn(volume, "name") : "v";
    const claimName =
      ephemeral !== undefined ? `${pod}-${volumeName}` : textIn(objectIn(volume, "persistentVolumeClaim"), "claimName");
    if (!isName(claimName) || (ephemeral !== undefined && volumeName === "")) faulty();
    const source = ephemeral !== undefined ? { ephemeral: {} } : { persistentVolumeClaim: { claimName } };
    claims.set(claimName, [...(claims.get(claimName) ?? []), { name: volumeName, ...source }]);
  }
  return claims.size > claimsMax ? faulty() : [...claims.values()].flat();
}

function own(value: unknown, key: string): unknown {
  if (!isObject(value)) return undefined;
  const found = Object.getOwnPropertyDescriptor(value, key)?.value;
  return found === null ? undefined : found;
}

function objectIn(value: unknown, key: string): unknown {
  const found = own(value, key);
  return found === undefined || isObject(found) ? (found ?? {}) : faulty();
}

function textIn(value: unknown, key: string): string {
  const found = own(value, key) ?? "";
  return typeof found === "string" ? found : faulty();
}

function listIn(value: unknown, key: string): readonly unknown[] {
  const found = own(value, key) ?? [];
  return Array.isArray(found) ? found : faulty();
}

function isName(text: string): boolean {
  return isShortText(text) && text !== "" && text !== "." && text !== ".." && !/[/%]/.test(text) && text.isWellFormed();
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && value.length <= nameMax;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
