/** What an explanation says would help does help: its words are followed, and the Pod fits. */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { type ClassName, className, nodeName } from "../../src/scheduling/names.ts";
import type { CapacitySource } from "../../src/scheduling/node-capacity.ts";
import { one } from "../../src/scheduling/quantity.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
} from "../support/make.ts";
import { mulberry32 } from "../support/mulberry32.ts";
import { NodeValues } from "../support/node-values.ts";
import { follow, type Made } from "../support/remedy.ts";
import { runs } from "../support/runs.ts";
import { World } from "../support/world.ts";

function dice(seed: number) {
  const roll = mulberry32(seed);
  const among = (most: number): number => Math.floor(roll() * most);
  return {
    chance: (share: number) => roll() < share,
    among,
    one: <T>(...choices: T[]): T => choices[among(choices.length)] as T,
  };
}

const nodes = ["n1", "n2", "n3"];
const provisioners = new Map([
  ["pool", "pool.example"],
  ["zonal", "zonal.example"],
  ["blind", "blind.example"],
  // Two classes of one driver on the same disks.
  ["fast", "disks.example"],
  ["faster", "disks.example"],
  // Nodes say what these have: what is left of one, all that is there for the other two together.
  ["said", "said.example"],
  ["thick", "volumes.example"],
  ["thin", "volumes.example"],
]);
const pools = new Map([
  ["fast", "disks"],
  ["faster", "disks"],
  ["thick", "volumes"],
  ["thin", "volumes"],
]);
const allocatable = { from: "allocatable", name: "example.com/volumes", unit: one, means: "total" } as const;
const sources = new Map<string, CapacitySource>([
  ["said", { from: "annotation", name: "example.com/said", unit: one, means: "free" }],
  ["thick", allocatable],
  ["thin", { ...allocatable, name: "example.com/thin" }],
]);

function byClass<Value>(values: ReadonlyMap<string, Value>): Map<ClassName, Value> {
  return new Map([...values].map(([name, value]) => [className(name), value]));
}

function emptyWorld(): World {
  return new World({
    sharedPools: byClass(pools),
    capacitySources: byClass(sources),
    provisioning: byClass(new Map([...sources.keys()].map((name) => [name, "dynamic"] as const))),
    disks: [{ label: "fs", kind: "sharedFilesystem" }],
  });
}

/** What each class has on each node: drivers publish it, or nodes say it. */
function publish(world: World, { chance, among, one: oneOf }: ReturnType<typeof dice>): NodeValues {
  const size = (): bigint => BigInt(1 + among(30)) << 30n;
  const values = new NodeValues(world, sources);
  for (const node of nodes) {
    const said: Record<string, string> = {};
    if (chance(0.7)) said["said"] = String(size());
    const volumes = String(size());
    for (const name of ["thick", "thin"]) if (chance(0.8)) said[name] = volumes;
    values.add(node, { zone: oneOf("z1", "z2") }, said);
  }
  for (const [name, provisioner] of provisioners) {
    const topologies = [{ matchLabelExpressions: [{ key: "zone", values: ["z1"] }] }];
    world.add(makeClass(name, { provisioner, ...(name === "zonal" && { topologies }) }));
    const publishes = name !== "blind" && !sources.has(name);
    world.add(makeDriver(provisioner, publishes));
    for (const on of publishes ? nodes.filter(() => chance(0.8)) : []) {
      const max = chance(0.3) ? { max: `${1 + among(30)}Gi` } : {};
      world.add(makeCapacity(`${name}-${on}`, { class: name, on, capacity: `${1 + among(30)}Gi`, ...max }));
    }
  }
  for (const name of nodes) world.add(makeCsiNode(name, ...[...provisioners.values()].filter(() => chance(0.8))));
  return values;
}

/** A cluster of three nodes in which little fits, and a Pod of up to four claims. */
function randomWorld(seed: number): Made & { readonly offered: readonly string[] } {
  const thrown = dice(seed);
  const { chance, among, one: oneOf } = thrown;
  const world = emptyWorld();
  const size = (most: number): string => `${1 + among(most)}Gi`;
  const values = publish(world, thrown);
  // Few classes in one cluster, so that claims meet in them.
  const related = oneOf(["pool", "zonal", "blind"], ["fast", "faster"], ["thick", "thin"], ["said", "pool", "fast"]);
  const classes = ["local", "local", ...related];
  const shape = () => ({
    class: oneOf(...classes),
    ...(chance(0.2) && { volumeMode: "Block" }),
    ...(chance(0.3) && { modes: oneOf(["ReadWriteMany"], ["ReadWriteOnce", "ReadWriteMany"], ["ReadWriteOncePod"]) }),
    ...(chance(0.2) && { attributesClass: "gold" }),
  });
  const sharesDisks = chance(0.3);
  for (let volume = among(6); volume > 0; volume--) {
    const labels = { ...(chance(0.3) && { disk: "ssd" }), ...(sharesDisks && chance(0.7) && { fs: "root" }) };
    const phase = chance(0.2) ? { phase: "Released" } : {};
    const on = oneOf(...nodes, "gone");
    world.add(makePV(`v${volume}`, { ...shape(), capacity: size(40), on, labels, ...phase }));
  }
  const claims = ["a", "b", "c", "d"].slice(0, 1 + among(4));
  for (const name of claims) {
    const facts = {
      ...shape(),
      request: size(40),
      ...(chance(0.15) && { selector: { matchLabels: { disk: "ssd" } } }),
    };
    const fate = oneOf("open", "open", "open", "open", "bound", "bound to nothing", "reserved", "selected");
    world.add(makePVC(name, fate.startsWith("bound") ? { ...facts, volume: `b${name}` } : facts));
    const { selector: _, request, ...same } = facts;
    const volume = { ...same, capacity: request ?? "", on: oneOf(...nodes, "gone"), claim: name };
    if (fate === "bound") world.add(makePV(`b${name}`, { ...volume, claimUid: `u${name}` }));
    if (fate === "reserved") world.add(makePV(`r${name}`, volume));
    if (fate === "selected") world.add(makePVC(name, { ...facts, selectedNode: oneOf(...nodes, "gone") }));
  }
  world.add(makePVC("w", { class: oneOf(...classes), request: size(20) }), makePod("p", claims));
  const other = world.pod("q", "w");
  const where = world.fitting(other)[0];
  if (where !== undefined) world.state.reservations.assume(other.uid, world.plan(other, where));
  const offered = chance(0.5) ? nodes : nodes.filter(() => chance(0.6));
  const labels = new Map(claims.map((name) => [name, { disk: "ssd" }]));
  const rest = { labels, provisioners, pools, values, others: [other.uid] };
  return { world, ...rest, offered: offered.length > 0 ? offered : nodes };
}

const blocks = runs(10);
const tally = new Map<string, number>();

test.for(Array.from({ length: blocks }, (_, index) => index))("in a hundred random clusters each (%i)", (block) => {
  for (let seed = block * 100; seed < block * 100 + 100; seed++) {
    const made = randomWorld(seed);
    const { world, offered } = made;
    const pod = world.state.get("pod", "d/p");
    if (!pod) throw new Error("no Pod");
    const { suggestion, reason, ...explained } = explainPod(world.state, pod, { offered: offered.map(nodeName) });
    const isStuck = world.fitting(pod, offered.map(nodeName)).length === 0;
    expect(suggestion !== undefined, `seed ${seed}: advice where it is needed, and only there`).toBe(isStuck);
    if (suggestion === undefined || reason !== undefined) continue;
    const deeds = follow(made, suggestion);
    for (const deed of deeds) tally.set(deed, (tally.get(deed) ?? 0) + 1);
    if (deeds.includes("ask again")) continue;
    const allowed = deeds.includes("offer") ? nodes : offered;
    const context = `seed ${seed}: ${suggestion}\n${JSON.stringify(explained.nodes, undefined, 1)}`;
    expect(world.fitting(pod, allowed.map(nodeName)).length, context).toBeGreaterThan(0);
  }
});

test.runIf(blocks >= 10)("every kind of advice was followed", () => {
  const deeds = ["add", "allow", "ask again", "free", "offer", "publish", "put", "raise", "restore", "run", "wait"];
  expect([...tally.keys()].sort()).toEqual(deeds);
});

interface Choice {
  readonly request: string;
  /** Free and, where it is limited, the largest volume, by node. */
  readonly pools: Record<string, { capacity: string; max?: string }>;
  readonly says: string;
}

const choices: Record<string, Choice> = {
  "the pool that lacks least, not the first and not the largest claim's": {
    request: "500Gi",
    pools: { n1: { capacity: "30Gi" }, n2: { capacity: "450Gi" }, n3: { capacity: "400Gi" } },
    says: "Free space for 500Gi of class pool on node n2 for claim d/x: 50Gi are missing",
  },
  "a pool with the space, whose largest volume is nearly large enough": {
    request: "500Gi",
    pools: { n1: { capacity: "400Gi" }, n2: { capacity: "900Gi", max: "480Gi" } },
    says: "Let the largest volume of class pool on node n2 be 500Gi instead of 480Gi for claim d/x",
  },
  "a pool that lacks a little, beside one whose largest volume is far too small": {
    request: "500Gi",
    pools: { n1: { capacity: "900Gi", max: "10Gi" }, n2: { capacity: "499Gi" } },
    says: "Free space for 500Gi of class pool on node n2 for claim d/x: 1Gi are missing",
  },
  "a pool that is there, rather than a node for which nothing is published": {
    request: "500Gi",
    pools: { n3: { capacity: "20Gi" } },
    says: "Free space for 500Gi of class pool on node n3 for claim d/x: 480Gi are missing",
  },
  "one node by name where all lack the same": {
    request: "500Gi",
    pools: { n3: { capacity: "20Gi" }, n2: { capacity: "20Gi" } },
    says: "Free space for 500Gi of class pool on node n2 for claim d/x: 480Gi are missing",
  },
  "to the byte, where the short form would round": {
    request: "10737418241",
    pools: { n1: { capacity: "10Gi" } },
    says: "Free space for 10737418241 of class pool on node n1 for claim d/x: 1 are missing",
  },
};

test.for(Object.entries(choices))("nearest is %s", ([, { request, pools, says }]) => {
  const world = new World().add(...nodes.map((name) => makeNode(name)));
  world.add(makeClass("pool", { provisioner: "pool.example" }), makeDriver("pool.example", true));
  world.add(makePVC("x", { class: "pool", request }), makePod("p", ["x"]));
  for (const [on, facts] of Object.entries(pools))
    world.add(makeCapacity(`pool-${on}`, { class: "pool", on, ...facts }));
  const pod = world.pod("p", "x");
  const { suggestion } = explainPod(world.state, pod);
  expect(suggestion).toBe(says);
  follow({ world, labels: new Map(), provisioners, others: [] }, says);
  expect(world.fitting(pod)).toHaveLength(1);
});

test("what is asked of a class is the sum of the claims that no volume serves", () => {
  const world = new World().add(makeNode("n1"), makeClass("pool", { provisioner: "pool.example" }));
  world.add(makeDriver("pool.example", true), makeCapacity("c", { class: "pool", on: "n1", capacity: "50Gi" }));
  for (const name of ["a", "b", "c"]) world.add(makePVC(name, { class: "pool", request: "40Gi" }));
  world.add(makePV("v", { class: "pool", on: "n1", capacity: "40Gi" }));
  const { suggestion, nodes: explained } = explainPod(world.state, world.pod("p", "a", "b", "c"));
  expect(suggestion).toBe("Free space for 80Gi of class pool on node n1 for claims d/b and d/c: 30Gi are missing");
  expect(JSON.stringify(explained)).toContain("needs 40Gi (80Gi with the Pod's other claims): 50Gi free of 50Gi");
});

test("every trouble of a node is named, though a refusal names the first", () => {
  const topologies = [{ matchLabelExpressions: [{ key: "zone", values: ["z1"] }] }];
  const world = new World().add(
    makeNode("n1"),
    makeNode("n2"),
    makeClass("pool", { provisioner: "pool.example", topologies }),
  );
  world.add(makeDriver("pool.example", true), makeCsiNode("n2", "pool.example"));
  world.add(
    makePVC("x", { class: "pool" }),
    makePVC("y"),
    makePV("on-n1", { on: "n1" }),
    makePV("on-n2", { on: "n2" }),
  );
  const { suggestion } = explainPod(world.state, world.pod("p", "x", "y"), { offered: [nodeName("n1")] });
  expect(suggestion).toBe(
    "Let allowedTopologies of class pool include node n1; Run the driver of class pool on node n1; " +
      "Check the provisioner of class pool: it publishes no capacity for node n1, and claim d/x needs 5Gi",
  );
});
