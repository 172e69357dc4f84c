/** Capacity in flight: what ends a demand, what must not end it, and what must not keep it. */
import { expect, test } from "vitest";
import { podUid } from "../../src/scheduling/names.ts";
import { makePV, makePVC } from "../support/make.ts";
import { Ledger, pollMs, size, source } from "./ledger.ts";

const total = source("lvm", { from: "allocatable", means: "total" });

/** Node a has 100Gi of class lvm: a driver says it in an object, or the node says what it has in all. */
function published(by: "object" | "node" = "object"): Ledger {
  const ledger = new Ledger(["lvm", "other"], by === "node" ? { sources: { lvm: total } } : {});
  if (by === "node") return ledger.node("a", { allocatable: { lvm: "100Gi" } });
  return ledger.node("a").object("c", "lvm", "a", "100Gi");
}

/** A claim whose provisioner was told to use node a. */
function selected(ledger: Ledger, claim: string, request: string): Ledger {
  return ledger.claim(claim, "lvm", request, { selectedNode: "a" });
}

const free = (ledger: Ledger): string => ledger.free("lvm", "a").map(Number).join();
const gi = (...amounts: number[]): string => amounts.map((amount) => amount * 2 ** 30).join();
const claimsInFlight = (ledger: Ledger): string[] => [...ledger.state.pools.demands()].map(({ claim }) => claim);

test("a drop from before a promise says nothing of the promise's volume", () => {
  const ledger = selected(published(), "old", "50Gi");
  expect(free(ledger)).toBe(gi(50));
  // Somebody else took 30Gi.
  ledger.object("c", "lvm", "a", "70Gi");
  selected(ledger, "new", "20Gi").volume("new", "lvm", "a", "20Gi");
  expect(free(ledger)).toBe(gi(0));
  ledger.object("c", "lvm", "a", "50Gi");
  expect(claimsInFlight(ledger)).toEqual(["uold", "unew"]);
  expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(0), ["uold"]]);
});

test("a drop that settled one demand settles no other, whichever was promised first", () => {
  for (const [first, second] of [
    ["x", "y"],
    ["y", "x"],
  ] as const) {
    const ledger = selected(published(), "x", "30Gi");
    ledger.object("c", "lvm", "a", "90Gi");
    selected(ledger, "y", "30Gi").object("c", "lvm", "a", "60Gi");
    ledger.volume(first, "lvm", "a", "30Gi");
    expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(30), [`u${second}`]]);
    ledger.volume(second, "lvm", "a", "30Gi");
    expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(30), [`u${second}`]]);
    ledger.object("c", "lvm", "a", "40Gi");
    expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(40), []]);
  }
});

test("what is left of the drops that settled one demand is of those promised before them only", () => {
  const ledger = selected(published(), "x", "30Gi").object("c", "lvm", "a", "40Gi");
  selected(ledger, "y", "30Gi").object("c", "lvm", "a", "30Gi");
  ledger.volume("x", "lvm", "a", "30Gi").volume("y", "lvm", "a", "30Gi");
  expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(0), ["uy"]]);
});

test("a demand that is older than its pool does not miss the first drop there", () => {
  const ledger = selected(new Ledger(["lvm"]).node("a"), "x", "40Gi");
  ledger.object("c", "lvm", "a", "100Gi").object("c", "lvm", "a", "60Gi").volume("x", "lvm", "a", "40Gi");
  expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(60), []]);
});

test("a demand is not moved to another pool because a third one is published no more", () => {
  const ledger = published();
  ledger.world.apply("node a kubernetes.io/os=linux");
  expect(selected(ledger, "x", "60Gi").free("lvm", "a").map(Number).join()).toBe(gi(40));
  ledger.world.apply("capacity z lvm - 100Gi at=kubernetes.io/os:linux");
  ledger.node("b").object("d", "lvm", "b", "100Gi").claim("y", "lvm", "30Gi", { selectedNode: "b" });
  expect(ledger.free("lvm", "b")).toEqual([size("70Gi")]);
  ledger.state.delete("capacity", "kube-system/d");
  expect(free(ledger)).toBe(gi(40, 100));
});

test("a volume that is larger than its claim takes what it is", () => {
  const ledger = selected(published(), "x", "1Gi");
  expect(free(ledger)).toBe(gi(99));
  ledger.volume("x", "lvm", "a", "10Gi");
  expect(free(ledger)).toBe(gi(90));
  selected(ledger, "y", "5Gi").volume("y", "lvm", "a", "5Gi");
  ledger.object("c", "lvm", "a", "90Gi");
  expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(85), ["uy"]]);
});

test("a volume that says less than its claim asked for frees nothing", () => {
  const ledger = selected(published(), "x", "10Gi").volume("x", "lvm", "a", "1Gi");
  expect(free(ledger)).toBe(gi(90));
});

test("a volume that is larger than its claim takes what it is, though nothing is published until later", () => {
  const ledger = selected(new Ledger(["lvm"]).node("a"), "x", "1Gi").volume("x", "lvm", "a", "10Gi");
  expect(free(ledger.object("c", "lvm", "a", "100Gi"))).toBe(gi(90));
});

for (const by of ["object", "node"] as const) {
  test(`${by}: a claim that vanishes and returns is in flight as before`, () => {
    const ledger = selected(published(by), "x", "30Gi");
    ledger.state.delete("claim", "d/x");
    ledger.wait(pollMs);
    selected(ledger, "x", "30Gi").wait(2 * pollMs);
    expect(free(ledger)).toBe(gi(70));
    ledger.state.delete("claim", "d/x");
    ledger.wait(2 * pollMs - 1);
    expect(free(ledger)).toBe(gi(70));
    ledger.wait(1);
    expect(free(ledger)).toBe(gi(100));
    selected(ledger, "x", "30Gi");
    expect(free(ledger)).toBe(gi(70));
  });

  test(`${by}: a claim whose volume goes before it is bound is in flight again`, () => {
    const ledger = selected(published(by), "x", "30Gi");
    for (const wait of [0, 2 * pollMs]) {
      ledger.volume("x", "lvm", "a", "30Gi").wait(wait).free("lvm", "a");
      ledger.state.delete("volume", "pv-x");
      ledger.wait(2 * pollMs);
      expect(free(ledger)).toBe(gi(70));
    }
  });

  test(`${by}: a claim that is bound to a volume that nobody sees is waited for by the clock`, () => {
    const ledger = selected(published(by), "x", "30Gi");
    ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" });
    expect(free(ledger)).toBe(gi(70));
    ledger.wait(2 * pollMs);
    expect(free(ledger)).toBe(gi(100));
  });
}

test("what was published of a volume that went leaves its claim in flight: the next one is still to be made", () => {
  const ledger = selected(published(), "x", "30Gi").volume("x", "lvm", "a", "30Gi");
  ledger.state.delete("volume", "pv-x");
  ledger.object("c", "lvm", "a", "70Gi");
  expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(40), ["ux"]]);
});

/** Who goes first, and who after. */
const farewells = {
  "the claim goes, then its volume": ["claim d/x", "volume pv-x"],
  "the volume goes, then its claim": ["volume pv-x", "claim d/x"],
};

test.for(Object.entries(farewells))("nothing is taken any more once %s", ([, gone]) => {
  for (const by of ["object", "node"] as const) {
    const ledger = selected(published(by), "x", "30Gi").volume("x", "lvm", "a", "40Gi");
    ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" });
    expect(free(ledger)).toBe(gi(60));
    const [first = "", last = ""] = gone;
    ledger.world.apply(`delete ${first}`);
    if (by === "object") expect(free(ledger)).toBe(gi(60));
    ledger.world.apply(`delete ${last}`);
    expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(100), []]);
  }
});

test("a claim that goes before its volume is seen keeps its promise until the volume has come and gone", () => {
  const ledger = selected(published(), "x", "30Gi");
  ledger.world.apply("delete claim d/x");
  expect(free(ledger)).toBe(gi(70));
  ledger.volume("x", "lvm", "a", "30Gi");
  expect(free(ledger)).toBe(gi(70));
  ledger.world.apply("delete volume pv-x");
  expect(free(ledger)).toBe(gi(100));
});

test("a volume that was lost before its claim went may be in the making again", () => {
  const ledger = selected(published(), "x", "30Gi").volume("x", "lvm", "a", "30Gi");
  for (const gone of ["volume pv-x", "claim d/x"]) ledger.world.apply(`delete ${gone}`);
  expect(free(ledger)).toBe(gi(70));
  expect(free(ledger.wait(2 * pollMs))).toBe(gi(100));
});

test("another volume of the claim that goes, made by hand, says nothing of the one that a provisioner makes", () => {
  const ledger = selected(published(), "x", "30Gi");
  ledger.world.apply("pv disk 30Gi class=lvm on=a for=x uid=ux");
  for (const gone of ["claim d/x", "volume disk"]) ledger.world.apply(`delete ${gone}`);
  expect(free(ledger)).toBe(gi(70));
});

test("what was published of a volume that is gone settles nobody else", () => {
  const ledger = selected(selected(published(), "x", "30Gi"), "y", "30Gi").volume("x", "lvm", "a", "30Gi");
  ledger.object("c", "lvm", "a", "70Gi");
  for (const gone of ["claim d/x", "volume pv-x"]) ledger.world.apply(`delete ${gone}`);
  ledger.object("c", "lvm", "a", "100Gi").volume("y", "lvm", "a", "30Gi");
  expect([free(ledger), claimsInFlight(ledger)]).toEqual([gi(70), ["uy"]]);
});

test("a claim that asks for more than its pool has keeps all of it, as one that asks for just as much would", () => {
  for (const request of ["100Gi", "900Gi"]) {
    const ledger = selected(published(), "x", request).claim("y", "lvm", "1Gi");
    expect(ledger.reason("a", "y")).toBe("capacityAssumed");
    ledger.claim("x", "lvm", request);
    expect(ledger.reason("a", "y")).toBe("");
  }
});

test("a volume that is made free of its claim leaves the claim in flight", () => {
  const ledger = selected(published(), "x", "30Gi").volume("x", "lvm", "a", "30Gi");
  ledger.world.apply("pv pv-x 30Gi class=lvm on=a");
  ledger.wait(2 * pollMs);
  expect(free(ledger)).toBe(gi(70));
});

test("a change of a claim whose volume has settled promises nothing anew", () => {
  const ledger = selected(published(), "x", "30Gi").object("c", "lvm", "a", "70Gi").volume("x", "lvm", "a", "30Gi");
  expect(free(ledger)).toBe(gi(70));
  selected(ledger, "x", "30Gi");
  expect(free(ledger)).toBe(gi(70));
});

test("a volume that comes after its bound claim counts where the driver does not know it", () => {
  const late = (version: string): string => {
    const ledger = published();
    ledger.state.listed();
    ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" });
    return free(ledger.volume("x", "lvm", "a", "30Gi", version));
  };
  expect([late("999"), late("0")]).toEqual([gi(70), gi(100)]);
});

test("a volume that comes after its bound claim counts on the node that was chosen, of all that reach it", () => {
  const ledger = new Ledger(["lvm"]);
  for (const name of ["a", "b"]) ledger.world.apply(`node ${name} zone=z`);
  ledger.object("c", "lvm", "a", "100Gi").object("d", "lvm", "b", "100Gi").state.listed();
  ledger.claim("x", "lvm", "40Gi", { selectedNode: "b", volume: "pv-x" });
  ledger.world.add(
    makePV("pv-x", {
      ...{ class: "lvm", capacity: "40Gi", claim: "x", claimUid: "ux", version: "999" },
      annotations: { "pv.kubernetes.io/provisioned-by": "csi.example" },
      terms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["z"] }] }],
    }),
  );
  expect(both(ledger)).toBe(gi(100, 60));
});

test("a claim is bound when it names its volume and the binding is complete: one of both ends no wait", () => {
  const halfBound = makePVC("x", { class: "lvm", request: "30Gi", selectedNode: "a", volume: "pv-x", halfBound: true });
  const unnamed = makePVC("x", { class: "lvm", request: "30Gi", selectedNode: "a" });
  const annotations = (unnamed["metadata"] as { annotations: Record<string, string> }).annotations;
  annotations["pv.kubernetes.io/bind-completed"] = "yes";
  for (const claim of [halfBound, unnamed]) {
    const ledger = selected(published(), "x", "30Gi");
    ledger.world.add(claim);
    expect(free(ledger)).toBe(gi(70));
    expect(free(ledger.wait(2 * pollMs))).toBe(gi(70));
  }
});

test("a volume that comes before its claim's selected-node is written counts with its size once the claim is bound", () => {
  const ledger = published().claim("x", "lvm", "1Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  ledger.volume("x", "lvm", "a", "10Gi").claim("x", "lvm", "1Gi", { selectedNode: "a", volume: "pv-x" });
  expect(free(ledger)).toBe(gi(90));
});

test("what is promised again on the node that its claim names already is in flight again once its volume goes", () => {
  const ledger = selected(published(), "x", "30Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  ledger.volume("x", "lvm", "a", "30Gi").state.delete("volume", "pv-x");
  expect(free(ledger.wait(2 * pollMs))).toBe(gi(70));
});

test("another volume of a claim that has settled says nothing when it comes, and nothing when it goes", () => {
  const ledger = published().volume("x", "lvm", "a", "30Gi", "999");
  ledger.world.apply("pv other 1Gi class=lvm on=a for=x uid=ux");
  ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" }).state.listed();
  expect([free(ledger), free(ledger.wait(2 * pollMs))]).toEqual([gi(70), gi(100)]);
  ledger.state.delete("volume", "other");
  expect(free(ledger)).toBe(gi(100));
  ledger.world.apply("pv other 1Gi class=lvm on=a for=x uid=ux");
  expect(free(ledger)).toBe(gi(100));
});

test("a volume of an earlier claim of the same name says nothing of a claim that has settled", () => {
  const ledger = published();
  ledger.state.listed();
  ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" }).volume("x", "lvm", "a", "30Gi", "999");
  expect([free(ledger), free(ledger.wait(2 * pollMs))]).toEqual([gi(70), gi(100)]);
  ledger.world.apply("pv old 1Gi class=lvm on=a for=x uid=earlier phase=Released");
  expect(free(ledger)).toBe(gi(100));
});

test("a claim that is bound to what is not its own, or nobody's, recovers nothing", () => {
  const recovered = (owner: { claim?: string; claimUid?: string }): string => {
    const ledger = published();
    ledger.state.listed();
    const annotations = { "pv.kubernetes.io/provisioned-by": "csi.example" };
    const made = { class: "lvm", on: "a", capacity: "30Gi", annotations, version: "999" };
    ledger.world.add(makePV("pv-x", { ...made, ...owner }));
    return free(ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" }));
  };
  expect(recovered({ claim: "x", claimUid: "ux" })).toBe(gi(70));
  expect(recovered({ claim: "x", claimUid: "earlier" })).toBe(gi(100));
  expect(recovered({})).toBe(gi(100));
});

test("a bind that is given up leaves a promise that is written already", () => {
  const ledger = selected(published(), "x", "30Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  ledger.state.reservations.forget(podUid("up-x"));
  expect(free(ledger)).toBe(gi(70));
  ledger.claim("x", "lvm", "30Gi");
  expect(free(ledger)).toBe(gi(100));
});

/** The node that a claim's provisioner was told to use is gone, and b is chosen instead (departure D12). */
function elsewhere(): Ledger {
  const ledger = selected(published(), "x", "30Gi").node("b").object("d", "lvm", "b", "100Gi");
  ledger.state.delete("node", "a");
  expect(ledger.assume("b", "x")).toBe("promised");
  return ledger;
}

test("what is promised on another node outlives the old selected-node, until that is replaced", () => {
  const ledger = elsewhere();
  selected(ledger, "x", "30Gi");
  expect(ledger.free("lvm", "b")).toEqual([size("70Gi")]);
  ledger.claim("x", "lvm", "30Gi", { selectedNode: "b" }).node("a");
  expect([ledger.free("lvm", "b"), free(ledger)]).toEqual([[size("70Gi")], gi(100)]);
});

test("given up, it is again what the API says", () => {
  const ledger = elsewhere();
  ledger.state.reservations.forget(podUid("up-x"));
  ledger.node("a");
  expect([ledger.free("lvm", "b"), free(ledger)]).toEqual([[size("100Gi")], gi(70)]);
});

test("a claim that gets a volume instead keeps no capacity once its selected-node is taken off", () => {
  const ledger = selected(published(), "x", "30Gi").node("b");
  ledger.world.apply("pv disk 30Gi class=lvm on=b");
  ledger.state.delete("node", "a");
  expect(ledger.assume("b", "x")).toBe("promised");
  ledger.claim("x", "lvm", "30Gi").node("a");
  expect(free(ledger)).toBe(gi(100));
});

test("a demand follows its node where its pool is published no more, and another is", () => {
  const ledger = selected(published(), "x", "30Gi");
  expect(free(ledger)).toBe(gi(70));
  ledger.state.delete("capacity", "kube-system/c");
  // The driver tells its segments by another label now.
  ledger.world.apply("capacity z lvm - 100Gi at=kubernetes.io/os:linux");
  ledger.world.apply("node a kubernetes.io/os=linux");
  expect(free(ledger)).toBe(gi(70));
});

test("a demand whose pool is published no more waits for it while there is no other", () => {
  const ledger = selected(published(), "x", "30Gi");
  expect(free(ledger)).toBe(gi(70));
  ledger.state.delete("capacity", "kube-system/c");
  expect(free(ledger)).toBe("");
  ledger.object("c", "lvm", "a", "100Gi");
  expect(free(ledger)).toBe(gi(70));
});

test("the volume of an earlier claim of the same name settles nothing, whether it is there or goes", () => {
  const ledger = published().volume("x", "lvm", "a", "30Gi");
  ledger.state.listed();
  ledger.world.add(makePVC("x", { class: "lvm", request: "20Gi", uid: "later", selectedNode: "a" }));
  ledger.wait(2 * pollMs);
  expect(free(ledger)).toBe(gi(80));
  ledger.state.delete("volume", "pv-x");
  ledger.wait(2 * pollMs);
  expect(free(ledger)).toBe(gi(80));
  // Bound by name to what is not its own, nothing is recovered either.
  ledger.world.add(makePVC("y", { class: "lvm", request: "20Gi", uid: "later-y", selectedNode: "a", volume: "pv-y" }));
  ledger.volume("y", "lvm", "a", "30Gi", "999");
  expect(free(ledger)).toBe(gi(80));
});

test("a claim that is seen with its volume at once is waited for by the clock", () => {
  const ledger = selected(published().volume("x", "lvm", "a", "30Gi"), "x", "30Gi");
  expect(free(ledger)).toBe(gi(70));
  ledger.wait(2 * pollMs);
  expect(free(ledger)).toBe(gi(100));
  selected(ledger, "x", "30Gi");
  expect(free(ledger)).toBe(gi(100));
});

test("a claim that is sent to another node is in flight there, and no longer where it was", () => {
  const ledger = selected(published(), "x", "30Gi").node("b").object("d", "lvm", "b", "100Gi");
  ledger.claim("x", "lvm", "30Gi", { selectedNode: "b" });
  expect([free(ledger), ...ledger.free("lvm", "b").map(Number)].join()).toBe(gi(100, 70));
});

/** Nodes a and b have 100Gi each, and x of 40Gi is promised on a. */
function two(): Ledger {
  return selected(published().node("b").object("d", "lvm", "b", "100Gi"), "x", "40Gi");
}

const both = (ledger: Ledger): string => [...ledger.free("lvm", "a"), ...ledger.free("lvm", "b")].map(Number).join();

test("a volume that comes up on another node counts there, until the driver there knows it", () => {
  const ledger = two();
  expect(both(ledger)).toBe(gi(60, 100));
  ledger.volume("x", "lvm", "b", "41Gi");
  for (const seen of ["the volume", "the claim"]) {
    if (seen === "the claim") selected(ledger, "x", "40Gi");
    expect(both(ledger), seen).toBe(gi(100, 59));
  }
  ledger.claim("x", "lvm", "40Gi", { selectedNode: "a", volume: "pv-x" });
  expect(both(ledger)).toBe(gi(100, 59));
  ledger.object("d", "lvm", "b", "59Gi");
  expect([both(ledger), claimsInFlight(ledger)]).toEqual([gi(100, 59), []]);
});

test("a volume that comes up on another node is waited for by the clock there", () => {
  const ledger = two().wait(pollMs).volume("x", "lvm", "b", "40Gi").wait(pollMs);
  selected(ledger, "x", "40Gi").wait(pollMs - 1);
  expect(both(ledger)).toBe(gi(100, 60));
  ledger.wait(1);
  expect(both(ledger)).toBe(gi(100, 100));
});

test("a volume that comes up on another node ends its promise where nothing newer can be told of it", () => {
  const places: Record<string, (ledger: Ledger) => Ledger> = {
    "a driver that knows it": (ledger) => ledger.volume("x", "lvm", "b", "40Gi", "0"),
    "a node without capacity": (ledger) => ledger.node("c").volume("x", "lvm", "c", "40Gi"),
    "a node that is not there": (ledger) => ledger.volume("x", "lvm", "c", "40Gi"),
  };
  for (const [name, come] of Object.entries(places)) {
    const ledger = come(two());
    expect([both(ledger), claimsInFlight(ledger)], name).toEqual([gi(100, 100), []]);
    selected(ledger, "x", "40Gi");
    expect(both(ledger), name).toBe(gi(100, 100));
    ledger.state.delete("volume", "pv-x");
    expect(both(ledger), name).toBe(gi(60, 100));
  }
});

test("of the nodes that reach a volume from elsewhere, one with capacity of the class tells its pool", () => {
  const ledger = two();
  const annotations = { "pv.kubernetes.io/provisioned-by": "csi.example" };
  const terms = [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["c", "b"] }] }];
  const facts = { class: "lvm", capacity: "40Gi", claim: "x", claimUid: "ux", annotations, terms, version: "999" };
  ledger.node("c").world.add(makePV("pv-x", facts));
  expect(both(ledger)).toBe(gi(100, 60));
});

test("a volume from elsewhere that goes before its claim is bound leaves the claim in flight on its node", () => {
  const ledger = two().volume("x", "lvm", "b", "40Gi");
  ledger.state.delete("volume", "pv-x");
  expect(both(ledger)).toBe(gi(60, 100));
});

test("a claim that is sent on after its volume came up elsewhere counts where the volume lies", () => {
  const ledger = two().node("c").object("e", "lvm", "c", "100Gi").volume("x", "lvm", "b", "40Gi");
  ledger.claim("x", "lvm", "40Gi", { selectedNode: "c" });
  expect([both(ledger), ...ledger.free("lvm", "c").map(Number)].join()).toBe(gi(100, 60, 100));
});

test("a claim that is sent on to another node that reaches its volume is in flight there", () => {
  const ledger = new Ledger(["lvm"]);
  for (const name of ["a", "b"]) ledger.world.apply(`node ${name} zone=z`);
  selected(ledger.object("c", "lvm", "a", "100Gi").object("d", "lvm", "b", "100Gi"), "x", "40Gi");
  ledger.world.apply("pv pv-x 40Gi class=lvm at=zone:z for=x uid=ux made=csi.example");
  expect(both(ledger)).toBe(gi(60, 100));
  ledger.claim("x", "lvm", "40Gi", { selectedNode: "b" });
  expect(both(ledger)).toBe(gi(100, 60));
});

test("a claim that is seen with its volume on another node at once counts there", () => {
  const ledger = published().node("b").object("d", "lvm", "b", "100Gi").volume("x", "lvm", "b", "40Gi");
  expect(both(selected(ledger, "x", "40Gi"))).toBe(gi(100, 60));
});

test("which nodes reach a volume is known when all is listed", () => {
  for (const bound of ["not yet", "before its volume is seen", "after that"]) {
    const ledger = new Ledger(["lvm"]);
    const isBound = { selectedNode: "a", volume: "pv-x" };
    ledger.claim("x", "lvm", "40Gi", bound.startsWith("before") ? isBound : { selectedNode: "a" });
    ledger.volume("x", "lvm", "b", "40Gi", "999");
    if (bound.startsWith("after")) ledger.claim("x", "lvm", "40Gi", isBound);
    ledger.node("a").node("b").object("c", "lvm", "a", "100Gi").object("d", "lvm", "b", "100Gi").state.listed();
    expect(both(ledger), bound).toBe(gi(100, 60));
  }
});

test("what was bound before all was listed is waited for by the clock from then on", () => {
  const ledger = published().claim("x", "lvm", "40Gi", { selectedNode: "a", volume: "pv-x" });
  ledger.volume("x", "lvm", "a", "40Gi", "999").wait(pollMs).state.listed();
  expect([free(ledger.wait(2 * pollMs - 1)), free(ledger.wait(1))]).toEqual([gi(60), gi(100)]);
});

test("where a node says all it has, a volume on another node frees its own at once", () => {
  const ledger = selected(published("node").node("b", { allocatable: { lvm: "100Gi" } }), "x", "40Gi");
  ledger.volume("x", "lvm", "b", "40Gi");
  expect([both(ledger), claimsInFlight(ledger)]).toEqual([gi(100, 60), []]);
});

test("a volume that was made by hand takes nothing, wherever it lies: what is promised waits for the clock", () => {
  const found = { annotations: { "pv.kubernetes.io/provisioned-by": "local-volume-provisioner-a" } };
  for (const [on, more] of [
    ["a", {}],
    ["b", {}],
    ["a", found],
  ] as const) {
    const ledger = two();
    const volume = { class: "lvm", on, capacity: "50Gi", claim: "x", claimUid: "ux", version: "999", ...more };
    ledger.world.add(makePV("hand", volume));
    expect(both(ledger), on).toBe(gi(60, 100));
    selected(ledger, "x", "40Gi").claim("x", "lvm", "40Gi", { selectedNode: "a", volume: "hand" });
    ledger.wait(2 * pollMs - 1);
    expect(both(ledger), on).toBe(gi(60, 100));
    ledger.wait(1);
    expect(both(ledger), on).toBe(gi(100, 100));
  }
});

test("a volume says nothing against a node that is gone", () => {
  const ledger = two();
  ledger.state.delete("node", "a");
  ledger.volume("x", "lvm", "b", "40Gi").node("a");
  expect(both(ledger)).toBe(gi(60, 100));
});

test("a volume that is taken from a claim says nothing new of the one that the claim is bound to", () => {
  const ledger = published();
  ledger.state.listed();
  ledger.claim("x", "lvm", "40Gi", { selectedNode: "a" }).volume("x", "lvm", "a", "40Gi", "999");
  ledger.world.apply("pv other 40Gi on=a class=lvm for=x uid=ux made=csi.example");
  ledger.claim("x", "lvm", "40Gi", { selectedNode: "a", volume: "pv-x" });
  expect(free(ledger)).toBe(gi(60));
  ledger.wait(2 * pollMs);
  expect(free(ledger)).toBe(gi(100));
  ledger.world.apply("pv other 40Gi on=a class=lvm made=csi.example");
  expect(free(ledger)).toBe(gi(100));
});
