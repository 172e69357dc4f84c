/** The whole server over a cluster written by hand: only the API's answers and the binder are stand-ins. */
import type { PodList } from "../../src/cluster/pod-lists.ts";
import { type Config, defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import { createMetrics } from "../../src/metrics.ts";
import type { Exchange, HttpReply } from "../../src/runtime/runtime.ts";
import { untraced } from "../../src/runtime/tracing.ts";
import { className, type NodeName, type PodUid } from "../../src/scheduling/names.ts";
import { type Kind, kinds } from "../../src/scheduling/objects.ts";
import { CycleMemory } from "../../src/server/memory.ts";
import type { BindOutcome, BindRequest, LiveOutcome, Parts, Readiness } from "../../src/server/parts.ts";
import { createServer } from "../../src/server/server.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";
import type { Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

export interface Reply {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: replies are compared whole
  readonly json: any;
}

export class TestServer {
  readonly runtime: VirtualRuntime = virtualRuntime();
  readonly world: World;
  readonly lines: Record<string, unknown>[] = [];
  readonly binds: BindRequest[] = [];
  readonly filtersSeen: string[] = [];
  readonly refused: string[] = [];
  readonly liveReads: string[] = [];
  readonly metrics = createMetrics();
  readonly memory: CycleMemory;
  readonly parts: Parts;
  readonly calls;
  readonly #server;
  readonly running = new Map<PodUid, NodeName>();
  readiness: Readiness = { ready: true };
  live: (kind: Kind, key: string, signal: AbortSignal) => Promise<LiveOutcome> = async () => ({ found: false });
  podsOn: (node: string) => PodList = () => ({ ok: true, pods: [], isWhole: true });
  podNamed: (namespace: string, name: string) => PodList = () => ({ ok: true, pods: [], isWhole: true });
  bind: (request: BindRequest, signal: AbortSignal) => Promise<BindOutcome> = async () => ({ ok: true });

  constructor(config: Partial<Config> = {}) {
    const stream = { write: (line: string) => void this.lines.push(JSON.parse(line)) };
    const { scoring = defaults.scoring, classes = [] } = config;
    const capacitySources = new Map(
      classes.flatMap(({ name, capacity }) => (capacity ? [[className(name), capacity] as const] : [])),
    );
    this.world = new World({ clock: () => this.runtime.now(), scoring, capacitySources });
    this.memory = new CycleMemory(this.runtime);
    this.parts = {
      cluster: {
        state: this.world.state,
        readiness: () => this.readiness,
        ages: () => Object.fromEntries(kinds.map((kind) => [kind, 1_500])) as Record<Kind, number>,
        live: (kind, key, signal) => {
          this.liveReads.push(`${kind} ${key}`);
          return this.live(kind, key, signal);
        },
      },
      waker: {
        asked: () => {},
        refused: (pod) => void this.refused.push(pod.uid),
        answered: () => {},
        waiting: () => this.refused.length,
      },
      binder: {
        bind: (request, signal) => {
          this.binds.push(request);
          return this.bind(request, signal);
        },
        filterSeen: (uid) => void this.filtersSeen.push(uid),
        runningOn: (uid) => this.running.get(uid),
        inProgress: () => [],
        drain: async () => {},
      },
      leadership: { readiness: () => ({ ready: true }), describe: () => ({ mode: "alone" }) },
      memory: this.memory,
      reviewer: {
        token: async () => ({ kind: "failed", why: "nobody is asked here" }),
        access: async () => ({ kind: "failed", why: "nobody is asked here" }),
      },
      pods: {
        onNode: async (node) => this.podsOn(node),
        named: async (namespace, name) => this.podNamed(namespace, name),
      },
      config: { ...defaults, ...config },
      metrics: this.metrics,
      log: createLog({ level: config.logLevel ?? "info", stream, runtime: this.runtime }),
      tracing: untraced,
      runtime: this.runtime,
    };
    this.#server = createServer(this.parts);
    this.calls = this.#server.calls;
  }

  /** What the debug listener serves. */
  get debug(): Exchange {
    return this.#server.debug;
  }

  add(...objects: Raw[]): this {
    this.world.add(...objects);
    return this;
  }

  /** POSTs to the extender listener; an object is sent as JSON. */
  async post(path: string, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Reply> {
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const all = { "content-type": "application/json", ...headers };
    const request = { method: "POST", path, headers: all, ...(bytes.length > 0 && { body: bytes }) };
    return read(await this.#server.extender(request, signal ?? new AbortController().signal));
  }

  async get(
    path: string,
    headers: Record<string, string> = {},
    listener: "debug" | "extender" = "debug",
    signal = new AbortController().signal,
  ): Promise<Reply> {
    const request = { method: "GET", path, headers };
    return read(await this.#server[listener](request, signal));
  }

  async postDebug(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const request = { method: "POST", path, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
    return read(await this.#server.debug(request, new AbortController().signal));
  }

  /** The value of a metric, labels written as in Prometheus; undefined while it has none. */
  async metric(name: string): Promise<number | undefined> {
    const { text } = await this.get("/metrics");
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  }
}

function read({ status, body }: HttpReply): Reply {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw new Error("a stream");
  const text = Buffer.from(body as string).toString();
  try {
    return { status, text, json: JSON.parse(text) };
  } catch {
    return { status, text, json: undefined };
  }
}

/** ExtenderArgs as Go writes it: every field, null where empty. */
export function extenderArgs(pod: Raw | null, names: readonly string[] | null, nodes: readonly Raw[] | null = null) {
  return { Pod: pod, Nodes: nodes && { metadata: {}, items: nodes }, NodeNames: names };
}
