/** What each strategy makes of the same nodes. Numbers are worked out by hand beside each table. */
import { expect, test } from "vitest";
import { className } from "../../src/scheduling/names.ts";
import { parseBytes, zero } from "../../src/scheduling/quantity.ts";
import type { ShapePoint, Strategy } from "../../src/scheduling/scoring.ts";
import { defaultScoring, strategies } from "../../src/scheduling/scoring.ts";
import type { StateOptions } from "../../src/scheduling/state.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

type Scores = Record<string, number>;

function worldWith(strategy: Strategy, objects: readonly Raw[], shape?: readonly ShapePoint[]): World {
  return new World({ scoring: { ...defaultScoring, strategy, ...(shape && { shape }) } }).add(...objects);
}

const nodes = (...names: string[]): Raw[] => names.map((name) => makeNode(name));
const disks = (on: string, free: number, taken: number, size = "10Gi"): Raw[] =>
  Array.from({ length: free + taken }, (_, index) =>
    makePV(`${on}${index}`, {
      on,
      capacity: size,
      ...(index < taken && { claim: `other-${on}${index}`, claimUid: "u" }),
    }),
  );
const csi = [makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true)];
const room = (on: string, size: string): Raw => makeCapacity(`room-${on}`, { class: "csi", on, capacity: size });
const made = (name: string, on: string, size: string): Raw =>
  makePV(name, { on, class: "csi", capacity: size, claim: `of-${name}`, claimUid: "u" });

interface Case {
  readonly objects: readonly Raw[];
  readonly mounts: readonly string[];
  readonly want: Readonly<Record<Strategy, Scores>>;
}

/** `upstream` has its default shape: (0→10), (100→0). */
const cases: Record<string, Case> = {
  // 10Gi of 20Gi, of 1Ti: utilization 50 and 0.
  "a small disk on an empty node, a huge one on a full node": {
    objects: [
      ...nodes("a", "b"),
      ...disks("a", 4, 0, "20Gi"),
      ...disks("b", 1, 3, "1Ti"),
      makePVC("x", { request: "10Gi" }),
    ],
    mounts: ["x"],
    want: {
      "least-surplus": { a: 10, b: 2 },
      "most-allocated": { a: 2, b: 10 },
      spread: { a: 10, b: 2 },
      upstream: { a: 5, b: 10 },
    },
  },
  // Taken afterwards: 1 of 4, 2 of 4, 3 of 4.
  "disks of one size, more of them taken from node to node": {
    objects: [
      ...nodes("a", "b", "c"),
      ...disks("a", 4, 0),
      ...disks("b", 3, 1),
      ...disks("c", 2, 2),
      makePVC("x", { request: "10Gi" }),
    ],
    mounts: ["x"],
    want: {
      "least-surplus": {},
      "most-allocated": { a: 2, b: 6, c: 10 },
      spread: { a: 10, b: 6, c: 2 },
      upstream: {},
    },
  },
  // Used and asked of used and free: (0+10)/100, (40+10)/(40+60), (0+10)/20. Upstream: 10 of 100, of 60, of 20.
  "a pool that is large, one that is half used, and one that is small": {
    objects: [
      ...csi,
      ...nodes("a", "b", "c"),
      room("a", "100Gi"),
      room("b", "60Gi"),
      made("v", "b", "40Gi"),
      room("c", "20Gi"),
      makePVC("x", { class: "csi", request: "10Gi" }),
    ],
    mounts: ["x"],
    want: {
      "least-surplus": {},
      "most-allocated": { a: 2, b: 10, c: 10 },
      spread: { a: 10, b: 2, c: 2 },
      upstream: { a: 9, b: 8, c: 5 },
    },
  },
  // 10Gi of 100Gi, and of 100Gi less 500Mi: 10 % both.
  "pools of one kind that differ by what a file system takes": {
    objects: [
      ...csi,
      ...nodes("a", "b"),
      room("a", "100Gi"),
      room("b", "99.5Gi"),
      makePVC("x", { class: "csi", request: "10Gi" }),
    ],
    mounts: ["x"],
    want: { "least-surplus": {}, "most-allocated": {}, spread: {}, upstream: {} },
  },
  // a: 1 of 2 disks, and 10 of 20Gi: 50. b: 1 of 1, and 10 of 100Gi: (100 + 10) / 2 = 55. Upstream sees the disks alone.
  "a disk and a pool count alike": {
    objects: [
      ...csi,
      ...nodes("a", "b"),
      ...disks("a", 2, 0),
      ...disks("b", 1, 0),
      room("a", "20Gi"),
      room("b", "100Gi"),
      makePVC("x", { request: "10Gi" }),
      makePVC("y", { class: "csi", request: "10Gi" }),
    ],
    mounts: ["x", "y"],
    want: {
      "least-surplus": {},
      "most-allocated": { a: 2, b: 10 },
      spread: { a: 10, b: 2 },
      upstream: {},
    },
  },
  "a driver that publishes no capacity": {
    objects: [
      makeClass("csi", { provisioner: "csi.example" }),
      makeDriver("csi.example", false),
      ...nodes("a", "b"),
      made("v", "a", "10Gi"),
      makePVC("x", { class: "csi" }),
    ],
    mounts: ["x"],
    want: { "least-surplus": {}, "most-allocated": {}, spread: {}, upstream: {} },
  },
  // a: 1 of 1 disk, 5 of 10Gi. Of b nothing is known: it comes last either way.
  "a disk, and a driver that publishes no capacity": {
    objects: [
      makeClass("mute", { provisioner: "mute.example" }),
      makeDriver("mute.example", false),
      ...nodes("a", "b"),
      makePV("v", { on: "a", class: "mute", capacity: "10Gi" }),
      makePVC("x", { class: "mute", request: "5Gi" }),
    ],
    mounts: ["x"],
    want: {
      "least-surplus": { a: 10, b: 2 },
      "most-allocated": { a: 10, b: 2 },
      spread: { a: 10, b: 2 },
      upstream: { a: 5, b: 0 },
    },
  },
  // 0 and 25 percent.
  "a pool of which less than a percent is asked, and a small one": {
    objects: [
      ...csi,
      ...nodes("a", "b"),
      room("a", "1000Gi"),
      room("b", "20Gi"),
      makePVC("x", { class: "csi", request: "5Gi" }),
    ],
    mounts: ["x"],
    want: {
      "least-surplus": {},
      "most-allocated": { a: 2, b: 10 },
      spread: { a: 10, b: 2 },
      upstream: { a: 10, b: 8 },
    },
  },
  "claims that are bound already": {
    objects: [
      ...nodes("a", "b"),
      ...disks("a", 1, 0),
      makePV("everywhere", { claim: "x", claimUid: "ux" }),
      makePVC("x", { volume: "everywhere" }),
    ],
    mounts: ["x"],
    want: { "least-surplus": {}, "most-allocated": {}, spread: {}, upstream: {} },
  },
  "one node that fits": {
    objects: [...nodes("a", "b"), ...disks("a", 1, 3), makePVC("x")],
    mounts: ["x"],
    want: { "least-surplus": {}, "most-allocated": {}, spread: {}, upstream: {} },
  },
};

const rows = Object.entries(cases).flatMap(([name, { want, ...rest }]) =>
  strategies.map((strategy) => ({ name, strategy, want: want[strategy], ...rest })),
);

test.for(rows)("$strategy: $name", ({ strategy, objects, mounts, want }) => {
  const world = worldWith(strategy, objects);
  expect(world.scores(world.pod("p", ...mounts))).toEqual(want);
});

test.for(strategies)("%s: fifty nodes that are alike are no matter of opinion", (strategy) => {
  const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
  const world = worldWith(strategy, [...nodes(...names), ...names.flatMap((name) => disks(name, 2, 1)), makePVC("x")]);
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toHaveLength(50);
  expect(world.scores(pod)).toEqual({});
});

test.for(strategies)("%s: a node whose only disk another Pod holds comes after every other node", (strategy) => {
  // Without the hold, each strategy puts one of a and b first; `held` has the better of everything.
  for (const held of ["a", "b"]) {
    const world = worldWith(strategy, [
      ...nodes("a", "b", "c"),
      ...disks("a", 1, 2),
      ...disks("b", 1, 0, "1Ti"),
      ...disks("c", 1, 1, "20Gi"),
      makePVC("x", { request: "10Gi" }),
      makePVC("y", { request: "10Gi" }),
    ]);
    const other = world.pod("other", "y");
    world.state.reservations.hold(other.uid, [world.plan(other, held)]);
    const scores = world.scores(world.pod("p", "x"));
    expect(Object.keys(scores)).toHaveLength(3);
    for (const [node, score] of Object.entries(scores)) {
      if (node === held) expect(score).toBeLessThanOrEqual(1);
      else expect(score).toBeGreaterThanOrEqual(2);
    }
  }
});

test("among contended nodes the strategy's best has 1 and the rest less; 1 for all where all are alike", () => {
  const scores = (strategy: Strategy, ...held: string[]): Scores => {
    const world = worldWith(strategy, [
      ...nodes("a", "b", "c"),
      ...disks("a", 1, 3),
      ...disks("b", 1, 0),
      ...disks("c", 1, 1),
      makePVC("x"),
      makePVC("y"),
    ]);
    const other = world.pod("other", "y");
    world.state.reservations.hold(
      other.uid,
      held.map((node) => world.plan(other, node)),
    );
    return world.scores(world.pod("p", "x"));
  };
  expect(scores("most-allocated", "a", "b")).toEqual({ a: 1, b: 1, c: 10 });
  expect(scores("least-surplus", "a", "b")).toEqual({ a: 1, b: 1, c: 10 });
  expect(scores("least-surplus", "a", "b", "c")).toEqual({});
});

test("what is assumed for another Pod, released or reserved is taken; what is merely held is not", () => {
  const taken: Record<string, (world: World) => void> = {
    assumed: (world) => {
      const pod = world.pod("q", "y");
      expect(world.state.reservations.assume(pod.uid, world.plan(pod, "b"))).toEqual({ ok: true });
    },
    released: (world) => void world.add(makePV("b0", { on: "b", phase: "Released" })),
    reserved: (world) => void world.add(makePV("b0", { on: "b", claim: "later" })),
    held: (world) => {
      const pod = world.pod("q", "y");
      world.state.reservations.hold(pod.uid, [world.plan(pod, "b")]);
    },
  };
  const want: Record<string, Scores> = {
    assumed: { a: 2, b: 10 },
    released: { a: 2, b: 10 },
    reserved: { a: 2, b: 10 },
    held: {},
  };
  for (const [fate, happen] of Object.entries(taken)) {
    const world = worldWith("most-allocated", [
      ...nodes("a", "b"),
      ...disks("a", 3, 0),
      ...disks("b", 3, 0),
      makePVC("x"),
      makePVC("y"),
    ]);
    happen(world);
    expect(world.scores(world.pod("p", "x")), fate).toEqual(want[fate]);
  }
});

test("what a bind was promised fills a pool", () => {
  const world = worldWith("spread", [
    ...csi,
    ...nodes("a", "b"),
    room("a", "100Gi"),
    room("b", "100Gi"),
    ...["x", "y"].map((name) => makePVC(name, { class: "csi", request: "10Gi" })),
  ]);
  const other = world.pod("q", "y");
  const mine = world.pod("p", "x");
  expect(world.scores(mine)).toEqual({});
  expect(world.state.reservations.assume(other.uid, world.plan(other, "b"))).toEqual({ ok: true });
  expect(world.scores(mine)).toEqual({ a: 10, b: 2 });
});

test("a zone's disks count on each of its nodes; disks that every node reaches count on all", () => {
  const zone = (name: string, taken: boolean): Raw =>
    makePV(name, {
      terms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["z"] }] }],
      ...(taken && { claim: `of-${name}`, claimUid: "u" }),
    });
  const world = worldWith("spread", [
    makeNode("a", { zone: "z" }),
    makeNode("b", { zone: "z" }),
    ...nodes("c"),
    zone("z1", true),
    zone("z2", false),
    ...disks("b", 6, 0),
    ...disks("c", 1, 0),
    makePVC("x"),
  ]);
  // a: 1 + 1 of 2. b: 1 + 1 of 8. c: 1 of 1.
  expect(world.scores(world.pod("p", "x"))).toEqual({ a: 2, b: 10, c: 2 });
});

test("classes that share a pool fill it together", () => {
  const shared = new Map(["csi", "csi2"].map((name) => [className(name), "disk"]));
  const objects = [
    ...csi,
    makeClass("csi2", { provisioner: "csi.example" }),
    ...nodes("a", "b"),
    ...["a", "b"].flatMap((on) => [room(on, "50Gi"), makeCapacity(`2-${on}`, { class: "csi2", on, capacity: "50Gi" })]),
    makePV("v", { on: "b", class: "csi2", capacity: "50Gi", claim: "of-v", claimUid: "u" }),
    makePVC("x", { class: "csi", request: "10Gi" }),
  ];
  const scores = (sharedPools: StateOptions["sharedPools"]): Scores => {
    const scoring = { ...defaultScoring, strategy: "spread" } as const;
    const world = new World({ scoring, ...(sharedPools && { sharedPools }) }).add(...objects);
    return world.scores(world.pod("p", "x"));
  };
  expect(scores(undefined)).toEqual({});
  // 10 of 50, and 60 of 100.
  expect(scores(shared)).toEqual({ a: 10, b: 2 });
});

test("a node that carries all its capacity says the total: what its volumes take is not counted twice", () => {
  const source = {
    from: "allocatable",
    name: "example.com/room",
    unit: parseBytes("1Gi") ?? zero,
    means: "total",
  } as const;
  const node = (name: string, gigabytes: number): Raw => ({
    ...makeNode(name),
    status: { allocatable: { "example.com/room": String(gigabytes) } },
  });
  const scores = (strategy: Strategy): Scores => {
    const capacitySources = new Map([[className("csi"), source]]);
    const world = new World({ scoring: { ...defaultScoring, strategy }, capacitySources }).add(
      ...csi,
      node("a", 100),
      node("b", 200),
      node("c", 25),
      made("v", "b", "150Gi"),
      makePVC("x", { class: "csi", request: "10Gi" }),
    );
    return world.scores(world.pod("p", "x"));
  };
  // 10 of 100, 160 of 200, 10 of 25. Upstream sees what is free: 10 of 100, of 50, of 25.
  expect(scores("spread")).toEqual({ a: 10, b: 2, c: 6 });
  expect(scores("upstream")).toEqual({ a: 9, b: 8, c: 6 });
});

test("upstream's numbers go to the nearest tenth, halves up; a shape that is level has no opinion", () => {
  const objects = [
    ...nodes("a", "b", "c", "d"),
    makePV("a1", { on: "a", capacity: "100Gi" }),
    makePV("b1", { on: "b", capacity: "40Gi" }),
    makePV("c1", { on: "c", capacity: "22Gi" }),
    makePV("d1", { on: "d", capacity: "10Gi" }),
    makePVC("x", { request: "10Gi" }),
  ];
  const at = (shape?: readonly ShapePoint[]): Scores => {
    const world = worldWith("upstream", objects, shape);
    return world.scores(world.pod("p", "x"));
  };
  // 90, 75, 55 (utilization 45), 0.
  expect(at()).toEqual({ a: 9, b: 8, c: 6, d: 0 });
  // 10, 25, 45, 100.
  expect(
    at([
      { utilization: 0, score: 0 },
      { utilization: 100, score: 10 },
    ]),
  ).toEqual({ a: 1, b: 3, c: 5, d: 10 });
  expect(at([{ utilization: 40, score: 7 }])).toEqual({});
});
