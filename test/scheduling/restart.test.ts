/** Capacity in flight that nobody remembers: what the first lists say of it (decision 23). */
import { expect, test } from "vitest";
import { makeCapacity, makePV, makePVC } from "../support/make.ts";
import { Ledger, pollMs, size, source } from "./ledger.ts";

interface Facts {
  readonly published: string;
  readonly volume: string;
  readonly provisioned?: boolean;
  readonly selected?: boolean;
}

/** A driver says that 100Gi are free; a claim of 30Gi was bound before anybody looked. */
function restarted(
  first: "volumes" | "claims",
  { published, volume, provisioned = true, selected = true }: Facts,
  isListed = true,
): Ledger {
  const ledger = new Ledger(["lvm"]);
  const annotations = { "pv.kubernetes.io/provisioned-by": "csi.example" };
  const facts = { class: "lvm", on: "a", capacity: "30Gi", claim: "x", claimUid: "ux", version: volume };
  const pv = makePV("pv-x", { ...facts, ...(provisioned && { annotations }) });
  const pvc = makePVC("x", {
    class: "lvm",
    request: "30Gi",
    volume: "pv-x",
    ...(selected && { selectedNode: "a" }),
  });
  ledger.world.add(...(first === "volumes" ? [pv, pvc] : [pvc, pv]));
  ledger.world.apply("node a");
  ledger.world.add(makeCapacity("c", { class: "lvm", on: "a", capacity: "100Gi", version: published }));
  if (isListed) ledger.state.listed();
  return ledger;
}

const restarts: Record<string, Facts & { free: string }> = {
  "a volume newer than what is published is in flight": { published: "500", volume: "501", free: "70Gi" },
  "versions are numbers, not texts": { published: "999", volume: "1000", free: "70Gi" },
  "beyond 2^53 too": { published: "9007199254740992", volume: "9007199254740993", free: "70Gi" },
  "a volume that is older is in the number already": { published: "501", volume: "500", free: "100Gi" },
  "where versions are no numbers, the clock decides": { published: "abc", volume: "abd", free: "70Gi" },
  "a volume that nobody provisioned took nothing": {
    published: "500",
    volume: "501",
    provisioned: false,
    free: "100Gi",
  },
  "nor did one of a claim without a node": { published: "500", volume: "501", selected: false, free: "100Gi" },
};

test.for(
  Object.entries(restarts).flatMap(([name, facts]) => [
    { name: `${name}; volumes come first`, first: "volumes" as const, facts },
    { name: `${name}; claims come first`, first: "claims" as const, facts },
  ]),
)("$name", ({ first, facts }) => {
  const ledger = restarted(first, facts);
  expect(ledger.free("lvm", "a")).toEqual([size(facts.free)]);
  ledger.wait(2 * pollMs);
  expect(ledger.free("lvm", "a")).toEqual([size("100Gi")]);
});

test("the driver's next word settles it, and a later change of the claim does not begin anew", () => {
  const ledger = restarted("claims", { published: "500", volume: "501" });
  ledger.object("c", "lvm", "a", "70Gi");
  expect(ledger.free("lvm", "a")).toEqual([size("70Gi")]);
  ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" });
  expect(ledger.free("lvm", "a")).toEqual([size("70Gi")]);
});

test("lists that are made again begin nothing anew", () => {
  const ledger = restarted("claims", { published: "500", volume: "501" });
  ledger.wait(2 * pollMs);
  expect(ledger.free("lvm", "a")).toEqual([size("100Gi")]);
  ledger.state.listed();
  expect(ledger.free("lvm", "a")).toEqual([size("100Gi")]);
});

test("a claim that a later list shows bound counts in the same way", () => {
  const ledger = restarted("claims", { published: "500", volume: "499" });
  ledger.volume("y", "lvm", "a", "20Gi", "502").claim("y", "lvm", "20Gi", { selectedNode: "a", volume: "pv-y" });
  expect(ledger.free("lvm", "a")).toEqual([size("80Gi")]);
});

const meanwhile: Record<string, (ledger: Ledger) => void> = {
  "the claim is touched": (ledger) => ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" }),
  "another claim is bound to a volume of its own": (ledger) =>
    ledger.volume("y", "lvm", "a", "20Gi", "502").claim("y", "lvm", "20Gi", { selectedNode: "a", volume: "pv-y" }),
  "the volume is touched": (ledger) => ledger.volume("x", "lvm", "a", "30Gi", "503"),
  "a node comes": (ledger) => ledger.node("b"),
};

test.for(Object.entries(meanwhile))("stock is taken in steps, and it is all one between which %s", ([, change]) => {
  const freeAfter = (steps: number): unknown => {
    const ledger = restarted("claims", { published: "500", volume: "501" }, false);
    for (const name of ["u", "v"]) ledger.claim(name, "lvm", "1Gi");
    const taking = ledger.state.listing();
    for (let step = 0; step < steps; step++) taking.next();
    change(ledger);
    for (const _ of taking);
    return ledger.free("lvm", "a");
  };
  const afterwards = freeAfter(100);
  for (let steps = 1; steps < 8; steps++) expect(freeAfter(steps), `after ${steps} steps`).toEqual(afterwards);
});

test("where nodes publish all they have, nothing is to be remembered", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm", { from: "allocatable", means: "total" }) } });
  ledger.node("a", { allocatable: { lvm: "100Gi" } }).volume("x", "lvm", "a", "30Gi", "999");
  ledger.claim("x", "lvm", "30Gi", { selectedNode: "a", volume: "pv-x" });
  ledger.state.listed();
  expect(ledger.free("lvm", "a")).toEqual([size("70Gi")]);
});

test("of one pool's two objects the one that says least must know of the volume", () => {
  const make = (fast: string, faster: string): Ledger => {
    const ledger = new Ledger(["fast", "faster"], { pools: { fast: "vg", faster: "vg" } });
    ledger.world.apply("node a");
    ledger.object("f", "fast", "a", fast).volume("x", "fast", "a", "30Gi").object("g", "faster", "a", faster);
    ledger.claim("x", "fast", "30Gi", { selectedNode: "a", volume: "pv-x" });
    ledger.state.listed();
    return ledger;
  };
  expect(make("100Gi", "70Gi").free("fast", "a")).toEqual([size("70Gi")]);
  expect(make("60Gi", "70Gi").free("fast", "a")).toEqual([size("30Gi")]);
});
