/** Field reports in which several parts meet: the whole of Berth with the sandbox's controllers and scheduler. */
import { afterEach, expect, test } from "vitest";
import { kindInfo, Translator } from "../../src/apis/kubernetes.ts";
import { defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { type Berth, startBerth } from "../../src/server/berth.ts";
import { extenderArgs, TestServer } from "../server/support.ts";
import { audit } from "../support/auditor.ts";
import { virtualRuntime } from "../support/clock.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { type SandboxStage, sandboxStage } from "../support/sandbox-stage.ts";

// biome-ignore lint/suspicious/noExplicitAny: API objects are JSON of every shape
type Body = any;

let stage: SandboxStage | undefined;
afterEach(async () => {
  await stage?.stop();
  stage = undefined;
});

/** As a user applies it: what the API server sets is left out. */
function given({ status: _, ...object }: Raw): Raw {
  const { uid: __, resourceVersion: ___, ...metadata } = object["metadata"] as Raw;
  return { ...object, metadata };
}
const node = (name: string, labels: Record<string, string> = {}): Raw => ({
  ...given(makeNode(name, labels)),
  status: { allocatable: { cpu: "8", memory: "32Gi", pods: "110" } },
});
const spread = {
  requiredDuringSchedulingIgnoredDuringExecution: [
    { labelSelector: { matchLabels: { app: "db" } }, topologyKey: "rack" },
  ],
};
function spreadPod(name: string, claim: string): Raw {
  const pod = given(makePod(name, [claim]));
  const metadata = { ...(pod["metadata"] as Raw), labels: { app: "db" } };
  return { ...pod, metadata, spec: { ...(pod["spec"] as Raw), affinity: { podAntiAffinity: spread } } };
}

async function started(...objects: Raw[]): Promise<SandboxStage> {
  stage = await sandboxStage();
  for (const object of [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "d" } },
    given(makeClass("local")),
    ...objects,
  ]) {
    await stage.apply(object);
  }
  await stage.pass(1_000);
  return stage;
}

async function nodeOf(on: SandboxStage, name: string): Promise<string | undefined> {
  const pods = (await on.list("Pod")) as Body[];
  return pods.find(({ metadata }) => metadata.name === name)?.spec.nodeName;
}

test("FR-078: filter and prioritize write nothing, and volumes are taken only where the Pod already counts", async () => {
  const racks = ["r1", "r2", "r3"];
  const on = await started(...racks.map((rack, index) => node(`n${index}`, { rack })));
  for (const index of [0, 1, 2]) {
    await on.apply(given(makePV(`v${index}`, { on: `n${index}` })));
    await on.apply(given(makePVC(`c${index}`)));
  }
  await on.pass(1_000);
  const versions = async () => {
    const lists = await Promise.all(
      ["PersistentVolume", "PersistentVolumeClaim", "Pod", "Event"].map((kind) => on.list(kind)),
    );
    return lists.flat().map((object: Body) => [object.metadata.name, object.metadata.resourceVersion]);
  };
  const before = await versions();
  for (const index of [0, 1, 2]) {
    const asked = extenderArgs(makePod(`p${index}`, [`c${index}`]), ["n0", "n1", "n2"]);
    const filtered = (await on.ask(on.berth.extender, "POST", "/v1/filter", asked)).body as Body;
    expect(filtered.NodeNames).toEqual(["n0", "n1", "n2"]);
    await on.ask(on.berth.extender, "POST", "/v1/prioritize", asked);
  }
  await on.pass(5_000);
  expect(await versions()).toEqual(before);
  for (const index of [0, 1, 2]) await on.apply(spreadPod(`p${index}`, `c${index}`));
  await on.pass(20_000);
  const places = await Promise.all([0, 1, 2].map((index) => nodeOf(on, `p${index}`)));
  expect(places.toSorted()).toEqual(["n0", "n1", "n2"]);
  const call = (method: string, path: string) => on.ask(on.sandbox.api.exchange, method, path);
  expect(await audit({ call })).toEqual([]);
});

const rackOnly = { terms: [{ matchExpressions: [{ key: "rack", operator: "In", values: ["r1"] }] }] };
const late: Record<string, { there: Raw[]; missing: (stage: SandboxStage) => Promise<void> }> = {
  "a volume": { there: [given(makePVC("x"))], missing: (on) => on.apply(given(makePV("a", { on: "n1" }))) },
  "its claim": { there: [given(makePV("a", { on: "n1" }))], missing: (on) => on.apply(given(makePVC("x"))) },
  "a label of its node": {
    there: [given(makePVC("x")), given(makePV("a", rackOnly))],
    missing: (on) => on.patch("Node", undefined, "n1", { metadata: { labels: { rack: "r1" } } }),
  },
  "a larger volume": {
    there: [given(makePVC("x")), given(makePV("small", { on: "n1", capacity: "1Gi" }))],
    missing: (on) => on.apply(given(makePV("a", { on: "n1" }))),
  },
  "its class": {
    there: [given(makePVC("x", { class: "late" }))],
    missing: async (on) => {
      await on.apply(given(makeClass("late")));
      await on.apply(given(makePV("a", { on: "n1", class: "late" })));
    },
  },
};

// That somebody asks again is not shown here: kube-scheduler may ask before our watch has the change, and refusing it then is
// what the wake-ups are for (docs/field-reports.md).
test.for(Object.entries(late))(
  "FR-070: no refusal outlives its cause: a Pod that waited for %s goes on with the next try",
  async ([, { there, missing }]) => {
    const on = await started(node("n1"), ...there, given(makePod("p", ["x"])));
    await on.pass(5_000);
    expect(await nodeOf(on, "p")).toBeUndefined();
    await missing(on);
    await on.pass(1_000);
    await on.apply(given(makePV("unrelated", { on: "n9", class: "other" })));
    const from = on.runtime.now();
    while ((await nodeOf(on, "p")) === undefined && on.runtime.now() - from < 60_000) await on.pass(250);
    expect(await nodeOf(on, "p")).toBe("n1");
    expect(on.runtime.now() - from).toBeLessThan(15_000);
  },
);

test("FR-048: the state page names every promise with its Pod, place and age, and a Pod that goes takes its holds along", async () => {
  const server = new TestServer().add(makeNode("n1"), makePV("a", { on: "n1" }), makePVC("x"), makePod("p", ["x"]));
  const page = async () => (await server.get("/debug/state")).json;
  await server.post("/v1/filter", extenderArgs(makePod("p", ["x"]), ["n1"]));
  await server.runtime.advance(2_000);
  expect((await page()).holds).toMatchObject({ count: 1, first: [{ pod: "up", volumes: ["a"] }] });
  server.world.state.delete("pod", "d/p");
  expect((await page()).holds.count).toBe(0);
  const pod = server.world.pod("p", "x");
  server.world.state.reservations.assume(pod.uid, server.world.plan(pod, "n1"));
  await server.runtime.advance(7_000);
  expect((await page()).assumptions.first).toEqual([
    { claim: "d/x", node: "n1", pods: ["up"], ageMs: 7_000, target: { kind: "volume", volume: "a", uid: "uid-a" } },
  ]);
});

test("FR-048: holds end by the clock where nobody tells that the Pod is gone", async () => {
  const server = new TestServer().add(makeNode("n1"), makePV("a", { on: "n1" }), makePVC("x"), makePVC("y"));
  await server.post("/v1/filter", extenderArgs(makePod("p", ["x"]), ["n1"]));
  await server.runtime.advance(defaults.holds.ttlMs + 1);
  await server.post("/v1/filter", extenderArgs(makePod("q", ["y"]), ["n1"]));
  expect((await server.get("/debug/state")).json.holds.first).toMatchObject([{ pod: "uq", volumes: ["a"] }]);
});

test.for(["Running", "Pending"])(
  "FR-058: a filter call for a Pod that has its node (%s) reserves nothing",
  async (phase) => {
    const server = new TestServer().add(makeNode("n1"), makePV("a", { on: "n1" }), makePVC("x"));
    await server.post("/v1/filter", extenderArgs(makePod("p", ["x"]), ["n1"]));
    await server.post(
      "/v1/filter",
      extenderArgs({ ...makePod("p", ["x"], { node: "n1" }), status: { phase } }, ["n1"]),
    );
    expect(server.world.state.reservations.dump()).toEqual({ holds: [], assumptions: [] });
  },
);

test("FR-116: lists come in streams or pages, Pods only as far as they wait, and what no decision reads is dropped on arrival", async () => {
  const runtime = virtualRuntime();
  const server = new ApiServer({ runtime, protectsVolumes: false });
  const asked: URL[] = [];
  const exchange: Exchange = (request, signal) => {
    asked.push(new URL(request.path, "http://api"));
    return server.exchange(request, signal);
  };
  const log = createLog({ level: "error", stream: { write: () => {} }, runtime });
  const inPages = { ...defaults, cache: { ...defaults.cache, streamsLists: false } };
  for (const config of [defaults, inPages]) {
    const berth: Berth = await startBerth({ exchange, runtime, config, log, version: "test" });
    await runtime.advance(1_000);
    const stopped = berth.stop();
    await runtime.advance(30_000);
    await stopped;
  }
  for (const { path, fieldSelector } of Object.values(kindInfo)) {
    const requests = asked.filter(({ pathname }) => pathname === path);
    expect(requests.filter(({ searchParams }) => searchParams.has("sendInitialEvents"))).toHaveLength(1);
    const lists = requests.filter(({ searchParams }) => !searchParams.has("watch"));
    expect(lists.length).toBeGreaterThan(0);
    for (const { searchParams } of lists) expect(Number(searchParams.get("limit"))).toBeGreaterThan(0);
    for (const { searchParams } of requests) expect(searchParams.get("fieldSelector")).toBe(fieldSelector ?? null);
  }
  expect(kindInfo.pod.fieldSelector).toBe("status.phase=Pending");

  const bulk = "z".repeat(8 << 10);
  const translator = new Translator();
  const kinds = {
    pod: makePod("p", ["x"]),
    claim: makePVC("x"),
    volume: makePV("a", { on: "n1" }),
    node: makeNode("n1"),
  };
  for (const [kind, raw] of Object.entries(kinds)) {
    const metadata = { ...(raw["metadata"] as Raw), managedFields: [{ manager: bulk }], annotations: { bulk } };
    const read = translator.translate(kind as keyof typeof kinds, { ...raw, metadata });
    expect(read.ok).toBe(true);
    expect(
      JSON.stringify(read, (_, value) =>
        value instanceof Map
          ? [...value]
          : value instanceof Set
            ? [...value]
            : typeof value === "bigint"
              ? String(value)
              : value,
      ).length,
    ).toBeLessThan(2_000);
  }
});
