/** A Berth as a process that is started, stopped and killed: each incarnation has a life of its own and finds nothing but the API. */
import { type Config, defaults } from "../../src/config.ts";
import type { Log } from "../../src/log.ts";
import { createMetrics } from "../../src/metrics.ts";
import type { Exchange, HttpReply, HttpRequest, Runtime } from "../../src/runtime/runtime.ts";
import { type Berth, type BerthOptions, startBerth } from "../../src/server/berth.ts";
import { Random } from "../oracle/random.ts";
import { type Clock, Life, runtimeOf } from "./clock.ts";
import type { Network } from "./network.ts";
import type { Server } from "./server.ts";
import type { Trace } from "./trace.ts";
import { hashOf } from "./weather.ts";

/** One for all incarnations of all runs: nobody reads it, and to make one takes longer than a hundred steps. */
const metrics = createMetrics();

export interface ReplicaOptions {
  readonly name: string;
  readonly seed: number;
  readonly clock: Clock;
  readonly network: Network;
  readonly server: Server;
  readonly trace: Trace;
  readonly config: Partial<Config>;
  readonly isElected: boolean;
  readonly delayMaxMs: number;
  readonly rarity: number;
  readonly uuid: () => string;
  /** Told when an incarnation logs an error: a fault of Berth's own. */
  readonly onFault: (text: string) => void;
  /** Told of each request at the moment in which it is sent. */
  readonly onSend: (replica: Replica, request: HttpRequest) => void;
  /** Told of each call at the moment in which it arrives. */
  readonly onCall: (life: Life, request: HttpRequest) => void;
  /** Told when it is answered. */
  readonly onAnswer: (life: Life, request: HttpRequest) => void;
  /** Changes what an incarnation is made of; for planted bugs. */
  readonly adapt?: ((options: BerthOptions, life: Life) => BerthOptions) | undefined;
  /** Called with each new incarnation. */
  readonly onStart?: ((berth: Berth, replica: Replica) => void) | undefined;
}

export class Replica {
  readonly options: ReplicaOptions;
  life: Life;
  berth: Berth | undefined;
  /** How often it was started. */
  incarnation = 0;
  /** A wall clock that jumped is not set right by a restart. */
  skewMs = 0;
  #stopping = false;

  constructor(options: ReplicaOptions) {
    this.options = options;
    this.life = new Life(options.name);
  }

  get name(): string {
    return this.options.name;
  }

  get isUp(): boolean {
    return this.berth !== undefined;
  }

  get isStopping(): boolean {
    return this.#stopping;
  }

  start(): void {
    if (this.berth) return;
    const { name, seed, clock, trace, uuid } = this.options;
    this.incarnation++;
    this.life = new Life(`${name}#${this.incarnation}`);
    this.life.skewMs = this.skewMs;
    this.#stopping = false;
    const random = new Random(seed ^ hashOf(this.life.name));
    const runtime = runtimeOf({ clock, life: this.life, random, uuid });
    trace.add("berth", () => `${name} starts`);
    const { life } = this;
    const made = this.#berthOptions(runtime);
    void startBerth(this.options.adapt?.(made, life) ?? made).then((berth) => {
      if (life.isOver) return;
      this.berth = berth;
      this.options.onStart?.(berth, this);
    });
  }

  /** From this very touch on nothing of it goes on. */
  crash(why: string): void {
    if (!this.berth) return;
    this.options.trace.add("berth", () => `${this.name} crashes: ${why}`);
    this.berth = undefined;
    this.life.end();
  }

  /** Dies at its `touches`-th touch of the world from now on. */
  crashAfter(touches: number): void {
    this.life.fuse = { left: touches, burnt: () => this.crash("in the middle of it") };
  }

  stop(): void {
    const { berth, life } = this;
    if (!berth || this.#stopping) return;
    this.#stopping = true;
    this.options.trace.add("berth", () => `${this.name} stops`);
    void berth.stop().then(() => {
      if (this.life === life && !life.isOver) this.crash("stopped");
    });
  }

  jump(ms: number): void {
    this.skewMs += ms;
    this.life.skewMs = this.skewMs;
  }

  /** As its listener answers. Rejects as a connection to a process that is gone does. */
  readonly serve: Exchange = (request, signal) => {
    const { berth, life } = this;
    if (!berth) return Promise.reject(new Error("ECONNREFUSED"));
    this.options.onCall(life, request);
    return new Promise<HttpReply>((resolve, reject) => {
      const reset = (): void => reject(new Error("ECONNRESET"));
      life.over.addEventListener("abort", reset, { once: true });
      berth.extender(request, signal).then(
        (reply) => {
          life.over.removeEventListener("abort", reset);
          this.options.onAnswer(life, request);
          if (life.touch()) resolve(reply);
          else reset();
        },
        (fault: unknown) => reject(fault),
      );
    });
  };

  #berthOptions(runtime: Runtime): BerthOptions {
    const { name, network, server, config, isElected, delayMaxMs, rarity, onSend } = this.options;
    const { life } = this;
    const wire = { from: name, to: "api", life, delayMaxMs, rarity, serve: server.exchangeFor(name) } as const;
    const lease = network.connect({ ...wire, from: `${name}/lease` });
    const election = {
      exchange: lease,
      identity: life.name,
      cutWrites: () => network.cutWrites(name),
    };
    const exchange = network.connect(wire);
    return {
      exchange: (request, signal) => {
        if (!life.isOver) onSend(this, request);
        return exchange(request, signal);
      },
      runtime,
      config: { ...defaults, ...config },
      log: this.#log(),
      metrics,
      version: "simulation",
      ...(isElected && { election }),
    };
  }

  #log(): Log {
    const { life } = this;
    const { trace, onFault, name } = this.options;
    const tell = (fields: object, message: string): void => {
      if (life.isOver) return;
      const { err, error, pod, node, outcome, reason } = fields as Record<string, unknown>;
      const facts = [pod, node, outcome, reason, error, err].filter((fact) => fact !== undefined);
      trace.add("berth", () => `${name} ${message} ${facts.join(" ")}`);
    };
    return {
      debug: () => {},
      info: tell,
      warn: tell,
      error: (fields, message) => {
        tell(fields, message);
        const { err } = fields as { err?: unknown };
        if (!life.isOver) onFault(`${name}: ${message}: ${err instanceof Error ? err.stack : String(err)}`);
      },
      isDebug: false,
    };
  }
}
