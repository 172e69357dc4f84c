/** The shipped Berth over the sandbox's API server, under a virtual clock: what is asked of it, what it believes, what it writes. */
import { defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import { createMetrics, type Metrics } from "../../src/metrics.ts";
import type { Exchange, HttpReply, HttpRequest, Runtime } from "../../src/runtime/runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { type Berth, startBerth } from "../../src/server/berth.ts";
import type { Body } from "../binding/world.ts";
import { Random } from "../oracle/random.ts";
import { Clock, Life, runtimeOf, settled } from "../simulation/clock.ts";
import type { Raw } from "../support/make.ts";
import { nodesDefault, objectsOf, pods, scratch, settledVolume } from "./cluster.ts";
import type { Limits, Request } from "./reader.ts";

export interface Write {
  readonly method: string;
  readonly path: string;
}

export const limits: Limits = { bodyBytesMax: 1 << 20, bindBodyBytesMax: 64 << 10 };

/** Most calls are answered before the event loop turns; a live read takes some turns, and an explanation many. */
const hopsMax = 40;
const turnsMax = 2_000;
const patienceMs = 15_000;

/** One for all worlds: to make one takes longer than a hundred requests. */
const metrics: Metrics = createMetrics();
const noSignal = new AbortController().signal;
const paths: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  Node: "/api/v1/nodes",
  PersistentVolume: "/api/v1/persistentvolumes",
  PersistentVolumeClaim: "/api/v1/namespaces/d/persistentvolumeclaims",
  Pod: "/api/v1/namespaces/d/pods",
  StorageClass: "/apis/storage.k8s.io/v1/storageclasses",
  CSIDriver: "/apis/storage.k8s.io/v1/csidrivers",
  CSINode: "/apis/storage.k8s.io/v1/csinodes",
  CSIStorageCapacity: "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities",
};

/** Puts something in front of Berth: a planted fault. */
export type Plant = (
  ask: (request: Request) => Promise<HttpReply>,
  world: FuzzWorld,
) => (request: Request) => Promise<HttpReply>;

export class FuzzWorld {
  readonly clock = new Clock();
  readonly writes: Write[] = [];
  /** What Berth logged as its own faults. */
  readonly faults: string[] = [];
  /** The longest line that it logged since somebody looked. */
  lineMax = 0;
  /** Pods as the server has them. */
  readonly pods: Body[] = [];
  readonly #api: ApiServer;
  readonly #life = new Life("berth");
  readonly #runtime: Runtime;
  readonly #ask: (request: Request) => Promise<HttpReply>;
  #berth: Berth | undefined;
  #uuids = 0;

  private constructor(plant: Plant | undefined) {
    const uuid = (): string => `00000000-0000-4000-8000-${(++this.#uuids).toString(16).padStart(12, "0")}`;
    const runtime = runtimeOf({ clock: this.clock, life: this.#life, random: new Random(7), uuid });
    this.#runtime = { ...runtime, yield: settled };
    this.#api = new ApiServer({ runtime: this.#runtime, protectsVolumes: false });
    const ask = (request: Request): Promise<HttpReply> => this.#answer(request);
    this.#ask = plant ? plant(ask, this) : ask;
  }

  static async open({
    nodes = nodesDefault,
    plant,
  }: {
    nodes?: number;
    plant?: Plant | undefined;
  } = {}): Promise<FuzzWorld> {
    const world = new FuzzWorld(plant);
    await world.#fill(nodes);
    await world.#start();
    return world;
  }

  get berth(): Berth {
    if (!this.#berth) throw new Error("this world is not open");
    return this.#berth;
  }

  ask(request: Request): Promise<HttpReply> {
    return this.#ask(request);
  }

  /** Lets time pass, and whatever is due happen. */
  async pass(ms: number): Promise<void> {
    const until = this.clock.now + ms;
    await settled();
    for (let at = this.clock.nextAt; at !== undefined && at <= until; at = this.clock.nextAt) {
      this.clock.fire();
      await settled();
    }
    this.clock.passTo(until);
  }

  /** All that Berth has promised and that a call could change, cheap to tell. Holds that are over count no more. */
  quickDigest(exceptPod?: string): string {
    const { state } = this.berth.cluster;
    const { reservations } = state;
    const holds = reservations.holds
      .dump()
      .filter(({ pod, ageMs }) => pod !== exceptPod && ageMs < defaults.holds.ttlMs)
      .map(({ pod, volumes, pools }) => `${pod}=${volumes.join()};${pools.join()}`);
    return `generation ${state.generation}, ${reservations.assumptionCount} assumptions (${reservations.generation}), holds ${holds.sort().join(" ")}`;
  }

  /** Nothing of it goes on. */
  close(): void {
    this.#life.end();
  }

  async #answer({ face, method, path, contentType, body }: Request): Promise<HttpReply> {
    const headers: Record<string, string> = contentType === undefined ? {} : { "content-type": contentType };
    const request: HttpRequest = { method, path, headers, ...(body.length > 0 && { body }) };
    const caller = new AbortController();
    let isAnswered = false;
    const answered = (): void => {
      isAnswered = true;
    };
    const reply = this.berth[face](request, caller.signal);
    reply.then(answered, answered);
    for (let hop = 0; !isAnswered && hop < hopsMax; hop++) await undefined;
    for (let turn = 0; !isAnswered && turn < turnsMax; turn++) await settled();
    // A bind waits for claims that nobody binds here.
    if (!isAnswered) {
      await this.pass(patienceMs);
      caller.abort();
    }
    for (let turn = 0; !isAnswered && turn < turnsMax; turn++) await settled();
    if (!isAnswered) throw new Error("no answer, even after hanging up");
    return reply;
  }

  readonly #exchange: Exchange = (request, signal) => {
    if (request.method !== "GET") this.writes.push({ method: request.method, path: request.path });
    return this.#api.exchange(request, signal);
  };

  async #start(): Promise<void> {
    const write = (line: string): void => {
      this.lineMax = Math.max(this.lineMax, line.length);
      if (line.startsWith('{"level":"error"')) this.faults.push(line);
    };
    this.#berth = await startBerth({
      exchange: this.#exchange,
      runtime: this.#runtime,
      config: { ...defaults, limits: { ...defaults.limits, ...limits } },
      log: createLog({ level: "info", stream: { write }, runtime: this.#runtime }),
      metrics,
      version: "fuzz",
    });
    for (let turns = 0; !this.#berth.cluster.readiness().ready; turns++) {
      if (turns > 1_000) throw new Error("Berth never became ready");
      await this.pass(10);
    }
    await this.pass(100);
  }

  async #fill(nodes: number): Promise<void> {
    await this.#create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "d" } });
    // The Pods first: their uids are the same however many nodes there are.
    for (const object of [...pods, ...objectsOf(nodes)]) {
      const made = await this.#create(object);
      if (object["kind"] === "Pod") this.pods.push(made);
      if (made.metadata.name === "settled" && made.kind === "PersistentVolumeClaim") {
        await this.#create(settledVolume(made.metadata.uid));
      }
    }
    const own = this.pods.find(({ metadata }) => metadata.name === "own");
    const controller = { apiVersion: "v1", kind: "Pod", name: "own", uid: own.metadata.uid, controller: true };
    await this.#create({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "own-scratch", namespace: "d", ownerReferences: [controller] },
      spec: scratch,
    });
  }

  /** As the PV controller does: a volume is free when its status says so. */
  async #showVolume(path: string, status: unknown): Promise<void> {
    const headers = { "content-type": "application/merge-patch+json" };
    const request = { method: "PATCH", path: `${path}/status`, headers, body: JSON.stringify({ status }) };
    const reply = await this.#api.exchange(request, noSignal);
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status}`);
  }

  async #create(object: Raw): Promise<Body> {
    const path = paths[String(object["kind"])] ?? "";
    const { resourceVersion: _, uid: __, ...metadata } = object["metadata"] as Raw;
    const body = JSON.stringify({ ...object, metadata });
    const request = { method: "POST", path, headers: { "content-type": "application/json" }, body };
    const reply = await this.#api.exchange(request, noSignal);
    const made = JSON.parse(Buffer.from(reply.body as Uint8Array).toString());
    if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${made.message}`);
    if (object["kind"] === "PersistentVolume")
      await this.#showVolume(`${path}/${made.metadata.name}`, object["status"]);
    return { kind: object["kind"], ...made };
  }
}
