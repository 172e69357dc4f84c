/** One Pod against one node: what is told of a refusal, what a diagnosis is about, and when something held is used. */
import { expect, test } from "vitest";
import { decide, filterNodes, planNode } from "../../src/scheduling/filter.ts";
import { claimUid, nodeName } from "../../src/scheduling/names.ts";
import { provisioned } from "../../src/scheduling/outcome.ts";
import type { Planner } from "../../src/scheduling/planner.ts";
import { World } from "../support/world.ts";

const disks = [
  { label: "fs", kind: "sharedFilesystem" },
  { label: "drive", kind: "partitions" },
] as const;
const csi = ["class csi provisioner=csi.example", "driver csi.example capacity"];
const directory = (name: string, size: string, of = "local"): string =>
  `pv ${name} ${size} on=a class=${of} label=fs:1`;

/** Lines of a case file, and `rest CLAIM-UID NODE`: a provisioner refused the claim there. */
function given(...lines: string[]): World {
  const world = new World({ disks });
  for (const line of lines) {
    const [command, claim = "", node = ""] = line.split(" ");
    if (command === "rest") world.state.provisionerRefused(claimUid(claim), nodeName(node));
    else world.apply(line);
  }
  return world;
}

/** "reason claim" of the first refusal on node a, "" where it fits. */
function refusal(world: World, ...claims: string[]): string {
  const verdict = planNode(world.state, world.pod("p", ...claims), nodeName("a"));
  if (verdict.kind !== "judged") return verdict.kind;
  if (verdict.nodes.fits) return "";
  const [first] = verdict.nodes.refusals;
  return first === undefined ? "none" : `${first.reason} ${first.claim}`;
}

const told: Record<string, { given: readonly string[]; claims: readonly string[]; says: string }> = {
  "a claim that no volume is large enough for comes before a file system that is too full for its siblings": {
    given: [directory("d1", "100Gi"), directory("d2", "100Gi"), "pvc x 200Gi", "pvc y 60Gi", "pvc z 60Gi"],
    claims: ["x", "y", "z"],
    says: "noMatchingVolume d/x",
  },
  "a file system that is too full is told of a claim that looked for a volume, not of one that has its own": {
    given: [
      ...["d1", "d2"].map((name) => directory(name, "100Gi")),
      ...["pv mine 10Gi on=a for=m", "pvc m 10Gi", "pvc x 60Gi", "pvc y 60Gi"],
    ],
    claims: ["m", "x", "y"],
    says: "notEnoughVolumes d/x",
  },
  "a volume that is promised elsewhere is waited for by a claim whose selector nobody provisions for": {
    given: [
      ...csi,
      ...["pv v 10Gi on=a class=csi label=tier:fast", "pvc w 5Gi class=csi selector=tier:fast", "assume q a : w"],
      "pvc x 5Gi class=csi selector=tier:fast",
    ],
    claims: ["x"],
    says: "volumeAssumed d/x",
  },
  "a volume that a sibling needs is told of a claim whose selector nobody provisions for": {
    given: [
      ...csi,
      "pv v 10Gi on=a class=csi label=tier:fast",
      ...["x", "y"].map((name) => `pvc ${name} 5Gi class=csi selector=tier:fast`),
    ],
    claims: ["x", "y"],
    says: "notEnoughVolumes d/y",
  },
  "a volume that is promised to the Pod's own claim is not waited for": {
    given: ["pv other 10Gi on=b", "pv v 10Gi on=a", "pvc x 5Gi", "assume p a : x", "pvc y 5Gi"],
    claims: ["x", "y"],
    says: "notEnoughVolumes d/y",
  },
  "where a held volume serves one claim and a promised one would serve the other, the promise is what is waited for": {
    given: [
      ...["pv v1 10Gi on=a", "pv v2 20Gi on=a", "pvc w 15Gi", "assume q a : w", "pvc h 5Gi", "hold holder a : h"],
      ...["pvc x 5Gi", "pvc y 5Gi"],
    ],
    claims: ["x", "y"],
    says: "volumeAssumed d/y",
  },
  "a promised volume without the labels or the mode that a claim asks for is not waited for": {
    given: [
      ...["pv v 10Gi on=a", "pvc w 5Gi", "assume q a : w", "pv b 10Gi on=a block", "pvc u 5Gi block", "assume r a : u"],
      ...["pvc x 5Gi selector=tier:fast"],
    ],
    claims: ["x"],
    says: "noMatchingVolume d/x",
  },
  "a promised volume of the other mode is not waited for": {
    given: ["pv b 10Gi on=a block", "pvc u 5Gi block", "assume r a : u", "pvc x 5Gi"],
    claims: ["x"],
    says: "noMatchingVolume d/x",
  },
  "what one claim alone cannot have of a pool is told of that claim": {
    given: [
      ...[...csi, "capacity c csi a 10Gi", "pvc w 8Gi class=csi", "assume q a : w"],
      ...["pvc x 1Gi class=csi", "pvc y 5Gi class=csi"],
    ],
    claims: ["x", "y"],
    says: "capacityAssumed d/y",
  },
  "what all claims together cannot have of a pool is told of the first by name": {
    given: [
      ...[...csi, "capacity c csi a 10Gi", "pvc w 8Gi class=csi", "assume q a : w"],
      ...["pvc x 1Gi class=csi", "pvc y 2Gi class=csi"],
    ],
    claims: ["x", "y"],
    says: "capacityAssumed d/x",
  },
  "a claim of no size asks nothing of a pool, and is never told of": {
    given: [...csi, "capacity c csi a 10Gi", "pvc x - class=csi", "pvc y 6Gi class=csi", "pvc z 6Gi class=csi"],
    claims: ["x", "y", "z"],
    says: "notEnoughSpace d/y",
  },
  "a topology that the class does not allow is told of the smallest claim": {
    given: [
      ...["class csi provisioner=csi.example topology=zone:1", "driver csi.example"],
      ...["pvc x 9Gi class=csi", "pvc y 5Gi class=csi"],
    ],
    claims: ["x", "y"],
    says: "topologyNotAllowed d/y",
  },
  "what rests on the node is no way out of a file system that is too full": {
    given: [
      ...["class csi provisioner=csi.example", "driver csi.example"],
      ...[directory("d1", "100Gi", "csi"), directory("d2", "100Gi", "csi")],
      ...["pvc x 60Gi class=csi", "pvc y 60Gi class=csi", "rest ux a", "rest uy a"],
    ],
    claims: ["x", "y"],
    says: "notEnoughVolumes d/x",
  },
  "what is promised to the Pod's own claim on a file system is asked of it once": {
    given: [directory("d1", "100Gi"), directory("d2", "100Gi"), "pvc x 60Gi", "assume p a : x", "pvc y 40Gi"],
    claims: ["x", "y"],
    says: "",
  },
  "what is promised to another Pod's claim on a file system is asked of it too": {
    given: [directory("d1", "100Gi"), directory("d2", "100Gi"), "pvc w 60Gi", "assume q a : w", "pvc x 60Gi"],
    claims: ["x"],
    says: "notEnoughVolumes d/x",
  },
  "a claim that is being provisioned where nobody publishes capacity any more": {
    given: [...csi, "pvc x 5Gi class=csi selected=a"],
    claims: ["x"],
    says: "noCapacityPublished d/x",
  },
};

test.for(Object.entries(told))("told of a refusal: %s", ([, { given: lines, claims, says }]) => {
  expect(refusal(given("node a", ...lines), ...claims)).toBe(says);
});

const used: Record<string, { given: readonly string[]; claims: readonly string[] }> = {
  "room of a file system, though no volume of it that is held would have suited": {
    given: [directory("d1", "60Gi"), directory("d2", "100Gi"), "pvc h 60Gi", "hold holder a : h", "pvc x 70Gi"],
    claims: ["x"],
  },
  "a volume, where a larger claim that no volume serves can be provisioned": {
    given: [
      ...[...csi, "capacity c csi a 100Gi", "pv v 10Gi on=a class=csi label=tier:fast"],
      ...["pvc h 5Gi class=csi selector=tier:fast", "hold holder a : h"],
      ...["pvc x 50Gi class=csi", "pvc y 5Gi class=csi selector=tier:fast"],
    ],
    claims: ["x", "y"],
  },
  "one of several pools": {
    given: [
      ...[...csi, "capacity c1 csi a 10Gi", "capacity c2 csi - 5Gi at=zone:1"],
      ...["pvc h 8Gi class=csi", "hold holder a : h", "pvc x 8Gi class=csi"],
    ],
    claims: ["x"],
  },
};

test.for(Object.entries(used))("what another Pod holds is used, and so marked: %s", ([, { given: lines, claims }]) => {
  const world = given("node a zone=1", ...lines);
  const verdict = world.plan(world.pod("p", ...claims), "a");
  expect(verdict.contended).toBe(true);
  expect(world.plan(world.pod("holder", "h"), "a").contended).toBe(false);
});

const overfull = [directory("d1", "100Gi", "csi"), directory("d2", "100Gi", "csi")];
const crowd = ["pvc x 60Gi class=csi", "pvc y 60Gi class=csi"];

test("what a file system has no room for comes from a pool, where that has room", () => {
  const world = given("node a", ...csi, ...overfull, ...crowd, "capacity c csi a 60Gi");
  const plan = world.plan(world.pod("p", "x", "y"), "a");
  expect(plan.claims).toMatchObject([{ kind: "static" }, { kind: "provision", pool: expect.any(String) }]);
  world.apply("capacity c csi a 59Gi");
  expect(refusal(world, "x", "y")).toBe("notEnoughVolumes d/x");
});

test("the surplus of a choice that was searched for is that of its volumes", () => {
  const world = given(
    "node a",
    directory("d1", "100"),
    directory("d2", "100"),
    "pv own 200 on=a",
    "pvc x 60",
    "pvc y 50",
  );
  const verdict = filterNodes(world.state, world.pod("p", "x", "y"), [nodeName("a")]);
  expect(verdict.kind === "judged" && verdict.nodes.surplus(0)).toBe(190);
});

test("a claim that is being provisioned is planned from the pool that it was promised", () => {
  const world = given("node a", ...csi, "capacity c csi a 10Gi", "pvc x 5Gi class=csi", "assume p a : x");
  const [claim] = world.plan(world.pod("p", "x"), "a").claims;
  expect(claim).toMatchObject({ kind: "provision", pool: expect.any(String) });
});

test("a claim that is being provisioned is planned from no pool where it asks for no size, or its promise has ended", () => {
  const poolOf = (...lines: string[]): unknown => {
    const world = given("node a", ...csi, "capacity c csi a 10Gi", ...lines);
    const [claim] = world.plan(world.pod("p", "x"), "a").claims;
    return claim?.kind === "provision" ? claim.pool : claim;
  };
  expect(poolOf("pvc x - class=csi selected=a")).toBeUndefined();
  const made = "pv v 5Gi on=a class=csi for=x uid=ux made=csi.example";
  expect(poolOf("pvc x 5Gi class=csi selected=a", made)).toEqual(expect.any(String));
  expect(poolOf("pvc x 5Gi class=csi selected=a", made, "wait 600")).toBeUndefined();
});

test("what the Pod's own claims ask of a drive does not make it busy", () => {
  const volumes = ["pv va 10Gi on=a label=drive:1 for=x", "pv vb 10Gi on=a label=drive:1"];
  const world = given("node a", ...volumes, "pvc x 5Gi", "pvc y 5Gi");
  const verdict = filterNodes(world.state, world.pod("p", "x", "y"), [nodeName("a")]);
  expect(verdict.kind === "judged" && verdict.nodes.busyDisks(0)).toBe(0);
});

test("the room that is told of is all there is for the Pod, whoever holds it", () => {
  const world = given(
    "node a",
    ...csi,
    "capacity c csi a 10Gi",
    "pvc h 8Gi class=csi",
    "hold holder a : h",
    "pvc x 5Gi class=csi",
  );
  const verdict = decide(world.state, world.pod("p", "x"), (planner) => {
    const [entry] = world.state.topologies.nodes.values();
    return planner.open.flatMap((open) => (entry ? planner.rooms(entry, open).map(({ free }) => free) : []));
  });
  expect(verdict.kind === "judged" && verdict.nodes).toEqual([10n << 30n]);
});

test("nodes that refuse a claim for one reason are told in one answer", () => {
  const world = given("node a", "node b", "pv v 1Gi on=b", "pvc x 5Gi");
  const verdict = decide(world.state, world.pod("p", "x"), (planner) =>
    [...world.state.topologies.nodes.values()].map(({ id }) => planner.plan(id)),
  );
  const answers = verdict.kind === "judged" ? verdict.nodes : [];
  expect([answers.length, new Set(answers).size]).toEqual([2, 1]);
});

/** Per claim its volume, "+" where it is provisioned, or why it gets nothing, by a planner that looked at node b before. */
function diagnosed(world: World, ...claims: string[]): string[] {
  const looks = (planner: Planner): string[] => {
    const [a, b] = ["a", "b"].map((name) => world.state.topologies.nodes.get(nodeName(name)));
    if (!a || !b) throw new Error("no such nodes");
    planner.plan(b.id);
    return planner.diagnose(a).map(({ volume, reason }) => {
      if (volume !== undefined && volume !== provisioned) return world.state.volumes.at(volume).name;
      return reason ?? "+";
    });
  };
  const verdict = decide(world.state, world.pod("p", ...claims), looks);
  return verdict.kind === "judged" ? verdict.nodes : [verdict.kind];
}

const diagnoses: Record<string, { given: readonly string[]; claims: readonly string[]; says: readonly string[] }> = {
  "is about the node asked for, whichever was looked at before": {
    given: ["pv vb 10Gi on=b", "pv wb 10Gi on=b", "pv va 10Gi on=a", "pvc x 5Gi", "pvc y 5Gi"],
    claims: ["x", "y"],
    says: ["va", "notEnoughVolumes"],
  },
  "gives a claim the volume that another Pod holds, as the last try does": {
    given: ["pv va 10Gi on=a", "pvc h 5Gi", "hold holder a : h", "pvc x 5Gi", "pvc y 20Gi"],
    claims: ["x", "y"],
    says: ["va", "noMatchingVolume"],
  },
  "tells of a held volume that it is not enough for two": {
    given: ["pv va 10Gi on=a", "pvc h 5Gi", "hold holder a : h", "pvc x 5Gi", "pvc y 5Gi"],
    claims: ["x", "y"],
    says: ["va", "notEnoughVolumes"],
  },
  "waits for what is promised, where what is held serves the other claim": {
    given: [
      ...["pv v1 10Gi on=a", "pv v2 20Gi on=a", "pvc w 15Gi", "assume q a : w", "pvc h 5Gi", "hold holder a : h"],
      ...["pvc x 5Gi", "pvc y 5Gi"],
    ],
    claims: ["x", "y"],
    says: ["v1", "volumeAssumed"],
  },
  "provisions from a pool that another Pod holds": {
    given: [
      ...[...csi, "capacity c csi a 10Gi", "pvc h 8Gi class=csi", "hold holder a : h"],
      ...["pvc x 5Gi class=csi", "pvc y 5Gi"],
    ],
    claims: ["x", "y"],
    says: ["+", "noMatchingVolume"],
  },
  "waits for no promise where a sibling is made elsewhere, and has no room here": {
    given: [
      ...["pv v1 10Gi on=a", "pv v2 20Gi on=a", "pvc w 15Gi", "assume q a : w"],
      ...[...csi, "capacity c csi a 5Gi", "pvc m 10Gi class=csi selected=b", "pvc x 5Gi", "pvc y 5Gi"],
    ],
    claims: ["m", "x", "y"],
    says: ["selectedOtherNode", "v1", "notEnoughVolumes"],
  },
  "waits for no promise where a sibling cannot be here at all": {
    given: [
      ...["pv v1 10Gi on=a", "pv v2 20Gi on=a", "pvc w 15Gi", "assume q a : w"],
      ...["pv mine 10Gi on=b for=m", "pvc m 10Gi", "pvc x 5Gi", "pvc y 5Gi"],
    ],
    claims: ["m", "x", "y"],
    says: ["preboundElsewhere", "v1", "notEnoughVolumes"],
  },
};

test.for(Object.entries(diagnoses))("a diagnosis %s", ([, { given: lines, claims, says }]) => {
  expect(diagnosed(given("node a", "node b", ...lines), ...claims)).toEqual(says);
});
