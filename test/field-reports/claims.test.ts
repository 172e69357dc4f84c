/** Field reports on claims that are half-way somewhere, on capacity, and on what the state must survive, as the core answers them. */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import type { Kind } from "../../src/scheduling/objects.ts";
import { totalOf } from "../../src/scheduling/pools.ts";
import { extenderArgs, TestServer } from "../server/support.ts";
import { virtualRuntime } from "../support/clock.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";
import { World } from "../support/world.ts";

const ten = Array.from({ length: 10 }, (_, index) => `n${index}`);

function csi(...nodes: string[]): Raw[] {
  const driver = [makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true)];
  return [...driver, ...nodes.flatMap((node) => [makeNode(node), makeCsiNode(node, "csi.example")])];
}

const hopeless: Record<string, { objects: Raw[]; text: string }> = {
  "FR-013: has lost its volume": {
    objects: [makePVC("x", { volume: "gone", phase: "Lost" })],
    text: 'persistentvolumeclaim "x" bound to non-existent persistentvolume "gone"',
  },
  "FR-013: is bound to a volume that is not there": {
    objects: [makePVC("x", { volume: "gone" })],
    text: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
  },
  "FR-019: is being deleted, unbound": {
    objects: [makePVC("x", { deleting: true }), makePV("a")],
    text: 'persistentvolumeclaim "x" is being deleted',
  },
  "FR-019: is being deleted, bound": {
    objects: [makePVC("x", { deleting: true, volume: "a" }), makePV("a", { claim: "x", claimUid: "ux" })],
    text: 'persistentvolumeclaim "x" is being deleted',
  },
  "FR-019: is being deleted, reserved": {
    objects: [makePVC("x", { deleting: true }), makePV("a", { claim: "x" })],
    text: 'persistentvolumeclaim "x" is being deleted',
  },
};

test.for(Object.entries(hopeless))(
  "%s: one reason for all nodes, none of them worth a preemption, no Error, nothing reserved",
  async ([, { objects, text }]) => {
    const server = new TestServer().add(...ten.map((name) => makeNode(name)), ...objects, makePod("p", ["x"]));
    const { status, json } = await server.post("/v1/filter", extenderArgs(makePod("p", ["x"]), ten));
    expect([status, json.Error ?? "", json.NodeNames, json.FailedNodes ?? {}]).toEqual([200, "", [], {}]);
    expect(json.FailedAndUnresolvableNodes).toEqual(Object.fromEntries(ten.map((name) => [name, text])));
    expect(server.world.state.reservations.dump()).toEqual({ holds: [], assumptions: [] });
    const explained = (await server.get("/debug/explain/d/p")).json;
    expect(JSON.stringify([explained.suggestion, explained.nodes[0]])).toMatch(/d\/x/);
  },
);

const waiting: Record<string, { claim: Parameters<typeof makePVC>[1]; pod?: string }> = {
  "as users make it": { claim: {} },
  "without a phase yet": { claim: { phase: "" } },
  "that asks for no size": { claim: { request: null } },
  "of a class that provisions": { claim: { class: "csi" } },
  "with a node selected before": { claim: { class: "csi", selectedNode: "n1" } },
  "of a generic ephemeral volume": { claim: { owner: "up" }, pod: "~x" },
};

test.for(Object.entries(waiting))(
  "FR-014: an unbound delayed claim %s is planned, never a reason to wait for its binding",
  ([, { claim, pod = "x" }]) => {
    const world = new World().add(...csi("n1"), makeDriver("csi.example", false), makePV("a", { on: "n1" }));
    world.add(makePVC(pod === "x" ? "x" : "p-x", claim));
    expect(world.fitting(world.pod("p", pod))).toEqual(["n1"]);
  },
);

const outgrown: Record<string, { claim: Parameters<typeof makePVC>[1]; volume?: Parameters<typeof makePV>[1] }> = {
  "asks for more than its volume has (a resize under way)": { claim: { request: "7Gi" }, volume: { capacity: "5Gi" } },
  "asks for less": { claim: { request: "1Gi" } },
  "names another class by now": { claim: { class: "renamed" } },
  "has a class that was deleted": { claim: {}, volume: { class: "deleted" } },
  "has a selector that its volume does not match": { claim: { selector: { matchLabels: { app: "x" } } } },
  "asks for a mode that its volume does not list": { claim: { modes: ["ReadWriteMany"] } },
  "asks for another volumeMode": { claim: { volumeMode: "Block" } },
  "changes its attributes class": { claim: { attributesClass: "gold" }, volume: { attributesClass: "silver" } },
};

test.for(Object.entries(outgrown))(
  "FR-016: a bound claim that %s is bound all the same: only where its volume is counts",
  ([, { claim, volume }]) => {
    const world = new World().add(makeNode("n1"), makeNode("n2"));
    world.add(
      makePV("a", { on: "n1", claim: "x", claimUid: "ux", ...volume }),
      makePVC("x", { ...claim, volume: "a" }),
    );
    const pod = world.pod("p", "x");
    expect(world.fitting(pod)).toEqual(["n1"]);
    expect(world.planned(pod, "n1")).toEqual(["x==a"]);
    expect(world.reasons(pod, "n2")).toEqual(["volumeNodeConflict"]);
  },
);

const selecting: Record<string, { volumes: Raw[]; fits: string[]; why?: string }> = {
  "no volume": { volumes: [], fits: [], why: "selectorNotProvisionable" },
  "a volume that it does not select": {
    volumes: [makePV("v", { on: "n1", class: "csi" })],
    fits: [],
    why: "selectorNotProvisionable",
  },
  "a volume that it selects": {
    volumes: [makePV("v", { on: "n1", class: "csi", labels: { tier: "a" } })],
    fits: ["n1"],
  },
  "a selected volume of another class": {
    volumes: [makePV("v", { on: "n1", labels: { tier: "a" } })],
    fits: [],
    why: "selectorNotProvisionable",
  },
};

test.for(Object.entries(selecting))(
  "FR-017: a claim with a selector in a dynamic class, with %s: matched or refused, never sent to the provisioner",
  ([, { volumes, fits, why }]) => {
    const world = new World().add(...csi("n1", "n2"), ...volumes);
    for (const on of ["n1", "n2"]) world.add(makeCapacity(`c-${on}`, { class: "csi", on, capacity: "100Gi" }));
    world.add(makePVC("x", { class: "csi", selector: { matchLabels: { tier: "a" } } }));
    const pod = world.pod("p", "x");
    expect(world.fitting(pod)).toEqual(fits);
    expect(world.reasons(pod, "n2")).toEqual(["selectorNotProvisionable"]);
    if (why === undefined) expect(world.planned(pod, "n1")).toEqual(["x=v"]);
    else expect(world.reasons(pod, "n1")).toEqual([why]);
    expect(JSON.stringify(explainPod(world.state, pod))).toContain("a claim with a selector cannot be provisioned");
  },
);

test.for([
  ["dc1", ["n1"]],
  ["dc2", ["n2"]],
] as const)("FR-031: capacity of another class of the same driver never counts for %s", ([name, want]) => {
  const world = new World().add(...csi("n1", "n2"));
  for (const other of ["dc1", "dc2"]) world.add(makeClass(other, { provisioner: "csi.example" }));
  world.add(makeCapacity("c1", { class: "dc1", on: "n1", capacity: "100Gi" }));
  world.add(makeCapacity("c2", { class: "dc2", on: "n2", capacity: "100Gi" }));
  world.add(makePVC("x", { class: name, request: "10Gi" }));
  expect(world.fitting(world.pod("p", "x"))).toEqual(want);
});

test("FR-031: a Pod with a claim of each class needs both groups on one node", () => {
  const world = new World().add(...csi("n1", "n2", "n3"));
  for (const other of ["dc1", "dc2"]) world.add(makeClass(other, { provisioner: "csi.example" }));
  for (const [name, node] of [
    ["dc1", "n1"],
    ["dc2", "n2"],
    ["dc1", "n3"],
    ["dc2", "n3"],
  ] as const) {
    world.add(makeCapacity(`${name}-${node}`, { class: name, on: node, capacity: "100Gi" }));
  }
  world.add(makePVC("x", { class: "dc1" }), makePVC("y", { class: "dc2" }));
  expect(world.fitting(world.pod("p", "x", "y"))).toEqual(["n3"]);
});

const crowds: Record<string, { data: string; logs: string; nodes: number; fit: number }> = {
  "one Pod a node, as reported": { data: "1700Gi", logs: "560Gi", nodes: 4, fit: 4 },
  "two Pods a node": { data: "2000Gi", logs: "200Gi", nodes: 2, fit: 4 },
  "the smaller pool decides": { data: "9000Gi", logs: "250Gi", nodes: 2, fit: 4 },
  "a byte short of two": { data: "2147483647999", logs: "200Gi", nodes: 3, fit: 3 },
};

test.for(Object.entries(crowds))("FR-035: Pods with claims in two pools: %s", ([, { data, logs, nodes, fit }]) => {
  const names = Array.from({ length: nodes }, (_, index) => `n${index}`);
  const world = new World().add(...csi(...names));
  for (const name of ["data", "logs"]) world.add(makeClass(name, { provisioner: "csi.example" }));
  for (const on of names) {
    world.add(makeCapacity(`data-${on}`, { class: "data", on, capacity: data }));
    world.add(makeCapacity(`logs-${on}`, { class: "logs", on, capacity: logs }));
  }
  const placed: string[] = [];
  for (let index = 0; index < nodes * 2 + 1; index++) {
    world.add(makePVC(`d${index}`, { class: "data", request: "1000Gi" }));
    world.add(makePVC(`l${index}`, { class: "logs", request: "100Gi" }));
    const pod = world.pod(`p${index}`, `d${index}`, `l${index}`);
    const [node] = world.fitting(pod);
    if (node === undefined) continue;
    expect(world.state.reservations.assume(pod.uid, world.plan(pod, node)).ok).toBe(true);
    placed.push(node);
  }
  expect(placed).toHaveLength(fit);
  for (const pool of world.state.pools.all()) expect(pool.promised).toBeLessThanOrEqual(totalOf(pool));
});

test.for(["static", "provisioned"])(
  "FR-043: a Pod that gives up leaves a shared %s claim's promise to the others",
  (how) => {
    const world = new World().add(...csi("n1"), makeCapacity("c", { class: "csi", on: "n1", capacity: "50Gi" }));
    const name = how === "static" ? "local" : "csi";
    world.add(makePV("a", { on: "n1" }), makePVC("s", { class: name, request: "5Gi" }), makePVC("t", { class: name }));
    const other = world.pod("other", "t");
    if (how !== "static") world.add(makePVC("s", { class: name, request: "48Gi" }));
    const pods = ["p1", "p2"].map((pod) => world.pod(pod, "s"));
    for (const pod of pods) expect(world.state.reservations.assume(pod.uid, world.plan(pod, "n1")).ok).toBe(true);
    const fits = pods.toReversed().map(({ uid }) => {
      world.state.reservations.forget(uid);
      return world.fitting(other);
    });
    expect(fits).toEqual([[], ["n1"]]);
  },
);

test.for([
  ["smaller", { class: "csi", request: "10Gi" }],
  ["of another class", { request: "10Gi" }],
  ["bound by hand", { class: "csi", request: "100Gi", volume: "b" }],
] as const)("FR-044: a claim re-created %s counts at the next call", ([, claim]) => {
  const world = new World().add(...csi("n1"), makeCapacity("c", { class: "csi", on: "n1", capacity: "50Gi" }));
  world.add(makePV("a", { on: "n1" }), makePV("b", { on: "n1", class: "csi", claim: "x", claimUid: "ux2" }));
  world.add(makePVC("x", { class: "csi", request: "100Gi" }));
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual([]);
  world.state.delete("claim", "d/x");
  world.add(makePVC("x", { ...claim, uid: "ux2" }));
  expect(world.fitting(pod)).toEqual(["n1"]);
});

test("FR-083: affinity, size, a disk in use and a pool in use are all beyond what preemption could mend", async () => {
  const server = new TestServer().add(...csi("n1", "n2", "n3", "n4", "n5"));
  server.add(makePVC("x", { request: "10Gi" }), makePVC("b"), makePVC("e", { class: "csi", request: "8Gi" }));
  server.add(makePVC("pinned", { volume: "p5" }), makePV("p5", { on: "n5", claim: "pinned", claimUid: "upinned" }));
  server.add(makePV("small", { on: "n2", capacity: "1Gi" }), makePV("used", { on: "n3", claim: "b", claimUid: "ub" }));
  server.add(makePVC("low", { class: "csi", request: "8Gi", selectedNode: "n4" }));
  server.add(makeCapacity("c", { class: "csi", on: "n4", capacity: "10Gi" }));
  const refusing = async (claim: string, nodes: string[]): Promise<void> => {
    const { json } = await server.post("/v1/filter", extenderArgs(makePod("p", [claim]), nodes));
    expect([json.NodeNames, json.FailedNodes ?? {}]).toEqual([[], {}]);
    expect(Object.keys(json.FailedAndUnresolvableNodes)).toEqual(nodes);
    const candidates = Object.fromEntries(nodes.map((node) => [node, { Pods: [{ UID: "v" }], NumPDBViolations: 0 }]));
    const asked = { Pod: makePod("p", [claim]), NodeNameToVictims: null, NodeNameToMetaVictims: candidates };
    expect((await server.post("/v1/preempt", asked)).json.NodeNameToMetaVictims).toEqual({});
  };
  await refusing("pinned", ["n1", "n2", "n3", "n4"]);
  await refusing("x", ["n1", "n2", "n3"]);
  await refusing("e", ["n1", "n4"]);
});

test("FR-082: preemption keeps the victims of nodes that the volumes allow, and names no other node", async () => {
  const server = new TestServer().add(makeNode("n1"), makeNode("n2"), makePVC("x", { volume: "a" }));
  server.add(makePV("a", { on: "n1", claim: "x", claimUid: "ux" }));
  const victims = { Pods: [{ UID: "v1" }, { UID: "v2" }], NumPDBViolations: 7 };
  const preempt = async (candidates: object) =>
    (
      await server.post("/v1/preempt", {
        Pod: makePod("p", ["x"]),
        NodeNameToVictims: null,
        NodeNameToMetaVictims: candidates,
      })
    ).json.NodeNameToMetaVictims;
  expect(await preempt({ n1: victims, n2: { Pods: [{ UID: "w" }], NumPDBViolations: 0 } })).toEqual({ n1: victims });
  expect(await preempt({ n2: victims })).toEqual({});
  expect(await preempt({ elsewhere: victims })).toEqual({});
});

test("FR-122: a node that was deleted and came back under a new uid leaves no trace, seen or unseen", () => {
  for (const isSeen of [true, false]) {
    const world = new World().add(
      ...csi("n1", "n2"),
      makePVC("x", { volume: "a" }),
      makePVC("y"),
      makePVC("z", { class: "csi" }),
    );
    world.add(makePV("a", { on: "n1", claim: "x", claimUid: "ux" }), makePV("b", { on: "n1" }));
    world.add(makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" }));
    const pod = world.pod("p", "x", "y", "z");
    expect(world.planned(pod, "n1")).toEqual(["x==a", "y=b", "z=+csi"]);
    if (isSeen) {
      world.state.delete("node", "n1");
      expect(world.fitting(pod)).toEqual([]);
    }
    const node = makeNode("n1");
    world.add({ ...node, metadata: { ...(node["metadata"] as Raw), uid: "another" } });
    expect(world.planned(pod, "n1")).toEqual(["x==a", "y=b", "z=+csi"]);
    expect(world.fitting(pod)).toEqual(["n1"]);
  }
});

test("FR-101: filter and prioritize read nothing and wait for nothing where the cache has all they need", async () => {
  const server = new TestServer().add(makePVC("c0"), makePVC("c1"), makePVC("c2"), makePVC("c3"));
  const names = Array.from({ length: 500 }, (_, index) => `n${index}`);
  for (const on of names) server.add(makeNode(on), ...[1, 2, 3, 4].map((disk) => makePV(`${on}-${disk}`, { on })));
  server.live = () => Promise.reject(new Error("read the API"));
  const pod = makePod("p", ["c0", "c1", "c2", "c3"]);
  const timers = server.runtime.pending();
  const filtered = await server.post("/v1/filter", extenderArgs(pod, names));
  expect(filtered.json.NodeNames).toEqual(names);
  await server.post("/v1/prioritize", extenderArgs(pod, names));
  expect([server.liveReads, server.runtime.pending(), server.runtime.now()]).toEqual([[], timers, 0]);
});

test("FR-102: a node looks at its own volumes, however many the cluster has", () => {
  const world = new World().add(makePVC("x"));
  const names = Array.from({ length: 200 }, (_, index) => `n${index}`);
  for (const [index, on] of names.entries()) {
    world.add(makeNode(on));
    const terms = [{ matchFields: [{ key: "metadata.name", operator: "In", values: [on] }] }];
    for (let disk = 0; disk < 20; disk++) world.add(makePV(`${on}-${disk}`, index % 2 === 0 ? { on } : { terms }));
    world.add(makePV(`other-${on}`, { on, class: "other" }));
  }
  let seen = 0;
  for (const { topologies } of world.state.topologies.nodes.values()) {
    const own = topologies.flatMap(({ slabs }) => [...(slabs.get("local" as never) ?? [])]);
    expect(own).toHaveLength(20);
    seen += new Set(own.map((id) => world.state.volumes.at(id).name)).size;
  }
  expect(seen).toBe(4_000);
  expect(world.fitting(world.pod("p", "x"))).toHaveLength(200);
});

test("FR-104: re-publishing capacity changes a number in one pool, and adds nothing", () => {
  const names = Array.from({ length: 300 }, (_, index) => `n${index}`);
  const world = new World().add(...csi(...names));
  for (const name of ["a", "b", "c"]) world.add(makeClass(name, { provisioner: "csi.example" }));
  const publish = (round: number): void => {
    for (const name of ["a", "b", "c"]) {
      for (const on of names) {
        world.add(makeCapacity(`${name}-${on}`, { class: name, on, capacity: `${10 + round}Gi`, version: `${round}` }));
      }
    }
  };
  publish(1);
  const pools = [...world.state.pools.all()];
  expect(pools).toHaveLength(900);
  for (const { topologies } of world.state.topologies.nodes.values()) {
    expect(topologies.map((topology) => topology.pools.size)).toEqual([3]);
  }
  publish(2);
  publish(3);
  expect([...world.state.pools.all()]).toEqual(pools);
  expect([...world.state.pools.all()].every((pool, index) => pool === pools[index])).toBe(true);
  world.add(makePVC("x", { class: "b", request: "13Gi" }), makePVC("y", { class: "b", request: "14Gi" }));
  expect(world.fitting(world.pod("p", "x"))).toHaveLength(300);
  expect(world.fitting(world.pod("q", "y"))).toEqual([]);
});

test.for([1, 2, 3, 4, 5, 6])(
  "FR-110: what is told twice, late or in any order leaves the state of the last word (seed %i)",
  (seed) => {
    const { random } = virtualRuntime(seed);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const nodes = ["n1", "n2", "n3"];
    const make: Record<string, () => [Kind, string, Raw]> = {
      node: () => {
        const name = pick(nodes);
        return ["node", name, makeNode(name, { rack: pick(["r1", "r2"]) })];
      },
      volume: () => {
        const name = pick(["a", "b", "c"]);
        const terms = [{ matchExpressions: [{ key: "rack", operator: "In", values: [pick(["r1", "r2"])] }] }];
        const where = pick([{ on: pick(nodes) }, { terms }, {}]);
        const bound = pick([{}, {}, { claim: "x" }, { claim: "w", claimUid: "uw" }]);
        return [
          "volume",
          name,
          makePV(name, { ...where, ...bound, capacity: pick(["5Gi", "10Gi"]), uid: pick(["u1", "u2"]) }),
        ];
      },
      claim: () => ["claim", "d/x", makePVC("x", { request: pick(["5Gi", "8Gi"]) })],
      capacity: () => {
        const on = pick(nodes);
        return [
          "capacity",
          `kube-system/c-${on}`,
          makeCapacity(`c-${on}`, { class: "csi", on, capacity: pick(["1Gi", "20Gi"]) }),
        ];
      },
    };
    const world = new World().add(...csi());
    world.add(makePVC("y", { class: "csi" }));
    const last = new Map<string, Raw>();
    for (let step = 0; step < 200; step++) {
      const [kind, key, raw] = pick(Object.values(make))();
      const isGone = random() < 0.3;
      for (let times = pick([1, 1, 3]); times > 0; times--) {
        if (isGone) world.state.delete(kind, key);
        else world.add(raw);
      }
      if (isGone) last.delete(`${kind} ${key}`);
      else last.set(`${kind} ${key}`, raw);
      if (step % 20 !== 19) continue;
      // A list, and a process that has just started with it.
      const fresh = new World().add(...csi(), makePVC("y", { class: "csi" }), ...last.values());
      for (const claim of ["x", "y"]) {
        const answer = (one: World) => JSON.stringify(explainPod(one.state, one.pod("p", claim)));
        expect(answer(world)).toBe(answer(fresh));
      }
    }
  },
);
