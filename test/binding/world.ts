/** A cluster in memory with a binder in it: the sandbox's API server, a virtual clock, and faults on the wire by request. */
import { kindInfo, objectPath } from "../../src/apis/kubernetes.ts";
import { Binder } from "../../src/binding/binder.ts";
import type { BindEnding } from "../../src/binding/endings.ts";
import { ApiKubeWriter } from "../../src/binding/kube-writer.ts";
import { type BinderObserver, type BinderOptions, binderTimings } from "../../src/binding/ports.ts";
import { Cluster } from "../../src/cluster/cluster.ts";
import { ApiClient } from "../../src/kube/client.ts";
import { silentLog } from "../../src/runtime/log.ts";
import type { Exchange, HttpReply, HttpRequest, Runtime } from "../../src/runtime/runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import type { Kind } from "../../src/scheduling/objects.ts";
import { ClusterState } from "../../src/scheduling/state.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";
import { makeClass, makeDriver, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";

// biome-ignore lint/suspicious/noExplicitAny: API objects are JSON of every shape, and a test that reads wrongly fails
export type Body = any;

/** What becomes of one request of the binder: undefined lets it pass. */
export type Fault = (request: HttpRequest, pass: () => Promise<HttpReply>) => Promise<HttpReply> | undefined;

const binderOptions: BinderOptions = {
  ...binderTimings,
  bindTimeoutMs: 600_000,
  inProgressMax: 1_000,
  queuedMax: 1_000,
};

export interface Write {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: Body;
  status: number | undefined;
}

/** Berth's own cluster, with watches that can be held back by kind. */
export interface HeldCluster extends Cluster {
  /** From now on changes of the kind wait until `release`. */
  hold(kind: Kind): void;
  release(kind: Kind): void;
}

/** One incarnation of Berth over the server. */
export interface Berth {
  readonly binder: Binder;
  readonly cluster: HeldCluster;
  readonly endings: BindEnding[];
  /** Timers of an idle Berth: its watches' own. */
  readonly idleTimers: number;
  /** From the next turn on nothing of it runs any more, as after a crash. */
  kill(): void;
}

export class World {
  readonly runtime: VirtualRuntime = virtualRuntime();
  readonly server: ApiServer;
  /** Every write of every binder, events left out. */
  readonly writes: Write[] = [];
  readonly events: Body[] = [];
  fault: Fault | undefined;
  berth!: Berth;

  constructor() {
    this.server = new ApiServer({
      runtime: this.runtime,
      protectsVolumes: false,
      podTermination: (_, finish) => finish(),
    });
  }

  async start(options: Partial<BinderOptions> = {}, observer: BinderObserver = {}): Promise<Berth> {
    const life = new AbortController();
    const runtime = mortal(this.runtime, life.signal);
    const holds = new Holds();
    const exchange = holds.over(mortalExchange(this.server.exchange, life.signal));
    const api = new ApiClient({ runtime, exchange: this.#faulty(exchange), userAgent: "berth", timeoutMs: 10_000 });
    const cluster = new Cluster({
      runtime,
      client: api,
      state: new ClusterState({ clock: () => runtime.now() }),
      log: silentLog,
      options: { staleAfterMs: 90_000, liveReadsMax: 32, nodeAnnotations: new Set(), streamsLists: true },
    });
    cluster.start();
    await this.runtime.settle();
    const held = Object.assign(cluster, {
      hold: (kind: Kind) => holds.hold(kind),
      release: (kind: Kind) => holds.release(kind),
    });
    const endings: BindEnding[] = [];
    const quiet = (): void => {};
    const error = (fields: object, message: string): void => {
      throw new Error(`${message}: ${JSON.stringify(fields)}`);
    };
    const binder = new Binder({
      runtime,
      cluster,
      writer: new ApiKubeWriter({ runtime, api, instance: "berth" }),
      log: { debug: quiet, info: quiet, warn: quiet, error },
      observer: {
        ...observer,
        ended: (ending, ms) => {
          endings.push(ending);
          observer.ended?.(ending, ms);
        },
      },
      options: { ...binderOptions, ...options },
    });
    const kill = (): void => {
      life.abort();
      void cluster.stop();
    };
    this.berth = { binder, cluster: held, endings, idleTimers: this.runtime.pending(), kill };
    return this.berth;
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    type = "application/json",
  ): Promise<{ status: number; body: Body }> {
    const headers: Record<string, string> = body === undefined ? {} : { "content-type": type };
    const request = { method, path, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    return readReply(await this.server.exchange(request, new AbortController().signal));
  }

  async create(kind: Kind, raw: Raw): Promise<Body> {
    const { namespaced, path, plural } = kindInfo[kind];
    const metadata = raw["metadata"] as { namespace?: string };
    const to = namespaced ? `${path.slice(0, -plural.length)}namespaces/${metadata.namespace}/${plural}` : path;
    const { uid: _, resourceVersion: __, ...rest } = metadata as Raw;
    const reply = await this.call("POST", to, { ...raw, metadata: rest });
    if (reply.status !== 201) throw new Error(`${kind}: ${JSON.stringify(reply.body)}`);
    const status = raw["status"];
    if (status === undefined || kind === "class") return reply.body;
    const set = await this.call("PATCH", `${objectPathOf(kind, reply.body)}/status`, { status }, mergePatch);
    return set.status === 200 ? set.body : reply.body;
  }

  async get(kind: Kind, key: string): Promise<Body> {
    const reply = await this.call("GET", objectPath(kind, key) ?? "");
    return reply.status === 404 ? undefined : reply.body;
  }

  async patch(kind: Kind, key: string, body: unknown, subresource = ""): Promise<Body> {
    const reply = await this.call("PATCH", `${objectPath(kind, key)}${subresource}`, body, mergePatch);
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
    return reply.body;
  }

  async remove(kind: Kind, key: string): Promise<void> {
    const reply = await this.call("DELETE", objectPath(kind, key) ?? "", { gracePeriodSeconds: 0 });
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  }

  /** Nodes by name, the class "local", and namespace d. */
  async nodes(...names: string[]): Promise<void> {
    if ((await this.call("GET", "/api/v1/namespaces/d")).status === 404) {
      await this.call("POST", "/api/v1/namespaces", { metadata: { name: "d" } });
      await this.create("class", makeClass("local"));
      await this.create("class", makeClass("csi", { provisioner: "csi.example" }));
      await this.create("driver", makeDriver("csi.example"));
    }
    for (const name of names) await this.create("node", makeNode(name));
  }

  pv = (name: string, facts: Parameters<typeof makePV>[1] = {}): Promise<Body> =>
    this.create("volume", makePV(name, facts));
  pvc = (name: string, facts: Parameters<typeof makePVC>[1] = {}): Promise<Body> =>
    this.create("claim", makePVC(name, facts));
  pod = (name: string, claims: readonly string[]): Promise<Body> => this.create("pod", makePod(name, claims));

  /** The commonest beginning: volume a on n1, claim x, Pod p that mounts it, and Berth started. @returns the Pod */
  async oneDisk(options: Partial<BinderOptions> = {}): Promise<Body> {
    await this.pv("a", { on: "n1" });
    await this.pvc("x");
    const pod = await this.pod("p", ["x"]);
    await this.start(options);
    return pod;
  }

  /** Two that want one: volume a on n1, claims x and y, Pods p1 and p2 that mount one each, and Berth started. */
  async rivals(options: Partial<BinderOptions> = {}): Promise<[Body, Body]> {
    await this.pv("a", { on: "n1" });
    await this.pvc("x");
    await this.pvc("y");
    const pods: [Body, Body] = [await this.pod("p1", ["x"]), await this.pod("p2", ["y"])];
    await this.start(options);
    return pods;
  }

  /** Something happens just before the first write to a path that ends so is served. */
  beforeFirstWrite(end: string, act: () => Promise<unknown>): void {
    let isDone = false;
    this.fault = (request, pass) => {
      if (isDone || request.method !== "PATCH" || !request.path.endsWith(end)) return undefined;
      isDone = true;
      return act().then(pass);
    };
  }

  /** Begins a bind; the answer is read from what is returned once time has passed. */
  bind(pod: Body, node: string, berth = this.berth): Bind {
    const caller = new AbortController();
    const { name, namespace, uid } = pod.metadata;
    const bind: Bind = { answer: undefined, hangUp: () => caller.abort() };
    const request = { podName: name, podNamespace: namespace, podUid: uid, node };
    void berth.binder.bind(request, caller.signal).then((answer) => {
      bind.answer = answer.ok ? "ok" : answer.error;
      bind.at = this.runtime.now();
    });
    return bind;
  }

  /** The PV controller's part: binds claims to volumes that name them, as VB §4.5 orders the writes. */
  async controlVolumes(): Promise<void> {
    await this.runtime.settle();
    await this.bindVolumes();
    await this.runtime.settle();
  }

  async bindVolumes(): Promise<void> {
    const { body } = await this.call("GET", "/api/v1/persistentvolumes");
    for (const volume of body.items) await this.#bindVolume(volume);
  }

  async #bindVolume({ metadata: { name }, spec: { claimRef }, status }: Body): Promise<void> {
    if (claimRef?.uid === undefined || status?.phase === "Bound") return;
    const key = `${claimRef.namespace}/${claimRef.name}`;
    const claim = await this.get("claim", key);
    if (claim?.metadata.uid !== claimRef.uid || claim.spec.volumeName !== undefined) return;
    await this.patch("volume", name, { status: { phase: "Bound" } }, "/status");
    await this.patch("claim", key, {
      metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
      spec: { volumeName: name },
    });
    await this.patch("claim", key, { status: { phase: "Bound" } }, "/status");
  }

  /** The provisioner's part: makes volumes for claims that have a selected node. */
  async provision(on?: string): Promise<void> {
    const { body } = await this.call("GET", "/api/v1/persistentvolumeclaims");
    for (const { metadata, spec } of body.items) {
      const node = metadata.annotations?.["volume.kubernetes.io/selected-node"];
      if (node === undefined || spec.volumeName !== undefined) continue;
      const claim = {
        claim: `${metadata.namespace}/${metadata.name}`,
        claimUid: metadata.uid,
        class: spec.storageClassName,
        annotations: { "pv.kubernetes.io/provisioned-by": "csi.example" },
      };
      await this.pv(`pvc-${metadata.name}`, { ...claim, on: on ?? node, phase: "Available" });
    }
    await this.controlVolumes();
  }

  #faulty(exchange: Exchange): Exchange {
    return (request, signal) => {
      // Lists and watches are the reflectors' own matter.
      if (request.method === "GET" && request.path.includes("?")) return exchange(request, signal);
      const isEvent = request.path.includes("/events");
      if (request.method === "GET" || isEvent) {
        if (isEvent && request.method === "POST") this.events.push(JSON.parse(String(request.body)));
        return this.fault?.(request, () => exchange(request, signal)) ?? exchange(request, signal);
      }
      const write: Write = {
        at: this.runtime.now(),
        method: request.method,
        path: request.path,
        contentType: request.headers["content-type"],
        body: JSON.parse(String(request.body)),
        status: undefined,
      };
      this.writes.push(write);
      const pass = async (): Promise<HttpReply> => {
        const reply = await exchange(request, signal);
        write.status = reply.status;
        return reply;
      };
      return abortable(this.fault?.(request, pass) ?? pass(), signal);
    };
  }
}

export interface Bind {
  answer: string | undefined;
  at?: number;
  hangUp(): void;
}

const mergePatch = "application/merge-patch+json";

function objectPathOf(kind: Kind, { metadata }: Body): string {
  return objectPath(kind, metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name) ?? "";
}

async function readReply({ status, body }: HttpReply): Promise<{ status: number; body: Body }> {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw new Error("unexpected stream");
  return { status, body: JSON.parse(Buffer.from(body as string).toString()) };
}

export function reply(
  status: number,
  body: Body = { kind: "Status", message: `made up ${status}` },
  headers = {},
): HttpReply {
  return { status, headers, body: JSON.stringify(body) };
}

function abortable(answer: Promise<HttpReply>, signal: AbortSignal): Promise<HttpReply> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    answer.then(resolve, reject);
  });
}

const never = new Promise<never>(() => {});

/** A runtime whose promises never resolve once its process is dead. */
function mortal(runtime: Runtime, death: AbortSignal): Runtime {
  return {
    ...runtime,
    sleep: async (ms, signal) => {
      await runtime.sleep(ms, signal);
      if (death.aborted) await never;
    },
    timer: (ms, then) => runtime.timer(ms, () => (death.aborted ? undefined : then())),
  };
}

function mortalExchange(exchange: Exchange, death: AbortSignal): Exchange {
  return async (request, signal) => {
    if (death.aborted) return never;
    const answer = await exchange(request, signal);
    return death.aborted ? never : answer;
  };
}

/** Holds back what watches deliver, by kind. */
class Holds {
  readonly #held = new Map<string, { released: Promise<void>; release: () => void }>();

  hold(kind: Kind): void {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#held.set(kindInfo[kind].path, { released, release });
  }

  release(kind: Kind): void {
    const { path } = kindInfo[kind];
    this.#held.get(path)?.release();
    this.#held.delete(path);
  }

  over(exchange: Exchange): Exchange {
    return async (request, signal) => {
      const answer = await exchange(request, signal);
      const { body } = answer;
      if (typeof body === "string" || body instanceof Uint8Array) return answer;
      return { ...answer, body: this.#delayed(body, request.path.split("?")[0] ?? "") };
    };
  }

  async *#delayed(chunks: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      await this.#held.get(path)?.released;
      yield chunk;
    }
  }
}
