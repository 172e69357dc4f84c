/** Which of a node's pools the claims of one class come from: the first in the order of their keys, whoever was published first. */
import { expect, test } from "vitest";
import { makeCapacity, makeClass, makeDriver, makeNode, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

const base = [
  makeClass("csi", { provisioner: "csi.example" }),
  makeClass("other", { provisioner: "csi.example" }),
  makeDriver("csi.example", true),
  makeNode("n", { rack: "r", zone: "z" }),
  makePVC("x", { class: "csi", request: "4Gi" }),
  makePVC("y", { class: "csi", request: "4Gi" }),
  makePVC("z", { class: "other", request: "4Gi" }),
];
const room = (key: string, value: string, capacity: string, name = "csi"): Raw =>
  makeCapacity(`${name}-${key}`, { class: name, on: null, topology: { [key]: value }, capacity });

function poolsOf(objects: readonly Raw[], ...mounts: string[]): readonly (string | undefined)[] {
  const world = new World().add(...base, ...objects);
  return world.plan(world.pod("p", ...mounts), "n").claims.map((one) => ("pool" in one ? one.pool : undefined));
}

test("of two pools that have room, the first by its key gives all; where it has not, the other", () => {
  for (const [rack, zone, want] of [
    ["20Gi", "20Gi", "rack"],
    ["7Gi", "20Gi", "zone"],
    ["20Gi", "7Gi", "rack"],
  ] as const) {
    const objects = [room("rack", "r", rack), room("zone", "z", zone)];
    for (const published of [objects, objects.toReversed()]) {
      expect(poolsOf(published, "x", "y")).toEqual([expect.stringContaining(want), expect.stringContaining(want)]);
    }
  }
});

test("classes that share a pool ask it together, though each alone would have room", () => {
  const sharedPools = new Map(["csi", "other"].map((name) => [name as never, "disk"]));
  const objects = [room("zone", "z", "7Gi"), room("zone", "z", "7Gi", "other")];
  const fitting = (...mounts: string[]): readonly string[] => {
    const world = new World({ sharedPools }).add(...base, ...objects);
    return world.fitting(world.pod("p", ...mounts));
  };
  expect(fitting("x")).toEqual(["n"]);
  expect(fitting("x", "z")).toEqual([]);
});

test("of a pool that says no size the claim that asks for one is told, though one without comes first", () => {
  const world = new World().add(...base, makeCapacity("c", { class: "csi", on: "n" }));
  world.add(makePVC("a", { class: "csi", request: null }));
  expect(world.apply("filter p a x")).toEqual(["n  refused  claimTooLarge d/x"]);
  expect(world.fitting(world.pod("p", "a"))).toEqual(["n"]);
});
