/** What a Pod that filter refuses is told, and how seldom. */
import { describe, expect, test } from "vitest";
import { objectPath } from "../../src/apis/kubernetes.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { nodeName } from "../../src/scheduling/names.ts";
import type { Kind } from "../../src/scheduling/objects.ts";
import { RefusalTeller } from "../../src/server/refusal-events.ts";
import { Berths } from "../election/berths.ts";
import { virtualRuntime } from "../support/clock.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";
import { ask, type Body, Cluster } from "./berth-world.ts";
import { extenderArgs } from "./support.ts";

class Stage extends Cluster {
  /** Asks as kube-scheduler does. */
  async filter(pod: string, ...nodes: readonly string[]): Promise<Body> {
    const body = JSON.stringify(extenderArgs(await this.read("pod", `d/${pod}`), nodes));
    return this.#verb("filter", body);
  }

  async bind(pod: string, node: string): Promise<Body> {
    const { metadata } = await this.read("pod", `d/${pod}`);
    const body = { PodName: pod, PodNamespace: "d", PodUID: metadata.uid, Node: node };
    return this.#verb("bind", JSON.stringify(body));
  }

  async #verb(name: string, body: string): Promise<Body> {
    const request = { method: "POST", path: `/v1/${name}`, headers: {}, body };
    const reply = await this.berth.extender(request, new AbortController().signal);
    return JSON.parse(Buffer.from(reply.body as string).toString());
  }

  async remove(kind: Kind, key: string): Promise<void> {
    await ask(this.server.exchange, "DELETE", objectPath(kind, key) ?? "");
    await this.runtime.advance(100);
  }

  async events(): Promise<Body[]> {
    return (await ask(this.server.exchange, "GET", "/apis/events.k8s.io/v1/events")).json.items ?? [];
  }

  async notes(): Promise<string[]> {
    return (await this.events()).map(({ note }: Body) => note);
  }
}

const nodes = [makeNode("n1"), makeNode("n2"), makeNode("n3")];
/** Disks of 80Gi on n1 and n2, none on n3, and Pods that want 100Gi. */
const short: readonly Raw[] = [
  makeClass("local"),
  ...nodes,
  makePV("a", { on: "n1", capacity: "80Gi" }),
  makePV("b", { on: "n2", capacity: "80Gi" }),
  makePVC("x", { request: "100Gi" }),
  makePod("p", ["x"]),
];

async function stageOf(...objects: readonly Raw[]): Promise<Stage> {
  return (await new Stage().start(objects)) as Stage;
}

describe("a Pod that is refused everywhere", () => {
  test("is told after ten seconds, with numbers, what would help, and what Berth's explanations are found by", async () => {
    const stage = await stageOf(...short);
    await stage.filter("p", "n1", "n2", "n3");
    await stage.runtime.advance(9_000);
    expect(await stage.events()).toEqual([]);
    await stage.runtime.advance(3_000);
    const pod = await stage.read("pod", "d/p");
    expect(await stage.events()).toEqual([
      expect.objectContaining({
        type: "Warning",
        reason: "BerthVolumesUnavailable",
        action: "Scheduling",
        reportingController: "berth.dev/berth",
        regarding: { apiVersion: "v1", kind: "Pod", namespace: "d", name: "p", uid: pod.metadata.uid },
      }),
    ]);
    expect(await stage.notes()).toEqual([
      "None of the 3 nodes offered can hold the volumes: 3 noMatchingVolume. Would help: Add a volume of class local with at " +
        "least 100Gi (Filesystem, ReadWriteOnce) on node n1 for claim d/x.",
    ]);
  });

  test("for a reason of its own is told that reason", async () => {
    const stage = await stageOf(makeClass("local"), ...nodes, makePVC("x", { class: "locl" }), makePod("p", ["x"]));
    await stage.filter("p", "n1", "n2");
    await stage.runtime.advance(12_000);
    expect(await stage.notes()).toEqual([
      expect.stringMatching(
        /^pod has unbound immediate PersistentVolumeClaims\. Would help: StorageClass locl does not exist: create it, make claim d\/x anew with class local/,
      ),
    ]);
  });

  test("and asked about every minute for six hours is told once, and then counted", async () => {
    const stage = await stageOf(...short);
    for (let times = 0; times < 360; times++) {
      await stage.filter("p", "n1", "n2", "n3");
      await stage.runtime.advance(60_000);
    }
    const events = await stage.events();
    expect(events).toHaveLength(1);
    expect(events[0].series.count).toBeGreaterThan(8);
    expect(events[0].series.count).toBeLessThanOrEqual(13);
  });

  test("whose cause changes all the time is told at growing pauses", async () => {
    const stage = await stageOf(...short, makePV("c", { on: "n3", capacity: "100Gi", claim: "x" }));
    for (let turns = 0; turns < 120; turns++) {
      // Refused where there is no disk; refused, too, for a disk that is reserved elsewhere.
      if (turns % 2 === 0) await stage.remove("volume", "c");
      else await stage.create(makePV("c", { on: "n3", capacity: "100Gi", claim: "x" }));
      await stage.filter("p", "n1", "n2");
      await stage.runtime.advance(45_000);
    }
    const events = await stage.events();
    // Each cause is one event; an hour and a half has room for six tellings.
    const tellings = events.map(({ series }) => series?.count ?? 1).reduce((sum, count) => sum + count, 0);
    expect(events).toHaveLength(2);
    expect(tellings).toBeGreaterThan(2);
    expect(tellings).toBeLessThanOrEqual(7);
  });

  test("but fits before ten seconds are over is told nothing", async () => {
    const stage = await stageOf(...short);
    await stage.filter("p", "n1", "n2", "n3");
    await stage.runtime.advance(5_000);
    await stage.create(makePV("c", { on: "n3", capacity: "100Gi" }));
    await stage.runtime.advance(20_000);
    expect(await stage.events()).toEqual([]);
  });

  test.for(["pod", "its name"] as const)("and is gone, or another by %s, is told nothing", async (gone) => {
    const stage = await stageOf(...short);
    await stage.filter("p", "n1", "n2", "n3");
    await stage.remove("pod", "d/p");
    if (gone === "its name") await stage.create(makePod("p", ["x"]));
    await stage.runtime.advance(60_000);
    expect(await stage.events()).toEqual([]);
  });
});

test("scores of refused Pods are told one a second, each at its turn", async () => {
  const pods = Array.from({ length: 60 }, (_, index) => makePod(`p${index}`, ["x"]));
  const stage = await stageOf(...short, ...pods);
  for (let index = 0; index < 60; index++) await stage.filter(`p${index}`, "n1", "n2", "n3");
  await stage.runtime.advance(40_000);
  const early = (await stage.events()).length;
  expect(early).toBeGreaterThan(25);
  expect(early).toBeLessThanOrEqual(31);
  await stage.runtime.advance(60_000);
  const told = (await stage.events()).map(({ regarding }: Body) => regarding.name);
  expect(told).toHaveLength(60);
  expect(new Set(told).size).toBe(60);
});

test("a Pod that is placed in the end is told which volumes, where, and how long it waited", async () => {
  const stage = await stageOf(...short);
  await stage.filter("p", "n1", "n2", "n3");
  await stage.runtime.advance(30_000);
  await stage.create(makePV("c", { on: "n3", capacity: "100Gi" }));
  await stage.runtime.advance(1_000);
  await stage.filter("p", "n1", "n2", "n3");
  const bound = stage.bind("p", "n3");
  await stage.runtime.advance(500);
  await stage.bindClaim("x", "c");
  await stage.runtime.advance(1_000);
  expect(await bound).toEqual({ Error: "" });
  const [, last] = await stage.events();
  expect(last).toMatchObject({ type: "Normal", reason: "BerthVolumesBound", action: "Binding" });
  expect(last.note).toBe("Bound claims d/x for node n3 to volumes c in 0.5 s; asked about 2 times, first 31.5 s ago");
});

test("who does not lead tells nothing, and has forgotten nobody once it leads", async () => {
  const runtime = virtualRuntime();
  const world = new World();
  for (const line of ["node n1", "pvc x 5Gi"]) world.apply(line);
  const pod = world.pod("p", "x");
  world.state.set("pod", pod.key, pod);
  let leads = false;
  const told: string[] = [];
  const teller = new RefusalTeller({
    runtime,
    cluster: {
      state: world.state,
      readiness: () => (leads ? { ready: true } : { ready: false, why: "follower" }),
    },
    events: { record: ({ reason }) => void told.push(reason) },
    log: silentLog,
    offeredTo: () => [nodeName("n1")],
    isBinding: () => false,
  });
  teller.refused(pod);
  await runtime.advance(60_000);
  expect(told).toEqual([]);
  leads = true;
  await runtime.advance(3_000);
  expect(told).toEqual(["BerthVolumesUnavailable"]);
  teller.close();
});

test.for([
  ["background", "one tells it", 1],
  ["off", "none does", 0],
] as const)("of two Berths that refuse a Pod with leaderElection.mode %s, %s", async ([mode, , tellers]) => {
  const world = new Berths();
  await world.nodes("n1");
  const a = await world.add("a", mode);
  await world.runtime.advance(500);
  const b = await world.add("b", mode);
  await world.runtime.advance(10_000);
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.runtime.advance(100);
  await world.filter(a, pod, ["n1"]);
  await world.filter(b, pod, ["n1"]);
  await world.runtime.advance(25_000);
  const { body } = await world.call("GET", "/apis/events.k8s.io/v1/events");
  const tellsWho = body.items.map(({ reason, reportingInstance }: Body) => `${reason} ${reportingInstance}`);
  expect(tellsWho).toEqual(
    Array.from({ length: tellers }, () => expect.stringMatching(/^BerthVolumesUnavailable [ab]$/)),
  );
});
