/** Several Berths over one API server, each a process of its own, and a kube-scheduler that asks whoever is ready. */
import { type Config, defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import { createMetrics } from "../../src/metrics.ts";
import type { Exchange, HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";
import { type Berth, startBerth } from "../../src/server/berth.ts";
import type { Body } from "../binding/world.ts";
import { World } from "../binding/world.ts";
import { type Fault, Process } from "./process.ts";

export interface Replica {
  readonly name: string;
  readonly process: Process;
  readonly berth: Berth;
  readonly lines: Body[];
}

export interface VolumeWrite {
  readonly by: string;
  readonly at: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: Body;
}

const election = defaults.leaderElection;

/** The server, its objects, and what each replica writes to volumes and claims. */
export class Berths extends World {
  readonly replicas: Replica[] = [];
  readonly volumeWrites: VolumeWrite[] = [];

  /** @param between  what its calls to the API go through */
  async add(
    name: string,
    mode: Config["leaderElection"]["mode"] = "answers",
    fault?: Fault,
    between: (exchange: Exchange) => Exchange = (exchange) => exchange,
  ): Promise<Replica> {
    const process = new Process(this.runtime, this.#noting(name, between(this.server.exchange)));
    process.fault = fault;
    const { runtime } = process;
    const lines: Body[] = [];
    const log = createLog({ level: "info", stream: { write: (line) => void lines.push(JSON.parse(line)) }, runtime });
    const berth = await startBerth({
      exchange: process.exchange,
      runtime,
      config: { ...defaults, leaderElection: { ...election, mode } },
      log,
      version: "test",
      metrics: createMetrics(),
      election: { exchange: process.exchange, identity: name, cutWrites: () => process.cutWrites() },
    });
    const replica = { name, process, berth, lines };
    this.replicas.push(replica);
    return replica;
  }

  /** What a caller of the replica gets; a call to one that is gone or cut off never ends. */
  async ask(
    { process, berth }: Replica,
    method: "GET" | "POST",
    path: string,
    body?: unknown,
    signal = new AbortController().signal,
  ): Promise<Reply> {
    const handler: Exchange = path.startsWith("/v1") || path === "/readyz" ? berth.extender : berth.debug;
    const request = { method, path, headers: {}, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const reply: HttpReply = await process.reach(() => handler(request, signal));
    const text = Buffer.from(reply.body as string).toString();
    return {
      status: reply.status,
      headers: reply.headers,
      text,
      json: /^[[{]/.test(text) ? JSON.parse(text) : undefined,
    };
  }

  /** Those that a Service would send calls to: alive, not standing still, and ready. */
  async ready(): Promise<Replica[]> {
    const found: Replica[] = [];
    for (const replica of this.replicas) {
      if (replica.process.isDead || replica.process.isPaused) continue;
      if ((await this.ask(replica, "GET", "/readyz")).status === 200) found.push(replica);
    }
    return found;
  }

  filter(replica: Replica, pod: Body, nodes: readonly string[]): Promise<Reply> {
    return this.ask(replica, "POST", "/v1/filter", { Pod: pod, Nodes: null, NodeNames: nodes });
  }

  askToBind(
    replica: Replica,
    { metadata: { name, namespace, uid } }: Body,
    node: string,
    signal?: AbortSignal,
  ): Promise<Reply> {
    const body = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node };
    return this.ask(replica, "POST", "/v1/bind", body, signal);
  }

  async lease(): Promise<Body> {
    return (await this.call("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth")).body;
  }

  /** Writes of two replicas that came closer together than the time for which the new leader waits. */
  overlaps(): string[] {
    const gapMs = 2_000;
    return this.volumeWrites.flatMap((write, index) => {
      const before = this.volumeWrites[index - 1];
      const isClose = before && before.by !== write.by && write.at - before.at < gapMs;
      return isClose ? [`${before.by} wrote at ${before.at}, ${write.by} at ${write.at}`] : [];
    });
  }

  #noting(by: string, exchange: Exchange): Exchange {
    const isVolumeWrite = ({ method, path }: HttpRequest): boolean =>
      method === "PATCH" && /\/persistentvolume(claim)?s\//.test(path);
    return (request, signal) => {
      if (isVolumeWrite(request)) this.volumeWrites.push({ by, at: this.runtime.now() });
      return exchange(request, signal);
    };
  }
}
