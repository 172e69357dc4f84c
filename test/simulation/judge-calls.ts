/** The extender's side: what is asked of the Berths, and that the answers are such as kube-scheduler can take. */
import type { Exchange, HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";
import type { Body } from "../binding/world.ts";
import type { Life } from "./clock.ts";
import { claimsOf } from "./cluster.ts";
import type { Judge } from "./judge.ts";
import type { World } from "./world.ts";

export interface BindCall {
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
}

export class CallJudge {
  readonly #world: World;
  readonly #judge: Judge;
  /** Every bind call that reached a Berth, by "uid node". */
  readonly binds = new Map<string, BindCall>();
  /** When the last bind call of each Pod reached a Berth, by uid. */
  readonly askedAt = new Map<string, number>();
  /** When the last filter call of each Pod reached a Berth, by uid. */
  readonly filteredAt = new Map<string, number>();
  readonly #firstAskedAt = new Map<string, number>();
  readonly #filteredBy = new Map<string, number>();
  /** Bind calls that an incarnation has not answered, by its name and the Pod's uid. */
  readonly #open = new Map<string, number>();
  readonly #claims = new Map<string, readonly string[]>();
  /** Filter's last refusals, by Pod key. */
  readonly refusals = new Map<string, Readonly<Record<string, string>>>();

  constructor(world: World, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
  }

  /** A call arrives at an incarnation of a Berth. */
  arrived(life: Life, request: HttpRequest): void {
    const { path, body } = request;
    if (path.endsWith("/filter"))
      this.#filteredBy.set(`${life.name} ${JSON.parse(String(body)).Pod.metadata.uid}`, this.#world.clock.now);
    if (!path.endsWith("/bind")) return;
    const name = `${life.name} ${JSON.parse(String(body)).PodUID}`;
    if (!this.#firstAskedAt.has(name)) this.#firstAskedAt.set(name, this.#world.clock.now);
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
  }

  /** When the incarnation was last asked to filter for the Pod: of calls to another it knows nothing. */
  filteredBy(life: Life, uid: string): number | undefined {
    return this.#filteredBy.get(`${life.name} ${uid}`);
  }

  /** And was answered. */
  left(life: Life, { path, body }: HttpRequest): void {
    if (!path.endsWith("/bind")) return;
    const name = `${life.name} ${JSON.parse(String(body)).PodUID}`;
    const open = (this.#open.get(name) ?? 0) - 1;
    if (open > 0) this.#open.set(name, open);
    else this.#open.delete(name);
  }

  /** Whether the incarnation still lets somebody wait for the Pod's bind. */
  isWaitedFor(life: Life, uid: string): boolean {
    return this.#open.has(`${life.name} ${uid}`);
  }

  /** When the incarnation was first asked to bind the Pod. */
  firstAskedAt(life: Life, uid: string): number | undefined {
    return this.#firstAskedAt.get(`${life.name} ${uid}`);
  }

  /** The exchange of the Berths, with everything that passes noted. */
  watching(serve: Exchange): Exchange {
    return async (request, signal) => {
      const asked = JSON.parse(String(request.body));
      this.#note(request, asked);
      const reply = await serve(request, signal);
      this.#answered(request, asked, reply);
      return reply;
    };
  }

  /** The claims that the Pod of that uid mounts, by "namespace/name". */
  claimsOf(uid: string): readonly string[] {
    return this.#claims.get(uid) ?? [];
  }

  #note({ path }: HttpRequest, asked: Body): void {
    if (path.endsWith("/filter")) {
      this.filteredAt.set(asked.Pod.metadata.uid, this.#world.clock.now);
      this.#claims.set(asked.Pod.metadata.uid, claimsOf(asked.Pod));
    }
    if (!path.endsWith("/bind")) return;
    const { PodName, PodNamespace, PodUID: uid, Node: node } = asked;
    this.askedAt.set(uid, this.#world.clock.now);
    this.binds.set(`${uid} ${node}`, { pod: `${PodNamespace}/${PodName}`, uid, node });
    this.#world.trace.add("sched", () => `asks to bind ${PodName} to ${node}`);
  }

  #answered({ path }: HttpRequest, asked: Body, reply: HttpReply): void {
    if (reply.status !== 200) return;
    const answer = JSON.parse(Buffer.from(reply.body as Uint8Array).toString());
    const error: string = answer.Error ?? "";
    if (error.includes("%")) this.#judge.find("errors carry no percent sign", error);
    if (path.endsWith("/filter")) this.#filtered(asked, answer);
    if (path.endsWith("/bind")) this.#bound(asked, error);
  }

  #filtered(asked: Body, answer: Body): void {
    if (answer.Error) return;
    const passed: string[] = answer.NodeNames ?? [];
    const refused: Record<string, string> = { ...answer.FailedNodes, ...answer.FailedAndUnresolvableNodes };
    const told = [...passed, ...Object.keys(refused)].sort();
    const names: string[] = [...asked.NodeNames].sort();
    if (told.join() !== names.join()) {
      this.#judge.find("filter answers for each node asked about, once", `asked ${names}, told ${told}`);
    }
    const { metadata } = asked.Pod;
    const key = `${metadata.namespace}/${metadata.name}`;
    this.refusals.set(key, refused);
    this.#world.trace.add("sched", () => `filter ${key}: fits ${passed.join()} ${JSON.stringify(refused)}`);
  }

  #bound({ PodName, PodNamespace, PodUID: uid, Node: node }: Body, error: string): void {
    const key = `${PodNamespace}/${PodName}`;
    this.#world.trace.add("sched", () => `bind ${key} to ${node}: ${error || "ok"}`);
    if (error !== "") return;
    const pod = this.#world.server.get("pods", key);
    // Whoever deleted it since had every right to.
    if (pod?.metadata.uid !== uid || pod.spec.nodeName === node) return;
    this.#judge.find(
      "a Pod that is said to be bound is",
      `pod ${key} is on ${pod.spec.nodeName ?? "no node"}, not on ${node}`,
    );
  }
}
