/**
 * A whole cluster under one clock: the sandbox's API server, controllers, provisioner, disks and scheduler; one Berth or two, each
 * the shipped code; and the wires between them.
 */
import { defaults } from "../../src/config.ts";
import type { Exchange, HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { CycleRecord } from "../../src/sandbox/scheduler/scheduler.ts";
import { Random } from "../oracle/random.ts";
import { Clock, Life, runtimeOf, settled } from "./clock.ts";
import { classes, driver, namespace, nodeNamed, root, volumeNamed } from "./cluster.ts";
import { Judge } from "./judge.ts";
import { Network } from "./network.ts";
import { Operator } from "./operator.ts";
import type { Plan } from "./plan.ts";
import type { Plant } from "./plants.ts";
import { Replica } from "./replica.ts";
import { Server } from "./server.ts";
import { isReady, Service } from "./service.ts";
import { Stats } from "./stats.ts";
import { Trace, type TraceForm } from "./trace.ts";
import { Trigger } from "./trigger.ts";
import { Weather } from "./weather.ts";

/** Between two Berths a message is no longer on its way than a leader's last write may be (decision 22). */
const delayOfPairMaxMs = 900;
const delayMaxMs = 12_000;
/** A connection that is dead is noticed by client-go's pings. */
const deadAfterMs = 45_000;
const writesAtOnceMax = 100;

export interface WorldOptions {
  /** "hash" unless given. */
  readonly trace?: TraceForm;
  readonly plant?: Plant | undefined;
}

export class World {
  readonly plan: Plan;
  readonly plant: Plant | undefined;
  readonly clock = new Clock();
  readonly trace: Trace;
  readonly weather: Weather;
  readonly network: Network;
  readonly sandbox: Sandbox;
  readonly server: Server;
  readonly replicas: readonly Replica[];
  readonly operator: Operator;
  readonly judge: Judge;
  readonly trigger: Trigger;
  readonly stats = new Stats();
  readonly #service: Service;
  /** The scheduler's last bind call of each Pod, by uid, until it is over for the scheduler. */
  readonly #asking = new Map<string, HttpRequest>();
  #uuids = 0;

  constructor(plan: Plan, { trace = "hash", plant }: WorldOptions = {}) {
    const { seed, faults, berths } = plan;
    this.plan = plan;
    this.plant = plant;
    this.trace = new Trace(this.clock, trace);
    this.weather = new Weather({ seed, enabled: new Set(faults) });
    this.network = new Network(this);
    const random = new Random(seed ^ 0x5a17);
    const runtime = runtimeOf({ clock: this.clock, life: new Life("sandbox"), random, uuid: this.#uuid });
    const dice = new Random(seed ^ 0xd21e);
    // The server is made by the sandbox, whose clients reach it through this one.
    let server: Server | undefined;
    this.sandbox = new Sandbox({
      runtime,
      scheduler: false,
      controllers: { "statefulset-controller": false },
      wrap: (who, exchange) => {
        server ??= new Server(exchange);
        return this.#wireOf(who, server);
      },
      server: {
        podTermination: ({ namespace, name, graceSeconds }, finish) =>
          void this.clock.timer(Math.min(graceSeconds * 1000, 1_000), () => {
            finish();
            void this.server.look("pods", `${namespace}/${name}`);
          }),
        onFault: (fault) => this.judge.find("a server without faults", String((fault as Error).stack ?? fault)),
      },
      drivers: [
        {
          name: driver,
          capacity: Object.fromEntries(plan.pools.map((gi, at) => [nameOf(at), `${gi}Gi`])),
          createMs: 200,
          onCreate: ({ claim, segment }) => {
            this.judge.pools.creating(claim, segment);
            if (this.weather.isCalm || !dice.once(plan.createRarity)) return undefined;
            this.stats.createFaults++;
            return dice.pick([
              { code: "ResourceExhausted" },
              { code: "Internal" },
              { inProgressMs: 2_000 },
              { delayMs: 5_000 },
            ]);
          },
        },
      ],
      disks: plan.disks.flatMap((sizes, at) =>
        sizes.map((gi, disk) => ({
          name: `${nameOf(at)}-d${disk}`,
          node: nameOf(at),
          class: "local",
          capacity: `${gi}Gi`,
          cleanMs: 500,
        })),
      ),
    });
    if (!server) throw new Error("the sandbox has no clients");
    this.server = server;
    this.operator = new Operator(this);
    this.judge = new Judge(this);
    this.trigger = new Trigger(this);
    this.replicas = Array.from({ length: berths }, (_, at) => this.#replica(`berth-${at + 1}`));
    this.#service = new Service(this.replicas, new Random(seed ^ 0x5e7c));
  }

  /** The cluster as it is before anything happens to it. */
  async open(): Promise<void> {
    this.operator.create("/api/v1/namespaces", { metadata: { name: namespace } });
    for (const storageClass of classes) this.operator.create(root.storageclasses, storageClass);
    for (let at = 0; at < this.plan.nodes; at++) this.operator.create(root.nodes, nodeNamed(nameOf(at), `z${at % 2}`));
    for (const [at, gi] of [10, 20].entries()) {
      this.operator.create(root.persistentvolumes, volumeNamed(`shared-${at}`, `z${at}`, gi));
    }
    for (const replica of this.replicas) replica.start();
    this.startScheduler();
    await this.pass(this.replicas.length > 1 ? 12_000 : 1_500);
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

  /** Those that would answer for a Pod with claims. */
  async whoIsAsked(): Promise<Replica[]> {
    const ready: Replica[] = [];
    for (const replica of this.replicas) if (await isReady(replica)) ready.push(replica);
    return ready;
  }

  startScheduler(): void {
    const wired = this.network.connect({
      from: "scheduler",
      to: "extender",
      life: new Life("scheduler"),
      delayMaxMs,
      rarity: this.plan.rarity * 3,
      serve: this.judge.calls.watching(this.#service.exchange),
    });
    const exchange: Exchange = (request, signal) => {
      if (!request.path.endsWith("/bind")) return wired(request, signal);
      this.trigger.asks(request);
      const { PodUID: uid } = JSON.parse(String(request.body));
      this.#asking.set(uid, request);
      return wired(request, signal).finally(() => {
        if (this.#asking.get(uid) === request) this.#asking.delete(uid);
      });
    };
    const entry = { exchange, urlPrefix: "http://berth/v1", nodeCacheCapable: true };
    this.sandbox.startScheduler(
      [
        { ...entry, filterVerb: "filter", prioritizeVerb: "prioritize", preemptVerb: "preempt", weight: 5 },
        { ...entry, bindVerb: "bind", httpTimeoutMs: this.plan.bindTimeoutMs + 10_000 },
      ],
      { onCycle: (record) => this.#onCycle(record) },
    );
  }

  /** Whether the scheduler waits for the Pod's bind, and no Berth knows of that. */
  isLost(uid: string): boolean {
    return this.#asking.has(uid) && !this.replicas.some(({ life }) => this.judge.calls.isWaitedFor(life, uid));
  }

  later(ms: number, then: () => void): void {
    this.clock.timer(ms, then);
  }

  /** Brings the Berth back some time after it has gone. */
  startLater(replica: Replica, ms: number): void {
    const look = (): void => {
      if (replica.isUp) this.later(1_000, look);
      else replica.start();
    };
    this.later(ms + 1, look);
  }

  readonly #uuid = (): string => `00000000-0000-4000-8000-${(++this.#uuids).toString(16).padStart(12, "0")}`;

  #onCycle({ pod, outcome, node, message }: CycleRecord): void {
    this.trace.add("sched", () => `${pod} ${outcome} ${node ?? ""} ${message ?? ""}`);
    if (outcome === "bound") this.stats.bound++;
  }

  #wireOf(who: string, server: Server) {
    const direct = server.exchangeFor(who);
    const { rarity } = this.plan;
    const wire = {
      from: who,
      to: "api",
      life: new Life(who),
      delayMaxMs: 2_500,
      rarity: rarity * 4,
      deadAfterMs,
    } as const;
    const wired = this.network.connect({ ...wire, serve: direct });
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => void this.clock.timer(ms, resolve));
    const calm = new Random(this.plan.seed ^ 0xca17);
    const isFrantic = this.#haste();
    return (request: Parameters<typeof direct>[0], signal: AbortSignal) => {
      // What others say of their deeds nobody reads, but Berth the provisioner's; so no server need keep it.
      const isEvent = request.path.includes("/events");
      if (isEvent && !who.startsWith("provisioner")) return Promise.resolve(created(request));
      // Two that undo each other's deeds, for one of them sees late what is, would let no time pass.
      if (request.method !== "GET" && isFrantic()) return sleep(1_000).then(() => direct(request, signal));
      // Most messages of those who are not judged are on time.
      if (isEvent || (request.method !== "GET" && calm.once(2))) return direct(request, signal);
      if (this.plan.publishesLate && who.startsWith("provisioner") && request.path.includes("/csistoragecapacities/")) {
        const lateMs = this.weather.isCalm ? 0 : calm.pick([0, 1_000, 5_000, 20_000]);
        return sleep(lateMs).then(() => direct(request, signal));
      }
      // Nobody but a Berth needs bookmarks, and each would be a step.
      const path = request.path.replace("&allowWatchBookmarks=true", "");
      return wired({ ...request, path }, signal);
    };
  }

  /** Counts up to what nobody does in one moment for good reason. */
  #haste(): () => boolean {
    let at = 0;
    let count = 0;
    return () => {
      if (this.clock.now !== at) count = 0;
      at = this.clock.now;
      return ++count > writesAtOnceMax;
    };
  }

  #replica(name: string): Replica {
    const { plan } = this;
    const isPair = plan.berths === 2;
    return new Replica({
      name,
      seed: plan.seed,
      clock: this.clock,
      network: this.network,
      server: this.server,
      trace: this.trace,
      config: {
        binding: { ...defaults.binding, timeoutMs: plan.bindTimeoutMs },
        leaderElection: { ...defaults.leaderElection, mode: "answers" },
        cache: { ...defaults.cache, streamsLists: plan.seed % 2 === 0 },
      },
      isElected: isPair,
      delayMaxMs: isPair ? delayOfPairMaxMs : delayMaxMs,
      rarity: plan.rarity,
      uuid: this.#uuid,
      onFault: (text) => this.judge.find("no fault of Berth's own", text),
      onSend: (replica, request) => this.judge.sends.sent(replica, request),
      onCall: (life, request) => this.judge.calls.arrived(life, request),
      onAnswer: (life, request) => this.judge.calls.left(life, request),
      adapt: this.plant?.adapt,
      onStart: (berth, replica) => {
        this.plant?.spoil?.(berth, this);
        this.judge.state.started(berth, replica);
      },
    });
  }
}

function created({ body = "" }: HttpRequest): HttpReply {
  return { status: 201, headers: { "content-type": "application/json" }, body };
}

function nameOf(at: number): string {
  return `n${at + 1}`;
}
