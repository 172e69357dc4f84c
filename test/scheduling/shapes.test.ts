/** What a configured curve must be, and how it is read (VB §5). */
import { expect, test } from "vitest";
import { type ShapePoint, shapeProblem } from "../../src/scheduling/scoring.ts";
import { makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

const points = (...pairs: readonly (readonly [utilization: number, score: number])[]): ShapePoint[] =>
  pairs.map(([utilization, score]) => ({ utilization, score }));

test.for([
  [points([0, 10]), undefined],
  [points([0, 10], [100, 0]), undefined],
  [points([40, 3], [41, 3], [99, 7]), undefined],
  [[], { index: 0, problem: "has no point; it needs one at least" }],
  [
    points([0, 1], [50, 1], [50, 2]),
    { index: 2, problem: "has utilization 50, and the point before 50: they must rise" },
  ],
  [points([60, 1], [50, 1]), { index: 1, problem: "has utilization 50, and the point before 60: they must rise" }],
  [points([-1, 1]), { index: 0, problem: "has utilization -1, and the point before -1: they must rise" }],
] as const)("the shape %j: %j", ([shape, want]) => {
  expect(shapeProblem(shape)).toEqual(want);
});

/** The score of a node whose 100Gi disk takes a claim of so many GiB, beside an empty node's, which the shape gives 0. */
function scoreAt(shape: readonly ShapePoint[], gib: number): number {
  const world = new World({ scoring: { strategy: "upstream", shape } }).add(
    makeNode("n"),
    makeNode("other"),
    makePV("v", { on: "n", capacity: "100Gi" }),
    makePV("w", { on: "other", capacity: `${gib * 1000}Gi` }),
    makePVC("x", { request: `${gib}Gi` }),
  );
  return world.scores(world.pod("p", "x"))["n"] ?? 0;
}

const peak = points([0, 0], [20, 4], [60, 10], [80, 2]);

test.for([
  [20, 4],
  [40, 7],
  [60, 10],
  [70, 6],
  [80, 2],
  [90, 2],
  [100, 2],
  [10, 2],
] as const)("a disk that a claim fills to %d percent scores %d on a curve that rises and falls", ([gib, want]) => {
  expect(scoreAt(peak, gib)).toBe(want);
});

const onNode = (claims: readonly Raw[], disks: readonly Raw[], shape: readonly ShapePoint[]): number => {
  const world = new World({ scoring: { strategy: "upstream", shape } }).add(
    makeNode("n"),
    makeNode("other"),
    ...claims,
    ...disks,
    ...claims.map((_, index) => makePV(`w${index}`, { on: "other", capacity: "100000Gi" })),
  );
  const mounts = claims.map((claim) => String((claim["metadata"] as Raw)["name"]));
  return world.scores(world.pod("p", ...mounts))["n"] ?? 0;
};

test("volumes of one class count together", () => {
  const claims = [makePVC("x", { request: "10Gi" }), makePVC("y", { request: "40Gi" })];
  const disks = [makePV("v", { on: "n", capacity: "40Gi" }), makePV("u", { on: "n", capacity: "60Gi" })];
  // 50Gi of 100Gi, which is neither 10 of 40 nor 40 of 60.
  expect(onNode(claims, disks, points([0, 0], [49, 0], [50, 10], [51, 0]))).toBe(10);
});
