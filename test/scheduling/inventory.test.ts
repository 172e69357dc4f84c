/** What there is, added up: every number is also counted by a second, plainer look over the same objects. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Inventory, inventoryInSteps, nodeStocksInSteps, volumePhases } from "../../src/scheduling/inventory.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";
import { World } from "../support/world.ts";

const gib = 2n ** 30n;

function done<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const inventory = (world: World, classesMax = 100): Inventory => done(inventoryInSteps(world.state, classesMax));

const byPhase = (world: World): Record<string, number> =>
  Object.fromEntries(
    [...inventory(world).volumes].flatMap(([label, phases]) =>
      [...phases].map(([phase, { count }]) => [`${label} ${phase}`, count]),
    ),
  );

test("volumes are counted by class and phase; one without a phase is Pending, one in a phase that nobody knows is other", () => {
  const world = new World().add(
    makePV("a"),
    makePV("b", { phase: "Bound", claim: "c", claimUid: "u" }),
    makePV("c", { phase: "" }),
    makePV("d", { phase: "Resting" }),
    makePV("e", { class: "fast", phase: "Failed" }),
  );
  expect(byPhase(world)).toEqual({
    "local Available": 1,
    "local Bound": 1,
    "local Pending": 1,
    "local other": 1,
    "fast Failed": 1,
  });
});

test("free is what any claim may take: neither reserved, nor promised", () => {
  const world = new World().add(
    makeNode("n1"),
    makePV("small", { on: "n1", capacity: "10Gi" }),
    makePV("large", { on: "n1", capacity: "30Gi" }),
    makePV("reserved", { on: "n1", capacity: "90Gi", claim: "other" }),
  );
  expect(inventory(world).free.get("local")).toEqual({ count: 2, bytes: 40n * gib, largest: 30n * gib });
  const id = world.state.volumes.id("large" as never);
  world.state.volumes.assume(id ?? -1, true);
  expect(inventory(world).free.get("local")).toEqual({ count: 1, bytes: 10n * gib, largest: 10n * gib });
});

test("the oldest Released volume is known by when it was released, where the API says when", () => {
  const world = new World().add(
    makePV("late", { phase: "Released", since: "2026-03-02T00:00:00Z" }),
    makePV("early", { phase: "Released", since: "2026-03-01T00:00:00Z" }),
    makePV("undated", { phase: "Released" }),
    makePV("garbled", { phase: "Released", since: "yesterday" }),
    makePV("no-text", { phase: "Released", since: 7 }),
    makePV("bound", { phase: "Bound", since: "2020-01-01T00:00:00Z" }),
    makePV("other", { class: "fast", phase: "Released" }),
  );
  expect([...inventory(world).oldestReleased]).toEqual([["local", Date.UTC(2026, 2, 1)]]);
  expect(byPhase(world)).toMatchObject({ "local Released": 5, "fast Released": 1 });
});

test("claims are pending until the controller has bound them, or lost", () => {
  const world = new World().add(
    makePVC("a"),
    makePVC("b", { volume: "pv", halfBound: true }),
    makePVC("c", { volume: "pv" }),
    makePVC("d", { volume: "gone", phase: "Lost" }),
  );
  const phases = Object.fromEntries(inventory(world).claims.get("local") ?? []);
  expect(phases).toEqual({
    pending: { count: 2, bytes: 10n * gib },
    bound: { count: 1, bytes: 5n * gib },
    lost: { count: 1, bytes: 5n * gib },
  });
});

test("a class that a claim makes up gets no name of its own, nor does one beyond the limit", () => {
  const world = new World().add(
    makeClass("b"),
    makeClass("a"),
    makePV("v", { class: "hand-made" }),
    makePVC("made-up", { class: "made-up" }),
    makePVC("none", { class: "" }),
    makePVC("of-volumes", { class: "hand-made" }),
  );
  expect([...inventory(world).claims.keys()].sort()).toEqual(["_none", "_other", "hand-made"]);
  // a, b and local exist.
  expect([...inventory(world, 3).volumes.keys()]).toEqual(["_other"]);
  expect([...inventory(world, 4).volumes.keys()]).toEqual(["hand-made"]);
});

test("pools: published, promised, held and free are added up, the largest volume is of one pool", () => {
  const world = new World().add(
    makeNode("n1"),
    makeNode("n2"),
    makeDriver("d.csi", true),
    makeClass("dyn", { provisioner: "d.csi" }),
    makeCapacity("one", { class: "dyn", on: "n1", capacity: "100Gi" }),
    makeCapacity("two", { class: "dyn", on: "n2", capacity: "60Gi", max: "50Gi" }),
    makePVC("p", { class: "dyn", request: "70Gi", selectedNode: "n1" }),
    makePV("provisioned", { class: "dyn", capacity: "40Gi", claim: "c", claimUid: "u" }),
  );
  world.state.pools.update();
  expect(inventory(world).pools.get("dyn")).toEqual({
    pools: 2,
    total: 160n * gib,
    promised: 70n * gib,
    held: 0n,
    free: 90n * gib,
    largest: 50n * gib,
    volumes: 40n * gib,
  });
});

test("classes that share a pool are one line, whose bytes count once", () => {
  const world = new World({
    sharedPools: new Map([
      ["thick", "vg0"],
      ["thin", "vg0"],
    ]) as never,
  }).add(
    makeNode("n1"),
    makeCapacity("one", { class: "thick", on: "n1", capacity: "100Gi" }),
    makeCapacity("two", { class: "thin", on: "n1", capacity: "90Gi" }),
  );
  expect([...inventory(world).pools]).toMatchObject([["pool/vg0", { pools: 1, total: 90n * gib }]]);
});

const dyn = makeClass("dyn", { provisioner: "d.csi" });
const gaps: Record<string, { objects: Raw[]; want: { nodes: number; without: number } | undefined }> = {
  "a node whose CSINode lacks the driver, and one without a CSINode, lack it": {
    objects: [dyn, makeCsiNode("n1", "d.csi"), makeCsiNode("n2", "x.csi")],
    want: { nodes: 3, without: 2 },
  },
  "a driver that has a CSIDriver and is registered nowhere is missing everywhere": {
    objects: [dyn, makeDriver("d.csi")],
    want: { nodes: 3, without: 3 },
  },
  "of a provisioner that is no CSI driver nothing is said": { objects: [dyn], want: undefined },
  "of a class without a provisioner nothing is said": {
    objects: [makeClass("dyn"), makeCsiNode("n1", "d.csi")],
    want: undefined,
  },
  "nodes that allowedTopologies exclude do not count": {
    objects: [
      makeClass("dyn", {
        provisioner: "d.csi",
        topologies: [{ matchLabelExpressions: [{ key: "kubernetes.io/hostname", values: ["n1", "n2"] }] }],
      }),
      makeCsiNode("n1", "d.csi"),
    ],
    want: { nodes: 2, without: 1 },
  },
  "a class of an in-tree plugin asks for the driver that replaced it": {
    objects: [makeClass("dyn", { provisioner: "kubernetes.io/aws-ebs" }), makeCsiNode("n1", "ebs.csi.aws.com")],
    want: { nodes: 3, without: 2 },
  },
  "nodes that are cordoned, not ready, or the control plane's do not count; an operator's own taint changes nothing": {
    objects: [
      dyn,
      makeCsiNode("n1", "d.csi"),
      { ...makeNode("n2"), spec: { taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }] } },
      { ...makeNode("n3"), spec: { taints: [{ key: "example.com/dedicated", effect: "NoSchedule" }] } },
      { ...makeNode("n4"), spec: { unschedulable: true } },
      { ...makeNode("n5"), status: { conditions: [{ type: "Ready", status: "False" }] } },
    ],
    want: { nodes: 2, without: 1 },
  },
};

test.for(Object.entries(gaps))("drivers: %s", ([, { objects, want }]) => {
  const world = new World().add(makeNode("n1"), makeNode("n2"), makeNode("n3"), ...objects);
  expect(inventory(world).drivers.get("dyn")).toEqual(want);
});

test("a node has what it alone reaches: its volumes and its pool", () => {
  const world = new World().add(
    makeNode("n1", { zone: "a" }),
    makeNode("n2", { zone: "a" }),
    makePV("free", { on: "n1", capacity: "10Gi" }),
    makePV("taken", { on: "n1", capacity: "30Gi", claim: "c", claimUid: "u" }),
    makePV("of-the-zone", {
      terms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
    }),
    makePV("everywhere"),
    makeCapacity("one", { class: "local", on: "n1", capacity: "100Gi" }),
  );
  const found = [...done(nodeStocksInSteps(world.state, 10))].map(([node, byClass]) => [
    node,
    Object.fromEntries(byClass),
  ]);
  expect(found).toEqual([["n1", { local: { total: 140n * gib, free: 110n * gib } }]]);
});

test("whatever the volumes are, the phases add up to all of them, and free ones are Available", () => {
  const phase = fc.constantFrom(...volumePhases);
  const volume = fc.record({ class: fc.constantFrom("a", "b", ""), phase, gib: fc.integer({ min: 1, max: 99 }) });
  fc.assert(
    fc.property(fc.array(volume, { maxLength: 30 }), fc.nat(3), (volumes, classesMax) => {
      const world = new World();
      for (const [index, v] of volumes.entries()) {
        world.add(makePV(`v${index}`, { class: v.class, phase: v.phase, capacity: `${v.gib}Gi` }));
      }
      const found = inventory(world, classesMax);
      const amounts = [...found.volumes.values()].flatMap((phases) => [...phases.values()]);
      expect(amounts.reduce((sum, { count }) => sum + count, 0)).toBe(volumes.length);
      expect(amounts.reduce((sum, { bytes }) => sum + bytes, 0n)).toBe(
        volumes.reduce((sum, v) => sum + BigInt(v.gib) * gib, 0n),
      );
      for (const [label, { count }] of found.free) {
        expect(count).toBe(found.volumes.get(label)?.get("Available")?.count);
      }
    }),
  );
});

test("a class is static where nobody provisions it", () => {
  const world = new World().add(makeDriver("d.csi"), makeClass("dyn", { provisioner: "d.csi", mode: "Immediate" }));
  expect(Object.fromEntries(inventory(world).classes)).toEqual({
    local: { provisioning: "static", binding: "WaitForFirstConsumer" },
    dyn: { provisioning: "dynamic", binding: "Immediate" },
  });
  expect(inventory(world, 1).classes.size).toBe(1);
});

test("objects may go between two steps", () => {
  const world = new World().add(makeNode("n1"), makePV("a", { on: "n1" }), makePV("b", { on: "n1" }), makePVC("c"));
  const steps = inventoryInSteps(world.state, 10);
  steps.next();
  world.state.delete("volume", "b");
  world.state.delete("claim", "d/c");
  world.state.delete("node", "n1");
  expect(done(steps).volumes.get("local")?.get("Available")?.count).toBe(1);
});
