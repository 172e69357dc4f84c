/** A Berth and a cluster under one clock that costs no time, and the hand that changes things in it. */
import { defaults } from "../../src/config.ts";
import { silentLog } from "../../src/runtime/log.ts";
import type { Exchange, HttpReply, Runtime } from "../../src/runtime/runtime.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { type Berth, type BerthOptions, startBerth } from "../../src/server/berth.ts";
import type { Body } from "../../test/binding/world.ts";
import { Random } from "../../test/oracle/random.ts";
import { Clock, Life, runtimeOf, settled } from "../../test/simulation/clock.ts";
import {
  claimNamed,
  classes,
  driver,
  namespace,
  nodeNamed,
  podNamed,
  root,
  volumeNamed,
} from "../../test/simulation/cluster.ts";
import type { ClaimSpec } from "../../test/simulation/plan.ts";

export interface WorldOptions {
  readonly nodes: number;
  readonly disksPerNode: number;
  readonly seed: number;
  /** Changes what Berth is made of; for planted leaks. */
  readonly adapt?: ((options: BerthOptions) => BerthOptions) | undefined;
}

const never = new AbortController().signal;
const poolGi = 100;
/** Promises that nothing but microtasks stand in the way of are settled after so many. */
const microtasks = 50;
/** Kept for watches that start over; the rest is no leak, but takes long to fill. */
const historyMax = 200;

export class World {
  readonly random: Random;
  readonly clock = new Clock();
  readonly sandbox: Sandbox;
  readonly names: readonly string[];
  berth!: Berth;
  /** Errors in Berth's log: faults of its own. */
  readonly faults: string[] = [];
  readonly #options: WorldOptions;
  #timers = 0;
  #uuids = 0;

  constructor(options: WorldOptions) {
    const { nodes, disksPerNode, seed } = options;
    this.#options = options;
    this.random = new Random(seed);
    this.names = Array.from({ length: nodes }, (_, at) => `node-${String(at).padStart(3, "0")}`);
    this.sandbox = new Sandbox({
      runtime: this.#runtime("sandbox", seed),
      scheduler: false,
      controllers: { "statefulset-controller": false },
      server: { historyMax },
      wrap: (_who, exchange) => withoutEvents(exchange),
      drivers: [
        {
          name: driver,
          capacity: Object.fromEntries(this.names.map((name) => [name, `${poolGi}Gi`])),
          createMs: 100,
          onCreate: () => (this.random.once(10) ? { code: "ResourceExhausted" } : undefined),
        },
      ],
      disks: this.names.flatMap((node) =>
        Array.from({ length: disksPerNode }, (_, disk) => ({
          name: `${node}-d${disk}`,
          node,
          class: "local",
          capacity: `${10 * (disk + 1)}Gi`,
          cleanMs: 500,
        })),
      ),
    });
  }

  /** Timers of Berth that have not fired. */
  get timers(): number {
    return this.#timers;
  }

  async open(): Promise<void> {
    await this.write("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    for (const storageClass of classes) await this.write("POST", root.storageclasses, storageClass);
    for (const name of this.names) await this.addNode(name);
    for (const at of [0, 1])
      await this.write("POST", root.persistentvolumes, volumeNamed(`shared-${at}`, `z${at}`, 10));
    const log = {
      ...silentLog,
      isDebug: false,
      error: (fields: object, message: string) => void this.faults.push(`${message} ${JSON.stringify(fields)}`),
    };
    const made: BerthOptions = {
      exchange: withoutEvents(this.sandbox.api.exchange),
      runtime: this.#counted(this.#runtime("berth", this.#options.seed + 1)),
      config: defaults,
      log,
      version: "soak",
    };
    this.berth = await startBerth(this.#options.adapt?.(made) ?? made);
    await this.pass(5_000);
  }

  /** Fires every event of so much time. */
  async pass(ms: number): Promise<void> {
    const until = this.clock.now + ms;
    await settled();
    for (let at = this.clock.nextAt; at !== undefined && at <= until; at = this.clock.nextAt) {
      this.clock.fire();
      await settled();
    }
    this.clock.passTo(until);
  }

  /** Lets as much time pass as the answer takes, which mostly is none. */
  async answer<T>(asked: Promise<T>): Promise<T> {
    let isDone = false;
    const done = asked.finally(() => {
      isDone = true;
    });
    for (let turn = 0; turn < microtasks && !isDone; turn++) await undefined;
    for (let events = 0; !isDone; events++) {
      if (events > 100_000) throw new Error("a call that is never answered");
      await settled();
      if (!isDone) this.clock.fire();
    }
    return done;
  }

  /** A call of kube-scheduler, as text. */
  async call(verb: string, args: unknown, signal: AbortSignal = never): Promise<{ status: number; text: string }> {
    const request = {
      method: "POST",
      path: `/v1/${verb}`,
      headers: { "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(args)),
    };
    const { status, body } = await this.berth.extender(request, signal);
    return { status, text: textOf(body) };
  }

  async write(method: string, path: string, body?: unknown): Promise<Body> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const headers: Record<string, string> = body === undefined ? {} : { "content-type": type };
    const request = { method, path, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const reply = await this.answer(this.sandbox.api.exchange(request, never));
    return JSON.parse(textOf(reply.body));
  }

  addNode(name: string): Promise<Body> {
    return this.write("POST", root.nodes, nodeNamed(name, `z${this.names.indexOf(name) % 2}`));
  }

  async addPod(
    name: string,
    claims: readonly ClaimSpec[],
    ephemeral: readonly ClaimSpec[],
    missing: boolean,
  ): Promise<Body> {
    const named = claims.map((_, at) => `${name}-${at}`);
    for (const [at, wish] of claims.entries()) {
      await this.write("POST", root.persistentvolumeclaims, claimNamed(named[at] ?? "", wish));
    }
    return this.write("POST", root.pods, podNamed(name, missing ? ["nowhere"] : named, ephemeral));
  }

  async removePod(name: string): Promise<void> {
    await this.write("DELETE", `${root.pods}/${name}`, { gracePeriodSeconds: 0 });
    for (const at of [0, 1]) await this.write("DELETE", `${root.persistentvolumeclaims}/${name}-${at}`);
  }

  /** What `/debug/state` says. */
  async state(): Promise<Body> {
    const reply = await this.berth.debug({ method: "GET", path: "/debug/state", headers: {} }, never);
    return JSON.parse(textOf(reply.body));
  }

  #runtime(name: string, seed: number): Runtime {
    const uuid = (): string => `00000000-0000-4000-8000-${(++this.#uuids).toString(16).padStart(12, "0")}`;
    return runtimeOf({ clock: this.clock, life: new Life(name), random: new Random(seed), uuid });
  }

  #counted(runtime: Runtime): Runtime {
    return {
      ...runtime,
      timer: (ms, then) => {
        let isPending = true;
        const end = (): void => {
          if (isPending) this.#timers--;
          isPending = false;
        };
        this.#timers++;
        const timer = runtime.timer(ms, () => {
          end();
          then();
        });
        return {
          cancel: () => {
            end();
            timer.cancel();
          },
        };
      },
      sleep: async (ms, signal) => {
        this.#timers++;
        await runtime.sleep(ms, signal);
        this.#timers--;
      },
    };
  }
}

/** Events live for an hour in a real API; here nobody takes them away. */
function withoutEvents(exchange: Exchange): Exchange {
  return async (request, signal) =>
    request.method !== "GET" && request.path.includes("/events")
      ? { status: 201, headers: {}, body: "{}" }
      : exchange(request, signal);
}

export function textOf(body: HttpReply["body"]): string {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  throw new Error("a stream");
}
