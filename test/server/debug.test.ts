/** Health, metrics, the debug pages, and the door. */
import { expect, test } from "vitest";
import { defaults } from "../../src/config.ts";
import { makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

const pod = makePod("p", ["x"]);

function threeNodes(config = {}): TestServer {
  return new TestServer(config).add(
    makeNode("n1"),
    makeNode("n2"),
    makeNode("n3"),
    makePV("a", { on: "n1", capacity: "10Gi" }),
    makePV("small", { on: "n2", capacity: "1Gi" }),
    makePVC("x", { request: "5Gi" }),
    pod,
  );
}

test.for(["extender", "debug"] as const)("the %s listener says whether Berth lives and is ready", async (listener) => {
  const server = threeNodes();
  const status = async (path: string) => (await server.get(path, {}, listener)).status;
  expect([await status("/livez"), await status("/readyz")]).toEqual([200, 200]);
  server.readiness = { ready: false, why: "nodes are not listed yet" };
  const reply = await server.get("/readyz", {}, listener);
  expect([reply.status, reply.text]).toEqual([503, "not ready: nodes are not listed yet\n"]);
  expect(await status("/livez")).toBe(200);
});

test("unknown paths are 404 and wrong methods 405 with the right one, on each listener", async () => {
  const server = threeNodes();
  expect((await server.get("/v1/filter", {}, "extender")).status).toBe(405);
  expect((await server.get("/v1/filter")).status).toBe(404);
  expect((await server.get("/metrics", {}, "extender")).status).toBe(404);
  expect((await server.post("/v1/filters", {})).status).toBe(404);
  expect((await server.post("/v1/../debug/state", {})).status).toBe(404);
  expect((await server.get("/debug/explain/%zz/p")).status).toBe(404);
  expect((await server.get("/livez?verbose=1")).status).toBe(200);
});

test("a body of another type is 415, a body too large 413", async () => {
  const server = threeNodes();
  const form = { "content-type": "application/x-www-form-urlencoded" };
  expect((await server.post("/v1/filter", "{}", form)).status).toBe(415);
  expect((await server.post("/v1/bind", "{}", { "content-type": "application/json; charset=utf-8" })).status).toBe(200);
  const large = await server.post("/v1/bind", { PodName: "x".repeat(70_000) });
  expect([large.status, large.json.message]).toEqual([413, "the body is larger than 65536 bytes"]);
  expect(await server.metric('berth_call_duration_seconds_count{verb="bind",outcome="undecodable"}')).toBe(1);
});

test("a fault of ours is 500 in the reply, one line in the log and a count, and the next call works", async () => {
  const server = threeNodes();
  server.live = () => Promise.reject(new Error("a bug"));
  const reply = await server.post("/v1/filter", extenderArgs(makePod("q", ["gone"]), ["n1"]));
  expect([reply.status, reply.json.message]).toEqual([500, "internal fault; see the log"]);
  expect(server.lines.at(-1)).toMatchObject({ level: "error", verb: "filter", err: { message: "a bug" } });
  expect(await server.metric('berth_call_faults_total{verb="filter"}')).toBe(1);
  expect((await server.post("/v1/filter", extenderArgs(pod, ["n1"]))).json.NodeNames).toEqual(["n1"]);
  expect(server.runtime.pending()).toBe(0);
});

test("more calls than are allowed at once are 503; waiting binds have a limit of their own", async () => {
  const limits = { ...defaults.limits, callsMax: 1 };
  const server = threeNodes({ limits, binding: { timeoutMs: 1_000, inProgressMax: 1, queuedMax: 1 } });
  let finish = (): void => {};
  server.live = () => new Promise((resolve) => (finish = () => resolve({ found: false })));
  server.bind = (_request, signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve({ ok: true })));
  const binding = { PodName: "p", PodNamespace: "d", PodUID: "up", Node: "n1" };
  const hangUp = new AbortController();
  // One in progress, one queued, and `callsMax` for Pods without claims, which the binder lets past both.
  const binds = [1, 2, 3].map(() => server.post("/v1/bind", binding, {}, hangUp.signal));
  expect((await server.post("/v1/bind", binding)).status).toBe(503);
  const slow = server.post("/v1/filter", extenderArgs(makePod("q", ["gone"]), ["n1"]));
  expect((await server.post("/v1/prioritize", extenderArgs(pod, ["n1"]))).status).toBe(503);
  expect(await server.metric('berth_calls_in_progress{verb="filter"}')).toBe(1);
  expect(await server.metric('berth_calls_rejected_total{verb="prioritize",cause="tooManyCalls"}')).toBe(1);
  finish();
  hangUp.abort();
  expect((await slow).status).toBe(200);
  expect((await Promise.all(binds)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await server.post("/v1/prioritize", extenderArgs(pod, ["n1"]))).status).toBe(200);
});

test("while stopping, new calls are 503, calls in progress finish, and readiness is gone", async () => {
  const server = threeNodes();
  let finish = (): void => {};
  server.live = () => new Promise((resolve) => (finish = () => resolve({ found: false })));
  const slow = server.post("/v1/filter", extenderArgs(makePod("q", ["gone"]), ["n1"]));
  server.calls.close();
  expect((await server.post("/v1/filter", extenderArgs(pod, ["n1"]))).status).toBe(503);
  expect((await server.get("/readyz")).text).toBe("not ready: stopping\n");
  let idle: boolean | undefined;
  const waiting = server.calls.idle(server.runtime, 20_000).then((is) => (idle = is));
  await server.runtime.advance(100);
  expect(idle).toBeUndefined();
  finish();
  expect((await slow).status).toBe(200);
  await waiting;
  expect([idle, server.runtime.pending()]).toEqual([true, 0]);
});

test("a call that never ends keeps a stop no longer than its time", async () => {
  const server = threeNodes();
  server.bind = () => new Promise(() => {});
  void server.post("/v1/bind", { PodName: "p", PodNamespace: "d", PodUID: "up", Node: "n1" });
  const idle = server.calls.idle(server.runtime, 20_000);
  await server.runtime.advance(20_000);
  expect(await idle).toBe(false);
});

// FR-047.
test("the time since kube-scheduler last asked is a metric, and an explanation says when it never did", async () => {
  const server = threeNodes();
  await server.runtime.advance(600_000);
  expect(await server.metric("berth_last_filter_age_seconds")).toBe(600);
  const { json } = await server.get("/debug/explain/d/p");
  expect(json.notes).toEqual(["never asked about this Pod since start (2026-01-01T00:00:00.000Z)"]);
  expect(json.asked).toBeUndefined();
  await server.post("/v1/filter", extenderArgs(pod, ["n2", "n3"]));
  expect(await server.metric("berth_last_filter_age_seconds")).toBe(0);
});

test("what would help is said of the nodes that were offered, though another fits", async () => {
  const server = threeNodes();
  await server.post("/v1/filter", extenderArgs(pod, ["n3"]));
  const { json } = await server.get("/debug/explain/d/p");
  expect(json.feasibleNotOffered).toEqual(["n1"]);
  expect(json.suggestion).toContain("on node n3");
});

// FR-118.
test("an explanation says what was asked and when, and which nodes fit but were not offered", async () => {
  const server = threeNodes();
  await server.post("/v1/filter", extenderArgs(pod, ["n2", "n3"]));
  await server.runtime.advance(5_000);
  await server.post("/v1/filter", extenderArgs(pod, ["n3", "n2"]));
  const before = server.world.state.generation;
  const { status, json } = await server.get("/debug/explain/d/p");
  expect(status).toBe(200);
  expect(json).toMatchObject({
    pod: "d/p",
    schedulable: true,
    notes: [],
    asked: {
      tries: 2,
      firstAt: "2026-01-01T00:00:00.000Z",
      lastAt: "2026-01-01T00:00:05.000Z",
      outcome: "infeasible",
      offeredNodes: 2,
      feasibleNodes: 0,
    },
    feasibleNotOffered: ["n1"],
  });
  expect(json.nodes.map(({ node, fits }: { node: string; fits: boolean }) => [node, fits])).toEqual([
    ["n1", true],
    ["n2", false],
    ["n3", false],
  ]);
  expect(server.world.state.generation).toBe(before);
});

test("as text, nodes that say the same share a paragraph", async () => {
  const server = threeNodes().add(makeNode("n4"), makeNode("n5"), makeNode("n6"));
  await server.post("/v1/filter", extenderArgs(pod, ["n2"]));
  const { text } = await server.get("/debug/explain/d/p", { accept: "text/plain" });
  expect(text).toBe(`Pod d/p: 1 of 6 nodes fit
As of 2026-01-01T00:00:00.000Z
Asked once, last at 2026-01-01T00:00:00.000Z: 1 nodes offered, 0 feasible (infeasible)
Would help: Add a volume of class local with at least 5Gi (Filesystem, ReadWriteOnce) on node n2 for claim d/x
Feasible, but not offered by kube-scheduler when it last asked: n1

n1: fits, score 10
  d/x: volume a

n2: refused: node(s) didn't find available persistent volumes to bind
  d/x: small: too small: 1Gi of 5Gi

n3, n4, n5 and 1 more (4 nodes): refused: node(s) didn't find available persistent volumes to bind
  d/x: no volume of its class reaches the node
`);
});

// FR-120.
test("an explanation notes what keeps kube-scheduler from asking", async () => {
  const gated = makePod("g", ["x"]);
  const spec = {
    ...(gated["spec"] as object),
    schedulerName: "other",
    schedulingGates: [{ name: "example.com/wait" }],
  };
  const server = threeNodes().add({ ...gated, spec });
  server.readiness = { ready: false, why: "starting" };
  expect((await server.get("/debug/explain/d/g")).json.notes).toEqual([
    "Berth is not ready, so what follows may be out of date: starting",
    "never asked about this Pod since start (2026-01-01T00:00:00.000Z)",
    'the Pod names scheduler "other", and "berth-scheduler" is the one that asks Berth',
    "the Pod has scheduling gates: kube-scheduler does not try it before they are removed",
  ]);
});

test("a Pod that is not known, or cannot be read, is 404 with the reason", async () => {
  const server = threeNodes();
  expect((await server.get("/debug/explain/d/nobody")).json.message).toBe(
    'pod "d/nobody" is not among the pending Pods that Berth knows',
  );
  server.world.state.setAside("pod", "d/odd", "spec: wrong");
  expect(await server.get("/debug/explain/d/odd")).toMatchObject({ status: 404 });
});

test("a simulated Pod gets an explanation and leaves nothing behind", async () => {
  const server = threeNodes();
  const reply = await server.postDebug("/debug/simulate", makePod("new", ["x"]));
  expect(reply.json).toMatchObject({ pod: "d/new", schedulable: true });
  const text = await server.postDebug("/debug/simulate", makePod("new", ["x"]), { accept: "text/plain" });
  expect(text.text).toContain("Pod d/new: 1 of 3 nodes fit");
  expect([server.memory.size, server.world.state.reservations.holds.count, server.filtersSeen]).toEqual([0, 0, []]);
  expect((await server.postDebug("/debug/simulate", "{")).status).toBe(400);
  expect((await server.postDebug("/debug/simulate", { kind: "Pod" })).json.message).toContain("the Pod cannot be read");
  server.readiness = { ready: false, why: "starting" };
  expect((await server.postDebug("/debug/simulate", pod)).status).toBe(503);
});

test("the state page shows counts, ages and promises, with sizes that stay exact", async () => {
  const server = threeNodes();
  await server.post("/v1/filter", extenderArgs(pod, ["n1"]));
  const { json } = await server.get("/debug/state");
  expect(json).toMatchObject({
    at: "2026-01-01T00:00:00.000Z",
    readiness: { ready: true },
    kinds: { node: { objects: 3, ageMs: 1500 }, volume: { objects: 2 } },
    podsRemembered: 1,
    bindsInProgress: { count: 0, first: [] },
    holds: { count: 1, first: [{ pod: "up", volumes: ["a"] }] },
    assumptions: { count: 0 },
    pools: { count: 0 },
  });
});

test("what the gauges show is read at the time of the scrape", async () => {
  const server = threeNodes();
  expect(await server.metric('berth_cache_objects{kind="node"}')).toBe(3);
  expect(await server.metric('berth_watch_age_seconds{kind="pod"}')).toBe(1.5);
  expect(await server.metric("berth_ready")).toBe(1);
  server.add(makeNode("n9"));
  server.readiness = { ready: false, why: "x" };
  expect(await server.metric('berth_cache_objects{kind="node"}')).toBe(4);
  expect(await server.metric("berth_ready")).toBe(0);
});
