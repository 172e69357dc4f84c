/**
 * Two and three Berths behind one address under seeded storms: leaders that die, stand still, are cut off, stop, lose their Lease
 * to somebody's hand; writes that are lost, late or refused; callers that ask whoever they please. At every step the auditor finds
 * nothing, no two leaders write within the time that a new one waits, and no node is promised more than its pool holds.
 */
import { expect, test } from "vitest";
import type { HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";
import { Agent } from "../../src/sandbox/agent.ts";
import { PvController } from "../../src/sandbox/pv-controller.ts";
import { type Body, reply } from "../binding/world.ts";
import { audit } from "../support/auditor.ts";
import { virtualRuntime } from "../support/clock.ts";
import { makeCapacity, makeDriver } from "../support/make.ts";
import { Berths, type Replica } from "./berths.ts";

const nodes = ["n1", "n2"];
const poolGi = 100;

interface Entry {
  readonly pod: Body;
  call: { readonly since: number; readonly hangUp: AbortController } | undefined;
  isBound: boolean;
}

class Storm {
  readonly world = new Berths();
  readonly pods = new Map<string, Entry>();
  readonly #dice;
  #names = 0;
  isOver = false;

  constructor(seed: number) {
    this.#dice = virtualRuntime(seed);
  }

  chance(probability: number): boolean {
    return this.#dice.random() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#dice.random() * from.length)] as T;
  }

  async brew(): Promise<void> {
    const { world } = this;
    await world.nodes(...nodes);
    await world.remove("driver", "csi.example");
    await world.create("driver", makeDriver("csi.example", true));
    for (const node of nodes) {
      await world.create("capacity", makeCapacity(node, { class: "csi", on: node, capacity: `${poolGi}Gi` }));
      for (const disk of ["a", "b", "c", "d", "e", "f"]) await world.pv(`${node}${disk}`, { on: node });
    }
    new PvController(new Agent({ who: "pv-controller", exchange: world.server.exchange, runtime: world.runtime }));
    for (let count = 0; count < 2; count++) await this.addReplica();
    await world.runtime.advance(12_000);
  }

  async addReplica(): Promise<void> {
    const replica = await this.world.add(`berth-${++this.#names}`);
    replica.process.skewMs = this.pick([0, -3_600_000, 45_000]);
    replica.process.fault = (request, pass) => this.#weather(request, pass);
  }

  living(): readonly Replica[] {
    return this.world.replicas.filter(({ process }) => !process.isDead);
  }

  /** One thing that goes wrong, or gets well, or is wanted. */
  async happen(): Promise<void> {
    const { world } = this;
    const { process, berth } = this.pick(this.living());
    await this.pick<() => unknown>([
      () => process.partition(),
      () => process.heal(),
      () => process.heal(),
      () => process.pause(),
      () => process.resume(),
      () => process.resume(),
      () => (this.living().length > 1 ? process.kill() : undefined),
      () => void berth.stop().then(() => process.kill()),
      () =>
        this.chance(0.3) && world.call("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth"),
      ...Array.from({ length: 6 }, () => () => this.#addPod()),
      () => this.#removePod(),
    ])();
    if (this.living().length < 2) await this.addReplica();
    await this.schedule();
    await world.runtime.advance(this.pick([10, 500, 2_000, 9_000]));
  }

  /** kube-scheduler: each Pod that waits is asked about, of one that is ready or, by an old connection, of anybody. */
  async schedule(): Promise<void> {
    const { world } = this;
    const ready = await world.ready();
    for (const entry of this.pods.values()) {
      if (entry.call && world.runtime.now() - entry.call.since > 15_000 && this.chance(0.5)) {
        entry.call.hangUp.abort();
        entry.call = undefined;
      }
      if (entry.isBound || entry.call) continue;
      const asked = this.chance(0.9) || this.isOver ? ready : this.living();
      if (asked.length > 0) void this.#try(entry, this.pick(asked));
    }
  }

  async #try(entry: Entry, replica: Replica): Promise<void> {
    const { world } = this;
    const call = { since: world.runtime.now(), hangUp: new AbortController() };
    entry.call = call;
    const passed: string[] = (await world.filter(replica, entry.pod, nodes)).json?.NodeNames ?? [];
    const outcome =
      passed.length > 0 && entry.call === call
        ? (await world.askToBind(replica, entry.pod, this.pick(passed), call.hangUp.signal)).json.Error
        : "nowhere";
    if (outcome === "") entry.isBound = true;
    if (entry.call === call) entry.call = undefined;
  }

  async #addPod(): Promise<void> {
    const { world } = this;
    const name = `p${++this.#names}`;
    const claims = Array.from({ length: this.pick([1, 1, 2]) }, (_, number) => `${name}-${number}`);
    for (const claim of claims) {
      const facts = this.chance(0.6)
        ? { class: "csi", request: this.pick(["20Gi", "45Gi", "60Gi"]) }
        : { request: "5Gi" };
      await world.pvc(claim, facts);
    }
    this.pods.set(name, { pod: await world.pod(name, claims), call: undefined, isBound: false });
  }

  async #removePod(): Promise<void> {
    const name = this.pick([...this.pods.keys()]);
    if (name === undefined) return;
    this.pods.get(name)?.call?.hangUp.abort();
    this.pods.delete(name);
    await this.world.remove("pod", `d/${name}`).catch(() => {});
    for (const number of [0, 1]) await this.world.remove("claim", `d/${name}-${number}`).catch(() => {});
  }

  /** More promised on a node than its pool holds, by what the API shows. */
  async overbooked(): Promise<string[]> {
    const { body } = await this.world.call("GET", "/api/v1/persistentvolumeclaims");
    return nodes.flatMap((node) => {
      const promised = body.items
        .filter(({ metadata }: Body) => metadata.annotations?.["volume.kubernetes.io/selected-node"] === node)
        .reduce((sum: number, { spec }: Body) => sum + Number.parseInt(spec.resources.requests.storage, 10), 0);
      return promised > poolGi ? [`${promised}Gi of ${poolGi}Gi are promised on ${node}`] : [];
    });
  }

  async clear(): Promise<void> {
    const { world } = this;
    this.isOver = true;
    for (const { process } of world.replicas) {
      process.heal();
      process.resume();
    }
    for (const node of nodes) {
      await world.patch("capacity", `kube-system/${node}`, { capacity: "100Ti" });
      for (let disk = 0; disk < 40; disk++) await world.pv(`${node}-new-${disk}`, { on: node });
    }
    for (let round = 0; round < 30; round++) {
      await this.schedule();
      await world.runtime.advance(8_000);
      await this.#provision();
    }
  }

  /** There is a provisioner at last. */
  async #provision(): Promise<void> {
    const { world } = this;
    const { body } = await world.call("GET", "/api/v1/persistentvolumeclaims");
    for (const { metadata, spec } of body.items) {
      const node = metadata.annotations?.["volume.kubernetes.io/selected-node"];
      const name = `pvc-${metadata.name}`;
      if (node === undefined || spec.volumeName !== undefined || (await world.get("volume", name))) continue;
      const claim = { claim: `d/${metadata.name}`, claimUid: metadata.uid, class: "csi", capacity: "60Gi" };
      await world.pv(name, { ...claim, on: node, phase: "Available" });
    }
  }

  #weather(request: HttpRequest, pass: () => Promise<HttpReply>): Promise<HttpReply> | undefined {
    if (this.isOver || this.chance(0.8)) return undefined;
    const late = (): Promise<void> => this.world.runtime.sleep(this.pick([1, 20, 400, 1_800, 2_600]));
    if (request.method === "GET") return request.path.includes("watch=") ? undefined : late().then(pass);
    return this.pick([
      () => late().then(pass),
      () => pass().then(() => reply(504)),
      () => Promise.resolve(reply(500)),
      () => pass().then(() => Promise.reject(new Error("ECONNRESET"))),
    ])();
  }
}

const writers: number[] = [];

test.for(Array.from({ length: Number(process.env["STORMS"] ?? 8) }, (_, index) => [index + 1]))(
  "storm %i",
  { timeout: 120_000 },
  async ([seed = 1]) => {
    const storm = new Storm(seed);
    const { world } = storm;
    await storm.brew();
    for (let step = 0; step < 50; step++) {
      await storm.happen();
      expect([await audit(world), world.overlaps(), await storm.overbooked()]).toEqual([[], [], []]);
    }
    await storm.clear();
    expect(await audit(world)).toEqual([]);
    expect(await world.ready()).toHaveLength(1);
    expect([...storm.pods.values()].filter(({ isBound }) => !isBound).map(({ pod }) => pod.metadata.name)).toEqual([]);
    writers.push(new Set(world.volumeWrites.map(({ by }) => by)).size);
  },
);

test("in most of these storms the lead changed hands between writes", () => {
  expect(writers.filter((count) => count > 1).length).toBeGreaterThan(writers.length / 2);
});
