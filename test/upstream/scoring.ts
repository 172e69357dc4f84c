/**
 * VB §8.13: scores. Upstream scores how full a node's volumes would be, 0..100, where the gate StorageCapacityScoring is on: it is off up
 * to 1.36 and on from 1.37 (VB §5; pkg/features/kube_features.go). By default Berth ranks nodes by what a placement wastes, 10..2 for
 * those nobody else holds (decision 4); with `strategy: upstream` it gives upstream's numbers. So each scenario states:
 *
 *     1.36    as it comes: no score at all, whatever the node
 *     on      1.36 with the gate, and 1.37, with the shape named: upstream's own test
 *     1.37    as it comes: the gate with the default shape, the emptiest first
 *     Berth   as it comes
 */
import { describe, expect } from "vitest";
import { filterNodes } from "../../src/scheduling/filter.ts";
import type { Pod } from "../../src/scheduling/objects.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";
import { ask, scenario } from "./support.ts";
import { bestFit, type Shape, spread, upstreamScore } from "./upstream-score.ts";

type Classes = readonly (readonly [requested: number, capacity: number])[];

/** One row a node: what its plan uses by class, and upstream's score of that. */
interface Row {
  readonly uses: Classes;
  readonly wantOn: number;
  /** Upstream's test scores numbers that no plan for one Pod on these nodes has: what the plan here uses, and its score. */
  readonly here?: { readonly uses: Classes; readonly wantOn: number };
  /** Of the plan here; absent where the node does not fit. */
  readonly want137?: number;
}

interface Scored {
  readonly shape: Shape;
  readonly nodes: Record<string, Row>;
  readonly objects: readonly Raw[];
  readonly mounts: readonly string[];
  readonly wantPlans: Record<string, readonly string[]>;
  /** Empty: all nodes are as good, which is no opinion. */
  readonly wantBerth: Record<string, number>;
}

const points = (shape: Shape) => shape.map(([utilization, score]) => ({ utilization, score }));

/** With `strategy: upstream`: the numbers as upstream has them, and what becomes of them on the wire. */
function reproduced(world: World, pod: Pod): { numbers: Record<string, number>; scores: Record<string, number> } {
  const verdict = filterNodes(world.state, pod, world.nodes());
  if (verdict.kind !== "judged") throw new Error(verdict.kind);
  const { nodes } = verdict;
  const fitting = nodes.names.flatMap((name, index) => (nodes.fits(index) ? [[name, nodes.percent(index)]] : []));
  return { numbers: Object.fromEntries(fitting), scores: world.scores(pod) };
}

/** The gate off gives every node the same: a level shape, of which nothing is said. */
const level: Shape = [[0, 0]];

function expectUpstream(
  shape: Shape,
  objects: readonly Raw[],
  mounts: readonly string[],
  want: Record<string, number>,
): void {
  const world = new World({ scoring: { strategy: "upstream", shape: points(shape) } }).add(...objects);
  const { numbers, scores } = reproduced(world, world.pod("p", ...mounts));
  expect(numbers).toEqual(want);
  const differ = new Set(Object.values(want)).size > 1;
  const tenths = Object.entries(want).map(([node, number]) => [node, Math.round(number / 10)]);
  expect(scores).toEqual(differ ? Object.fromEntries(tenths) : {});
}

function scored(number: number, name: string, { shape, nodes, objects, mounts, wantPlans, wantBerth }: Scored): void {
  scenario(number, "departure", `decision 4: ${name}`, () => {
    const all = [...Object.keys(nodes).map((node) => makeNode(node)), ...objects];
    const on: Record<string, number> = {};
    const by137: Record<string, number> = {};
    for (const [node, { uses, wantOn, here = { uses, wantOn }, want137 }] of Object.entries(nodes)) {
      expect(upstreamScore(shape, uses)).toBe(wantOn);
      if (want137 === undefined) continue;
      expect([upstreamScore(shape, here.uses), upstreamScore(spread, here.uses)]).toEqual([here.wantOn, want137]);
      on[node] = here.wantOn;
      by137[node] = want137;
    }
    expect(Object.keys(by137)).toEqual(Object.keys(wantPlans));
    expectUpstream(shape, all, mounts, on);
    expectUpstream(spread, all, mounts, by137);
    expectUpstream(level, all, mounts, Object.fromEntries(Object.keys(on).map((node) => [node, 0])));
    const world = new World().add(...all);
    const pod = world.pod("p", ...mounts);
    expect(ask(world, pod)).toMatchObject(wantPlans);
    expect(world.scores(pod)).toEqual(wantBerth);
  });
}

const pv = (name: string, on: string, size: number, facts = {}): Raw =>
  makePV(name, { on, capacity: `${size}Gi`, ...facts });
const pvc = (name: string, size: number, facts = {}): Raw => makePVC(name, { request: `${size}Gi`, ...facts });
const csi = [makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true)];
const room = (on: string, size: number): Raw => makeCapacity(`c-${on}`, { class: "csi", on, capacity: `${size}Gi` });

describe("VB 8.13: scores", () => {
  scored(140, "the fuller the volume, the better upstream's best fit; the less is wasted, the better ours", {
    shape: bestFit,
    nodes: {
      a: { uses: [[30, 100]], wantOn: 30, want137: 70 },
      b: { uses: [[30, 60]], wantOn: 50, want137: 50 },
      c: { uses: [[30, 30]], wantOn: 100, want137: 0 },
      d: { uses: [[0, 100]], wantOn: 0 },
    },
    objects: [pvc("x", 30), pv("a1", "a", 100), pv("b1", "b", 60), pv("c1", "c", 30)],
    mounts: ["x"],
    wantPlans: { a: ["x=a1"], b: ["x=b1"], c: ["x=c1"] },
    wantBerth: { a: 2, b: 6, c: 10 },
  });
  scored(141, "two classes count alike upstream, by their bytes with us", {
    shape: bestFit,
    nodes: {
      a: {
        uses: [
          [0, 100],
          [30, 100],
        ],
        wantOn: 15,
        here: {
          uses: [
            [30, 100],
            [30, 100],
          ],
          wantOn: 30,
        },
        want137: 70,
      },
      b: {
        uses: [
          [30, 100],
          [60, 100],
        ],
        wantOn: 45,
        here: {
          uses: [
            [30, 60],
            [30, 60],
          ],
          wantOn: 50,
        },
        want137: 50,
      },
      c: {
        uses: [
          [50, 100],
          [100, 100],
        ],
        wantOn: 75,
        here: {
          uses: [
            [30, 31],
            [30, 100],
          ],
          wantOn: 63,
        },
        want137: 37,
      },
    },
    objects: [
      makeClass("ssd"),
      pvc("x", 30),
      pvc("y", 30, { class: "ssd" }),
      ...["a", "b", "c"].map((node, index) => pv(`${node}1`, node, [100, 60, 31][index] ?? 0)),
      ...["a", "b", "c"].map((node, index) => pv(`${node}2`, node, [100, 60, 100][index] ?? 0, { class: "ssd" })),
    ],
    mounts: ["x", "y"],
    wantPlans: { a: ["x=a1", "y=a2"], b: ["x=b1", "y=b2"], c: ["x=c1", "y=c2"] },
    wantBerth: { a: 2, b: 10, c: 6 },
  });
  const bent: Shape = [
    [50, 0],
    [80, 3],
    [100, 5],
  ];
  scored(142, "upstream's curve can be bent in the configuration; ranks need none", {
    shape: bent,
    nodes: {
      a: {
        uses: [
          [30, 100],
          [60, 100],
        ],
        wantOn: 5,
        here: { uses: [[50, 500]], wantOn: 0 },
        want137: 90,
      },
      b: {
        uses: [
          [50, 100],
          [100, 100],
        ],
        wantOn: 25,
        here: { uses: [[50, 100]], wantOn: 0 },
        want137: 50,
      },
      c: {
        uses: [
          [90, 100],
          [90, 100],
        ],
        wantOn: 40,
        here: { uses: [[50, 51]], wantOn: 48 },
        want137: 2,
      },
      d: {
        uses: [
          [100, 100],
          [100, 100],
        ],
        wantOn: 50,
        here: { uses: [[50, 50]], wantOn: 50 },
        want137: 0,
      },
    },
    objects: [pvc("x", 50), pv("a1", "a", 500), pv("b1", "b", 100), pv("c1", "c", 51), pv("d1", "d", 50)],
    mounts: ["x"],
    wantPlans: { a: ["x=a1"], b: ["x=b1"], c: ["x=c1"], d: ["x=d1"] },
    wantBerth: { a: 2, b: 4, c: 7, d: 10 },
  });
  scored(143, "50Gi on disks of 200Gi, 100Gi and none", {
    shape: bestFit,
    nodes: {
      a: { uses: [[50, 200]], wantOn: 25, want137: 75 },
      b: { uses: [[50, 100]], wantOn: 50, want137: 50 },
      c: { uses: [], wantOn: 0 },
    },
    objects: [pvc("x", 50), pv("a1", "a", 200), pv("b1", "b", 100)],
    mounts: ["x"],
    wantPlans: { a: ["x=a1"], b: ["x=b1"] },
    wantBerth: { a: 2, b: 10 },
  });
  scored(144, "two classes of unequal fit", {
    shape: bestFit,
    nodes: {
      a: {
        uses: [
          [50, 200],
          [100, 200],
        ],
        wantOn: 38,
        want137: 63,
      },
      b: {
        uses: [
          [50, 100],
          [100, 100],
        ],
        wantOn: 75,
        want137: 25,
      },
    },
    objects: [
      makeClass("ssd"),
      pvc("x", 50),
      pvc("y", 100, { class: "ssd" }),
      pv("a1", "a", 200),
      pv("a2", "a", 200, { class: "ssd" }),
      pv("b1", "b", 100),
      pv("b2", "b", 100, { class: "ssd" }),
    ],
    mounts: ["x", "y"],
    wantPlans: { a: ["x=a1", "y=a2"], b: ["x=b1", "y=b2"] },
    wantBerth: { a: 2, b: 10 },
  });
  scenario(
    145,
    "departure",
    "decision 4: nodes of one zone are as good as each other; no opinion where all nodes are",
    () => {
      const terms = [{ matchExpressions: [{ key: "zone", operator: "In", values: ["z1"] }] }];
      const objects = [makeNode("a", { zone: "z1" }), makeNode("b", { zone: "z1" })];
      objects.push(pvc("x", 50), makePV("zonal", { terms, capacity: "200Gi" }));
      const world = new World().add(...objects);
      const pod = world.pod("p", "x");
      expectUpstream(bestFit, objects, ["x"], { a: 25, b: 25 });
      expectUpstream(spread, objects, ["x"], { a: 75, b: 75 });
      expect(ask(world, pod)).toEqual({ a: ["x=zonal"], b: ["x=zonal"] });
      expect(world.scores(pod)).toEqual({});
      world.add(makeNode("c"), pv("c1", "c", 100));
      expect(world.scores(pod)).toEqual({ a: 2, b: 2, c: 10 });
    },
  );
  scored(146, "capacity to provision: upstream fills the fullest pool first, we have no opinion", {
    shape: bestFit,
    nodes: {
      a: { uses: [[10, 100]], wantOn: 10, want137: 90 },
      b: { uses: [[10, 50]], wantOn: 20, want137: 80 },
      c: { uses: [[10, 10]], wantOn: 100, want137: 0 },
    },
    objects: [...csi, pvc("x", 10, { class: "csi" }), room("a", 100), room("b", 50), room("c", 10)],
    mounts: ["x"],
    wantPlans: { a: ["x=+csi"], b: ["x=+csi"], c: ["x=+csi"] },
    wantBerth: {},
  });
  scored(
    147,
    "beside a static claim upstream leaves the provisioned one out; so do we, where each node provisions one",
    {
      shape: bestFit,
      nodes: { a: { uses: [[50, 100]], wantOn: 50, want137: 50 }, b: { uses: [[50, 100]], wantOn: 50, want137: 50 } },
      objects: [
        ...csi,
        pvc("x", 50),
        pvc("y", 10, { class: "csi" }),
        pv("a1", "a", 100),
        pv("b1", "b", 100),
        room("a", 100),
        room("b", 10),
      ],
      mounts: ["x", "y"],
      wantPlans: { a: ["x=a1", "y=+csi"], b: ["x=b1", "y=+csi"] },
      wantBerth: {},
    },
  );
  scored(148, "two claims on one pool are summed upstream; with us they must fit together", {
    shape: bestFit,
    nodes: { a: { uses: [[100, 100]], wantOn: 100, want137: 0 } },
    objects: [...csi, pvc("x", 50, { class: "csi" }), pvc("y", 50, { class: "csi" }), room("a", 100)],
    mounts: ["x", "y"],
    wantPlans: { a: ["x=+csi", "y=+csi"] },
    wantBerth: {},
  });
  scored(149, "the gate's default spreads: of static volumes it takes the largest first, and we the closest", {
    shape: spread,
    nodes: {
      a: { uses: [[10, 100]], wantOn: 90, want137: 90 },
      b: { uses: [[10, 20]], wantOn: 50, want137: 50 },
      c: { uses: [[10, 10]], wantOn: 0, want137: 0 },
    },
    objects: [pvc("x", 10), pv("a1", "a", 100), pv("b1", "b", 20), pv("c1", "c", 10)],
    mounts: ["x"],
    wantPlans: { a: ["x=a1"], b: ["x=b1"], c: ["x=c1"] },
    wantBerth: { a: 2, b: 6, c: 10 },
  });
});
