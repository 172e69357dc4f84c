/**
 * preempt over the whole server: candidates that no eviction mends are dropped, the rest kept with their victims as given.
 *
 * @see VB §1.2, §1.4; decision 5
 */
import { expect, test } from "vitest";
import { makeCapacity, makeClass, makeDriver, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { TestServer } from "./support.ts";

interface MetaVictims {
  readonly Pods: readonly { readonly UID: string }[];
  readonly NumPDBViolations: number;
}

type Candidates = Record<string, MetaVictims>;

const victims = (...uids: string[]): MetaVictims => ({
  Pods: uids.map((UID) => ({ UID })),
  NumPDBViolations: uids.length,
});
const byUid = (candidates: unknown): object => ({ NodeNameToVictims: null, NodeNameToMetaVictims: candidates });
/** As kube-scheduler sends them where nodeCacheCapable is false. */
const whole = (candidates: Candidates): object => ({
  NodeNameToVictims: Object.fromEntries(
    Object.entries(candidates).map(([node, { Pods, ...rest }]) => [
      node,
      { Pods: Pods.map(({ UID }) => makePod(`name-${UID}`, [], { uid: UID })), ...rest },
    ]),
  ),
  NodeNameToMetaVictims: null,
});

async function preempt(server: TestServer, pod: Raw | null, candidates: object): Promise<unknown> {
  const reply = await server.post("/v1/preempt", { Pod: pod, ...candidates });
  expect([reply.status, Object.keys(reply.json)]).toEqual([200, ["NodeNameToMetaVictims"]]);
  return reply.json.NodeNameToMetaVictims;
}

/** n1 and n2 have a disk, n3 has one that is too small, n4 has none, and there is no n5. */
function fiveNodes(): TestServer {
  return new TestServer().add(
    ...["n1", "n2", "n3", "n4"].map((name) => makeNode(name)),
    makePV("a", { on: "n1" }),
    makePV("b", { on: "n2", capacity: "1Ti" }),
    makePV("c", { on: "n3", capacity: "1Gi" }),
    ...["x", "y"].map((name) => makePVC(name)),
  );
}

const mine = makePod("p", ["x"]);
const free = makePod("free", []);

interface Case {
  readonly pod?: Raw;
  readonly candidates: Candidates;
  readonly want: readonly string[];
  readonly happen?: (server: TestServer) => void;
}

const cases: Record<string, Case> = {
  "all candidates hold the volumes: all are kept": {
    candidates: { n1: victims("u"), n2: victims("v", "w") },
    want: ["n1", "n2"],
  },
  "a disk too small, no disk, no such node: dropped": {
    candidates: { n1: victims("u"), n3: victims("v"), n4: victims("w"), n5: victims("z") },
    want: ["n1"],
  },
  "none is left: an empty object": { candidates: { n3: victims("v"), n4: victims("w") }, want: [] },
  "a candidate without victims fails all of them in kube-scheduler: dropped, though it fits": {
    candidates: { n1: victims(), n2: victims("v") },
    want: ["n2"],
  },
  "nobody has a victim: an empty object": { candidates: { n1: victims(), n2: victims() }, want: [] },
  "no candidates": { candidates: {}, want: [] },
  "the victims' order, repeats and odd uids are none of our business": {
    candidates: { n1: victims("z", "a", "z", "", "__proto__", 'quote"', "ü") },
    want: ["n1"],
  },
  "what only another Pod's hold is in the way of is kept": {
    candidates: { n1: victims("u") },
    want: ["n1"],
    happen: ({ world }) => {
      const other = world.pod("other", "y");
      world.state.reservations.hold(other.uid, [world.plan(other, "n1")]);
    },
  },
  "what a bind was promised stays promised, whoever is evicted": {
    candidates: { n1: victims("u"), n2: victims("v") },
    want: ["n2"],
    happen: ({ world }) => {
      const other = world.pod("other", "y");
      expect(world.state.reservations.assume(other.uid, world.plan(other, "n1"))).toEqual({ ok: true });
    },
  },
  "a claim that is bound leaves its node alone": {
    pod: makePod("q", ["bound"]),
    candidates: { n1: victims("u"), n2: victims("v") },
    want: ["n2"],
    happen: (server) => {
      const claim = { claim: "bound", claimUid: "ubound" };
      server.add(makePV("d", { on: "n2", ...claim }), makePVC("bound", { volume: "d" }));
    },
  },
  "a pool with room is kept, one without is not": {
    pod: makePod("q", ["made"]),
    candidates: { n1: victims("u"), n2: victims("v"), n3: victims("w") },
    want: ["n2"],
    happen: (server) => {
      server.add(makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true));
      server.add(makePVC("made", { class: "csi", request: "10Gi" }));
      server.add(makeCapacity("r1", { class: "csi", on: "n1", capacity: "9Gi" }));
      server.add(makeCapacity("r2", { class: "csi", on: "n2", capacity: "10Gi" }));
    },
  },
  "a claim that is missing is missing everywhere": {
    pod: makePod("q", ["nobody"]),
    candidates: { n1: victims("u") },
    want: [],
  },
  "a Pod without claims may evict on any node, known or not": {
    pod: free,
    candidates: { n1: victims("u"), n5: victims("v"), n4: victims() },
    want: ["n1", "n5"],
  },
  "nodes with names that objects inherit": {
    pod: free,
    candidates: { constructor: victims("u"), toString: victims("v"), "10": victims("w") },
    want: ["constructor", "toString", "10"],
  },
};

const forms = { "by uid": byUid, whole };
const rows = Object.entries(cases).flatMap(([name, row]) =>
  Object.entries(forms).map(([form, write]) => ({ name, form, write, ...row })),
);

test.for(rows)("$name ($form)", async ({ pod = mine, candidates, want, happen, write }) => {
  const server = fiveNodes();
  happen?.(server);
  const before = server.world.state.reservations.dump();
  expect(await preempt(server, pod, write(candidates))).toEqual(
    Object.fromEntries(want.map((node) => [node, candidates[node]])),
  );
  // A question, not a promise.
  expect(server.world.state.reservations.dump()).toEqual(before);
});

const noVictims = { Pods: null, NumPDBViolations: 0 };
const shapes: Record<string, { readonly pod?: Raw | null; readonly request: object; readonly want: object }> = {
  "both forms null": { request: byUid(null), want: {} },
  "neither form there": { request: {}, want: {} },
  "both forms filled: uids are enough": {
    request: { ...whole({ n2: victims("v") }), ...{ NodeNameToMetaVictims: { n1: victims("u") } } },
    want: { n1: victims("u") },
  },
  "victims that are null, or whose Pods are": { request: byUid({ n1: null, n2: noVictims }), want: {} },
  "no number of violations is none": {
    request: byUid({ n1: { Pods: [{ UID: "u" }] } }),
    want: { n1: { Pods: [{ UID: "u" }], NumPDBViolations: 0 } },
  },
  "a negative number of violations is theirs to explain": {
    request: byUid({ n1: { Pods: [{ UID: "u" }], NumPDBViolations: -1 } }),
    want: { n1: { Pods: [{ UID: "u" }], NumPDBViolations: -1 } },
  },
  "keys in any case": {
    request: { nodenametometavictims: { n1: { pods: [{ uid: "u" }], numpdbviolations: 1 } } },
    want: { n1: victims("u") },
  },
  "fields that nobody knows": {
    request: { ...byUid({ n1: { ...victims("u"), Reason: "x", Pods: [{ UID: "u", Name: "n" }] } }), Extra: [] },
    want: { n1: victims("u") },
  },
  "no Pod": { pod: null, request: byUid({ n1: victims("u") }), want: {} },
  "a Pod that cannot be read": { pod: { spec: 1 }, request: byUid({ n1: victims("u") }), want: {} },
};

test.for(Object.entries(shapes))("%s", async ([, { pod = mine, request, want }]) => {
  expect(await preempt(fiveNodes(), pod, request)).toEqual(want);
});

test("a node called __proto__ is a node", async () => {
  const body = `{"Pod":${JSON.stringify(free)},"NodeNameToMetaVictims":{"__proto__":{"Pods":[{"UID":"u"}],"NumPDBViolations":0}}}`;
  const reply = await new TestServer().post("/v1/preempt", body);
  expect(reply.text).toBe('{"NodeNameToMetaVictims":{"__proto__":{"Pods":[{"UID":"u"}],"NumPDBViolations":0}}}');
});

test.for([
  ["candidates that are a list", byUid([victims("u")])],
  ["victims that are a list", byUid({ n1: [] })],
  ["Pods that are an object", byUid({ n1: { Pods: {} } })],
  ["a victim without uid", byUid({ n1: { Pods: [{}] } })],
  ["a victim that is null", byUid({ n1: { Pods: [null] } })],
  ["a whole victim without metadata", { NodeNameToVictims: { n1: { Pods: [{ spec: {} }] } } }],
  ["half a violation", byUid({ n1: { ...victims("u"), NumPDBViolations: 0.5 } })],
] as const)("%s: the call does not decode, and nobody is evicted", async ([, request]) => {
  expect((await fiveNodes().post("/v1/preempt", { Pod: mine, ...request })).status).toBe(400);
});

test("behind or not ready, nobody is evicted for a Pod with claims", async () => {
  const server = fiveNodes();
  server.readiness = { ready: false, why: "the watch of volumes is silent" };
  expect(await preempt(server, mine, byUid({ n1: victims("u") }))).toEqual({});
  expect(await preempt(server, free, byUid({ n1: victims("u") }))).toEqual({ n1: victims("u") });
});

test("five thousand candidates, every other one with the disk", async () => {
  const server = new TestServer().add(makePVC("x"));
  const candidates: Candidates = {};
  for (let index = 0; index < 5_000; index++) {
    server.add(makeNode(`n${index}`));
    if (index % 2 === 0) server.add(makePV(`pv${index}`, { on: `n${index}` }));
    candidates[`n${index}`] = victims(`u${index}`);
  }
  const kept = Object.keys((await preempt(server, mine, byUid(candidates))) as object);
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([2_500, "n0", "n4998"]);
});
