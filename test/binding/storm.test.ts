/**
 * Berth's binder among the sandbox's own PV controller and provisioner, under seeded storms: writes that are lost, refused,
 * answered late or not at all, watches that lag, pods and claims that go, another scheduler, crashes at any moment. Whatever happens, the auditor finds nothing at
 * any time, and when the weather clears every pod that is left gets its node.
 */
import { expect, test } from "vitest";
import type { HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";
import { Agent } from "../../src/sandbox/agent.ts";
import { Provisioner } from "../../src/sandbox/provisioner.ts";
import { PvController } from "../../src/sandbox/pv-controller.ts";
import { audit } from "../support/auditor.ts";
import { virtualRuntime } from "../support/clock.ts";
import { type Bind, type Body, reply, World } from "./world.ts";

const nodes = ["n1", "n2", "n3"];

interface Storm {
  readonly world: World;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(from: readonly T[]) => T;
  readonly pods: Map<string, { pod: Body; node: string; bind: Bind | undefined }>;
  isOver: boolean;
}

async function brew(seed: number): Promise<Storm> {
  const world = new World();
  const dice = virtualRuntime(seed);
  const chance = (probability: number): boolean => dice.random() < probability;
  const pick = <T>(from: readonly T[]): T => from[Math.floor(dice.random() * from.length)] as T;
  await world.nodes(...nodes);
  await world.remove("driver", "csi.example");
  const agent = (who: string): Agent => new Agent({ who, exchange: world.server.exchange, runtime: world.runtime });
  new PvController(agent("pv-controller"));
  const capacity = Object.fromEntries(nodes.map((node) => [node, "100Gi"]));
  new Provisioner(agent("provisioner"), { name: "csi.example", capacity, createMs: 300 });
  for (const node of nodes) for (const disk of ["a", "b", "c", "d"]) await world.pv(`${node}${disk}`, { on: node });
  const storm: Storm = { world, chance, pick, pods: new Map(), isOver: false };
  world.fault = (request, pass) => weather(storm, request, pass);
  await world.start();
  return storm;
}

function weather(storm: Storm, request: HttpRequest, pass: () => Promise<HttpReply>): Promise<HttpReply> | undefined {
  const { world, chance, pick } = storm;
  if (storm.isOver || chance(0.6)) return undefined;
  const late = (): Promise<void> => world.runtime.sleep(pick([1, 20, 400, 3_000]));
  if (request.method === "GET") return chance(0.3) ? Promise.resolve(reply(503)) : late().then(pass);
  return pick([
    () => late().then(pass),
    () => pass().then(() => reply(504)),
    () => Promise.resolve(reply(500)),
    () => Promise.resolve(reply(429, {}, { "retry-after": "1" })),
    () => pass().then(() => Promise.reject(new Error("ECONNRESET"))),
    () => Promise.reject(new Error("ECONNREFUSED")),
    () => world.runtime.sleep(12_000).then(pass),
  ])();
}

let names = 0;

async function addPod({ world, chance, pick, pods }: Storm): Promise<void> {
  const name = `p${++names}`;
  const claims: string[] = [];
  for (let number = 0; number < pick([1, 1, 2, 3]); number++) {
    const claim = `${name}-${number}`;
    await world.pvc(claim, chance(0.3) ? { class: "csi" } : { request: "5Gi" });
    claims.push(claim);
  }
  pods.set(name, { pod: await world.pod(name, claims), node: pick(nodes), bind: undefined });
}

/** Calls bind for whoever has no call out; kube-scheduler may well choose another node the next time. */
function scheduleAll({ world, chance, pick, pods }: Storm): void {
  for (const entry of pods.values()) {
    const { bind } = entry;
    if (bind?.answer === "ok" || (bind && bind.answer === undefined)) continue;
    if (bind && chance(0.5)) entry.node = pick(nodes);
    entry.bind = world.bind(entry.pod, entry.node);
  }
}

/** Another scheduler, which knows nothing of ours, takes a disk that is free, as rightly as we would. */
async function steal({ world, pick }: Storm): Promise<void> {
  const { body } = await world.call("GET", "/api/v1/persistentvolumes");
  const free = body.items.filter(({ spec }: Body) => spec.claimRef === undefined);
  if (free.length === 0) return;
  const { metadata }: Body = pick(free);
  const claim = await world.pvc(`thief-${++names}`);
  const { name, namespace, uid } = claim.metadata;
  const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid };
  const { resourceVersion } = metadata;
  await world.patch("volume", metadata.name, { metadata: { resourceVersion }, spec: { claimRef } }).catch(() => {});
}

async function happen(storm: Storm): Promise<void> {
  const { world, chance, pick, pods } = storm;
  const any = [...pods.keys()];
  if (chance(0.4)) await addPod(storm);
  if (chance(0.15) && any.length > 0) {
    const name = pick(any);
    pods.delete(name);
    await world.remove("pod", `d/${name}`).catch(() => {});
    for (let number = 0; chance(0.7) && number < 3; number++) {
      await world.remove("claim", `d/${name}-${number}`).catch(() => {});
    }
  }
  if (chance(0.15) && any.length > 0) pods.get(pick(any))?.bind?.hangUp();
  if (chance(0.15) && any.length > 0) {
    const entry = pods.get(pick(any));
    if (entry) world.berth.binder.filterSeen(entry.pod.metadata.uid);
  }
  if (chance(0.05)) {
    world.berth.kill();
    for (const entry of pods.values()) if (entry.bind?.answer !== "ok") entry.bind = undefined;
    await world.start({ bindTimeoutMs: 60_000 });
  }
  const late = chance(0.25) ? pick(["volume", "claim", "pod", "node"] as const) : undefined;
  const { cluster } = world.berth;
  if (late !== undefined) cluster.hold(late);
  scheduleAll(storm);
  if (chance(0.2)) {
    await world.runtime.advance(pick([0, 5, 30]));
    await steal(storm);
  }
  await world.runtime.advance(pick([1, 50, 500, 2_000]));
  if (late !== undefined) cluster.release(late);
}

/** kube-scheduler's last word: every node is tried in turn, and there are disks enough for all. */
async function clear({ world, pods }: Storm): Promise<void> {
  for (const node of nodes) for (let disk = 0; disk < 24; disk++) await world.pv(`${node}-new-${disk}`, { on: node });
  for (let round = 0; round < 12; round++) {
    for (const entry of pods.values()) {
      if (entry.bind?.answer === "ok" || (entry.bind && entry.bind.answer === undefined)) continue;
      entry.node = nodes[round % nodes.length] ?? "n1";
      entry.bind = world.bind(entry.pod, entry.node);
    }
    await world.runtime.advance(61_000);
  }
}

test.for(Array.from({ length: Number(process.env["STORMS"] ?? 12) }, (_, index) => [index + 1]))(
  "storm %i",
  { timeout: 120_000 },
  async ([seed = 1]) => {
    const storm = await brew(seed);
    const { world, pods } = storm;
    for (let step = 0; step < 25; step++) {
      await happen(storm);
      expect(await audit(world)).toEqual([]);
    }
    storm.isOver = true;
    await clear(storm);
    expect(await audit(world)).toEqual([]);
    const { binder, cluster } = world.berth;
    expect(binder.inProgress()).toEqual([]);
    await world.runtime.advance(300_000);
    expect(cluster.state.reservations.dump().assumptions).toEqual([]);
    for (const { bind } of pods.values()) expect(bind?.answer).toBe("ok");
  },
);
