/** What a hostile review found: each fault's kind as a rule. */
import { expect, test } from "vitest";
import {
  type ClaimFacts,
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePV,
  makePVC,
} from "../support/make.ts";
import { World } from "../support/world.ts";

function csi(capacity: string): World {
  const world = new World().add(
    makeNode("n1"),
    makeClass("csi", { provisioner: "csi.example" }),
    makeDriver("csi.example", true),
  );
  return world.add(makeCsiNode("n1", "csi.example"), makeCapacity("c", { class: "csi", on: "n1", capacity }));
}

const publish = (world: World, capacity: string, version: string): World =>
  world.add(makeCapacity("c", { class: "csi", on: "n1", capacity, version }));

const provisioned = (world: World, claim: string): World =>
  world.add(makePV(`pv-${claim}`, { on: "n1", class: "csi", capacity: "4Gi", claim, claimUid: `u${claim}` }));

test.for(
  Object.entries<ClaimFacts>({
    "of another class": { class: "other" },
    "too large for it": { request: "999Ti" },
    "of another volumeMode": { volumeMode: "Block" },
    "with an access mode it lacks": { modes: ["ReadWriteMany"] },
    "that is being deleted": { deleting: true },
  }),
)("a volume is not kept for a claim that names it but cannot have it: %s", ([, facts]) => {
  const world = new World().add(makeNode("n1"), makePV("a", { on: "n1" }), makePVC("x"));
  world.add(makePVC("z", { namespace: "evil", volume: "a", halfBound: true, ...facts }));
  expect(world.planned(world.pod("p", "x"), "n1")).toEqual(["x=a"]);
});

test("a drop that another claim's volume explains settles that claim's demand alone", () => {
  const world = csi("10Gi");
  for (const claim of ["x", "y"]) world.add(makePVC(claim, { class: "csi", request: "4Gi", selectedNode: "n1" }));
  world.add(makePVC("z", { class: "csi", request: "4Gi" }));
  const z = world.pod("q", "z");
  expect(world.fitting(z)).toEqual([]);
  provisioned(world, "x");
  publish(world, "6Gi", "2");
  expect(world.fitting(z)).toEqual([]);
  provisioned(world, "y");
  expect(world.fitting(z)).toEqual([]);
  publish(world, "2Gi", "3");
  expect(world.fitting(z)).toEqual([]);
  world.add(makePVC("small", { class: "csi", request: "2Gi" }));
  expect(world.fitting(world.pod("s", "small"))).toEqual(["n1"]);
});

test("a drop that is smaller than the demand does not settle it", () => {
  const world = csi("10Gi").add(makePVC("x", { class: "csi", request: "4Gi", selectedNode: "n1" }));
  world.add(makePVC("z", { class: "csi", request: "6Gi" }));
  publish(world, "9Gi", "2");
  provisioned(world, "x");
  expect(world.fitting(world.pod("q", "z"))).toEqual([]);
});

test("a driver that publishes before the volume is seen settles the demand when it is", () => {
  const world = csi("10Gi").add(makePVC("x", { class: "csi", request: "4Gi", selectedNode: "n1" }));
  world.add(makePVC("z", { class: "csi", request: "6Gi" }));
  publish(world, "6Gi", "2");
  expect(world.fitting(world.pod("q", "z"))).toEqual([]);
  provisioned(world, "x");
  expect(world.fitting(world.pod("q", "z"))).toEqual(["n1"]);
});

test("a claim that is being provisioned on a node is not refused there because its bytes are gone from the pool", () => {
  const world = csi("100Gi").add(makePVC("x", { class: "csi", request: "60Gi", selectedNode: "n1" }));
  publish(world, "40Gi", "2");
  expect(world.planned(world.pod("p", "x"), "n1")).toEqual(["x=+csi"]);
  world.add(makePVC("y", { class: "csi", request: "30Gi" }));
  // Another claim still sees the promise until it is settled.
  expect(world.fitting(world.pod("p", "x", "y"))).toEqual([]);
});

test("a class of an in-tree plugin is provisioned, whatever its CSI driver is called", () => {
  const world = new World().add(makeNode("n1"), makeClass("gp2", { provisioner: "kubernetes.io/aws-ebs" }));
  world.add(makeDriver("ebs.csi.aws.com"), makeCsiNode("n1", "ebs.csi.aws.com"), makePVC("x", { class: "gp2" }));
  world.add(makePV("restored", { on: "elsewhere", class: "gp2" }));
  expect(world.planned(world.pod("p", "x"), "n1")).toEqual(["x=+gp2"]);
});

test("a Pod with more unbound claims than can be planned in bounded time is answered at once, with the limit", () => {
  const names = Array.from({ length: 65 }, (_, index) => `c${index}`);
  const world = new World().add(makeNode("n1"), ...names.map((name) => makePVC(name)));
  expect(world.reasons(world.pod("p", ...names), "n1")).toEqual(["fault"]);
  expect(world.reasons(world.pod("p", ...names.slice(0, 64)), "n1")).toEqual(["noMatchingVolume"]);
});
