/** Whatever is sent, Berth answers with one of its codes, does not break, writes nothing, and answers the next good call. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

const pod = makePod("p", ["x"]);
const verbs = ["filter", "prioritize", "preempt", "bind"] as const;

function oneNode(): TestServer {
  return new TestServer().add(makeNode("n1"), makePV("a", { on: "n1" }), makePVC("x"));
}

async function expectUnharmed(server: TestServer): Promise<void> {
  const reply = await server.post("/v1/filter", extenderArgs(pod, ["n1"]));
  expect(reply.json).toMatchObject({ NodeNames: ["n1"], Error: "" });
  expect(server.lines.filter(({ level }) => level === "error")).toEqual([]);
  expect(server.world.state.reservations.assumptionCount).toBe(0);
}

const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
const polluting = '{"__proto__":{"Pod":{},"nodeName":"n1"},"constructor":{"prototype":{"fits":true}}}';
const bodies: Record<string, string> = {
  nothing: "",
  "half an object": '{"Pod":{"metadata":',
  "a megabyte of spaces": " ".repeat(1 << 20),
  "bytes that are no UTF-8": Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString("latin1"),
  "a byte order mark": "\ufeff{}",
  "deep brackets": deep,
  "deep brackets in the Pod": `{"Pod":{"spec":{"volumes":${deep}}},"NodeNames":["n1"]}`,
  "keys of prototypes": polluting,
  "a Pod with keys of prototypes": `{"Pod":${polluting},"NodeNames":["n1"]}`,
  "a Pod whose volumes are no list":
    '{"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"},"spec":{"volumes":{}}},"NodeNames":["n1"]}',
  "a Pod that is a number": '{"Pod":1,"NodeNames":["n1"]}',
  "a Pod without a name": '{"Pod":{"spec":{}},"NodeNames":["n1"]}',
  "names of the wrong type": '{"Pod":{},"NodeNames":[{},[],1,null]}',
  "both forms": '{"Pod":{},"NodeNames":["n1"],"Nodes":{"items":[{"metadata":{"name":"n1"}}]}}',
  "numbers for texts": '{"PodName":1,"PodNamespace":2,"PodUID":3,"Node":4}',
  "victims of the wrong type": '{"Pod":{},"NodeNameToVictims":{"n1":[1]},"NodeNameToMetaVictims":7}',
};

test.for(Object.entries(bodies))("%s", async ([, body]) => {
  const server = oneNode();
  for (const verb of verbs) expect([200, 400, 413], verb).toContain((await server.post(`/v1/${verb}`, body)).status);
  expect(server.binds).toEqual([]);
  await expectUnharmed(server);
  expect(({} as { nodeName?: string }).nodeName).toBeUndefined();
});

const keys = ["Pod", "pod", "NodeNames", "Nodes", "items", "metadata", "name", "namespace", "uid", "spec", "volumes"];
const more = ["persistentVolumeClaim", "claimName", "NodeNameToMetaVictims", "Pods", "UID", "__proto__", "PodName"];
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom("n1", "p", "d", "x", "", "constructor", null, true, 0, -1, 1.5, 1e300),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...keys, ...more), tie("value"), { maxKeys: 6 }),
  ),
})).value;

test("no JSON of our own words breaks a verb or a debug page", async () => {
  await fc.assert(
    fc.asyncProperty(json, json, json, async (Pod, NodeNames, Nodes) => {
      const server = oneNode();
      const body = { Pod, NodeNames, Nodes, NodeNameToMetaVictims: Nodes };
      for (const verb of verbs) expect([200, 400]).toContain((await server.post(`/v1/${verb}`, body)).status);
      expect([200, 400]).toContain((await server.postDebug("/debug/simulate", Pod)).status);
      await expectUnharmed(server);
    }),
    { numRuns: 300 },
  );
});

test("no bytes break a verb", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary", maxLength: 200 }), async (text) => {
      const server = oneNode();
      for (const verb of verbs) expect([200, 400]).toContain((await server.post(`/v1/${verb}`, text)).status);
    }),
    { numRuns: 200 },
  );
});

/** Names end at 253 characters in Kubernetes: what is remembered of calls is bounded by their number, so each must be short. */
const long = "x".repeat(254);
const tooLong: Record<string, { readonly pod?: object; readonly names?: readonly string[] }> = {
  "a Pod's name": { pod: { metadata: { name: long, namespace: "d", uid: "u" } } },
  "a Pod's namespace": { pod: { metadata: { name: "p", namespace: long, uid: "u" } } },
  "a Pod's uid": { pod: { metadata: { name: "p", namespace: "d", uid: long } } },
  "a Pod's version": { pod: { metadata: { name: "p", namespace: "d", uid: "u", resourceVersion: long } } },
  "a Pod's node": { pod: { ...pod, spec: { nodeName: long } } },
  "a Pod's scheduler": { pod: { ...pod, spec: { schedulerName: long } } },
  "a claim's name": { pod: makePod("p", [long]) },
  "an ephemeral claim's name": { pod: makePod("p", [`~${long}`]) },
  "a node's name": { pod, names: ["n1", long] },
};

test.for(Object.entries(tooLong))(
  "%s that is longer than any name is refused and not remembered",
  async ([, asked]) => {
    const server = oneNode();
    const { pod: odd = pod, names = ["n1"] } = asked;
    const items = names.map((name) => ({ metadata: { name } }));
    const candidates = Object.fromEntries(names.map((name) => [name, { Pods: [{ UID: "v" }] }]));
    const bodies = [
      ["filter", { Pod: odd, NodeNames: names }],
      ["filter", { Pod: odd, Nodes: { items } }],
      ["prioritize", { Pod: odd, NodeNames: names }],
      ["preempt", { Pod: odd, NodeNameToMetaVictims: candidates }],
    ] as const;
    for (const [verb, body] of bodies) {
      const { status, json, text } = await server.post(`/v1/${verb}`, body);
      const isRefused = status === 400 || json.Error !== "";
      expect(isRefused, verb).toBe(true);
      expect(text.length, verb).toBeLessThan(1_000);
    }
    expect([server.memory.size, server.world.state.reservations.holds.count, server.liveReads]).toEqual([0, 0, []]);
    await expectUnharmed(server);
  },
);

test.for(["PodName", "PodNamespace", "PodUID", "Node"])(
  "a bind whose %s is longer than any name is not begun",
  async (field) => {
    const server = oneNode();
    const body = { PodName: "p", PodNamespace: "d", PodUID: "up", Node: "n1", [field]: long };
    const { status, json } = await server.post("/v1/bind", body);
    expect([status, json.Error]).toEqual([200, `${field} is longer than 253 characters`]);
    expect(server.binds).toEqual([]);
  },
);

test("a Pod may mount 1,000 claims and no more", async () => {
  const server = oneNode();
  const mounting = (count: number) =>
    makePod(
      "p",
      Array.from({ length: count }, (_, index) => `c${index}`),
    );
  const { json } = await server.post("/v1/filter", extenderArgs(mounting(1_001), ["n1"]));
  expect(json.Error).toBe("the Pod cannot be read: spec.volumes: name more than 1000 claims");
  expect((await server.post("/v1/filter", extenderArgs(mounting(1_000), ["n1"]))).json.Error).toBe("");
});
