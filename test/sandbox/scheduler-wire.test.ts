/** The extender protocol from kube-scheduler's side: what is sent, what is understood (VB §1.1-1.3). */
import { expect, test } from "vitest";
import {
  decodeBindError,
  decodeFilterReply,
  decodePreemption,
  decodePriorities,
} from "../../src/sandbox/scheduler/decode.ts";
import { extender, passAll, type Reply } from "./fake-extender.ts";
import { makeWorld, node, pod } from "./world.ts";

test("keys are found in any letter case, unknown ones are passed over, null is absent", () => {
  const reply = decodeFilterReply('{"nodenames":["a"],"FAILEDNODES":{"b":"why"},"error":null,"Future":1}');
  expect(reply).toMatchObject({ nodeNames: ["a"], nodes: undefined, error: "" });
  expect([...reply.failed]).toEqual([["b", "why"]]);
});

test("only the first JSON value of a reply is read", () => {
  expect(decodeFilterReply('{"NodeNames":["a"]} trailing').nodeNames).toEqual(["a"]);
});

test("whole nodes are known by their names", () => {
  expect(decodeFilterReply('{"Nodes":{"items":[{"metadata":{"name":"a"}}]}}').nodes).toEqual(["a"]);
});

test("scores are integers, and priorities a bare list", () => {
  expect(decodePriorities('[{"Host":"myhost","Score":1},{"host":"other","score":-2}]')).toEqual([
    { host: "myhost", score: 1 },
    { host: "other", score: -2 },
  ]);
  expect(decodePriorities("null")).toEqual([]);
});

test("victims and bind errors keep Go's spelling", () => {
  const victims = decodePreemption('{"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],"NumPDBViolations":1}}}');
  expect(victims.get("foo")).toEqual({ uids: ["myuid"], pdbViolations: 1 });
  expect(decodeBindError('{"Error":"myerror"}')).toBe("myerror");
});

test.for([
  ["a fractional score", () => decodePriorities('[{"Host":"a","Score":1.5}]'), "cannot unmarshal number 1.5"],
  ["a whole score written as a fraction", () => decodePriorities('[{"Host":"a","Score":1.0}]'), "number 1.0"],
  ["a score that is a text", () => decodePriorities('[{"Host":"a","Score":"1"}]'), "cannot unmarshal string"],
  ["names that are no list", () => decodeFilterReply('{"NodeNames":"a"}'), "cannot unmarshal string"],
  ["a list where an object belongs", () => decodeFilterReply("[]"), "cannot unmarshal array"],
  ["no JSON at all", () => decodeFilterReply("<html>"), "invalid character"],
  ["an empty body", () => decodeFilterReply(""), "EOF"],
] as const)("%s does not decode", ([, decode, text]) => {
  expect(decode).toThrow(text);
});

/** Runs one pod past the extender, and hands back what the extender was sent. */
async function callsOf(nodeCacheCapable: boolean) {
  const filter = ({ NodeNames, Nodes }: { NodeNames: string[] | null; Nodes: { items: unknown[] } | null }): Reply =>
    NodeNames ? { NodeNames } : { Nodes };
  const { entry, calls } = extender(
    { filter, prioritize: () => [], bind: () => ({ Error: "" }) },
    { nodeCacheCapable },
  );
  const world = makeWorld({ extenders: [entry] });
  await world.apply(node("a"), node("b"));
  await world.runtime.advance(100);
  await world.apply(pod("p"));
  await world.runtime.advance(100);
  const uid = (await world.get("pods", "p"))?.metadata.uid;
  return { calls, uid };
}

test("an extender with a cache is sent names, one without whole nodes, and null for the other", async () => {
  const cached = (await callsOf(true)).calls[0]?.body;
  expect(Object.keys(cached)).toEqual(["Pod", "Nodes", "NodeNames"]);
  expect(cached).toMatchObject({ Pod: { metadata: { name: "p" } }, Nodes: null, NodeNames: ["a", "b"] });
  const whole = (await callsOf(false)).calls[0]?.body;
  expect(whole).toMatchObject({ NodeNames: null, Nodes: { items: [{ metadata: { name: "a" } }, { spec: {} }] } });
});

test("filter, prioritize and bind are called in this order, bind with names and uid", async () => {
  const { calls, uid } = await callsOf(true);
  expect(calls.map(({ verb }) => verb)).toEqual(["filter", "prioritize", "bind"]);
  const { Node, ...others } = calls[2]?.body ?? {};
  expect(others).toEqual({ PodName: "p", PodNamespace: "default", PodUID: uid });
  expect(["a", "b"]).toContain(Node);
});

test("a single survivor is taken without being scored", async () => {
  const { entry, calls } = extender({ filter: () => ({ NodeNames: ["b"] }), prioritize: () => 500 });
  const world = makeWorld({ extenders: [entry] });
  await world.apply(node("a"), node("b"), pod("p"));
  await world.runtime.advance(2_000);
  expect(await world.placements()).toEqual({ p: "b" });
  expect(calls.map(({ verb }) => verb)).not.toContain("prioritize");
});

test("weights multiply scores", async () => {
  const score = (best: string, weight: number) =>
    extender({ prioritize: () => [{ Host: best, Score: 10 }] }, { weight }).entry;
  const world = makeWorld({ extenders: [score("a", 1), score("b", 5)] });
  await world.apply(node("a"), node("b"), pod("p"));
  await world.runtime.advance(2_000);
  expect(await world.placements()).toEqual({ p: "b" });
});

/** By node: the weights of a pod's preferred terms that match it. An extender with a weight of 5 gives each node its score. */
const preferences: Record<string, { weights: Record<string, number>; scores: Record<string, number>; winner: string }> =
  {
    "a preference is decisive where no extender has another opinion": { weights: { b: 1 }, scores: {}, winner: "b" },
    "the weights of all terms that match add up": {
      weights: { a: 30, b: 50, c: 40, "a, c": 20 },
      scores: {},
      winner: "c",
    },
    "the best node has 200 however small its weight": { weights: { b: 1 }, scores: { a: 3 }, winner: "b" },
    "an extender of weight 5 outvotes a preference from 5 of 10 on": {
      weights: { b: 100 },
      scores: { a: 5 },
      winner: "a",
    },
    "and adds to it below": { weights: { a: 90, b: 100 }, scores: { a: 1 }, winner: "a" },
  };
test.for(Object.entries(preferences))("scores: %s", async ([, { weights, scores, winner }]) => {
  const prioritize = (): Reply => Object.entries(scores).map(([Host, Score]) => ({ Host, Score }));
  const world = makeWorld({ extenders: [extender({ filter: passAll, prioritize }, { weight: 5 }).entry] });
  await world.apply(node("a"), node("b"), node("c"));
  await world.runtime.advance(100);
  const preferred = Object.entries(weights).map(([names, weight]) => ({
    weight,
    preference: {
      matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: names.split(", ") }],
    },
  }));
  const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } };
  for (const name of ["p1", "p2", "p3", "p4"]) await world.apply(pod(name, { spec: { affinity } }));
  expect([...new Set(Object.values(await world.placements()))]).toEqual([winner]);
});

test("each extender sees what the one before left", async () => {
  const first = extender({ filter: () => ({ NodeNames: ["b"] }) });
  const second = extender({ filter: passAll });
  const world = makeWorld({ extenders: [first.entry, second.entry] });
  await world.apply(node("a"), node("b"), pod("p"));
  await world.runtime.advance(2_000);
  expect(second.calls[0]?.body.NodeNames).toEqual(["b"]);
});

test("nobody is asked about a pod whose nodes were all refused in-tree", async () => {
  const { entry, calls } = extender({ filter: passAll });
  const world = makeWorld({ extenders: [entry] });
  await world.apply(node("a", { spec: { unschedulable: true } }), pod("p"));
  await world.runtime.advance(2_000);
  expect(calls).toEqual([]);
});

test("an extender with managed resources is asked about pods alone that want one", async () => {
  const { entry, calls } = extender({ filter: () => 500 }, { managedResources: ["example.com/disk"] });
  const world = makeWorld({ extenders: [entry] });
  const limits = { resources: { limits: { "example.com/disk": "0" } } };
  await world.apply(node("a"), pod("plain"));
  await world.apply(pod("managed", { spec: { containers: [{ name: "app", image: "app", ...limits }] } }));
  await world.runtime.advance(500);
  expect(new Set(calls.map(({ body }) => body.Pod.metadata.name))).toEqual(new Set(["managed"]));
  expect(await world.placements()).toEqual({ plain: "a", managed: "" });
});
