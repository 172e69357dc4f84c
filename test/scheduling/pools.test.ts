/** What a class can draw on from a node, and what of several words about it counts (design §6; decision 10; departure D17). */
import { expect, test } from "vitest";
import { className, nodeName, podUid } from "../../src/scheduling/names.ts";
import { World } from "../support/world.ts";
import { Ledger, size, source } from "./ledger.ts";

const gi = (amount: number): bigint => size(`${amount}Gi`);

/** Node a is in three segments for which class lvm is published. */
function segments(...sizes: readonly string[]): Ledger {
  const ledger = new Ledger(["lvm"]);
  ledger.world.apply("node a s=1 t=1 u=1");
  for (const [nth, capacity] of sizes.entries()) {
    ledger.world.apply(`capacity c${nth} lvm - ${capacity} at=${["s", "t", "u"][nth]}:1`);
  }
  return ledger;
}

test("the newest of two objects counts, and the older one once that is gone", () => {
  const ledger = new Ledger(["lvm"]).node("a");
  const [old, young] = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"];
  ledger.object("old", "lvm", "a", "10Gi", { created: old }).object("young", "lvm", "a", "20Gi", { created: young });
  expect(ledger.free("lvm", "a")).toEqual([gi(20)]);
  ledger.object("old", "lvm", "a", "30Gi", { created: old });
  expect(ledger.free("lvm", "a")).toEqual([gi(20)]);
  ledger.state.delete("capacity", "kube-system/young");
  expect(ledger.free("lvm", "a")).toEqual([gi(30)]);
  ledger.state.delete("capacity", "kube-system/old");
  expect(ledger.free("lvm", "a")).toEqual([]);
});

test("an object that speaks of another class, or of no nodes, says nothing of the first any more", () => {
  const ledger = new Ledger(["lvm", "other"]).node("a").object("c", "lvm", "a", "10Gi");
  ledger.object("c", "other", "a", "10Gi");
  expect([ledger.free("lvm", "a"), ledger.free("other", "a")]).toEqual([[], [gi(10)]]);
  ledger.world.apply("capacity c other - 10Gi");
  expect(ledger.free("other", "a")).toEqual([]);
});

test("two pools that classes share are two", () => {
  const ledger = new Ledger(["a1", "a2", "b1"], { pools: { a1: "vg-a", a2: "vg-a", b1: "vg-b" } }).node("n");
  for (const of of ["a1", "a2", "b1"]) ledger.object(of, of, "n", "10Gi").claim(of, of, "10Gi");
  expect([ledger.assume("n", "a1"), ledger.reason("n", "a2"), ledger.reason("n", "b1")]).toEqual([
    "promised",
    "capacityAssumed",
    "",
  ]);
});

test("a maximum above the capacity is believed, and one below it limits a single volume", () => {
  const ledger = new Ledger(["lvm"]).node("a").object("c", "lvm", "a", "10Gi", { max: "20Gi" });
  expect(ledger.free("lvm", "a")).toEqual([gi(20)]);
  ledger.object("c", "lvm", "a", "10Gi", { max: "4Gi" }).claim("x", "lvm", "5Gi").claim("y", "lvm", "4Gi");
  expect([ledger.free("lvm", "a"), ledger.reason("a", "x"), ledger.reason("a", "y")]).toEqual([
    [gi(10)],
    "claimTooLarge",
    "",
  ]);
});

test("of several pools with room the first by name is taken, whichever was published first", () => {
  const ledger = new Ledger(["lvm"]).claim("x", "lvm", "5Gi");
  ledger.world.apply("node a s=1 t=1");
  for (const line of ["capacity c1 lvm - 10Gi at=t:1", "capacity c0 lvm - 10Gi at=s:1"]) ledger.world.apply(line);
  expect(ledger.assume("a", "x")).toBe("promised");
  expect(ledger.free("lvm", "a")).toEqual([gi(5), gi(10)]);
});

test("what somebody else promised counts in a pool that has room for it", () => {
  for (const [sizes, left] of [
    [
      ["10Gi", "30Gi", "20Gi"],
      [gi(10), gi(0), gi(20)],
    ],
    [
      ["10Gi", "20Gi", "20Gi"],
      [-gi(20), gi(20), gi(20)],
    ],
  ] as const) {
    const ledger = segments(...sizes).claim("x", "lvm", "30Gi", { selectedNode: "a" });
    expect(ledger.free("lvm", "a")).toEqual(left);
  }
  const small = new Ledger(["lvm"]);
  small.world.apply("node a s=1 t=1");
  small.world.apply("capacity c0 lvm - 50Gi at=s:1 max=20Gi");
  small.world.apply("capacity c1 lvm - 30Gi at=t:1 max=30Gi");
  small.claim("x", "lvm", "30Gi", { selectedNode: "a" });
  expect(small.free("lvm", "a")).toEqual([gi(50), gi(0)]);
});

test("of a pool that is partly promised only the rest is room", () => {
  const ledger = segments("100Gi", "30Gi").claim("w", "lvm", "80Gi");
  expect(ledger.assume("a", "w")).toBe("promised");
  ledger.claim("y", "lvm", "30Gi", { selectedNode: "a" });
  expect(ledger.free("lvm", "a")).toEqual([gi(20), gi(0)]);
});

const reasons: Record<string, { sizes: readonly string[]; taken: string; why: string }> = {
  "room but for a promise, and one that is too small": {
    sizes: ["40Gi", "20Gi"],
    taken: "30Gi",
    why: "capacityAssumed",
  },
  "one that is too small, and room but for a promise": {
    sizes: ["20Gi", "40Gi"],
    taken: "30Gi",
    why: "capacityAssumed",
  },
  "two that are too small": { sizes: ["20Gi", "20Gi"], taken: "1Gi", why: "claimTooLarge" },
};

test.for(Object.entries(reasons))("why two pools have no room: %s", ([, { sizes, taken, why }]) => {
  const ledger = segments(...sizes)
    .claim("w", "lvm", taken)
    .claim("x", "lvm", "40Gi");
  expect(ledger.assume("a", "w")).toBe("promised");
  expect(ledger.reason("a", "x")).toBe(why);
});

test("what is promised in a pool of which nothing is published any more moves to the node's other one, for good", () => {
  const ledger = segments("100Gi", "100Gi").claim("x", "lvm", "40Gi", { selectedNode: "a" });
  expect(ledger.claim("nowhere", "lvm", "1Gi", { selectedNode: "z" }).free("lvm", "a")).toEqual([gi(60), gi(100)]);
  ledger.state.delete("capacity", "kube-system/c0");
  expect(ledger.free("lvm", "a")).toEqual([gi(60)]);
  ledger.world.apply("capacity c0 lvm - 100Gi at=s:1");
  expect(ledger.free("lvm", "a")).toEqual([gi(100), gi(60)]);
});

test("what was promised before anything was published stays where it found its place", () => {
  const ledger = segments().claim("x", "lvm", "40Gi", { selectedNode: "a" });
  for (const line of ["capacity c0 lvm - 100Gi at=s:1", "capacity c1 lvm - 100Gi at=t:1"]) ledger.world.apply(line);
  expect(ledger.free("lvm", "a")).toEqual([gi(60), gi(100)]);
  // Somebody else took 90Gi of the first.
  ledger.world.apply("capacity c0 lvm - 10Gi at=s:1");
  expect(ledger.free("lvm", "a")).toEqual([-gi(30), gi(100)]);
});

test("a node with a second pool does not rest where the first refused", () => {
  const ledger = segments("30Gi", "20Gi").claim("x", "lvm", "20Gi");
  ledger.world.apply("node b s=1");
  ledger.world.apply("node c s=1 t=1");
  ledger.claim("x", "lvm", "20Gi", { selectedNode: "b" });
  ledger.free("lvm", "b");
  ledger.claim("x", "lvm", "20Gi");
  expect(["a", "b", "c"].map((on) => ledger.reason(on, "x"))).toEqual(["", "provisioningBackoff", ""]);
});

test("a node that was refused while nothing was published rests alone", () => {
  const ledger = new Ledger(["lvm"]).node("a").node("b").claim("x", "lvm", "1Gi", { selectedNode: "a" });
  ledger.claim("x", "lvm", "1Gi").object("c", "lvm", "a", "10Gi").object("d", "lvm", "b", "10Gi");
  expect([ledger.reason("a", "x"), ledger.reason("b", "x")]).toEqual(["provisioningBackoff", ""]);
});

test("an object that comes back is no rise, and ends no rest", () => {
  const ledger = new Ledger(["lvm"]).node("a").object("c", "lvm", "a", "10Gi");
  ledger.claim("x", "lvm", "1Gi", { selectedNode: "a" }).free("lvm", "a");
  ledger.state.delete("capacity", "kube-system/c");
  ledger.claim("x", "lvm", "1Gi").object("c", "lvm", "a", "10Gi");
  expect(ledger.reason("a", "x")).toBe("provisioningBackoff");
  ledger.object("c", "lvm", "a", "11Gi");
  expect(ledger.reason("a", "x")).toBe("");
});

test("a rise of what a node carries ends a rest", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } }).node("a", { annotations: { lvm: "10Gi" } });
  ledger.claim("x", "lvm", "1Gi", { selectedNode: "a" }).claim("x", "lvm", "1Gi");
  expect(ledger.reason("a", "x")).toBe("provisioningBackoff");
  ledger.node("a", { annotations: { lvm: "11Gi" } });
  expect(ledger.reason("a", "x")).toBe("");
});

test("of a node that is gone no pool and no fault is left", () => {
  const ledger = new Ledger(["lvm", "bad"], { sources: { lvm: source("lvm"), bad: source("bad") } });
  ledger.node("a", { annotations: { lvm: "10Gi", bad: "?" } });
  expect([[...ledger.state.pools.all()].length, ledger.state.pools.nodes.faultCount]).toEqual([1, 1]);
  ledger.state.delete("node", "a");
  expect([[...ledger.state.pools.all()].length, ledger.state.pools.nodes.faultCount]).toEqual([0, 0]);
});

test("a value that can be read at last is no fault any more", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } }).node("a", { annotations: { lvm: "?" } });
  ledger.node("a", { annotations: { lvm: "1" } });
  expect(ledger.state.pools.nodes.faultCount).toBe(0);
});

test("where nodes say what a class has, in words", () => {
  const sources = {
    noted: source("noted", { pointer: "/a/0" }),
    whole: source("whole", { from: "allocatable" }),
  };
  const { nodes } = new Ledger(["noted", "whole", "csi"], { sources }).node("a").state.pools;
  expect(["noted", "whole", "csi"].map((name) => nodes.nameOf(className(name)))).toEqual([
    "annotation example.com/noted at /a/0",
    "allocatable resource example.com/whole",
    undefined,
  ]);
});

test("what is promised on a node that is gone is free for the claim itself", () => {
  const ledger = new Ledger(["lvm"]).claim("x", "lvm", "60Gi", { selectedNode: "a" }).claim("y", "lvm", "60Gi");
  for (const line of ["node a zone=1", "node b zone=1", "capacity c lvm - 100Gi at=zone:1"]) ledger.world.apply(line);
  expect(ledger.free("lvm", "a")).toEqual([gi(40)]);
  ledger.state.delete("node", "a");
  expect([ledger.reason("b", "x"), ledger.reason("b", "y")]).toEqual(["", "capacityAssumed"]);
  expect(ledger.assume("b", "x")).toBe("promised");
  expect(ledger.free("lvm", "b")).toEqual([gi(40)]);
});

test("a claim that asks for no size needs no capacity", () => {
  const ledger = new Ledger(["lvm"]).node("a");
  for (const line of ["pvc x - class=lvm", "pvc y 1Gi class=lvm"]) ledger.world.apply(line);
  expect([ledger.reason("a", "x"), ledger.reason("a", "y")]).toEqual(["", "noCapacityPublished"]);
});

test("the configuration decides whether a class is provisioned, whatever the cluster shows", () => {
  const reasonsIn = (provisioning: "static" | "dynamic" | undefined): string[] => {
    const configured = new Map(provisioning && [["made-up", provisioning] as const].map(([k, v]) => [className(k), v]));
    const world = new World({ provisioning: configured });
    for (const line of [
      "node a",
      "node b",
      "class made-up provisioner=nobody",
      "pv v 1Gi on=b class=made-up",
      "pvc x 1Gi class=made-up",
    ]) {
      world.apply(line);
    }
    return world.reasons(world.pod("p", "x"), nodeName("a"));
  };
  expect([reasonsIn(undefined), reasonsIn("static"), reasonsIn("dynamic")]).toEqual([
    ["noMatchingVolume"],
    ["noMatchingVolume"],
    [],
  ]);
});

test("a class that the configuration calls static is not provisioned though its driver runs", () => {
  const world = new World({ provisioning: new Map([[className("csi"), "static"]]) });
  for (const line of ["node a", "class csi provisioner=csi.example", "driver csi.example", "pvc x 1Gi class=csi"]) {
    world.apply(line);
  }
  expect(world.reasons(world.pod("p", "x"), "a")).toEqual(["noMatchingVolume"]);
});

test("what is held of a pool is held while its object is away", () => {
  const ledger = new Ledger(["lvm"]).node("a").object("c", "lvm", "a", "10Gi").claim("x", "lvm", "6Gi");
  const holder = ledger.world.pod("h", "x");
  ledger.state.reservations.hold(holder.uid, [ledger.world.plan(holder, "a")]);
  ledger.state.delete("capacity", "kube-system/c");
  ledger.object("c", "lvm", "a", "10Gi").claim("y", "lvm", "6Gi");
  expect(ledger.world.plan(ledger.world.pod("p", "y"), "a").contended).toBe(true);
  ledger.state.reservations.release(holder.uid);
  expect(ledger.world.plan(ledger.world.pod("p", "y"), "a").contended).toBe(false);
});

test("a pool that nothing speaks of, holds or promises any more is forgotten", () => {
  const ledger = new Ledger(["lvm"]).node("a").object("c", "lvm", "a", "10Gi").claim("x", "lvm", "6Gi");
  const pod = ledger.world.pod("p-x", "x");
  const count = (): number => [...ledger.state.pools.all()].length;
  ledger.state.reservations.hold(pod.uid, [ledger.world.plan(pod, "a")]);
  ledger.state.delete("capacity", "kube-system/c");
  expect(count()).toBe(1);
  ledger.state.reservations.release(pod.uid);
  expect(count()).toBe(0);
  expect(ledger.object("c", "lvm", "a", "10Gi").assume("a", "x")).toBe("promised");
  ledger.state.delete("capacity", "kube-system/c");
  expect(count()).toBe(1);
  ledger.state.reservations.forget(podUid("up-x"));
  expect(count()).toBe(0);
});
