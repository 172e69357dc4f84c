/** What happens in the cluster meanwhile: Pods of all kinds come, are asked about, bound, deleted and come again; nodes go and return. */
import { type Listener, listen } from "../../src/http/listener.ts";
import type { Body } from "../../test/binding/world.ts";
import { namespace, root } from "../../test/simulation/cluster.ts";
import type { ClaimSpec } from "../../test/simulation/plan.ts";
import { call } from "../overload/probe.ts";
import type { World } from "./world.ts";

interface Kind {
  readonly claims: readonly ClaimSpec[];
  readonly ephemeral?: readonly ClaimSpec[];
  readonly missing?: boolean;
}

const local = (gi: number): ClaimSpec => ({ class: "local", gi });
const csi = (gi: number): ClaimSpec => ({ class: "csi", gi });
const kinds: readonly Kind[] = [
  { claims: [] },
  { claims: [local(5)] },
  { claims: [local(15), local(5)] },
  { claims: [csi(30)] },
  { claims: [csi(60), local(5)] },
  { claims: [{ class: "zonal", gi: 5 }] },
  { claims: [], ephemeral: [local(5)] },
  // Waits for ever, and so do the next two.
  { claims: [local(500)] },
  { claims: [csi(500)] },
  { claims: [], missing: true },
];

interface Living {
  readonly name: string;
  readonly pod: Body;
  phase: "pending" | "binding" | "bound";
}

const pendingMax = 30;
const boundMax = 60;
const httpEvery = 200;
/** Pods that Berth remembers, of whatever size. */
const rememberedMax = 10_000;

export class Churn {
  calls = 0;
  binds = 0;
  bound = 0;
  readonly #world: World;
  readonly #living = new Map<string, Living>();
  readonly #gone = new Set<string>();
  #listener: Listener | undefined;
  #pods = 0;
  #steps = 0;

  constructor(world: World) {
    this.#world = world;
  }

  async open(): Promise<void> {
    const { extender: handler, admit } = this.#world.berth;
    this.#listener = await listen({ handler, admit, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
  }

  async close(): Promise<void> {
    await this.#listener?.closeNow();
  }

  /** So many Pods are asked about once that nothing is remembered of more. */
  async fill(): Promise<void> {
    const pod = await this.#world.addPod("filler", [local(5)], [], false);
    for (let at = 0; at < rememberedMax; at++) {
      const Pod = { ...pod, metadata: { ...pod.metadata, uid: `filler-${at}` } };
      await this.#world.answer(this.#world.call("filter", { Pod, Nodes: null, NodeNames: this.#offered() }));
    }
    await this.#world.removePod("filler");
  }

  /** Until so many filter and prioritize calls have been answered in all. */
  async until(calls: number): Promise<void> {
    while (this.calls < calls) await this.#step();
  }

  /** Everybody goes, all nodes are back, and time passes until nothing is remembered that time ends. */
  async rest(): Promise<void> {
    const { random } = this.#world;
    for (const { name } of random.shuffled([...this.#living.values()])) await this.#remove(name);
    for (const name of this.#gone) await this.#world.addNode(name);
    this.#gone.clear();
    await this.#world.pass(60_000);
    await this.#free();
    await this.#world.pass(20 * 60_000);
  }

  async #step(): Promise<void> {
    const { random } = this.#world;
    if (++this.#steps % 20 === 0) await this.#world.pass(random.int(1, 800));
    if (random.once(20) || this.#count("pending") < 3) await this.#arrive();
    if (random.once(40)) await this.#leave();
    if (random.once(2_000)) await this.#nodeGoesOrComes();
    if (random.once(1_000)) await this.#publishAnew();
    if (random.once(1_000)) await this.#free();
    const pending = [...this.#living.values()].filter(({ phase }) => phase === "pending");
    if (pending.length > 0) await this.#cycle(random.pick(pending));
  }

  #count(phase: Living["phase"]): number {
    let count = 0;
    for (const living of this.#living.values()) if (living.phase === phase) count++;
    return count;
  }

  /** All nodes, or a few: what kube-scheduler's own plugins leave. */
  #offered(): readonly string[] {
    const { random, names } = this.#world;
    return random.once(4) ? names : random.some(names, 10);
  }

  /** Filter, mostly prioritize, sometimes bind; now and then nobody waits for the answer. */
  async #cycle(living: Living): Promise<void> {
    const { random } = this.#world;
    const offered = this.#offered();
    this.calls++;
    if (this.calls % httpEvery === 0) return this.#overSockets(living, offered);
    const caller = new AbortController();
    if (random.once(100)) caller.abort();
    const args = { Pod: living.pod, Nodes: null, NodeNames: offered };
    const { text } = await this.#world.answer(this.#world.call("filter", args, caller.signal));
    const { NodeNames: feasible } = JSON.parse(text) as { NodeNames: string[] | null };
    if (!feasible || feasible.length === 0 || random.once(5)) return;
    this.calls++;
    await this.#world.answer(this.#world.call("prioritize", { ...args, NodeNames: feasible }));
    if (random.once(12)) this.#bind(living, random.pick(feasible));
  }

  /** Real connections, some of which break off. The clock stands still, and so does what would need it. */
  async #overSockets({ pod }: Living, names: readonly string[]): Promise<void> {
    const port = this.#listener?.port ?? 0;
    const free = { ...pod, spec: { ...pod.spec, volumes: [] } };
    const isOver = { value: false };
    const asked = call(port, "POST", "/v1/filter", JSON.stringify({ Pod: free, Nodes: null, NodeNames: names }));
    const health = call(port, "GET", "/readyz");
    void Promise.allSettled([asked, health]).then(() => {
      isOver.value = true;
    });
    while (!isOver.value) await new Promise((resolve) => setImmediate(resolve));
  }

  #bind(living: Living, node: string): void {
    const { random } = this.#world;
    const { name, uid } = living.pod.metadata;
    const caller = new AbortController();
    living.phase = "binding";
    this.binds++;
    const args = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node };
    void this.#world.call("bind", args, caller.signal).then(({ text }) => {
      const isBound = text === '{"Error":""}';
      if (isBound) this.bound++;
      if (this.#living.get(name) === living) living.phase = isBound ? "bound" : "pending";
    });
    if (random.once(10)) caller.abort();
    // As where kube-scheduler has started anew: it asks about the Pod again while the bind goes on.
    if (random.once(10)) living.phase = "pending";
  }

  async #arrive(): Promise<void> {
    if (this.#count("pending") >= pendingMax) return;
    await this.#create(`pod-${this.#pods++}`);
  }

  async #create(name: string): Promise<void> {
    const { claims, ephemeral = [], missing = false } = this.#world.random.pick(kinds);
    const pod = await this.#world.addPod(name, claims, ephemeral, missing);
    this.#living.set(name, { name, pod, phase: "pending" });
  }

  async #leave(): Promise<void> {
    const { random } = this.#world;
    const all = [...this.#living.values()];
    const bound = all.filter(({ phase }) => phase === "bound");
    const victims = bound.length > boundMax ? bound.slice(0, 10) : all.length > 0 ? [random.pick(all)] : [];
    for (const { name } of victims) {
      await this.#remove(name);
      // The same name with another uid, and perhaps of another kind.
      if (random.once(4)) await this.#create(name);
    }
  }

  async #remove(name: string): Promise<void> {
    this.#living.delete(name);
    await this.#world.removePod(name);
  }

  async #nodeGoesOrComes(): Promise<void> {
    const { random, names } = this.#world;
    const [back] = this.#gone;
    if (back !== undefined && !random.once(3)) {
      this.#gone.delete(back);
      await this.#world.addNode(back);
      return;
    }
    const name = random.pick(names);
    if (this.#gone.has(name) || this.#gone.size > 3) return;
    this.#gone.add(name);
    await this.#world.write("DELETE", `${root.nodes}/${name}`);
  }

  /** As an administrator's hand: kept volumes are given to others, and those that a node of the same name left behind go. */
  async #free(): Promise<void> {
    const { items } = await this.#world.write("GET", root.persistentvolumes);
    const { items: nodes } = await this.#world.write("GET", root.nodes);
    const living = (nodes as Body[]).map(({ metadata }) => metadata.uid as string);
    for (const { metadata, spec, status } of items as Body[]) {
      if (status?.phase !== "Released") continue;
      const path = `${root.persistentvolumes}/${metadata.name}`;
      const maker: string = metadata.annotations?.["pv.kubernetes.io/provisioned-by"] ?? "";
      if (spec.persistentVolumeReclaimPolicy === "Retain")
        await this.#world.write("PATCH", path, { spec: { claimRef: null } });
      else if (maker.startsWith("local-") && !living.some((uid) => maker.endsWith(uid))) {
        await this.#world.write("DELETE", path);
      }
    }
  }

  /** As an administrator's hand: the driver says otherwise with its next look. */
  async #publishAnew(): Promise<void> {
    const { random } = this.#world;
    const { items } = await this.#world.write("GET", "/apis/storage.k8s.io/v1/csistoragecapacities");
    if (items.length === 0) return;
    const { metadata } = random.pick(items as Body[]);
    const path = `/apis/storage.k8s.io/v1/namespaces/${metadata.namespace}/csistoragecapacities/${metadata.name}`;
    await this.#world.write("PATCH", path, { capacity: `${random.int(10, 100)}Gi` });
  }
}
