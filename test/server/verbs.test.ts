/** prioritize, preempt and bind over the whole server. */
import { expect, test } from "vitest";
import { makeClass, makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

const pod = makePod("p", ["x"]);

/** n1 wastes 95Gi, n2 5Gi, n3 45Gi, n4 has no disk. */
function fourNodes(): TestServer {
  return new TestServer().add(
    ...["n1", "n2", "n3", "n4"].map((name) => makeNode(name)),
    makePV("a", { on: "n1", capacity: "100Gi" }),
    makePV("b", { on: "n2", capacity: "10Gi" }),
    makePV("c", { on: "n3", capacity: "50Gi" }),
    makePVC("x", { request: "5Gi" }),
  );
}

// FR-090.
test("one whole score from 0 to 10 for every node asked about, in the order asked, best fit first", async () => {
  const server = fourNodes();
  const want = '[{"Host":"n3","Score":6},{"Host":"n1","Score":2},{"Host":"n2","Score":10}]';
  const names = ["n3", "n1", "n2"];
  await server.post("/v1/filter", extenderArgs(pod, names));
  expect((await server.post("/v1/prioritize", extenderArgs(pod, names))).text).toBe(want);
  // Another replica may have answered filter.
  expect((await fourNodes().post("/v1/prioritize", extenderArgs(pod, names))).text).toBe(want);
  const whole = extenderArgs(
    pod,
    null,
    names.map((name) => makeNode(name)),
  );
  expect((await fourNodes().post("/v1/prioritize", whole)).text).toBe(want);
});

test("scores are for the nodes that are left, with or without what filter found", async () => {
  const server = fourNodes();
  await server.post("/v1/filter", extenderArgs(pod, ["n4", "n3", "n1", "n2"]));
  const { json } = await server.post("/v1/prioritize", extenderArgs(pod, ["n3", "n1"]));
  expect(json).toEqual([
    { Host: "n3", Score: 10 },
    { Host: "n1", Score: 2 },
  ]);
});

test("a disk that went between filter and prioritize costs its node the score", async () => {
  const server = fourNodes();
  const names = ["n1", "n2"];
  await server.post("/v1/filter", extenderArgs(pod, names));
  server.world.state.delete("volume", "b");
  const { json } = await server.post("/v1/prioritize", extenderArgs(pod, names));
  expect(json).toEqual([
    { Host: "n1", Score: 10 },
    { Host: "n2", Score: 0 },
  ]);
});

test.for([
  ["a Pod without claims", extenderArgs(makePod("free", []), ["n1", "n2"])],
  ["equal nodes", extenderArgs(pod, ["n1"])],
  ["a node that does not fit", extenderArgs(pod, ["n4"])],
  ["a Pod that is refused everywhere", extenderArgs(makePod("q", ["gone"]), ["n1", "n2"])],
  ["no Pod", extenderArgs(null, ["n1"])],
  ["no nodes", extenderArgs(pod, null)],
  ["a Pod that cannot be read", extenderArgs({ spec: 1 }, ["n1"])],
] as const)("there is no opinion on %s", async ([, body]) => {
  const reply = await fourNodes().post("/v1/prioritize", body);
  expect([reply.status, reply.text]).toEqual([200, "[]"]);
});

test("no opinion while not ready; 400 for what does not decode", async () => {
  const server = fourNodes();
  server.readiness = { ready: false, why: "x" };
  expect((await server.post("/v1/prioritize", extenderArgs(pod, ["n1", "n2"]))).text).toBe("[]");
  expect((await server.post("/v1/prioritize", "{")).status).toBe(400);
});

const victims = (...uids: string[]) => ({ Pods: uids.map((UID) => ({ UID })), NumPDBViolations: 3 });
const preemption = (who: object | null, candidates: object | null) => ({
  Pod: who,
  NodeNameToVictims: null,
  NodeNameToMetaVictims: candidates,
});

test("preempt keeps the nodes with the volumes, their victims as given, and drops the rest", async () => {
  const body = preemption(pod, {
    n4: victims("a"),
    n1: victims("b", "c"),
    n2: victims(),
    unknown: victims("d"),
    n3: null,
  });
  const reply = await fourNodes().post("/v1/preempt", body);
  expect(reply.text).toBe('{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"b"},{"UID":"c"}],"NumPDBViolations":3}}}');
});

test("preempt answers whole victims with their UIDs", async () => {
  const full = { Pods: [makePod("v", [], { uid: "uv" })], NumPDBViolations: 1 };
  const body = { Pod: pod, NodeNameToVictims: { n2: full, n4: full }, NodeNameToMetaVictims: null };
  expect((await fourNodes().post("/v1/preempt", body)).json).toEqual({
    NodeNameToMetaVictims: { n2: { Pods: [{ UID: "uv" }], NumPDBViolations: 1 } },
  });
});

test("preempt lets every candidate with victims pass for a Pod without claims, ready or not", async () => {
  const server = fourNodes();
  server.readiness = { ready: false, why: "x" };
  const body = preemption(makePod("free", []), { n9: victims("a"), n1: victims() });
  expect((await server.post("/v1/preempt", body)).json).toEqual({ NodeNameToMetaVictims: { n9: victims("a") } });
});

test.for([
  ["while not ready", preemption(pod, { n1: victims("a") }), false],
  ["for a request without a Pod", preemption(null, { n1: victims("a") }), true],
  ["without candidates", preemption(pod, null), true],
  ["for a Pod that no node can hold", preemption(makePod("q", ["gone"]), { n1: victims("a") }), true],
] as const)("preempt evicts nobody %s", async ([, body, ready]) => {
  const server = fourNodes();
  if (!ready) server.readiness = { ready: false, why: "x" };
  const reply = await server.post("/v1/preempt", body);
  expect([reply.status, reply.text]).toEqual([200, '{"NodeNameToMetaVictims":{}}']);
});

test("preempt evicts nobody for a Pod whose claim cannot be read", async () => {
  const server = fourNodes();
  server.world.state.setAside("claim", "d/x", "broken");
  const reply = await server.post("/v1/preempt", preemption(pod, { n1: victims("a") }));
  expect(reply.text).toBe('{"NodeNameToMetaVictims":{}}');
  expect(await server.metric('berth_call_errors_total{verb="preempt",cause="unreadable"}')).toBe(1);
});

const binding = { PodName: "p", PodNamespace: "d", PodUID: "up", Node: "n1" };

test("bind hands the binder what kube-scheduler sent and answers with its outcome", async () => {
  const server = fourNodes();
  const done = await server.post("/v1/bind", binding);
  expect([done.status, done.text]).toEqual([200, '{"Error":""}']);
  expect(server.binds).toEqual([{ podName: "p", podNamespace: "d", podUid: "up", node: "n1" }]);
  server.bind = async () => ({ ok: false, error: "volume b is 100% taken" });
  const failed = await server.post("/v1/bind", binding);
  expect([failed.status, failed.text]).toEqual([200, '{"Error":"volume b is 100 percent taken"}']);
  expect(await server.metric('berth_call_errors_total{verb="bind",cause="bind"}')).toBe(1);
});

test.for(["PodName", "PodNamespace", "PodUID", "Node"])("a bind without %s decodes, and is an Error", async (field) => {
  const server = fourNodes();
  const reply = await server.post("/v1/bind", { ...binding, [field]: null });
  expect([reply.status, reply.json]).toEqual([200, { Error: `the request has no ${field}` }]);
  expect(server.binds).toEqual([]);
});

test("a bind that waits delays no filter, and hears of its caller hanging up", async () => {
  const server = fourNodes();
  server.bind = (_request, signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve({ ok: false, error: "hung up" })));
  const caller = new AbortController();
  const waiting = server.post("/v1/bind", binding, {}, caller.signal);
  expect((await server.post("/v1/filter", extenderArgs(pod, ["n1"]))).json.NodeNames).toEqual(["n1"]);
  caller.abort();
  expect((await waiting).json).toEqual({ Error: "hung up" });
});

// FR-049, as far as the server goes: what A was promised by bind, B is refused by filter.
test("a disk assumed for one Pod is refused to the next", async () => {
  const server = new TestServer().add(
    makeNode("n1"),
    makePV("a", { on: "n1" }),
    makePVC("x"),
    makePVC("y"),
    makeClass("other"),
  );
  const other = makePod("q", ["y"]);
  expect((await server.post("/v1/filter", extenderArgs(pod, ["n1"]))).json.NodeNames).toEqual(["n1"]);
  expect((await server.post("/v1/filter", extenderArgs(other, ["n1"]))).json.NodeNames).toEqual(["n1"]);
  const verdicts = server.memory.remembered("up" as never)?.verdicts;
  const verdict = verdicts?.verdict(0);
  if (!verdict?.fits) throw new Error("does not fit");
  expect(server.world.state.reservations.assume("up" as never, verdict.plan)).toEqual({ ok: true });
  const refused = await server.post("/v1/filter", extenderArgs(other, ["n1"]));
  expect(refused.json.FailedAndUnresolvableNodes).toEqual({
    n1: "node(s) didn't find available persistent volumes to bind",
  });
  expect(await server.metric('berth_nodes_refused_total{reason="volumeAssumed"}')).toBe(1);
});
