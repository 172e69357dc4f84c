/** A client as plain as curl over `ApiServer.exchange`, and the few objects that most of these tests need. */
import type { HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";
import { ApiServer, type ApiServerOptions } from "../../src/sandbox/api-server.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";

/** What an answer holds is what the test is about: each looks for itself. */
// biome-ignore lint/suspicious/noExplicitAny: answers are JSON of every shape, and a test that reads wrongly fails
export type Answer = { status: number; body: any };
export type Event = { type: string; object: Answer["body"] };

export interface TestApi {
  readonly api: ApiServer;
  readonly runtime: VirtualRuntime;
  readonly faults: unknown[];
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  patch(path: string, type: string, body: unknown): Promise<Answer>;
  watch(path: string): Promise<TestWatch>;
}

export interface TestWatch {
  readonly status: number;
  /** Everything sent so far; empties the record. */
  take(): Promise<Event[]>;
  isEnded(): boolean;
  abort(): void;
}

export function makeApi(options: Partial<ApiServerOptions> = {}): TestApi {
  const runtime = virtualRuntime();
  const faults: unknown[] = [];
  const api = new ApiServer({ runtime, protectsVolumes: false, onFault: (fault) => faults.push(fault), ...options });
  const send = (request: HttpRequest, signal = new AbortController().signal): Promise<HttpReply> =>
    api.exchange(request, signal);
  const call: TestApi["call"] = async (method, path, body, headers = {}) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const reply = await send({ method, path, headers, ...(body === undefined ? {} : { body: text }) });
    if (typeof reply.body !== "string" && !(reply.body instanceof Uint8Array)) throw new Error("unexpected stream");
    const answer = Buffer.from(reply.body).toString();
    return { status: reply.status, body: answer.startsWith("{") ? JSON.parse(answer) : answer };
  };
  return {
    api,
    runtime,
    faults,
    call,
    get: (path, headers) => call("GET", path, undefined, headers),
    post: (path, body) => call("POST", path, body, { "content-type": "application/json" }),
    patch: (path, type, body) => call("PATCH", path, body, { "content-type": `application/${type}` }),
    watch: async (path) => {
      const controller = new AbortController();
      const reply = await send({ method: "GET", path, headers: {} }, controller.signal);
      return follow(reply, runtime, controller);
    },
  };
}

function follow(reply: HttpReply, runtime: VirtualRuntime, controller: AbortController): TestWatch {
  let lines = "";
  let ended = false;
  const drain = async (): Promise<void> => {
    if (typeof reply.body === "string" || reply.body instanceof Uint8Array) lines = Buffer.from(reply.body).toString();
    else for await (const chunk of reply.body) lines += Buffer.from(chunk).toString();
    ended = true;
  };
  void drain();
  return {
    status: reply.status,
    take: async () => {
      await runtime.settle();
      const events = lines.split("\n").filter((line) => line !== "");
      lines = "";
      return events.map((line) => JSON.parse(line) as Event);
    },
    isEnded: () => ended,
    abort: () => controller.abort(),
  };
}

export const pods = "/api/v1/namespaces/default/pods";
export const volumes = "/api/v1/persistentvolumes";
export const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
export const configMaps = "/api/v1/namespaces/default/configmaps";

export function makePod(name: string, o: { labels?: Record<string, string>; spec?: object; metadata?: object } = {}) {
  return {
    metadata: { name, ...(o.labels ? { labels: o.labels } : {}), ...o.metadata },
    spec: { containers: [{ name: "app", image: "app" }], ...o.spec },
  };
}

export function makeVolume(name: string, o: { spec?: object } = {}) {
  const on = [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["a"] }] }];
  return {
    metadata: { name },
    spec: {
      capacity: { storage: "10Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local",
      local: { path: `/mnt/${name}` },
      nodeAffinity: { required: { nodeSelectorTerms: on } },
      ...o.spec,
    },
  };
}

export function makeClaim(name: string, o: { spec?: object } = {}) {
  const resources = { requests: { storage: "5Gi" } };
  return { metadata: { name }, spec: { accessModes: ["ReadWriteOnce"], resources, ...o.spec } };
}

export const makeMap = (name: string, data: Record<string, string> = {}) => ({ metadata: { name }, data });

/** "TYPE name" of each event: what most watch tests are about. */
export const named = (events: readonly Event[]): string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.reason ?? ""}`);
