/** The shape of an explanation: nodes shown and counted, scores, and a way out where there is one (departure D13). */
import { expect, test } from "vitest";
import { explainInSteps, explainPod } from "../../src/scheduling/explain.ts";
import { claimUid, className, type NodeName, nodeName } from "../../src/scheduling/names.ts";
import { makePVC } from "../support/make.ts";
import { World } from "../support/world.ts";

function given(...lines: string[]): World {
  const world = new World();
  for (const line of lines) world.apply(line);
  return world;
}

const named = (...names: string[]): NodeName[] => names.map(nodeName);
const nodes = (...names: string[]): string[] => names.map((name) => `node ${name}`);

const csi = ["class csi provisioner=csi.example", "driver csi.example capacity"];

const hopeless: Record<string, { given: string[]; claim?: string; reason: string; helps: string }> = {
  "a claim that does not exist": {
    given: [],
    reason: 'persistentvolumeclaim "x" not found',
    helps: "Create claim d/x; where a StatefulSet made the Pod, deleting the Pod re-creates both",
  },
  "an ephemeral claim that is not there yet": {
    given: [],
    claim: "~x",
    reason: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-x"',
    helps: "Wait for claim d/p-x; check that the ephemeral-volume controller runs",
  },
  "a claim that has lost its volume": {
    given: ["pvc x 5Gi volume=a phase=Lost"],
    reason: 'persistentvolumeclaim "x" bound to non-existent persistentvolume "a"',
    helps: "Claim d/x has lost its volume a: restore the volume, or delete the claim",
  },
  "a claim that is being deleted": {
    given: ["pvc x 5Gi deleting"],
    reason: 'persistentvolumeclaim "x" is being deleted',
    helps: "Claim d/x is being deleted: let it go and create it anew",
  },
  "an ephemeral claim that somebody else owns": {
    given: ["pvc p-x 5Gi owner=other"],
    claim: "~x",
    reason: "PVC d/p-x was not created for pod d/p (pod is not owner)",
    helps: "Delete claim d/p-x, or rename the Pod's volume: the name is taken by a claim of somebody else",
  },
  "a claim that is half bound": {
    given: ["pvc x 5Gi volume=a half"],
    reason: "pod has unbound immediate PersistentVolumeClaims",
    helps: "Wait: the PV controller is binding claim d/x to volume a",
  },
  "a claim without a class": {
    given: ["pvc x 5Gi class="],
    reason: "pod has unbound immediate PersistentVolumeClaims",
    helps: "Claim d/x has no class: give it one, or a volume that the PV controller can bind",
  },
  "a claim whose class binds at once": {
    given: ["class now mode=Immediate", "pvc x 5Gi class=now"],
    reason: "pod has unbound immediate PersistentVolumeClaims",
    helps:
      "Class now binds immediately: the PV controller must bind claim d/x first; or use a class with WaitForFirstConsumer",
  },
  "a claim whose class is nearly called like two others": {
    given: ["class fasts", "class fase", "pvc x 5Gi class=fast"],
    reason: "pod has unbound immediate PersistentVolumeClaims",
    helps:
      "StorageClass fast does not exist: create it, make claim d/x anew with class fase, or bind claim d/x by hand",
  },
  "a claim that cannot be read": {
    given: ["pvc x many"],
    reason: 'claim d/x cannot be read: spec.resources.requests.storage: "many" is no size',
    helps: 'Mend claim d/x: spec.resources.requests.storage: "many" is no size',
  },
};

test.for(Object.entries(hopeless))("%s is out on every node", ([, { given: lines, claim = "x", reason, helps }]) => {
  const world = given(...nodes("n2", "n1"), ...lines);
  const out = { fits: false, contended: false, score: 0, reason, resolvable: false };
  const pod = world.pod("p", claim);
  const all = { pod: "d/p", schedulable: false, reason, suggestion: helps };
  expect(explainPod(world.state, pod)).toEqual({
    ...all,
    nodes: [
      { node: "n1", ...out },
      { node: "n2", ...out },
    ],
  });
  expect(explainPod(world.state, pod, { shownMax: 1 })).toEqual({
    ...all,
    nodes: [{ node: "n1", ...out }],
    omitted: { nodes: 1, fits: 0 },
  });
});

test("a Pod without claims fits everywhere, with no opinion, and nowhere if there is no node", () => {
  const world = given(...nodes("n2", "n1"));
  const pod = world.pod("p");
  const free = { fits: true, contended: false, score: 0, claims: [] };
  expect(explainPod(world.state, pod)).toEqual({
    pod: "d/p",
    schedulable: true,
    nodes: [
      { node: "n1", ...free },
      { node: "n2", ...free },
    ],
  });
  expect(explainPod(world.state, pod, { shownMax: 1 })).toMatchObject({ omitted: { nodes: 1, fits: 1 } });
  expect(explainPod(new World().state, pod)).toEqual({ pod: "d/p", schedulable: false, nodes: [] });
});

test("each claim of a node that fits is told with what it gets", () => {
  const world = given("node n1", "class csi provisioner=csi.example", "driver csi.example");
  for (const line of ["pv a 5Gi on=n1", "pv b 5Gi on=n1 for=y uid=uy"]) world.apply(line);
  for (const line of ["pvc x 5Gi", "pvc y 5Gi volume=b", "pvc z 5Gi class=csi"]) world.apply(line);
  const [node] = explainPod(world.state, world.pod("p", "x", "y", "z")).nodes;
  expect(node?.claims).toEqual([
    { claim: "d/x", volume: "a" },
    { claim: "d/y", bound: "b" },
    { claim: "d/z", provision: "csi" },
  ]);
});

test("scores are those of prioritize; where it has no opinion all are as good as the best", () => {
  const world = given(...nodes("n1", "n2"), "pv a 5Gi on=n1", "pv b 50Gi on=n2", "pvc x 5Gi");
  const scores = () => explainPod(world.state, world.pod("p", "x")).nodes.map(({ score }) => score);
  expect(scores()).toEqual([10, 2]);
  world.apply("pv b 5Gi on=n2");
  expect(scores()).toEqual([10, 10]);
  for (const node of ["n1", "n2"]) world.apply(`pvc w${node} 5Gi`);
  world.apply("hold q n1 : wn1");
  world.apply("hold r n2 : wn2");
  const contended = explainPod(world.state, world.pod("p", "x")).nodes;
  expect(contended.map(({ contended, score }) => [contended, score])).toEqual([
    [true, 1],
    [true, 1],
  ]);
});

test("of many nodes the first with each reason are shown, the others counted", () => {
  const world = given(...nodes("n1", "n2", "n3", "n4", "n5", "n6"), "pvc x 5Gi");
  for (const name of ["n1", "n2", "n3"]) world.apply(`pv on-${name} 5Gi on=${name}`);
  const shown = (shownMax: number) => {
    const { nodes: listed, omitted } = explainPod(world.state, world.pod("p", "x"), { shownMax });
    return [listed.map(({ node }) => node), omitted];
  };
  expect(shown(1)).toEqual([["n1"], { nodes: 5, fits: 2 }]);
  expect(shown(2)).toEqual([["n1", "n4"], { nodes: 4, fits: 2 }]);
  expect(shown(3)).toEqual([["n1", "n2", "n4"], { nodes: 3, fits: 1 }]);
  expect(shown(5)).toEqual([["n1", "n2", "n3", "n4", "n5"], { nodes: 1, fits: 0 }]);
  expect(shown(6)).toEqual([["n1", "n2", "n3", "n4", "n5", "n6"], undefined]);
  expect(shown(60)).toEqual([["n1", "n2", "n3", "n4", "n5", "n6"], undefined]);
});

test("of nodes with several reasons each is shown in turn, as long as there are any of it", () => {
  const world = given(...nodes("n1", "n2", "n3", "n4"), "pv a 5Gi on=n1", "pvc x 5Gi");
  const shown = (shownMax: number) => {
    const options = { nodes: named("n1", "n2", "n3", "n4", "z1"), shownMax };
    const { nodes: listed, omitted } = explainPod(world.state, world.pod("p", "x"), options);
    return [listed.map(({ node }) => node), omitted];
  };
  expect(shown(2)).toEqual([["n1", "n2"], { nodes: 3, fits: 0 }]);
  expect(shown(3)).toEqual([["n1", "n2", "z1"], { nodes: 2, fits: 0 }]);
  expect(shown(4)).toEqual([["n1", "n2", "n3", "z1"], { nodes: 1, fits: 0 }]);
});

test("a node that comes to fit in a pause is not shown besides those that are", () => {
  const world = given(...nodes("n1", "n2"), "pvc x 5Gi");
  const steps = explainInSteps(world.state, world.pod("p", "x"), { shownMax: 1 });
  steps.next();
  world.apply("pv a 5Gi on=n2");
  let step = steps.next();
  while (!step.done) step = steps.next();
  expect(step.value.explanation.nodes.map(({ node }) => node)).toEqual(["n1"]);
});

test("which nodes fit is told of all, shown or not", () => {
  const fitting = (world: World, ...claims: string[]): readonly string[] => {
    const steps = explainInSteps(world.state, world.pod("p", ...claims), { shownMax: 1 });
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value.fitting;
    }
  };
  const world = given(...nodes("n1", "n2", "n3"), "pv a 5Gi on=n1", "pv b 5Gi on=n2", "pvc x 5Gi");
  expect([fitting(world, "x"), fitting(world), fitting(world, "gone")]).toEqual([["n1", "n2"], ["n1", "n2", "n3"], []]);
});

test("a node that refuses is told with its reason, and counts for nothing", () => {
  const world = given("node n1", "pvc x 5Gi");
  expect(explainPod(world.state, world.pod("p", "x")).nodes).toEqual([
    {
      ...{ node: "n1", fits: false, contended: false, score: 0, resolvable: false },
      reason: "node(s) didn't find available persistent volumes to bind",
      claims: [{ claim: "d/x", refused: [] }],
    },
  ]);
});

test("nodes that are not shown are still looked at for a way out", () => {
  const world = given(...nodes("n1", "n2"), "class csi provisioner=csi.example", "driver csi.example capacity");
  for (const line of ["capacity a csi n1 1Gi", "capacity b csi n2 4Gi", "pvc x 5Gi class=csi"]) world.apply(line);
  expect(explainPod(world.state, world.pod("p", "x"), { shownMax: 1 })).toMatchObject({
    nodes: [{ node: "n1" }],
    suggestion: "Free space for 5Gi of class csi on node n2 for claim d/x: 1Gi are missing",
  });
});

test("a node that nobody knows is said to be unknown", () => {
  const world = given("node n1", "pv a 5Gi on=n1", "pvc x 5Gi");
  const { nodes: told, suggestion } = explainPod(world.state, world.pod("p", "x"), { nodes: named("n9", "n1", "n1") });
  expect(told.map(({ node, reason }) => [node, reason])).toEqual([
    ["n1", undefined],
    ["n9", "node(s) not known to the volume extender"],
  ]);
  expect(suggestion).toBeUndefined();
});

interface WayOut {
  readonly given: readonly string[];
  readonly offered: readonly string[];
  readonly claims?: readonly string[];
  readonly helps: string | undefined;
}

const pinned = ["pv v 5Gi at=kubernetes.io/hostname:n2|n3 for=x uid=ux", "pvc x 5Gi volume=v"];

const waysOut: Record<string, WayOut> = {
  "nothing, where an offered node fits": { given: pinned, offered: ["n1", "n3"], helps: undefined },
  "the first node by name that fits and was not offered": {
    given: pinned,
    offered: ["n1"],
    helps: "Claim d/x is bound to volume v, which node n1 cannot reach; offer node n2",
  },
  "the nearest that the bound volume allows, where none fits": {
    given: [...pinned, ...csi, "capacity c2 csi n2 1Gi", "capacity c3 csi n3 4Gi", "pvc y 5Gi class=csi"],
    offered: ["n1"],
    claims: ["x", "y"],
    helps:
      "Claim d/x is bound to volume v, which node n1 cannot reach; offer node n3, and there: " +
      "Free space for 5Gi of class csi on node n3 for claim d/y: 1Gi are missing",
  },
  "an offered node that is not pinned, however much it lacks": {
    given: [...pinned, ...csi, "capacity c2 csi n2 1Gi", "pvc y 5Gi class=csi"],
    offered: ["n1", "n2"],
    claims: ["x", "y"],
    helps: "Free space for 5Gi of class csi on node n2 for claim d/y: 4Gi are missing",
  },
  "the node with the fewest things to mend, though it lacks more": {
    given: [
      ...csi,
      "capacity c1 csi n1 8Gi",
      "capacity c2 csi n2 1Gi",
      "pv a 9Gi on=n2",
      "pvc x 9Gi",
      "pvc y 9Gi class=csi",
    ],
    offered: ["n1", "n2"],
    claims: ["x", "y"],
    helps: "Free space for 9Gi of class csi on node n2 for claim d/y: 8Gi are missing",
  },
  "both ways, beside what else is missing there": {
    given: [
      ...["pv v 5Gi on=n2 for=x uid=ux", "pvc x 5Gi volume=v", "pvc w 5Gi"],
      ...[...csi, "capacity c2 csi n2 1Gi", "pvc y 5Gi class=csi"],
    ],
    offered: ["n2"],
    claims: ["x", "w", "y"],
    helps:
      "Add a volume of class local with at least 5Gi (Filesystem, ReadWriteOnce) on node n2 for claim d/w; " +
      "Free space for 5Gi of class csi on node n2 for claim d/y: 4Gi are missing; " +
      "no other node will do while claim d/x pins the Pod to n2: or delete it, if its data may go",
  },
  "both ways, where the one node that is left is full": {
    given: [
      ...["pv v 5Gi on=n2 for=x uid=ux", "pvc x 5Gi volume=v", "pv u 5Gi on=n2 for=w uid=uw", "pvc w 5Gi volume=u"],
      ...[...csi, "capacity c2 csi n2 9Gi max=1Gi", "pvc y 5Gi class=csi"],
    ],
    offered: ["n1", "n2"],
    claims: ["x", "w", "y"],
    helps:
      "Let the largest volume of class csi on node n2 be 5Gi instead of 1Gi for claim d/y; " +
      "no other node will do while claims d/x and d/w pin the Pod to n2: or delete them, if their data may go",
  },
  "where a provisioner is at work": {
    given: [...csi, "capacity c2 csi n2 9Gi", "pvc x 5Gi class=csi selected=n2"],
    offered: ["n1"],
    helps: "Claim d/x is being served on node n2; offer node n2",
  },
  "that nothing but patience helps, where the siblings cannot follow": {
    given: [
      ...[...csi, "capacity c2 csi n2 9Gi", "pvc x 5Gi class=csi selected=n2"],
      ...["pv v 5Gi on=n1 for=y uid=uy", "pvc y 5Gi volume=v"],
    ],
    offered: ["n1"],
    claims: ["x", "y"],
    helps:
      "Claim d/x is being served on node n2, which cannot hold the other claims of the Pod: wait for its volume, and ask again",
  },
  "where a volume is assumed": {
    given: ["pv v 5Gi on=n2", "pvc x 5Gi", "assume p n2 : x"],
    offered: ["n1"],
    helps: "Claim d/x is being served on node n2; offer node n2",
  },
  "where a volume is reserved": {
    given: ["pv v 5Gi on=n2 for=x", "pvc x 5Gi"],
    offered: ["n1"],
    helps: "A volume is reserved for claim d/x where node n1 does not reach it; offer node n2",
  },
  "that no node is left": {
    given: ["pv v 5Gi on=n9 for=x uid=ux", "pvc x 5Gi volume=v"],
    offered: ["n1"],
    helps:
      "Claim d/x is bound to volume v, which no node can reach: bring back a node that its node affinity matches, or delete the claim if its data may go",
  },
};

test.for(Object.entries(waysOut))("what would help: %s", ([, { given: lines, offered, claims = ["x"], helps }]) => {
  const world = given(...nodes("n3", "n2", "n1"), ...lines);
  const { suggestion } = explainPod(world.state, world.pod("p", ...claims), { offered: named(...offered) });
  expect(suggestion).toBe(helps);
});

/** Nodes n100 to n201 in that order; what each lacks of 5Gi, where it lacks something. Node m is offered, and pinned away from. */
function elsewhere(lacks: (node: number) => number, reached: (node: number) => boolean): string | undefined {
  const numbers = Array.from({ length: 102 }, (_, nth) => 100 + nth);
  const world = given("node m", ...csi, "pvc x 5Gi volume=v", "pvc y 5Gi class=csi");
  const within = numbers.filter(reached).map((node) => `n${node}`);
  world.apply(`pv v 5Gi at=kubernetes.io/hostname:${within.join("|")} for=x uid=ux`);
  for (const node of numbers) {
    world.apply(`node n${node}`);
    world.apply(`capacity c${node} csi n${node} ${5 - lacks(node)}Gi`);
  }
  const { suggestion } = explainPod(world.state, world.pod("p", "x", "y"), { offered: named("m") });
  return suggestion?.match(/offer node \S+?(?=,|$)/)?.[0];
}

test("a hundred nodes that were not offered are looked at for the nearest, and all of them for one that fits", () => {
  const all = (): boolean => true;
  expect(elsewhere((node) => (node === 199 ? 1 : 2), all)).toBe("offer node n199");
  expect(elsewhere((node) => (node === 200 ? 1 : 2), all)).toBe("offer node n100");
  expect(elsewhere((node) => (node === 201 ? 0 : 2), all)).toBe("offer node n201");
});

test("nodes that a bound volume excludes are not among the hundred", () => {
  expect(
    elsewhere(
      () => 1,
      (node) => node === 201,
    ),
  ).toBe("offer node n201");
});

test("nor are those that were offered", () => {
  const offered = Array.from({ length: 100 }, (_, nth) => `n${100 + nth}`);
  const world = given(...nodes(...offered, "n200"), "pv v 5Gi on=n200 for=x", "pvc x 5Gi", "pvc y 5Gi");
  const { suggestion } = explainPod(world.state, world.pod("p", "x", "y"), { offered: named(...offered) });
  expect(suggestion).toBe(
    "A volume is reserved for claim d/x where node n100 does not reach it; offer node n200, and there: " +
      "Add a volume of class local with at least 5Gi (Filesystem, ReadWriteOnce) on node n200 for claim d/y",
  );
});

test("a long explanation pauses, and says the same", () => {
  const world = given("pvc x 5Gi");
  for (let node = 100; node < 165; node++) world.apply(`node n${node}`);
  const pod = world.pod("p", "x");
  const steps = explainInSteps(world.state, pod, {});
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses++;
  expect(pauses).toBe(4);
  expect(step.value).toMatchObject({ explanation: explainPod(world.state, pod), fitting: [] });
  expect(step.value.explanation.nodes.map(({ node }) => node)).toEqual(world.nodes());
});

test("a Pod whose claim vanishes in a pause is explained anew", () => {
  const world = given("node n1", "pv a 5Gi on=n1", "pvc x 5Gi");
  const steps = explainInSteps(world.state, world.pod("p", "x"), {});
  steps.next();
  world.state.delete("claim", "d/x");
  let step = steps.next();
  while (!step.done) step = steps.next();
  expect(step.value.explanation.reason).toBe('persistentvolumeclaim "x" not found');
});

test("so it is if the claim vanishes after some nodes were looked at", () => {
  const world = given("pvc x 5Gi");
  for (let node = 100; node < 165; node++) world.apply(`node n${node}`);
  const steps = explainInSteps(world.state, world.pod("p", "x"), {});
  for (let pause = 0; pause < 3; pause++) steps.next();
  world.state.delete("claim", "d/x");
  let step = steps.next();
  while (!step.done) step = steps.next();
  expect(step.value.explanation.reason).toBe('persistentvolumeclaim "x" not found');
});

function listed(world: World): { volume: string; why: string }[] {
  const [node] = explainPod(world.state, world.pod("p", "x")).nodes;
  const [claim] = node?.claims ?? [];
  return claim && "refused" in claim ? [...claim.refused] : [];
}

test("twenty volumes are listed for a claim, the first by name, the rest are counted", () => {
  const of = (count: number): string[] => {
    const world = given("node n1", "pvc x 5Gi");
    for (let volume = count; volume-- > 0; ) world.apply(`pv v${100 + volume} 1Gi on=n1`);
    world.apply("pv reserved 1Gi on=n9 for=x");
    return listed(world).map(({ volume, why }) => (volume.startsWith("(") ? `${volume} ${why}` : volume));
  };
  expect(of(0)).toEqual(["reserved"]);
  expect(of(19)).toHaveLength(20);
  expect(of(19).slice(0, 3)).toEqual(["reserved", "v100", "v101"]);
  expect(of(22).slice(-2)).toEqual(["v118", "(3 more) out for reasons like these"]);
});

test("a volume that is reserved for the claim within reach is listed once", () => {
  const world = given("node n1 zone=z1", "pvc x 5Gi", "pv a 1Gi on=n1 for=x", "pv b 1Gi at=zone:z1");
  expect(listed(world).map(({ volume }) => volume)).toEqual(["a", "b"]);
});

test("where nodes share a pool, the rest of the one is told on the other; a rest elsewhere is not", () => {
  const world = given(...nodes("n1", "n2"), ...csi, "capacity c csi * 9Gi", "pvc x 5Gi class=csi");
  const [entry] = world.state.topologies.nodes.values();
  const [offer] = entry ? world.state.pools.offersOn(entry, className("csi")) : [];
  world.state.rests.refused(claimUid("ux"), nodeName("n7"), undefined);
  world.state.rests.refused(claimUid("ux"), nodeName("n2"), offer?.pool);
  world.now += 1_000;
  expect(listed(world)).toEqual([
    {
      volume: "(new)",
      why: "the provisioner refused node n2, which draws on the same capacity, 1 s ago; tried again in 4 s",
    },
  ]);
});

test("a node whose pools were all refused on other nodes tells the rest of one of them", () => {
  const world = given("node n1 s=1 t=1", "node n2 s=1", "node n3 t=1", ...csi, "pvc x 5Gi class=csi");
  for (const line of ["capacity c0 csi - 9Gi at=s:1", "capacity c1 csi - 9Gi at=t:1"]) world.apply(line);
  for (const { pool } of world.state.pools.offersFor(className("csi"))) {
    const [on] = [...pool.topology.members].filter(({ node }) => node.name !== "n1");
    world.state.rests.refused(claimUid("ux"), on?.node.name ?? nodeName("none"), pool);
  }
  expect(listed(world)).toEqual([
    {
      volume: "(new)",
      why: "the provisioner refused node n2, which draws on the same capacity, 0 s ago; tried again in 5 s",
    },
  ]);
});

test("where a volume is reserved for the claim elsewhere, no new one is spoken of", () => {
  const world = given(...nodes("n1", "n2"), ...csi, "capacity c csi n1 1Gi");
  for (const line of ["pv v 5Gi on=n2 class=csi for=x", "pvc x 5Gi class=csi"]) world.apply(line);
  expect(listed(world)).toEqual([{ volume: "v", why: "reserved for the claim, but not reachable from this node" }]);
});

test("whoever has thousands of volumes looked at is let go in between", () => {
  const world = given("node n1", "pvc x 5Gi");
  for (let volume = 0; volume < 4_000; volume++) world.apply(`pv v${volume} 1Gi on=n1`);
  const steps = explainInSteps(world.state, world.pod("p", "x"), {});
  let pauses = 0;
  while (!steps.next().done) pauses++;
  expect(pauses).toBe(4);
});

test("volumes that are reachable from everywhere, and by a label of the node, are listed with the node's own, by name", () => {
  const world = given("node n1 zone=z1", "pvc x 5Gi", "pvc y 5Gi class=other");
  for (const line of ["pv d 1Gi", "pv b 1Gi at=zone:z1", "pv c 1Gi on=n1", "pv a 1Gi on=n1"]) world.apply(line);
  for (const line of ["pv e 1Gi on=n2", "pv f 1Gi on=n1 class=other"]) world.apply(line);
  world.add(makePVC("x"));
  const [node] = explainPod(world.state, world.pod("p", "x")).nodes;
  const [claim] = node?.claims ?? [];
  expect(claim && "refused" in claim && claim.refused.map(({ volume }) => volume)).toEqual(["a", "b", "c", "d"]);
});
