/**
 * A Berth whose API sends objects that cannot be read. What is damaged is set aside under a metric, everything else goes on, Pods
 * that need it are told its name and the field, and once it is mended all is as if it had never happened.
 */
import { isDeepStrictEqual } from "node:util";
import { defaults } from "../../src/config.ts";
import { createMetrics } from "../../src/metrics.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { type Kind, kinds } from "../../src/scheduling/objects.ts";
import { type Berth, startBerth } from "../../src/server/berth.ts";
import { Random } from "../oracle/random.ts";
import { Clock, Life, runtimeOf, settled } from "../simulation/clock.ts";
import { makePVC, type Raw } from "../support/make.ts";
import { kindOf } from "../support/world.ts";
import { nodeName, objectsOf, pods, scratch, settledVolume } from "./cluster.ts";
import type { Damage } from "./damage.ts";
import { RawApi } from "./raw-api.ts";
import { readFilterReply } from "./replies.ts";

const noSignal = new AbortController().signal;

/** What the API's list calls the kind. */
const titles: Readonly<Record<Kind, string>> = {
  node: "node",
  volume: "persistentvolume",
  claim: "persistentvolumeclaim",
  class: "storageclass",
  driver: "csidriver",
  csiNode: "csinode",
  capacity: "csistoragecapacity",
  pod: "pod",
};

/** The Pods that cannot be placed without the object; those of a node's own objects can go to other nodes. */
const needing: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  volume: ["settled"],
  claim: ["one"],
  class: ["one", "two", "mixed", "shared", "far-too-large", "own"],
  driver: ["room", "mixed"],
};

/** What filter says of each Pod, by its name. */
type Answers = ReadonlyMap<string, unknown>;

export class HostileWorld {
  readonly api = new RawApi();
  readonly metrics = createMetrics();
  readonly #clock = new Clock();
  readonly #nodes: number;
  #berth: Berth | undefined;

  private constructor(nodes: number) {
    this.#nodes = nodes;
    for (const object of [...objectsOf(nodes), ...pods]) this.#add(object);
    this.#add(settledVolume("usettled"));
    this.#add({ ...makePVC("own-scratch", { owner: "uown", request: "1Gi" }), spec: scratch });
  }

  static async open(nodes: number): Promise<HostileWorld> {
    const world = new HostileWorld(nodes);
    await world.#start();
    return world;
  }

  get berth(): Berth {
    if (!this.#berth) throw new Error("this world is not open");
    return this.#berth;
  }

  async pass(ms: number): Promise<void> {
    const until = this.#clock.now + ms;
    for (let turn = 0; turn < 4; turn++) await settled();
    for (let at = this.#clock.nextAt; at !== undefined && at <= until; at = this.#clock.nextAt) {
      this.#clock.fire();
      await settled();
    }
    this.#clock.passTo(until);
  }

  async setAside(kind: Kind): Promise<number> {
    const { values } = await this.metrics.setAside.get();
    return values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
  }

  /** The slim objects, their versions apart. */
  objects(): Map<string, unknown> {
    const { state } = this.berth.cluster;
    return new Map(
      kinds.flatMap((kind) =>
        [...state.keys(kind)].map((key): [string, unknown] => {
          const { resourceVersion: _, ...rest } = state.get(kind, key) ?? { resourceVersion: "" };
          return [`${kind} ${key}`, rest];
        }),
      ),
    );
  }

  async answers(): Promise<Answers> {
    const answers = new Map<string, unknown>();
    for (const { metadata } of pods) {
      const { name } = metadata as { name: string };
      answers.set(name, await this.filter(this.api.get("pod", `d/${name}`)));
      // What one Pod holds is not what another is judged on here.
      this.berth.cluster.state.reservations.release(`u${name}` as never);
    }
    return answers;
  }

  async filter(pod: Raw): Promise<ReturnType<typeof readFilterReply>> {
    const NodeNames = Array.from({ length: this.#nodes }, (_, index) => nodeName(index));
    const request = { method: "POST", path: "/v1/filter", headers: { "content-type": "application/json" } };
    const body = JSON.stringify({ Pod: pod, Nodes: null, NodeNames });
    return readFilterReply(await this.berth.extender({ ...request, body }, noSignal));
  }

  #add(object: Raw): void {
    const kind = kindOf[String(object["kind"])];
    if (kind) this.api.add(kind, object);
  }

  async #start(): Promise<void> {
    const uuid = (): string => "00000000-0000-4000-8000-000000000001";
    const runtime = runtimeOf({ clock: this.#clock, life: new Life("berth"), random: new Random(3), uuid });
    this.#berth = await startBerth({
      exchange: this.api.exchange,
      runtime: { ...runtime, yield: settled },
      config: defaults,
      log: { ...silentLog, isDebug: false },
      metrics: this.metrics,
      version: "fuzz",
    });
    for (let turn = 0; !this.berth.cluster.readiness().ready && turn < 1_000; turn++) await this.pass(10);
    if (!this.berth.cluster.readiness().ready) throw new Error("Berth never became ready");
  }
}

/** What did not hold of one damaged object; undefined where all did. */
export async function judgeDamage(
  world: HostileWorld,
  { kind, field, object }: Damage,
  key: string,
  sound: { readonly answers: Answers; readonly objects: Map<string, unknown> },
): Promise<string | undefined> {
  const { state } = world.berth.cluster;
  const whole = world.api.get(kind, key);
  const counted = await world.setAside(kind);
  world.api.put(kind, key, object);
  await world.pass(1);
  const problem = state.problem(kind, key);
  const found =
    (problem === undefined ? "it was not set aside" : undefined) ??
    (namesField(problem ?? "", field) ? undefined : `it is said of it: ${problem}`) ??
    ((await world.setAside(kind)) === counted + 1 ? undefined : "it was not counted") ??
    othersProblem(world, sound.objects, `${kind} ${key}`) ??
    (await answersProblem(world, { kind, key, problem: problem ?? "" }, sound.answers));
  world.api.put(kind, key, whole);
  await world.pass(1);
  return found ?? (await mendedProblem(world, sound));
}

/** Whether the message's field is the damaged one or lies in it. */
export function namesField(problem: string, field: string): boolean {
  return problem.replaceAll(/\[([^\]]*)\]/g, ".$1").startsWith(field);
}

function othersProblem(world: HostileWorld, before: Map<string, unknown>, damaged: string): string | undefined {
  const now = world.objects();
  for (const [name, object] of before) {
    if (name !== damaged && !isDeepStrictEqual(now.get(name), object)) return `${name} is not what it was`;
  }
  return now.size === before.size ? undefined : `${now.size} objects, and ${before.size} before`;
}

async function answersProblem(
  world: HostileWorld,
  { kind, key, problem }: { kind: Kind; key: string; problem: string },
  before: Answers,
): Promise<string | undefined> {
  const ofOneNode = kind === "node" || kind === "csiNode" || kind === "capacity";
  const told = `${titles[kind]} "${key}" cannot be read: ${problem}`;
  for (const [name, answer] of await world.answers()) {
    const { error, failed } = answer as { error: string; failed: object };
    if (kind === "pod") {
      const isIt = key === `d/${name}`;
      if (isIt && error !== `the Pod cannot be read: ${problem}`) return `Pod ${name} is told: ${error}`;
      if (!isIt && !isDeepStrictEqual(answer, before.get(name))) return `Pod ${name} is answered otherwise`;
    } else if (needing[kind]?.includes(name)) {
      if (error !== told) return `Pod ${name} is told: ${error || "no error"}`;
    } else if (ofOneNode) {
      if (!isDeepStrictEqual(withoutNode(answer), withoutNode(before.get(name)))) {
        return `Pod ${name} is answered otherwise on other nodes: ${error} ${JSON.stringify(failed).slice(0, 200)}`;
      }
    } else if (!isDeepStrictEqual(answer, before.get(name))) return `Pod ${name} is answered otherwise`;
  }
  return undefined;
}

/** The answer for all nodes but the first, whose objects are damaged. */
function withoutNode(answer: unknown): unknown {
  const { passed, failed, error } = answer as ReturnType<typeof readFilterReply>;
  const { [nodeName(0)]: _, ...others } = failed;
  return [passed.filter((name) => name !== nodeName(0)), others, error];
}

async function mendedProblem(
  world: HostileWorld,
  { objects, answers }: { readonly answers: Answers; readonly objects: Map<string, unknown> },
): Promise<string | undefined> {
  const now = world.objects();
  for (const [name, object] of objects) {
    if (!isDeepStrictEqual(now.get(name), object)) return `once mended, ${name} is not what it was`;
  }
  for (const [name, answer] of await world.answers()) {
    if (!isDeepStrictEqual(answer, answers.get(name))) return `once it is mended, Pod ${name} is answered otherwise`;
  }
  return undefined;
}
