/** Where matching claim by claim says no although an assignment exists (VB §3.7): upstream's answer beside ours. */
import { expect, test } from "vitest";
import { greedyMatch } from "../support/greedy.ts";
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

interface Case {
  readonly claims: readonly Raw[];
  readonly volumes: readonly Raw[];
  readonly wantGreedy: Record<string, string | undefined>;
  readonly wantBerth: readonly string[];
}

const rwo = "ReadWriteOnce";
const rwx = "ReadWriteMany";
const select = (...values: string[]) => ({ selector: { matchExpressions: [{ key: "t", operator: "In", values }] } });

const cases: Record<string, Case> = {
  "A, access modes: the small claim takes the only volume that the other one could use": {
    claims: [makePVC("a", { request: "1Gi", modes: [rwo] }), makePVC("b", { request: "2Gi", modes: [rwx] })],
    volumes: [
      makePV("pv1", { on: "n", capacity: "5Gi", modes: [rwo, rwx] }),
      makePV("pv2", { on: "n", capacity: "10Gi", modes: [rwo] }),
    ],
    wantGreedy: { a: "pv1", b: undefined },
    wantBerth: ["a=pv2", "b=pv1"],
  },
  "B, selector: the claim without a selector takes the only labelled volume": {
    claims: [
      makePVC("a", { request: "10Gi" }),
      makePVC("b", { request: "12Gi", selector: { matchLabels: { disk: "ssd" } } }),
    ],
    volumes: [
      makePV("pv1", { on: "n", capacity: "12Gi", labels: { disk: "ssd" } }),
      makePV("pv2", { on: "n", capacity: "20Gi", labels: { disk: "hdd" } }),
    ],
    wantGreedy: { a: "pv1", b: undefined },
    wantBerth: ["a=pv2", "b=pv1"],
  },
};

test.for(Object.entries(cases))("%s", ([, { claims, volumes, wantGreedy, wantBerth }]) => {
  const names = claims.map(({ metadata }) => String((metadata as { name: string }).name));
  expect(Object.fromEntries(greedyMatch(makePod("p", names), claims, volumes, "n"))).toEqual(wantGreedy);
  const world = new World().add(makeNode("n"), ...claims, ...volumes);
  expect(world.planned(world.pod("p", ...names), "n")).toEqual(wantBerth);
});

test("C, static and dynamic: the large claim takes the disk so that the small one fits the pool", () => {
  const world = new World().add(
    makeNode("n"),
    makeClass("lvm", { provisioner: "lvm.example" }),
    makeDriver("lvm.example", true),
  );
  world.add(makeCsiNode("n", "lvm.example"), makeCapacity("c", { class: "lvm", on: "n", capacity: "20Gi" }));
  world.add(makePV("pv1", { on: "n", class: "lvm", capacity: "100Gi" }));
  world.add(makePVC("a", { class: "lvm", request: "5Gi" }), makePVC("b", { class: "lvm", request: "50Gi" }));
  expect(world.planned(world.pod("p", "a", "b"), "n")).toEqual(["a=+lvm", "b=pv1"]);
});

test("D, a chain of three moves along so that the last one is served", () => {
  const world = new World().add(makeNode("n"));
  world.add(
    makePVC("a", { request: "9Gi", ...select("x", "y") }),
    makePVC("b", { request: "10Gi", ...select("x") }),
    makePVC("c", { request: "11Gi", ...select("y", "z") }),
  );
  world.add(
    makePV("pvx", { on: "n", capacity: "12Gi", labels: { t: "x" } }),
    makePV("pvy", { on: "n", capacity: "13Gi", labels: { t: "y" } }),
    makePV("pvz", { on: "n", capacity: "14Gi", labels: { t: "z" } }),
  );
  expect(world.planned(world.pod("p", "a", "b", "c"), "n")).toEqual(["a=pvy", "b=pvx", "c=pvz"]);
});

test("E, a claim mounted twice is one claim", () => {
  const world = new World().add(
    makeNode("n"),
    makePVC("a", { request: "1Gi" }),
    makePV("pv1", { on: "n", capacity: "1Gi" }),
  );
  expect(world.planned(world.pod("p", "a", "a"), "n")).toEqual(["a=pv1"]);
});

test("F, a volume reserved on another node refuses this one instead of provisioning beside it", () => {
  const world = new World().add(
    makeNode("n1"),
    makeNode("n2"),
    makeClass("csi", { provisioner: "csi.example" }),
    makeDriver("csi.example"),
  );
  world.add(makePV("p", { on: "n2", class: "csi", claim: "a" }), makePVC("a", { class: "csi", request: "1Gi" }));
  expect(world.fitting(world.pod("p", "a"))).toEqual(["n2"]);
  expect(world.reasons(world.pod("p", "a"), "n1")).toEqual(["preboundElsewhere"]);
});

test("the least surplus wins where several assignments exist", () => {
  const world = new World().add(makeNode("n"));
  world.add(
    makePVC("a", { request: "10Gi", modes: [rwo] }),
    makePVC("b", { request: "20Gi", modes: [rwo, "ReadOnlyMany"] }),
  );
  world.add(
    makePV("p1", { on: "n", capacity: "20Gi", modes: [rwo, "ReadOnlyMany"] }),
    makePV("p2", { on: "n", capacity: "21Gi", modes: [rwo] }),
    makePV("p3", { on: "n", capacity: "500Gi", modes: [rwo, "ReadOnlyMany"] }),
  );
  expect(world.planned(world.pod("p", "a", "b"), "n")).toEqual(["a=p2", "b=p1"]);
});

test("sizes beyond 2^53 are told apart to the byte", () => {
  const world = new World().add(makeNode("n"), makePVC("a", { request: "9007199254740993" }));
  world.add(
    makePV("less", { on: "n", capacity: "9007199254740992" }),
    makePV("enough", { on: "n", capacity: "9007199254740993" }),
  );
  expect(world.planned(world.pod("p", "a"), "n")).toEqual(["a=enough"]);
  world.state.delete("volume", "enough");
  expect(world.reasons(world.pod("p", "a"), "n")).toEqual(["noMatchingVolume"]);
});
