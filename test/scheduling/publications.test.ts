/** What is published, taken back and published again: which drops count, and what is remembered meanwhile (decision 11, D17). */
import { expect, test } from "vitest";
import { nodeName } from "../../src/scheduling/names.ts";
import { Ledger, size } from "./ledger.ts";

const gi = (amount: number): bigint => size(`${amount}Gi`);
const [early, late] = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"];

/** 5Gi of a pool are promised to claim x, whose volume was made: a drop by as much ends the promise. */
function settling(published: string): Ledger {
  const ledger = new Ledger(["lvm"]).node("a").object("c", "lvm", "a", published, { created: early });
  return ledger.claim("x", "lvm", "5Gi", { selectedNode: "a" }).volume("x", "lvm", "a", "5Gi");
}

const drops: Record<string, { happens: (ledger: Ledger) => void; free: bigint }> = {
  "it is said again": { happens: (ledger) => ledger.object("c", "lvm", "a", "20Gi", { created: early }), free: gi(15) },
  "the object says as much less": {
    happens: (ledger) => ledger.object("c", "lvm", "a", "15Gi", { created: early }),
    free: gi(15),
  },
  "the object says less, but not as much": {
    happens: (ledger) => ledger.object("c", "lvm", "a", "16Gi", { created: early }),
    free: gi(11),
  },
  "somebody gave space back before the object says less": {
    happens: (ledger) => {
      for (const value of ["30Gi", "25Gi"]) ledger.object("c", "lvm", "a", value, { created: early });
    },
    free: gi(25),
  },
  "a newer object says less": {
    happens: (ledger) => ledger.object("d", "lvm", "a", "10Gi", { created: late }),
    free: gi(5),
  },
  "an older object says less": {
    happens: (ledger) => ledger.object("b", "lvm", "a", "10Gi", { created: "2025-01-01T00:00:00Z" }),
    free: gi(15),
  },
  "a newer object that said more is gone": {
    happens: (ledger) => {
      ledger.object("d", "lvm", "a", "30Gi", { created: late });
      ledger.state.delete("capacity", "kube-system/d");
    },
    free: gi(15),
  },
  "the object is made anew and says less": {
    happens: (ledger) => {
      ledger.state.delete("capacity", "kube-system/c");
      ledger.object("c", "lvm", "a", "10Gi", { created: late });
    },
    free: gi(5),
  },
};

test.for(Object.entries(drops))("of 20Gi, 5Gi of which are promised, is free after %s", ([, { happens, free }]) => {
  const ledger = settling("20Gi");
  expect(ledger.free("lvm", "a")).toEqual([gi(15)]);
  happens(ledger);
  expect(ledger.free("lvm", "a")).toEqual([free]);
});

test("a class that begins to publish a pool that others share says less, and nothing dropped", () => {
  const ledger = new Ledger(["one", "two"], { pools: { one: "disk", two: "disk" } }).node("a");
  ledger.object("c", "one", "a", "20Gi").claim("x", "one", "5Gi", { selectedNode: "a" }).volume("x", "one", "a", "5Gi");
  ledger.object("d", "two", "a", "10Gi");
  expect(ledger.free("one", "a")).toEqual([gi(5)]);
});

test("what is promised and held of a pool outlives its object, each as many times as the other", () => {
  const ledger = new Ledger(["lvm"]).node("a").object("c", "lvm", "a", "10Gi");
  ledger.claim("x", "lvm", "4Gi").claim("y", "lvm", "3Gi").claim("z", "lvm", "4Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  const holder = ledger.world.pod("h", "y");
  ledger.state.reservations.hold(holder.uid, [ledger.world.plan(holder, "a")]);
  ledger.state.delete("capacity", "kube-system/c");
  ledger.object("c", "lvm", "a", "10Gi");
  expect(ledger.free("lvm", "a")).toEqual([gi(6)]);
  expect(ledger.world.plan(ledger.world.pod("p", "z"), "a").contended).toBe(true);
});

test("a segment that nothing is said of any more is no node's, however often it was published, promised and held", () => {
  const ledger = new Ledger(["lvm"]).node("a").claim("x", "lvm", "4Gi").claim("y", "lvm", "3Gi");
  for (const capacity of ["10Gi", "20Gi", "20Gi"]) ledger.object("c", "lvm", "a", capacity);
  const holder = ledger.world.pod("h", "y");
  ledger.state.reservations.hold(holder.uid, [ledger.world.plan(holder, "a")]);
  expect(ledger.assume("a", "x")).toBe("promised");
  ledger.state.reservations.release(holder.uid);
  ledger.state.reservations.forget(ledger.world.pod("p-x", "x").uid);
  const segments = (): number | undefined => ledger.state.topologies.nodes.get(nodeName("a"))?.topologies.length;
  expect(segments()).toBe(1);
  ledger.state.delete("capacity", "kube-system/c");
  expect(segments()).toBe(0);
});
