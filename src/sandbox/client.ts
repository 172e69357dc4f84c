/** A small typed client of the API over an `Exchange`, as each controller has its own. Errors are values. */
import type { Exchange, HttpReply, HttpRequest, Milliseconds, Runtime } from "../runtime/runtime.ts";
import { getResource, groupVersionOf } from "./api/resources.ts";
import type { Kinds, KubeObject, ObjectKey, Plural } from "./objects.ts";

/** Why a request did not do what it was to do. */
export interface Failure {
  readonly ok: false;
  /** The HTTP status; 0 when there was no reply, and the request may have taken effect all the same. */
  readonly status: number;
  /** The reason of the API's Status, e.g. "AlreadyExists". */
  readonly reason: string;
  readonly message: string;
}
export type Result<T> = { readonly ok: true; readonly value: T } | Failure;

export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly metadata: { readonly resourceVersion: string };
}

export interface ClientOptions {
  readonly exchange: Exchange;
  readonly runtime: Runtime;
  /** Ends every request. */
  readonly signal: AbortSignal;
  /** Sent as the user agent. */
  readonly who: string;
  readonly requestTimeoutMs?: Milliseconds;
}

/** An object to be created: the API server fills in the rest. */
export interface Draft {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

export type PatchType = "merge-patch" | "strategic-merge-patch" | "apply-patch";

const requestTimeoutMs: Milliseconds = 30_000;

export class ApiClient {
  readonly #options: ClientOptions;
  #inFlight = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Requests without a reply yet; watches do not count. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get<P extends Plural>(plural: P, key: ObjectKey): Promise<Result<Kinds[P]>> {
    return this.#call("GET", pathOf(plural, key));
  }

  list<P extends Plural>(plural: P): Promise<Result<ObjectList<Kinds[P]>>> {
    return this.#call("GET", pathOf(plural, {}));
  }

  create<P extends Plural>(plural: P, draft: Draft): Promise<Result<Kinds[P]>> {
    const { namespace } = draft.metadata;
    const path = pathOf(plural, namespace === undefined ? {} : { namespace });
    return this.#call("POST", path, { body: { ...headOf(plural), ...draft } });
  }

  /** Writes the whole object; its resourceVersion is the precondition. */
  update<P extends Plural>(plural: P, object: Kinds[P]): Promise<Result<Kinds[P]>> {
    return this.#call("PUT", pathOf(plural, object.metadata), { body: { ...headOf(plural), ...object } });
  }

  updateStatus<P extends Plural>(plural: P, object: Kinds[P]): Promise<Result<Kinds[P]>> {
    return this.#call("PUT", `${pathOf(plural, object.metadata)}/status`, { body: { ...headOf(plural), ...object } });
  }

  patch<P extends Plural>(
    plural: P,
    key: ObjectKey,
    patch: object,
    o: { readonly type?: PatchType; readonly subresource?: "status" } = {},
  ): Promise<Result<Kinds[P]>> {
    const path = `${pathOf(plural, key)}${o.subresource ? `/${o.subresource}` : ""}`;
    const type = o.type ?? "merge-patch";
    return this.#call("PATCH", path, { body: patch, type: `application/${type}+json` });
  }

  delete(
    plural: Plural,
    key: ObjectKey,
    o: { readonly uid?: string; readonly graceSeconds?: number } = {},
  ): Promise<Result<KubeObject>> {
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...(o.uid === undefined ? {} : { preconditions: { uid: o.uid } }),
      ...(o.graceSeconds === undefined ? {} : { gracePeriodSeconds: o.graceSeconds }),
    };
    return this.#call("DELETE", pathOf(plural, key), { body });
  }

  /** Assigns the pod to the node; its uid is the precondition. */
  bind({ metadata }: KubeObject, node: string): Promise<Result<unknown>> {
    const { name, namespace = "", uid } = metadata;
    const target = { apiVersion: "v1", kind: "Node", name: node };
    const body = { apiVersion: "v1", kind: "Binding", metadata: { name, namespace, uid }, target };
    return this.#call("POST", `${pathOf("pods", metadata)}/binding`, { body });
  }

  /** Opens a watch; its stream ends with `signal`. Only the opening is bounded by the request timeout. */
  async watch(
    plural: Plural,
    o: { resourceVersion: string; timeoutMs: Milliseconds; signal: AbortSignal },
  ): Promise<Result<AsyncIterable<Uint8Array>>> {
    const seconds = Math.ceil(o.timeoutMs / 1000);
    const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${o.resourceVersion}`;
    const reply = await this.#send(
      { method: "GET", path: `${pathOf(plural, {})}?${query}`, headers: this.#headers() },
      o.signal,
    );
    if ("ok" in reply) return reply;
    if (typeof reply.body === "string" || reply.body instanceof Uint8Array) return failureOf(reply);
    return { ok: true, value: reply.body };
  }

  async #call<T>(method: string, path: string, o: { body?: object; type?: string } = {}): Promise<Result<T>> {
    const headers = this.#headers(o.body && (o.type ?? "application/json"));
    this.#inFlight++;
    try {
      const reply = await this.#send({ method, path, headers, ...(o.body ? { body: JSON.stringify(o.body) } : {}) });
      if ("ok" in reply) return reply;
      if (reply.status < 200 || reply.status > 299) return failureOf(reply);
      return { ok: true, value: JSON.parse(await textOf(reply.body)) as T };
    } catch (fault) {
      return { ok: false, status: 0, reason: "", message: String(fault) };
    } finally {
      this.#inFlight--;
    }
  }

  #headers(contentType?: string): Record<string, string> {
    const headers = { accept: "application/json", "user-agent": this.#options.who };
    return contentType === undefined ? headers : { ...headers, "content-type": contentType };
  }

  /** The reply, or the failure to get one. An exchange that ignores its signal is left behind when the time is up. */
  async #send(request: HttpRequest, signal = this.#options.signal): Promise<HttpReply | Failure> {
    const { exchange, runtime, requestTimeoutMs: timeoutMs = requestTimeoutMs } = this.#options;
    if (signal.aborted) return noReply("the client has stopped");
    const controller = new AbortController();
    return new Promise((resolve) => {
      let isOpen = true;
      const abort = (): void => {
        controller.abort();
        settle(noReply("the client has stopped"));
      };
      const timer = runtime.timer(timeoutMs, () => {
        controller.abort();
        settle(noReply(`no reply within ${timeoutMs} ms`));
      });
      const settle = (outcome: HttpReply | Failure): void => {
        if (!isOpen) return;
        isOpen = false;
        timer.cancel();
        // A stream goes on after its reply: it must still end with the signal.
        const streams = "body" in outcome && typeof outcome.body === "object" && !(outcome.body instanceof Uint8Array);
        if (!streams) signal.removeEventListener("abort", abort);
        resolve(outcome);
      };
      signal.addEventListener("abort", abort, { once: true });
      exchange(request, controller.signal).then(settle, (fault: unknown) => settle(noReply(String(fault))));
    });
  }
}

function noReply(message: string): Failure {
  return { ok: false, status: 0, reason: "", message };
}

async function failureOf({ status, body }: HttpReply): Promise<Failure> {
  try {
    const { reason = "", message = "", code } = JSON.parse(await textOf(body)) as Record<string, string & number>;
    return { ok: false, status: code ?? status, reason, message };
  } catch {
    return { ok: false, status, reason: "", message: `status ${status}` };
  }
}

/** A reply's body as one text. */
export async function textOf(body: HttpReply["body"]): Promise<string> {
  if (typeof body === "string") return body;
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = "";
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

function headOf(plural: Plural): { apiVersion: string; kind: string } {
  const resource = getResource(plural);
  return { apiVersion: groupVersionOf(resource), kind: resource.kind };
}

function pathOf(plural: Plural, { namespace, name }: Partial<ObjectKey>): string {
  const resource = getResource(plural);
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${groupVersionOf(resource)}`;
  const inside = namespace === undefined || !resource.namespaced ? "" : `/namespaces/${namespace}`;
  return `${root}${inside}/${plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}
