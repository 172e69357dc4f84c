import { expect, test } from "vitest";
import { nodeName, podUid } from "../../src/scheduling/names.ts";
import { makeClass, makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

const noVolumes = "node(s) didn't find available persistent volumes to bind";
const unknown = "node(s) not known to the volume extender";

/** n1 has a fitting disk, n2 a larger one, n3 none. */
function threeNodes(config = {}): TestServer {
  return new TestServer(config).add(
    makeNode("n1"),
    makeNode("n2"),
    makeNode("n3"),
    makePV("a", { on: "n1", capacity: "10Gi" }),
    makePV("b", { on: "n2", capacity: "100Gi" }),
    makePVC("x", { request: "5Gi" }),
  );
}

const pod = makePod("p", ["x"]);

const result = (fields: object) => ({
  Nodes: null,
  NodeNames: null,
  FailedNodes: {},
  FailedAndUnresolvableNodes: {},
  Error: "",
  ...fields,
});

test("nodes with the volumes pass in the order asked, the others are refused for good", async () => {
  const reply = await threeNodes().post("/v1/filter", extenderArgs(pod, ["n3", "n2", "n1", "n2"]));
  expect(reply.status).toBe(200);
  expect(reply.text).toBe(
    `{"Nodes":null,"NodeNames":["n2","n1"],"FailedNodes":{},"FailedAndUnresolvableNodes":{"n3":"${noVolumes}"},"Error":""}`,
  );
});

test("whole nodes in, the same nodes out, with the same verdicts", async () => {
  const server = threeNodes();
  const sent = ["n3", "n2", "n1"].map((name) => makeNode(name, { "example.com/rack": `r-${name}` }));
  const reply = await server.post("/v1/filter", extenderArgs(pod, null, sent));
  expect(reply.json).toEqual(
    result({ Nodes: { metadata: {}, items: [sent[1], sent[2]] }, FailedAndUnresolvableNodes: { n3: noVolumes } }),
  );
});

// FR-089, FR-092.
test("keys in lower case are understood", async () => {
  const body = { pod, nodes: null, nodenames: ["n1", "n3"] };
  const reply = await threeNodes().post("/v1/filter", body);
  expect(reply.json).toEqual(result({ NodeNames: ["n1"], FailedAndUnresolvableNodes: { n3: noVolumes } }));
});

test("no nodes asked about is an empty answer, no fault", async () => {
  const server = threeNodes();
  expect((await server.post("/v1/filter", extenderArgs(pod, []))).json).toEqual(result({ NodeNames: [] }));
  const empty = await server.post("/v1/filter", extenderArgs(pod, null, []));
  expect(empty.json).toEqual(result({ Nodes: { metadata: {}, items: [] } }));
});

test.for([
  ["no Pod", extenderArgs(null, ["n1"]), "the request has no Pod"],
  ["neither form", extenderArgs(pod, null), "the request has neither NodeNames nor Nodes"],
] as const)("a request with %s decodes, so it is answered with an Error", async ([, body, want]) => {
  const server = threeNodes();
  const reply = await server.post("/v1/filter", body);
  expect([reply.status, reply.json]).toEqual([200, result({ Error: want })]);
  expect(await server.metric('berth_call_errors_total{verb="filter",cause="malformed"}')).toBe(1);
});

test("a Pod that cannot be read is an Error that names the field", async () => {
  const reply = await threeNodes().post("/v1/filter", extenderArgs({ ...pod, metadata: { name: 7 } }, ["n1"]));
  expect(reply.status).toBe(200);
  expect(reply.json.Error).toContain("the Pod cannot be read: metadata.name");
});

test.for(["", "{", "[]", '"x"', " ".repeat(1 << 20), "\u0000", '{"Pod":{},"NodeNames":[1]}'])(
  "a body that is no request is 400, and the next good call works (%#)",
  async (body) => {
    const server = threeNodes();
    expect((await server.post("/v1/filter", body)).status).toBe(400);
    expect((await server.post("/v1/filter", extenderArgs(pod, ["n1"]))).json.NodeNames).toEqual(["n1"]);
    expect(server.world.state.reservations.assumptionCount).toBe(0);
  },
);

// FR-093, decision 2.
test("a Pod without claims passes everywhere, ready or not, and leaves nothing behind", async () => {
  const server = threeNodes();
  server.readiness = { ready: false, why: "starting" };
  const free = makePod("free", []);
  const names = ["n9", "n1", "constructor"];
  const reply = await server.post("/v1/filter", extenderArgs(free, names));
  expect(reply.json).toEqual(result({ NodeNames: names }));
  expect(server.memory.size).toBe(0);
  expect(server.world.state.reservations.holds.count).toBe(0);
});

test("a Pod with claims is never refused while Berth is not ready", async () => {
  const server = threeNodes();
  server.readiness = { ready: false, why: "pods are not listed yet" };
  const reply = await server.post("/v1/filter", extenderArgs(pod, ["n3"]));
  expect(reply.json).toEqual(result({ Error: "the volume extender is not ready: pods are not listed yet" }));
});

// FR-046, FR-090.
test("a node the cache does not know is refused; when all are unknown it is an Error", async () => {
  const server = threeNodes();
  const some = await server.post("/v1/filter", extenderArgs(pod, ["template-node", "n1"]));
  expect(some.json).toEqual(result({ NodeNames: ["n1"], FailedAndUnresolvableNodes: { "template-node": unknown } }));
  const none = await server.post("/v1/filter", extenderArgs(pod, ["template-node", "toString"]));
  expect(none.json).toEqual(result({ Error: "none of the nodes is known to the volume extender yet" }));
});

test("a reason of the Pod's own is given for every node", async () => {
  const server = threeNodes().add(makeClass("now", { mode: "Immediate" }), makePVC("y", { class: "now" }));
  const reply = await server.post("/v1/filter", extenderArgs(makePod("q", ["y"]), ["n1", "constructor", "n1"]));
  const text = "pod has unbound immediate PersistentVolumeClaims";
  expect(reply.json).toEqual(result({ NodeNames: [], FailedAndUnresolvableNodes: { n1: text, constructor: text } }));
  expect(await server.metric('berth_pods_refused_total{reason="unboundImmediate"}')).toBe(1);
});

test("an object that could not be read is an Error that names it, without a percent sign", async () => {
  const server = threeNodes();
  server.world.state.setAside("claim", "d/x", "spec.resources: 100% wrong");
  const reply = await server.post("/v1/filter", extenderArgs(pod, ["n1"]));
  expect(reply.json.Error).toBe('persistentvolumeclaim "d/x" cannot be read: spec.resources: 100 percent wrong');
});

test("a missing claim is refused only once the API says that it is missing", async () => {
  const lost = makePod("q", ["gone"]);
  const missing = threeNodes();
  const refused = await missing.post("/v1/filter", extenderArgs(lost, ["n1"]));
  expect(refused.json.FailedAndUnresolvableNodes).toEqual({ n1: 'persistentvolumeclaim "gone" not found' });
  expect(missing.liveReads).toEqual(["claim d/gone"]);

  const behind = threeNodes();
  behind.live = async () => ({ found: true });
  expect((await behind.post("/v1/filter", extenderArgs(lost, ["n1"]))).json).toEqual(
    result({ Error: 'persistentvolumeclaim "d/gone" exists but has not reached the cache yet' }),
  );
  const deaf = threeNodes();
  deaf.live = async () => ({ failed: "no route to host" });
  expect((await deaf.post("/v1/filter", extenderArgs(lost, ["n1"]))).json.Error).toContain("no route to host");
  expect(await deaf.metric('berth_live_reads_total{kind="claim",outcome="failed"}')).toBe(1);
});

test("a claim that arrives while the API is asked is used", async () => {
  const server = threeNodes();
  server.live = async () => {
    server.add(makePVC("late"));
    return { found: false };
  };
  const reply = await server.post("/v1/filter", extenderArgs(makePod("q", ["late"]), ["n1", "n3"]));
  expect(reply.json.NodeNames).toEqual(["n1"]);
});

test("a live read that does not answer is given up after its time", async () => {
  const server = threeNodes();
  server.live = (_kind, _key, signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve({ failed: "no answer in time" })));
  const call = server.post("/v1/filter", extenderArgs(makePod("q", ["gone"]), ["n1"]));
  await server.runtime.advance(2_000);
  expect((await call).json.Error).toContain("no answer in time");
  expect(server.runtime.pending()).toBe(0);
});

test("live reads of one call are few at a time, and bounded", async () => {
  const server = threeNodes({ liveReads: { timeoutMs: 1_000, perCallMax: 2, inParallelMax: 1 } });
  let open = 0;
  let openMax = 0;
  server.live = async () => {
    openMax = Math.max(openMax, ++open);
    await server.runtime.yield();
    open--;
    return { found: false };
  };
  server.add(...["c1", "c2", "c3"].map((name) => makePVC(name, { volume: `v-${name}` })));
  await server.post("/v1/filter", extenderArgs(makePod("q", ["c1", "c2"]), ["n1"]));
  expect([openMax, server.liveReads]).toEqual([1, ["volume v-c1", "volume v-c2"]]);
});

test("of more doubts than a call may read, the first are read, and what the API says of them counts", async () => {
  const server = threeNodes({ liveReads: { timeoutMs: 1_000, perCallMax: 2, inParallelMax: 1 } });
  server.add(...["c1", "c2", "c3"].map((name) => makePVC(name, { volume: `v-${name}` })));
  const ask = () => server.post("/v1/filter", extenderArgs(makePod("q", ["c1", "c2", "c3"]), ["n1"]));
  server.live = async (_kind, key) => ({ found: key === "v-c2" });
  expect((await ask()).json.Error).toBe('persistentvolume "v-c2" exists but has not reached the cache yet');
  server.live = async (_kind, key) => (key === "v-c1" ? { failed: "HTTP 500" } : { found: false });
  expect((await ask()).json.Error).toBe('persistentvolume "v-c1" is not in the cache and could not be read: HTTP 500');
  expect(server.liveReads).toHaveLength(4);
  server.live = async () => ({ found: false });
  const { json } = await ask();
  expect(json.Error ?? "").toBe("");
  expect(json.NodeNames ?? []).toEqual([]);
  expect(server.liveReads).toEqual(Array.from({ length: 3 }, () => ["volume v-c1", "volume v-c2"]).flat());
});

test("a Pod holds what it fits on while that is few nodes, and nothing when it is assigned or being bound", async () => {
  const server = threeNodes();
  const holds = () => server.world.state.reservations.dump().holds.map(({ pod: uid, volumes }) => [uid, volumes]);
  await server.post("/v1/filter", extenderArgs(pod, ["n1", "n2", "n3"]));
  expect(holds()).toEqual([["up", ["a", "b"]]]);
  await server.post("/v1/filter", extenderArgs(pod, ["n3"]));
  expect(holds()).toEqual([]);
  await server.post("/v1/filter", extenderArgs(makePod("p", ["x"], { node: "n1" }), ["n1"]));
  expect(holds()).toEqual([]);
  server.running.set(podUid("up"), nodeName("n1"));
  await server.post("/v1/filter", extenderArgs(pod, ["n1"]));
  expect(holds()).toEqual([]);
});

test("a Pod that fits on many nodes holds nothing before it is prioritized, then its best nodes", async () => {
  const server = new TestServer({ holds: { ttlMs: 60_000, podsMax: 10, nodesMax: 2 } }).add(makePVC("x"));
  const names = [1, 2, 3, 4].map((index) => `n${index}`);
  for (const [index, name] of names.entries()) {
    server.add(makeNode(name), makePV(`pv-${name}`, { on: name, capacity: `${100 - index}Gi` }));
  }
  await server.post("/v1/filter", extenderArgs(pod, names));
  expect(server.world.state.reservations.holds.count).toBe(0);
  await server.post("/v1/prioritize", extenderArgs(pod, names));
  expect(server.world.state.reservations.dump().holds[0]?.volumes).toEqual(["pv-n4", "pv-n3"]);
});

test("the binder hears of every filter call of a Pod", async () => {
  const server = threeNodes();
  await server.post("/v1/filter", extenderArgs(pod, ["n1"]));
  expect(server.filtersSeen).toEqual(["up"]);
});

test("one line a call, with counts by reason; nodes by name only at debug", async () => {
  const server = threeNodes();
  await server.post("/v1/filter", extenderArgs(pod, ["n1", "n3"]));
  expect(server.lines).toHaveLength(1);
  expect(server.lines[0]).toMatchObject({
    level: "info",
    time: "2026-01-01T00:00:00.000Z",
    verb: "filter",
    outcome: "feasible",
    pod: "d/p",
    nodes: 2,
    feasible: 1,
    refused: { noMatchingVolume: 1 },
    msg: "Filtered nodes",
  });
  expect(await server.metric('berth_nodes_refused_total{reason="noMatchingVolume"}')).toBe(1);
  const chatty = threeNodes({ logLevel: "debug" });
  await chatty.post("/v1/filter", extenderArgs(pod, ["n1", "n3"]));
  expect(chatty.lines[0]).toMatchObject({ level: "debug", perNode: { n3: noVolumes } });
});
