/**
 * Replies as kube-scheduler decodes them: Go's types, strictly. A reply that is none of these makes it drop the whole answer.
 *
 * @see kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go
 */
import type { HttpReply } from "../../src/runtime/runtime.ts";
import type { Verb } from "./reader.ts";

export interface FilterReply {
  readonly passed: readonly string[];
  readonly failed: Readonly<Record<string, string>>;
  readonly form: "NodeNames" | "Nodes" | "none";
  readonly error: string;
}

export function textOf({ body }: HttpReply): string {
  if (typeof body === "string") return body;
  return body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString() : "";
}

/** What is wrong with a reply's form; undefined where kube-scheduler, or a reader of the Kubernetes API, can decode it. */
export function formProblem(reply: HttpReply, verb: Verb | undefined): string | undefined {
  const { status, headers } = reply;
  if (typeof reply.body !== "string" && !(reply.body instanceof Uint8Array)) return "a stream";
  const isJson = (headers["content-type"] ?? "").startsWith("application/json");
  if ((headers["content-type"] ?? "").startsWith("text/html")) return pageProblem(reply);
  if (status >= 400 && !isJson) return headers["content-type"]?.startsWith("text/plain") ? undefined : "no type";
  if (!isJson) return verb ? "no JSON" : undefined;
  let json: unknown;
  try {
    json = JSON.parse(textOf(reply));
  } catch {
    return "JSON that cannot be parsed";
  }
  if (status >= 400) return isStatus(json, status) ? undefined : "no Status";
  return verb === undefined || decodes[verb](json) ? undefined : `no reply of ${verb}`;
}

/** A page that a browser shows runs nothing, and has no tag that its templates do not have, whatever was asked for. */
function pageProblem(reply: HttpReply): string | undefined {
  const text = textOf(reply);
  if (!reply.headers["content-security-policy"]?.startsWith("default-src 'none'; script-src 'self'"))
    return "no policy";
  if (!text.startsWith("<!doctype html>") || !text.endsWith("</html>\n")) return "half a page";
  return /<script(?! src="\/debug\/page\.js")|\son\w+=|<(img|svg|iframe|base|style)\b/i.exec(withoutText(text))?.[0];
}

/** Text holds no tags once it is escaped. */
function withoutText(page: string): string {
  return page
    .replace(/>[^<]*</g, "><")
    .replace(/="[^"]*"/g, (value) => (value.startsWith('="/debug/') ? value : '=""'));
}

function isStatus(json: unknown, code: number): boolean {
  return has(json, { kind: "string", message: "string", reason: "string" }) && own(json, "code") === code;
}

const decodes: Readonly<Record<Verb, (json: unknown) => boolean>> = {
  filter: (json) => {
    if (!has(json, { Error: "string", FailedNodes: "texts", FailedAndUnresolvableNodes: "texts" })) return false;
    const [names, nodes] = [own(json, "NodeNames"), own(json, "Nodes")];
    const areNames = names === null || (Array.isArray(names) && names.every((name) => typeof name === "string"));
    return areNames && (nodes === null || Array.isArray(own(nodes, "items")));
  },
  prioritize: (json) =>
    Array.isArray(json) &&
    json.every((one) => {
      const score = own(one, "Score");
      return (
        typeof own(one, "Host") === "string" && Number.isInteger(score) && Number(score) >= 0 && Number(score) <= 10
      );
    }),
  preempt: (json) =>
    Object.values(own(json, "NodeNameToMetaVictims") as object).every(
      (one: unknown) =>
        Number.isSafeInteger(own(one, "NumPDBViolations")) &&
        (own(one, "Pods") as unknown[]).every((pod) => typeof own(pod, "UID") === "string"),
    ),
  bind: (json) => has(json, { Error: "string" }),
};

export function readFilterReply(reply: HttpReply): FilterReply {
  const json: unknown = JSON.parse(textOf(reply));
  const [names, nodes] = [own(json, "NodeNames"), own(json, "Nodes")];
  const items = nodes === null ? [] : (own(nodes, "items") as unknown[]);
  return {
    passed: Array.isArray(names) ? names : items.map((item) => String(own(own(item, "metadata"), "name"))),
    failed: {
      ...(own(json, "FailedNodes") as Record<string, string>),
      ...(own(json, "FailedAndUnresolvableNodes") as Record<string, string>),
    },
    form: Array.isArray(names) ? "NodeNames" : nodes === null ? "none" : "Nodes",
    error: String(own(json, "Error")),
  };
}

/** What a reply of these verbs says in words; "" where all is well or there is no room for any. */
export function errorOf(reply: HttpReply, verb: Verb): string {
  return verb === "filter" || verb === "bind" ? String(own(JSON.parse(textOf(reply)), "Error")) : "";
}

function own(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function has(json: unknown, fields: Readonly<Record<string, "string" | "texts">>): boolean {
  return Object.entries(fields).every(([key, type]) => {
    const value = own(json, key);
    if (type === "string") return typeof value === "string";
    return (
      typeof value === "object" && value !== null && Object.values(value).every((text) => typeof text === "string")
    );
  });
}
