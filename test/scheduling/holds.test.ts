/** Holds are soft and short: what ends one, and for whom it does not count. */
import { expect, test } from "vitest";
import { nodeName, podUid, volumeName } from "../../src/scheduling/names.ts";
import type { Plan } from "../../src/scheduling/plan.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { World } from "../support/world.ts";

const pools = ["a", "b"].map((node) => makeCapacity(`pool-${node}`, { class: "csi", on: node, capacity: "10Gi" }));

/** Two nodes of one 10Gi volume and one 10Gi pool each; claims x, y and z of 6Gi, dx and dy of 6Gi to provision. */
function makeWorld(options: ConstructorParameters<typeof World>[0] = {}): World {
  return new World(options).add(
    makeNode("a"),
    makeNode("b"),
    makeClass("csi", { provisioner: "csi.example" }),
    makeDriver("csi.example", true),
    ...pools,
    makePV("v-a", { on: "a" }),
    makePV("v-b", { on: "b" }),
    ...["x", "y", "z"].map((name) => makePVC(name, { request: "6Gi" })),
    ...["dx", "dy"].map((name) => makePVC(name, { request: "6Gi", class: "csi" })),
  );
}

const plansOf = (world: World, name: string, claims: readonly string[], nodes: readonly string[]): Plan[] =>
  nodes.map((node) => world.plan(world.pod(name, ...claims), node));

function hold(world: World, name: string, claims: readonly string[], ...nodes: string[]): void {
  world.state.reservations.hold(podUid(`u${name}`), plansOf(world, name, claims, nodes));
}

/** Whether a new Pod with the claim finds what it takes on the node free of others' holds. */
const isFree = (world: World, claim: string, node: string): boolean =>
  !world.plan(world.pod("asking", claim), node).contended;

const held = (world: World): Record<string, readonly string[]> =>
  Object.fromEntries(
    world.state.reservations.holds.dump().map(({ pod, volumes, pools }) => [pod, [...volumes, ...pools]]),
  );

test("a volume and an amount of a pool are held on each planned node, and named", () => {
  const world = makeWorld();
  hold(world, "p", ["x", "dx"], "a", "b");
  expect(["y", "dy"].flatMap((claim) => ["a", "b"].map((node) => isFree(world, claim, node)))).toEqual([
    false,
    false,
    false,
    false,
  ]);
  const [names = []] = Object.values(held(world));
  expect(names.slice(0, 4).filter((name) => name.startsWith("v-"))).toEqual(["v-a", "v-b"]);
  expect(names).toHaveLength(4);
  expect(world.state.reservations.holds.count).toBe(1);
});

test("a later hold of the Pod replaces the earlier one, and one of nothing ends it", () => {
  const world = makeWorld();
  hold(world, "p", ["x"], "a");
  hold(world, "p", ["x"], "b");
  expect([isFree(world, "y", "a"), isFree(world, "y", "b")]).toEqual([true, false]);
  hold(world, "p", ["x"]);
  expect([isFree(world, "y", "a"), isFree(world, "y", "b")]).toEqual([true, true]);
  expect(world.state.reservations.holds.count).toBe(0);
});

test("one volume that two plans of a claim name is held once", () => {
  const world = makeWorld().add(makePV("v-a", { class: "other" }), makePV("v-b", { class: "other" }), makePV("shared"));
  hold(world, "p", ["x"], "a", "b");
  expect(held(world)).toEqual({ up: ["shared"] });
  world.state.reservations.release(podUid("up"));
  expect(isFree(world, "y", "a")).toBe(true);
});

test("amounts of a pool add up, and go when their holds end", () => {
  const world = makeWorld().add(
    makePVC("d3", { request: "3Gi", class: "csi" }),
    makePVC("d4", { request: "4Gi", class: "csi" }),
  );
  hold(world, "p", ["d3"], "a");
  expect(isFree(world, "dy", "a")).toBe(true);
  hold(world, "q", ["d4"], "a");
  expect(isFree(world, "dy", "a")).toBe(false);
  world.state.reservations.release(podUid("up"));
  expect(isFree(world, "dy", "a")).toBe(true);
  world.state.reservations.release(podUid("up"));
  expect(world.state.reservations.holds.count).toBe(1);
});

test("a hold ends by the clock, the moment its time is over, and not those that are younger", () => {
  const world = makeWorld({ holdTtlMs: 1000 });
  hold(world, "p", ["x"], "a");
  world.now = 500;
  hold(world, "q", ["dx"], "a");
  world.now = 999;
  expect([isFree(world, "y", "a"), isFree(world, "dy", "a")]).toEqual([false, false]);
  world.now = 1000;
  expect([isFree(world, "y", "a"), isFree(world, "dy", "a")]).toEqual([true, false]);
  expect(world.state.reservations.holds.dump().map(({ pod, ageMs }) => [pod, ageMs])).toEqual([["uq", 500]]);
  world.now = 1500;
  expect(isFree(world, "dy", "a")).toBe(true);
});

test("beyond the limit the oldest hold ends", () => {
  const world = makeWorld({ holdsMax: 2 });
  hold(world, "p", ["x"], "a");
  hold(world, "q", ["dx"], "a");
  expect(Object.keys(held(world))).toEqual(["up", "uq"]);
  hold(world, "r", ["dy"], "b");
  expect(Object.keys(held(world))).toEqual(["uq", "ur"]);
  expect(isFree(world, "y", "a")).toBe(true);
});

test("a Pod's own hold does not count against it, and counts again for the next", () => {
  const world = makeWorld();
  hold(world, "p", ["x", "dx"], "a");
  expect(world.plan(world.pod("p", "x", "dx"), "a").contended).toBe(false);
  expect([isFree(world, "y", "a"), isFree(world, "dy", "a")]).toEqual([false, false]);
});

test("what another Pod holds for a claim that both mount does not count, and what it holds for its other claims does", () => {
  const world = makeWorld().add(makePV("w-a", { on: "a", capacity: "20Gi" }));
  hold(world, "p", ["x", "dx"], "a");
  expect(world.plan(world.pod("q", "x"), "a")).toMatchObject({
    contended: false,
    claims: [{ volume: { name: "v-a" } }],
  });
  expect(isFree(world, "dy", "a")).toBe(false);
  expect(world.planned(world.pod("q", "y"), "a")).toEqual(["y=w-a"]);
});

test("a decision within a decision of the same Pod leaves its holds out of the way until the outer one ends", () => {
  const world = makeWorld();
  hold(world, "p", ["x"], "a");
  const { holds } = world.state.reservations;
  const contended = (): boolean => world.plan(world.pod("p", "x"), "a").contended;
  holds.without(podUid("up"), [], () => expect([contended(), contended()]).toEqual([false, false]));
  expect(isFree(world, "y", "a")).toBe(false);
});

test("a hold whose one volume went is over: what the Pod holds after it ends as any other does", () => {
  const world = makeWorld();
  hold(world, "p", ["x"], "a");
  world.state.delete("volume", volumeName("v-a"));
  expect(world.state.reservations.holds.count).toBe(0);
  hold(world, "p", ["x", "dx"], "b");
  const sharer = world.pod("q", "x");
  expect(world.state.reservations.assume(sharer.uid, world.plan(sharer, "b"))).toEqual({ ok: true });
  expect(held(world)).toEqual({ up: [expect.stringContaining("csi ")] });
  world.state.reservations.release(podUid("up"));
  expect(isFree(world, "dy", "b")).toBe(true);
});

test("a decision that throws puts the holds back", () => {
  const world = makeWorld();
  hold(world, "p", ["x"], "a");
  const fails = (): never => {
    throw new Error("no decision");
  };
  expect(() => world.state.reservations.holds.without(podUid("up"), [], fails)).toThrow("no decision");
  expect(isFree(world, "y", "a")).toBe(false);
  expect(world.plan(world.pod("p", "x"), "a").contended).toBe(false);
});

test("a volume that is gone is held no more, whoever takes its name or its place", () => {
  const world = makeWorld();
  hold(world, "other", ["z"], "b");
  hold(world, "p", ["x", "dx"], "a");
  world.state.delete("volume", "v-a");
  world.add(makePV("v-a", { on: "a", uid: "anew" }));
  expect(isFree(world, "y", "a")).toBe(true);
  expect(isFree(world, "dy", "a")).toBe(false);
  world.state.reservations.release(podUid("up"));
  expect([isFree(world, "y", "a"), isFree(world, "dy", "a")]).toEqual([true, true]);
  hold(world, "q", ["y"], "a");
  expect(isFree(world, "z", "a")).toBe(false);
});

test("a Pod that is deleted holds nothing", () => {
  const world = makeWorld();
  const raw = { ...world.pod("p", "x") };
  world.state.set("pod", "d/p", raw);
  hold(world, "p", ["x"], "a");
  world.state.delete("pod", "d/p");
  expect(isFree(world, "y", "a")).toBe(true);
});

test("a bound claim is no promise", () => {
  const world = makeWorld().add(
    makePVC("b", { volume: "v-a" }),
    makePV("v-a", { on: "a", claim: "b", claimUid: "ub" }),
  );
  hold(world, "p", ["b"], "a");
  expect(world.state.reservations.holds.count).toBe(0);
  expect(world.state.reservations.assume(podUid("up"), world.plan(world.pod("p", "b"), "a"))).toEqual({ ok: true });
  expect(world.state.reservations.assumptionCount).toBe(0);
  expect(world.plan(world.pod("p", "b"), "a").node).toBe(nodeName("a"));
});

test("what is assumed for a claim is held for it no more, and the rest of the hold stays", () => {
  const world = makeWorld();
  hold(world, "p", ["x", "dx"], "a", "b");
  const [plan] = plansOf(world, "q", ["x"], ["a"]);
  if (!plan) throw new Error("no plan");
  world.state.reservations.assume(podUid("uq"), plan);
  expect(isFree(world, "y", "b")).toBe(true);
  expect([isFree(world, "dy", "a"), isFree(world, "dy", "b")]).toEqual([false, false]);
  expect(held(world)["up"]).toHaveLength(2);
  world.state.reservations.release(podUid("up"));
  expect([isFree(world, "dy", "a"), isFree(world, "dy", "b")]).toEqual([true, true]);
  world.state.reservations.forget(podUid("uq"));
  expect([isFree(world, "y", "a"), isFree(world, "y", "b")]).toEqual([true, true]);
});

test("a Pod whose every claim is assumed by another holds nothing", () => {
  const world = makeWorld();
  hold(world, "p", ["x"], "a");
  const [plan] = plansOf(world, "q", ["x"], ["a"]);
  if (!plan) throw new Error("no plan");
  world.state.reservations.assume(podUid("uq"), plan);
  expect([held(world), world.state.reservations.holds.count]).toEqual([{}, 0]);
});

test("what two Pods hold of a pool for the claim that both mount counts once, until both let go", () => {
  const world = makeWorld().add(makePVC("d4", { request: "4Gi", class: "csi" }));
  hold(world, "p", ["dx"], "a");
  hold(world, "q", ["dx"], "a");
  expect([isFree(world, "d4", "a"), isFree(world, "dy", "a")]).toEqual([true, false]);
  world.state.reservations.release(podUid("up"));
  expect([isFree(world, "d4", "a"), isFree(world, "dy", "a")]).toEqual([true, false]);
  world.state.reservations.release(podUid("uq"));
  expect(isFree(world, "dy", "a")).toBe(true);
});

test("a claim that has a promise in the pool is not held there besides", () => {
  const world = makeWorld();
  world.add(makePVC("dx", { request: "6Gi", class: "csi", selectedNode: "a" }));
  hold(world, "p", ["dx"], "a");
  expect(held(world)).toEqual({});
});

test("a driver that publishes no capacity has no pool to hold", () => {
  const world = makeWorld().add(makeDriver("csi.example", false));
  hold(world, "p", ["dx"], "a", "b");
  expect(held(world)).toEqual({});
});

test("a plan whose volume or pool is gone by now holds nothing of it", () => {
  const world = makeWorld();
  const plans = plansOf(world, "p", ["x", "dx"], ["a"]);
  world.state.delete("volume", "v-a");
  world.state.delete("capacity", "kube-system/pool-a");
  world.state.reservations.hold(podUid("up"), plans);
  expect(held(world)).toEqual({});
});

test("what was asked of a volume that is gone is not asked of the one that gets its number", () => {
  const world = makeWorld();
  hold(world, "p", ["x"], "a");
  const { volumes, reservations } = world.state;
  const asked = (name: string): unknown => reservations.holds.askedOf(volumes.id(volumeName(name)) ?? -1);
  const number = volumes.id(volumeName("v-a"));
  expect([asked("v-a"), asked("v-b")]).toEqual([6n << 30n, 0n]);
  world.state.delete("volume", "v-a");
  world.add(makePV("heir", { on: "b" }));
  expect(volumes.id(volumeName("heir"))).toBe(number);
  expect(asked("heir")).toBe(0n);
});

test("in a decision on a claim that both mount, what another Pod holds for its other claims counts", () => {
  const world = makeWorld();
  hold(world, "p", ["x", "dx"], "a");
  expect(world.plan(world.pod("q", "x", "dy"), "a").contended).toBe(true);
  expect(world.plan(world.pod("q", "x"), "a").contended).toBe(false);
});

test("a claim that two other Pods hold is put aside once, and a third Pod's hold beside it counts", () => {
  const world = makeWorld().add(makePVC("d5", { request: "5Gi", class: "csi" }));
  hold(world, "p", ["dx"], "a");
  hold(world, "q", ["dx"], "a");
  hold(world, "s", ["d5"], "a");
  expect(world.plan(world.pod("r", "dx"), "a").contended).toBe(true);
  world.state.reservations.release(podUid("us"));
  expect(world.plan(world.pod("r", "dx"), "a").contended).toBe(false);
});

test("two Pods' holds of one claim in a pool outlive another claim's hold there", () => {
  const world = makeWorld().add(makePVC("d1", { request: "1Gi", class: "csi" }));
  hold(world, "p", ["dx"], "a");
  hold(world, "q", ["dx"], "a");
  hold(world, "s", ["d1"], "a", "b");
  hold(world, "s", ["d1"], "b");
  world.state.reservations.release(podUid("up"));
  expect(isFree(world, "dy", "a")).toBe(false);
  world.state.reservations.release(podUid("uq"));
  expect(isFree(world, "dy", "a")).toBe(true);
});

test("a claim that grew after its hold ended is held at its new size", () => {
  const world = makeWorld().add(makePVC("dx", { request: "3Gi", class: "csi" }));
  hold(world, "other", ["z"], "b");
  hold(world, "p", ["dx"], "a");
  expect(isFree(world, "dy", "a")).toBe(true);
  world.state.reservations.release(podUid("up"));
  world.add(makePVC("dx", { request: "6Gi", class: "csi" }));
  hold(world, "p", ["dx"], "a");
  expect(isFree(world, "dy", "a")).toBe(false);
});

test("a Pod that let a shared claim go is not in the way when the claim is promised to the other", () => {
  const world = makeWorld();
  hold(world, "p", ["x", "dx"], "a");
  hold(world, "q", ["x"], "a");
  hold(world, "p", ["dx"], "a");
  const [plan] = plansOf(world, "q", ["x"], ["a"]);
  if (!plan) throw new Error("no plan");
  world.state.reservations.assume(podUid("uq"), plan);
  expect(held(world)).toEqual({ up: [expect.stringContaining("csi")] });
  world.state.reservations.forget(podUid("uq"));
  expect(isFree(world, "y", "a")).toBe(true);
  expect(isFree(world, "dy", "a")).toBe(false);
});

test("a Pod that somebody else has put on a node holds nothing any more, though it does not run yet", () => {
  const world = makeWorld().add(makePod("p", ["x"]));
  hold(world, "p", ["x"], "a", "b");
  expect(isFree(world, "y", "b")).toBe(false);
  world.add(makePod("p", ["x"]));
  expect(isFree(world, "y", "b")).toBe(false);
  world.add(makePod("p", ["x"], { node: "a" }));
  expect(isFree(world, "y", "b")).toBe(true);
  expect(world.state.reservations.holds.count).toBe(0);
});
