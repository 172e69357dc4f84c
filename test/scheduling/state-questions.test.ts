/** What the state answers about the objects themselves. */
import { expect, test } from "vitest";
import { className, nodeName } from "../../src/scheduling/names.ts";
import { type Kind, kinds } from "../../src/scheduling/objects.ts";
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

const made: Record<Kind, { raw: Raw; key: string }> = {
  node: { raw: makeNode("n"), key: "n" },
  volume: { raw: makePV("v", { on: "n" }), key: "v" },
  claim: { raw: makePVC("x"), key: "d/x" },
  class: { raw: makeClass("csi", { provisioner: "csi.example" }), key: "csi" },
  driver: { raw: makeDriver("csi.example", true), key: "csi.example" },
  csiNode: { raw: makeCsiNode("n", "csi.example"), key: "n" },
  capacity: { raw: makeCapacity("c", { class: "csi", on: "n", capacity: "1Gi" }), key: "kube-system/c" },
  pod: { raw: makePod("p", ["x"]), key: "d/p" },
};

/** A state without the class that every test world has. */
function empty(): World {
  const world = new World();
  world.state.delete("class", "local");
  return world;
}

test.for(kinds)(
  "%s: an object is known from its addition to its deletion, and each step is a new generation",
  (kind) => {
    const world = empty();
    const { state } = world;
    const { raw, key } = made[kind];
    const seen = [state.generation];
    world.add(raw);
    seen.push(state.generation);
    expect(state.get(kind, key)).toMatchObject({ uid: String((raw["metadata"] as Raw)["uid"]) });
    expect([[...state.keys(kind)], state.size(kind)]).toEqual([[key], 1]);
    state.delete(kind, key);
    seen.push(state.generation);
    expect(state.get(kind, key)).toBeUndefined();
    expect([[...state.keys(kind)], state.size(kind)]).toEqual([[], 0]);
    expect(new Set(seen).size).toBe(3);
  },
);

test.for(kinds)("%s: one that cannot be read is named, counts, and hides what was known of it", (kind) => {
  const world = empty();
  const { state } = world;
  const { raw, key } = made[kind];
  world.add(raw);
  expect(state.problem(kind, key)).toBeUndefined();
  state.setAside(kind, key, "spec: odd");
  expect([state.problem(kind, key), state.get(kind, key)]).toEqual(["spec: odd", undefined]);
  expect([[...state.keys(kind)], state.size(kind)]).toEqual([[key], 1]);
  for (const other of kinds) if (other !== kind) expect(state.problem(other, key)).toBeUndefined();
  world.add(raw);
  expect([state.problem(kind, key), state.size(kind)]).toEqual([undefined, 1]);
  state.setAside(kind, key, "spec: odd");
  state.delete(kind, key);
  expect([state.problem(kind, key), state.size(kind)]).toEqual([undefined, 0]);
});

test("drivers count the nodes that they are registered on, volumes by who made them", () => {
  const world = empty();
  const { state } = world;
  const provisioned = { "pv.kubernetes.io/provisioned-by": "csi.example" };
  world.add(makeCsiNode("n", "csi.example", "other"), makeCsiNode("m", "csi.example"));
  world.add(makePV("v"), makePV("w", { annotations: provisioned, class: "csi" }));
  expect(state.driverNodes).toEqual(new Map(Object.entries({ "csi.example": 2, other: 1 })));
  expect([state.handMade, state.provisionedBy]).toEqual([
    new Map([[className("local"), 1]]),
    new Map([["csi.example", 1]]),
  ]);
  world.add(makeCsiNode("n", "other"), makePV("v", { annotations: provisioned }));
  expect(state.driverNodes).toEqual(new Map(Object.entries({ "csi.example": 1, other: 1 })));
  expect([state.handMade, state.provisionedBy]).toEqual([new Map(), new Map([["csi.example", 2]])]);
  state.delete("csiNode", "n");
  state.delete("csiNode", "m");
  state.delete("volume", "v");
  state.delete("volume", "w");
  state.delete("volume", "w");
  expect([state.driverNodes.size, state.handMade.size, state.provisionedBy.size]).toEqual([0, 0, 0]);
});

test("a claim that is pending names its volume for itself, until it is gone or bound or names another", () => {
  const world = new World().add(makeNode("n"), makePV("v", { on: "n" }), makePV("w", { on: "n" }), makePVC("y"));
  const fits = (): boolean => world.fitting(world.pod("p", "y"), [nodeName("n")]).length > 0;
  world.add(makePV("w", { on: "n", phase: "Released" }));
  expect(fits()).toBe(true);
  world.add(makePVC("x", { volume: "v", halfBound: true }));
  expect(fits()).toBe(false);
  world.add(makePVC("x", { volume: "w", halfBound: true }));
  expect(fits()).toBe(true);
  world.add(makePVC("x", { volume: "v", halfBound: true }));
  world.state.delete("claim", "d/x");
  expect(fits()).toBe(true);
});
