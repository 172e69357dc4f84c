/** Classes that draw on the same disk are one pool in each segment (design §6). */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { podUid } from "../../src/scheduling/names.ts";
import { Ledger, pollMs, size, source } from "./ledger.ts";

const pools = { fast: "vg0", faster: "vg0" };

function published(capacity = "100Gi"): Ledger {
  const ledger = new Ledger(["fast", "faster", "slow"], { pools });
  ledger.world.apply("node a");
  return ledger
    .object("f", "fast", "a", capacity)
    .object("g", "faster", "a", capacity)
    .object("s", "slow", "a", capacity);
}

test("what is promised to one class is taken from the other, and from no third", () => {
  const ledger = published().claim("x", "fast", "60Gi").claim("y", "faster", "60Gi").claim("z", "slow", "60Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  expect([ledger.reason("a", "y"), ledger.reason("a", "z")]).toEqual(["capacityAssumed", ""]);
  expect(ledger.free("faster", "a")).toEqual([size("40Gi")]);
});

test("without the declaration each class would be believed alone", () => {
  const ledger = new Ledger(["fast", "faster"]);
  ledger.world.apply("node a");
  ledger.object("f", "fast", "a", "100Gi").object("g", "faster", "a", "100Gi");
  ledger.claim("x", "fast", "60Gi").claim("y", "faster", "60Gi");
  expect(ledger.assume("a", "x", "y")).toBe("promised");
});

test("all claims of a Pod fit together, over both classes", () => {
  const ledger = published().claim("x", "fast", "60Gi").claim("y", "faster", "41Gi").claim("z", "faster", "40Gi");
  expect(ledger.reason("a", "x", "y")).toBe("notEnoughSpace");
  expect(ledger.assume("a", "x", "z")).toBe("promised");
  expect(ledger.free("fast", "a")).toEqual([0n]);
  const explained = explainPod(ledger.state, ledger.world.pod("p", "x", "y"));
  expect(explained.nodes[0]?.fits).toBe(false);
});

test("together they would fit but for another Pod", () => {
  const ledger = published().claim("w", "faster", "10Gi").claim("x", "fast", "50Gi").claim("y", "faster", "50Gi");
  expect(ledger.assume("a", "w")).toBe("promised");
  expect(ledger.reason("a", "x", "y")).toBe("capacityAssumed");
  ledger.state.reservations.forget(podUid("up-w"));
  expect(ledger.reason("a", "x", "y")).toBe("");
});

test("each class keeps its own largest volume", () => {
  const ledger = published().object("g", "faster", "a", "100Gi", { max: "20Gi" });
  ledger.claim("x", "fast", "30Gi").claim("y", "faster", "30Gi").claim("z", "faster", "20Gi");
  expect([ledger.reason("a", "x"), ledger.reason("a", "y")]).toEqual(["", "claimTooLarge"]);
  expect(ledger.reason("a", "x", "z")).toBe("");
});

test("the least that is published counts, and its drop settles demands of either class once", () => {
  const ledger = published().claim("x", "fast", "30Gi").claim("y", "faster", "30Gi");
  for (const [name, of] of [
    ["x", "fast"],
    ["y", "faster"],
  ] as const) {
    ledger.assume("a", name);
    ledger.claim(name, of, "30Gi", { selectedNode: "a" }).volume(name, of, "a", "30Gi");
  }
  expect(ledger.free("fast", "a")).toEqual([size("40Gi")]);
  // One object after the other tells of the same two volumes.
  ledger.object("f", "fast", "a", "40Gi");
  expect(ledger.free("faster", "a")).toEqual([size("40Gi")]);
  expect([...ledger.state.pools.demands()]).toEqual([]);
  ledger.object("g", "faster", "a", "40Gi");
  expect(ledger.free("fast", "a")).toEqual([size("40Gi")]);
});

test("a class whose object comes late, lower than the other's, settles nothing", () => {
  const ledger = published();
  ledger.state.delete("capacity", "kube-system/g");
  ledger.claim("x", "fast", "30Gi", { selectedNode: "a" }).volume("x", "fast", "a", "30Gi");
  expect(ledger.free("fast", "a")).toEqual([size("70Gi")]);
  ledger.object("g", "faster", "a", "70Gi");
  expect(ledger.free("fast", "a")).toEqual([size("40Gi")]);
  ledger.object("f", "fast", "a", "70Gi").wait(2 * pollMs);
  expect(ledger.free("fast", "a")).toEqual([size("70Gi")]);
});

test("a class without an object has nothing, whatever its pool has", () => {
  const ledger = published().claim("y", "faster", "1Gi");
  ledger.state.delete("capacity", "kube-system/g");
  expect(ledger.reason("a", "y")).toBe("noCapacityPublished");
});

test("two segments are two pools", () => {
  const ledger = published().claim("x", "fast", "60Gi").claim("y", "faster", "60Gi");
  ledger.world.apply("node b");
  ledger.object("f2", "fast", "b", "100Gi").object("g2", "faster", "b", "100Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  expect([ledger.reason("a", "y"), ledger.reason("b", "y")]).toEqual(["capacityAssumed", ""]);
});

test("classes that nodes speak for share as well, and volumes of both are deducted", () => {
  const both = source("vg", { from: "allocatable", means: "total" });
  const ledger = new Ledger(["fast", "faster"], { pools, sources: { fast: both, faster: both } });
  ledger.node("a", { allocatable: { vg: "100Gi" } });
  ledger.volume("v", "fast", "a", "30Gi").volume("w", "faster", "a", "30Gi");
  ledger.claim("x", "fast", "30Gi").claim("y", "faster", "11Gi");
  expect(ledger.free("fast", "a")).toEqual([size("40Gi")]);
  expect(ledger.reason("a", "x", "y")).toBe("notEnoughSpace");
  expect(ledger.assume("a", "x")).toBe("promised");
  expect(ledger.free("faster", "a")).toEqual([size("10Gi")]);
});

test("what another Pod holds of one class is avoided for the other, and used where nothing else does", () => {
  const ledger = published().claim("x", "fast", "60Gi").claim("y", "faster", "60Gi");
  const holder = ledger.world.pod("h", "x");
  ledger.state.reservations.hold(holder.uid, [ledger.world.plan(holder, "a")]);
  expect(ledger.world.plan(ledger.world.pod("p", "y"), "a").contended).toBe(true);
});
