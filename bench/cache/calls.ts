/** Filter calls at a steady rate, each for another Pod and with the names of all nodes, as kube-scheduler asks when all are scored. */
import http from "node:http";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { nodeNameOf, podObject } from "./objects.ts";
import { claimsPerPod, type Size } from "./size.ts";

/** Pods asked about in turn: as many as a queue of a scheduler in trouble. */
const podsAsked = 200;

export class Calls {
  readonly #size: Size;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  readonly #port: number;
  readonly #bodies: readonly Buffer[];
  #next = 0;

  constructor(size: Size, port: number) {
    this.#size = size;
    this.#port = port;
    const names = JSON.stringify(Array.from({ length: size.nodes }, (_, index) => nodeNameOf(index)));
    const pods = Math.min(podsAsked, size.pods);
    this.#bodies = Array.from({ length: pods }, (_, pod) =>
      Buffer.from(`{"Pod":${JSON.stringify(podObject(pod, claimsPerPod, ""))},"NodeNames":${names}}`),
    );
  }

  /** One call. @throws Error unless all nodes are feasible */
  async call(): Promise<number> {
    const body = this.#bodies[this.#next++ % this.#bodies.length] ?? Buffer.alloc(0);
    const begun = performance.now();
    const reply = await this.#post(body);
    const ms = performance.now() - begun;
    const { NodeNames: names, Error: error } = JSON.parse(reply) as { NodeNames?: unknown[] | null; Error?: string };
    if (error || names?.length !== this.#size.nodes) {
      throw new Error(`filter answered ${error || `${names?.length} of ${this.#size.nodes} nodes`}`);
    }
    return ms;
  }

  /** Milliseconds of each call, whose times do not depend on how long those before them took. */
  async steadily(seconds: number): Promise<number[]> {
    const { callsPerSecond } = this.#size;
    const begun = performance.now();
    const calls: Promise<number>[] = [];
    for (let index = 0; index < seconds * callsPerSecond; index++) {
      await runtime.sleep(Math.max(0, begun + (index * 1_000) / callsPerSecond - performance.now()));
      const call = this.call();
      // Whoever awaits all of them hears of it.
      call.catch(() => {});
      calls.push(call);
    }
    return Promise.all(calls);
  }

  close(): void {
    this.#agent.destroy();
  }

  #post(body: Buffer): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const headers = { "content-type": "application/json", "content-length": body.length };
    const where = { host: "127.0.0.1", port: this.#port, path: "/v1/filter", method: "POST" };
    const request = http.request({ ...where, headers, agent: this.#agent }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk: Buffer) => chunks.push(chunk));
      reply.on("end", () => resolve(Buffer.concat(chunks).toString()));
      reply.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
    return promise;
  }
}
