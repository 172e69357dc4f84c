/** What an explanation says of nodes that refuse: each thing that stands in the way, in true words (departure D13). */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { claimUid, nodeName } from "../../src/scheduling/names.ts";
import { World } from "../support/world.ts";
import { Ledger, source } from "./ledger.ts";

/** "claim: volume: why" lines of one node. */
function told(world: World, node: string, ...claims: string[]): string[] {
  const [found] = explainPod(world.state, world.pod("p", ...claims), { nodes: [nodeName(node)] }).nodes;
  return (found?.claims ?? []).flatMap((one) => {
    const name = one.claim.slice(2);
    if ("refused" in one) return one.refused.map(({ volume, why }) => `${name}: ${volume}: ${why}`);
    return [`${name}: ${JSON.stringify({ ...one, claim: undefined }).replaceAll('"', "")}`];
  });
}

const advice = (world: World, ...claims: string[]): string | undefined =>
  explainPod(world.state, world.pod("p", ...claims)).suggestion;

interface Situation {
  readonly given: readonly string[];
  readonly claims: readonly string[];
  readonly says: readonly string[];
  readonly helps: string;
}

const csi = ["class csi provisioner=csi.example", "driver csi.example capacity"];
const need = "with at least 5Gi (Filesystem, ReadWriteOnce)";

const situations: Record<string, Situation> = {
  "a claim without any volume within reach": {
    given: ["pv a 5Gi on=n2", "pvc x 5Gi"],
    claims: ["x"],
    says: [],
    helps: `Add a volume of class local ${need} on node n1 for claim d/x`,
  },
  "a volume that a sibling needs more": {
    given: ["pv a 20Gi on=n1", "pvc x 5Gi", "pvc y 20Gi"],
    claims: ["x", "y"],
    says: ["x: a: needed by claim d/y of the same Pod", "y: {volume:a}"],
    helps: `Add a volume of class local ${need} on node n1 for claim d/x`,
  },
  "a volume that another Pod is promised": {
    given: ["pv a 5Gi on=n1", "pvc w 5Gi", "assume q n1 : w", "pvc x 5Gi"],
    claims: ["x"],
    says: ["x: a: assumed for claim d/w"],
    helps: "Wait: what claim d/x needs on node n1 is promised to another Pod right now",
  },
  "two claims that wait for one promised volume: only one of them waits": {
    given: ["pv a 5Gi on=n1", "pvc w 5Gi", "assume q n1 : w", "pvc x 5Gi", "pvc y 5Gi"],
    claims: ["x", "y"],
    says: ["x: a: assumed for claim d/w", "y: a: assumed for claim d/w"],
    helps:
      "Wait: what claim d/x needs on node n1 is promised to another Pod right now; " +
      `Add a volume of class local ${need} on node n1 for claim d/y`,
  },
  "two claims that wait for two promised volumes, one of which suits the second only": {
    given: [
      ...["pv a 5Gi on=n1", "pv b 9Gi on=n1", "pvc v 5Gi", "pvc w 9Gi", "assume q n1 : v w"],
      ...["pvc x 5Gi", "pvc y 9Gi"],
    ],
    claims: ["x", "y"],
    says: [
      ...["x: a: assumed for claim d/v", "x: b: assumed for claim d/w"],
      ...["y: a: too small: 5Gi of 9Gi", "y: b: assumed for claim d/w"],
    ],
    helps:
      "Wait: what claim d/x needs on node n1 is promised to another Pod right now; " +
      "Wait: what claim d/y needs on node n1 is promised to another Pod right now",
  },
  "volumes that are promised on another node do not count among those that are waited for": {
    given: [
      ...["pv a 5Gi on=n1", "pv b 5Gi on=n2", "pvc v 5Gi", "pvc w 5Gi", "assume q n1 : v", "assume r n2 : w"],
      ...["pvc x 5Gi", "pvc y 5Gi"],
    ],
    claims: ["x", "y"],
    says: ["x: a: assumed for claim d/v", "y: a: assumed for claim d/v"],
    helps:
      "Wait: what claim d/x needs on node n1 is promised to another Pod right now; " +
      `Add a volume of class local ${need} on node n1 for claim d/y`,
  },
  "a claim that was given to a provisioner that does not exist": {
    given: ["pv a 5Gi on=n1", "pvc x 5Gi selected=n1"],
    claims: ["x"],
    says: ["x: a: not looked at: the claim has been given to a provisioner"],
    helps:
      "Take the annotation volume.kubernetes.io/selected-node off claim d/x, which no provisioner serves, and ask again",
  },
  "a volume that is reserved elsewhere, and one that would do": {
    given: ["pv a 5Gi on=n9 for=x", "pv b 5Gi on=n1", "pvc x 5Gi"],
    claims: ["x"],
    says: [
      "x: a: reserved for the claim, but not reachable from this node",
      "x: b: not looked at: a is reserved for the claim",
    ],
    helps: "A volume is reserved for claim d/x where node n1 does not reach it: clear its claimRef, and ask again",
  },
  "a claim with a selector, of a class that provisions": {
    given: [...csi, "capacity c csi n1 9Gi", "pvc x 5Gi class=csi selector=disk:ssd"],
    claims: ["x"],
    says: ["x: (new): a claim with a selector cannot be provisioned"],
    helps:
      "Add a volume of class csi with at least 5Gi (Filesystem, ReadWriteOnce, labels matching the claim's selector) " +
      "on node n1 for claim d/x",
  },
  "a class of other zones": {
    given: [
      "class csi provisioner=csi.example topology=zone:z1|z2,rack:r1",
      "driver csi.example",
      "pvc x 5Gi class=csi",
    ],
    claims: ["x"],
    says: ["x: (new): allowedTopologies of class csi exclude the node: zone In [z1, z2] and rack In [r1]"],
    helps: "Let allowedTopologies of class csi include node n1",
  },
  "a driver that runs elsewhere": {
    given: [...csi, "csinode n2 csi.example", "capacity c csi n1 9Gi", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: ["x: (new): driver csi.example is not registered on the node"],
    helps: "Run the driver of class csi on node n1",
  },
  "an in-tree class, whose driver has another name": {
    given: [
      "class ebs provisioner=kubernetes.io/aws-ebs",
      ...["driver ebs.csi.aws.com", "csinode n2 ebs.csi.aws.com", "pvc x 5Gi class=ebs"],
      "capacity c ebs n2 1Gi",
    ],
    claims: ["x"],
    says: ["x: (new): driver ebs.csi.aws.com (for kubernetes.io/aws-ebs) is not registered on the node"],
    helps: "Run the driver of class ebs on node n1",
  },
  "a provisioner that nobody runs": {
    given: ["class csi provisioner=made.up", "pv a 1Gi on=n1 class=csi", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: ["x: a: too small: 1Gi of 5Gi", "x: (new): no driver named made.up"],
    helps: `Add a volume of class csi ${need} on node n1 for claim d/x`,
  },
  "an object without a size": {
    given: [...csi, "capacity c csi n1", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: ["x: (new): needs 5Gi: 0 free of 0, largest volume 0"],
    helps: "Free space for 5Gi of class csi on node n1 for claim d/x: 5Gi are missing",
  },
  "claims that fit one by one": {
    given: [...csi, "capacity c csi n1 9Gi max=5Gi", "pvc x 5Gi class=csi", "pvc y 5Gi class=csi"],
    claims: ["x", "y"],
    says: ["x", "y"].map(
      (name) => `${name}: (new): needs 5Gi (10Gi with the Pod's other claims): 9Gi free of 9Gi, largest volume 5Gi`,
    ),
    helps: "Free space for 10Gi of class csi on node n1 for claims d/x and d/y: 1Gi are missing",
  },
  "capacity that another Pod is promised": {
    given: [...csi, "capacity c csi n1 9Gi", "pvc w 6Gi class=csi", "assume q n1 : w", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: ["x: (new): needs 5Gi: 3Gi free of 9Gi, largest volume 9Gi"],
    helps: "Wait: what claim d/x needs on node n1 is promised to another Pod right now",
  },
  "a largest volume that is too small, in a pool that would have the space": {
    given: [...csi, "capacity c csi n1 7Gi max=4Gi", "pvc x 5Gi class=csi", "pvc y 2Gi class=csi"],
    claims: ["x", "y"],
    says: [
      "x: (new): needs 5Gi (7Gi with the Pod's other claims): 7Gi free of 7Gi, largest volume 4Gi",
      "y: (new): needs 2Gi (7Gi with the Pod's other claims): 7Gi free of 7Gi, largest volume 4Gi",
    ],
    helps: "Let the largest volume of class csi on node n1 be 5Gi instead of 4Gi for claims d/x and d/y",
  },
  "a largest volume that is too small, and too little space": {
    given: [...csi, "capacity c csi n1 4Gi max=4Gi", "pvc x 5Gi class=csi", "pvc y 2Gi class=csi"],
    claims: ["x", "y"],
    says: [
      "x: (new): needs 5Gi (7Gi with the Pod's other claims): 4Gi free of 4Gi, largest volume 4Gi",
      "y: (new): needs 2Gi (7Gi with the Pod's other claims): 4Gi free of 4Gi, largest volume 4Gi",
    ],
    helps:
      "Let the largest volume of class csi on node n1 be 5Gi instead of 4Gi for claims d/x and d/y; " +
      "Free space for 7Gi of class csi on node n1 for claims d/x and d/y: 2Gi are missing",
  },
  "two promised volumes, of which one is too small for both": {
    given: [
      ...["pv a 5Gi on=n1", "pv b 9Gi on=n1", "pvc v 5Gi", "pvc w 9Gi", "assume q n1 : v w"],
      ...["pvc x 9Gi", "pvc y 9Gi"],
    ],
    claims: ["x", "y"],
    says: ["x", "y"].flatMap((name) => [`${name}: a: too small: 5Gi of 9Gi`, `${name}: b: assumed for claim d/w`]),
    helps:
      "Wait: what claim d/x needs on node n1 is promised to another Pod right now; " +
      "Add a volume of class local with at least 9Gi (Filesystem, ReadWriteOnce) on node n1 for claim d/y",
  },
  "a volume that the Pod is promised itself, which no sibling waits for": {
    given: [
      ...["pv a 5Gi on=n1", "pvc v 5Gi", "assume q n1 : v", "pv b 5Gi on=n1", "pvc w 5Gi", "assume p n1 : w"],
      ...["pvc x 5Gi", "pvc y 5Gi"],
    ],
    claims: ["w", "x", "y"],
    says: [
      "w: {volume:b}",
      ...["x", "y"].flatMap((name) => [`${name}: a: assumed for claim d/v`, `${name}: b: assumed for claim d/w`]),
    ],
    helps:
      "Wait: what claim d/x needs on node n1 is promised to another Pod right now; " +
      `Add a volume of class local ${need} on node n1 for claim d/y`,
  },
  "capacity that is promised to the Pod's own claim is nothing to wait for": {
    given: [...csi, "capacity c csi n1 10Gi", "pvc x 6Gi class=csi selected=n1", "pvc y 5Gi class=csi"],
    claims: ["x", "y"],
    says: ["x: {provision:csi}", "y: (new): needs 5Gi: 4Gi free of 10Gi, largest volume 10Gi"],
    helps: "Free space for 5Gi of class csi on node n1 for claim d/y: 1Gi are missing",
  },
  "what is promised to the Pod's own claim in another pool is not deducted": {
    given: [
      ...[...csi, "class other provisioner=csi.example", "capacity c csi n1 10Gi", "capacity d other n1 10Gi"],
      ...["pvc x 6Gi class=other selected=n1", "pvc w 6Gi class=csi", "assume q n1 : w", "pvc y 9Gi class=csi"],
    ],
    claims: ["x", "y"],
    says: ["x: {provision:other}", "y: (new): needs 9Gi: 4Gi free of 10Gi, largest volume 10Gi"],
    helps: "Wait: what claim d/y needs on node n1 is promised to another Pod right now",
  },
  "two pools, of which the earlier one lacks less": {
    given: [...csi, "capacity a csi * 1Gi", "capacity b csi n1 4Gi max=3Gi", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: ["x: (new): needs 5Gi: 4Gi free of 4Gi, largest volume 3Gi; 1Gi free of 1Gi, largest volume 1Gi"],
    helps: "Let the largest volume of class csi on node n1 be 5Gi instead of 3Gi for claim d/x",
  },
  "two pools, of which the later one lacks less": {
    given: [...csi, "capacity a csi * 4Gi", "capacity b csi n1 1Gi", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: ["x: (new): needs 5Gi: 1Gi free of 1Gi, largest volume 1Gi; 4Gi free of 4Gi, largest volume 4Gi"],
    helps: "Free space for 5Gi of class csi on node n1 for claim d/x: 1Gi are missing",
  },
  "a claim that is promised a volume elsewhere, before volumes that would do": {
    given: ["pv a 5Gi on=n2", "pvc x 5Gi", "assume p n2 : x", "pv b 5Gi on=n1"],
    claims: ["x"],
    says: ["x: b: not looked at: the claim is promised a", "x: (new): being provisioned or bound on node n2"],
    helps: "Claim d/x is being served on node n2",
  },
  "a claim that is provisioned elsewhere": {
    given: [...csi, "capacity c csi n2 9Gi", "pvc x 5Gi class=csi selected=n2"],
    claims: ["x"],
    says: ["x: (new): being provisioned or bound on node n2"],
    helps: "Claim d/x is being served on node n2",
  },
  "a bound claim beside others, all in name order": {
    given: ["pv v 5Gi on=n1 for=y uid=uy", "pvc y 5Gi volume=v", "pvc x 5Gi", "pvc z 9Gi", "pv a 9Gi on=n1"],
    claims: ["y", "z", "x"],
    says: ["x: a: needed by claim d/z of the same Pod", "x: v: claimed by d/y", "y: {bound:v}", "z: {volume:a}"],
    helps: `Add a volume of class local ${need} on node n1 for claim d/x`,
  },
  "a class without a provisioner's name": {
    given: ["class bare provisioner=", "pvc x 5Gi class=bare"],
    claims: ["x"],
    says: [],
    helps: `Add a volume of class bare ${need} on node n1 for claim d/x`,
  },
  "nothing that is published anywhere": {
    given: [...csi, "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: ["x: (new): no capacity published for class csi anywhere"],
    helps: "Check the provisioner of class csi: it publishes no capacity for node n1, and claim d/x needs 5Gi",
  },
  "a bound volume that is gone": {
    given: ["pvc x 5Gi volume=a"],
    claims: ["x"],
    says: ["x: a: bound to it, and it does not exist"],
    helps: "Restore volume a, to which claim d/x is bound and which does not exist; or delete the claim",
  },
  "volumes of two nodes": {
    given: ["pv a 5Gi on=n1 for=x uid=ux", "pv b 5Gi on=n2 for=y uid=uy", "pvc x 5Gi volume=a", "pvc y 5Gi volume=b"],
    claims: ["x", "y"],
    says: ["x: {bound:a}", "y: b: bound to it, and its node affinity does not match: kubernetes.io/hostname In [n2]"],
    helps:
      "Claim d/y is bound to volume b, which node n1 cannot reach, and no node can hold all claims of the Pod: " +
      "delete the claim if its data may go, and ask again",
  },
};

test.for(Object.entries(situations))("%s", ([, { given, claims, says, helps }]) => {
  const world = new World();
  for (const line of ["node n1 zone=z9", "node n2 zone=z9", ...given]) world.apply(line);
  expect(told(world, "n1", ...claims)).toEqual(says);
  const { suggestion } = explainPod(world.state, world.pod("p", ...claims), { offered: [nodeName("n1")] });
  const [here] = (suggestion ?? "").split(/; offer node/);
  expect(here).toBe(helps);
});

const disks = [{ label: "fs", kind: "sharedFilesystem" }] as const;

test("a full file system is told from a missing volume, and the smallest claims keep their place", () => {
  const world = new World({ disks });
  world.apply("node n1");
  for (const name of ["d1", "d2", "d3"]) world.apply(`pv ${name} 100Gi on=n1 label=fs:root`);
  for (const line of ["pvc x 60Gi", "pvc y 50Gi", "pvc z 40Gi"]) world.apply(line);
  expect(told(world, "n1", "x", "y", "z").filter((line) => line.startsWith("x"))).toContain(
    "x: d1: its file system, which other volumes share, has no room left for the claim",
  );
  expect(advice(world, "x", "y", "z")).toBe(
    "Add a volume of class local with at least 60Gi (Filesystem, ReadWriteOnce) on node n1 for claim d/x",
  );
  world.apply("pv own 60Gi on=n1");
  expect(world.fitting(world.pod("p", "x", "y", "z"))).toEqual(["n1"]);
});

test("what is reserved on a full file system keeps it, and the claim beside it needs a volume of its own", () => {
  const world = new World({ disks });
  for (const line of ["node n1", "pv other 1Gi on=n2"]) world.apply(line);
  for (const line of ["pv d1 100Gi on=n1 label=fs:root for=x", "pv d2 100Gi on=n1 label=fs:root"]) world.apply(line);
  for (const line of ["pvc x 90Gi", "pvc y 20Gi"]) world.apply(line);
  expect(told(world, "n1", "x", "y")[0]).toBe("x: {volume:d1}");
  expect(advice(world, "x", "y")).toMatch(/^Add a volume of class local with at least 20Gi .* for claim d\/y$/);
});

test("a claim that could be provisioned beside a full file system lacks capacity, not a volume", () => {
  const world = new World({ disks });
  for (const line of ["node n1", ...csi, "capacity c-n1 csi n1 10Gi"]) world.apply(line);
  for (const name of ["d1", "d2"]) world.apply(`pv ${name} 100Gi on=n1 class=csi label=fs:root`);
  for (const name of ["x", "y"]) world.apply(`pvc ${name} 60Gi class=csi`);
  expect(advice(world, "x", "y")).toBe("Free space for 60Gi of class csi on node n1 for claim d/y: 50Gi are missing");
});

test("a claim that a full file system leaves to a provisioner which refused it waits for that", () => {
  const world = new World({ disks });
  for (const line of ["node n1", "class csi provisioner=csi.example", "driver csi.example"]) world.apply(line);
  for (const name of ["d1", "d2"]) world.apply(`pv ${name} 100Gi on=n1 class=csi label=fs:root`);
  for (const name of ["x", "y"]) world.apply(`pvc ${name} 60Gi class=csi`);
  for (const name of ["x", "y"]) world.state.provisionerRefused(claimUid(`u${name}`), nodeName("n1"));
  expect(advice(world, "x", "y")).toBe("Wait: the provisioner refused claim d/y on node n1 a short time ago");
});

const shared = { pools: { fast: "vg0", faster: "vg0" } };

test("a class that says nothing is asked for all that its pool will have to hold, beside what its sibling lacks", () => {
  const ledger = new Ledger(["fast", "faster"], shared);
  ledger.world.apply("node a");
  ledger.object("f", "fast", "a", "100Gi").claim("x", "fast", "80Gi").claim("y", "faster", "40Gi");
  expect(advice(ledger.world, "x", "y")).toBe(
    "Check the provisioner of class faster: it publishes no capacity for node a, and claims d/x and d/y need 120Gi; " +
      "Free space for 120Gi of class fast and faster on node a for claims d/x and d/y: 20Gi are missing",
  );
  ledger.object("f", "fast", "a", "120Gi").object("g", "faster", "a", "120Gi");
  expect(ledger.reason("a", "x", "y")).toBe("");
});

test("what the sibling of a silent class has left is known, though the Pod asks for nothing of it", () => {
  const ledger = new Ledger(["fast", "faster", "slow"], shared);
  ledger.world.apply("node a");
  ledger.object("f", "fast", "a", "30Gi").object("s", "slow", "a", "1Gi").claim("y", "faster", "40Gi");
  expect(advice(ledger.world, "y")).toBe(
    "Check the provisioner of class faster: it publishes no capacity for node a, and claim d/y needs 40Gi; " +
      "Free space for 40Gi of class faster on node a for claim d/y: 10Gi are missing",
  );
});

test("a larger volume of one class does not make the pool larger that both draw on", () => {
  const ledger = new Ledger(["fast", "faster"], shared);
  ledger.world.apply("node a");
  ledger.object("f", "fast", "a", "30Gi", { max: "30Gi" }).object("g", "faster", "a", "30Gi");
  ledger.claim("x", "fast", "40Gi");
  expect(advice(ledger.world, "x")).toBe(
    "Let the largest volume of class fast on node a be 40Gi instead of 30Gi for claim d/x; " +
      "Free space for 40Gi of class fast on node a for claim d/x: 10Gi are missing",
  );
  ledger.object("f", "fast", "a", "40Gi", { max: "40Gi" });
  expect(ledger.reason("a", "x")).not.toBe("");
  ledger.object("g", "faster", "a", "40Gi");
  expect(ledger.reason("a", "x")).toBe("");
});

test("a node that should say itself what it has is to be told so, not the provisioner", () => {
  const ledger = new Ledger(["lvm", "thick"], {
    sources: { lvm: source("lvm"), thick: source("thick", { from: "allocatable" }) },
  });
  ledger.node("a").claim("x", "lvm", "5Gi").claim("y", "thick", "6Gi");
  expect(advice(ledger.world, "x", "y")).toBe(
    "Put a size into annotation example.com/lvm of node a, for class lvm: claim d/x needs 5Gi; " +
      "Put a size into allocatable resource example.com/thick of node a, for class thick: claim d/y needs 6Gi",
  );
  ledger.node("a", { annotations: { lvm: "5Gi" }, allocatable: { thick: "6Gi" } });
  expect(ledger.reason("a", "x", "y")).toBe("");
});

test("a volume that is to be added takes its bytes where volumes are deducted from what a node has", () => {
  const all = source("lvm", { from: "allocatable", means: "total" });
  const ledger = new Ledger(["lvm"], { sources: { lvm: all } });
  ledger.node("a", { allocatable: { lvm: "10Gi" } }).claim("x", "lvm", "8Gi");
  ledger.world.apply("pvc y 5Gi class=lvm selector=disk:ssd");
  ledger.world.apply("pvc z 5Gi");
  expect(advice(ledger.world, "x", "y", "z")).toContain("for claim d/x: 3Gi are missing");
  expect(advice(ledger.world, "x", "y")).toBe(
    "Add a volume of class lvm with at least 5Gi (Filesystem, ReadWriteOnce, labels matching the claim's selector) on node a " +
      "for claim d/y; Free space for 8Gi of class lvm on node a for claim d/x: 3Gi are missing",
  );
  ledger.world.apply("pv v 5Gi class=lvm on=a label=disk:ssd");
  expect(ledger.reason("a", "x", "y")).not.toBe("");
  ledger.node("a", { allocatable: { lvm: "13Gi" } });
  expect(ledger.reason("a", "x", "y")).toBe("");
});

test("what another Pod holds of a file system is no trouble of this one", () => {
  const world = new World({ disks });
  world.apply("node n1");
  for (const name of ["d1", "d2", "d3"]) world.apply(`pv ${name} 100Gi on=n1 label=fs:root`);
  for (const line of ["class other", "pvc w 60Gi", "pvc x 40Gi", "pvc y 50Gi", "pvc z 1Gi class=other"])
    world.apply(line);
  world.apply("hold q n1 : w");
  expect(advice(world, "x", "y", "z")).toBe(
    "Add a volume of class other with at least 1Gi (Filesystem, ReadWriteOnce) on node n1 for claim d/z",
  );
});

test("what is reserved for the Pod's own claim counts once", () => {
  const world = new World({ disks });
  for (const line of ["node n1", "pv d1 100Gi on=n1 label=fs:root for=x"]) world.apply(line);
  for (const name of ["d2", "d3"]) world.apply(`pv ${name} 100Gi on=n1 label=fs:root`);
  for (const line of ["pvc x 60Gi", "pvc y 30Gi", "pvc z 35Gi"]) world.apply(line);
  expect(advice(world, "x", "y", "z")).toMatch(/^Add a volume of class local with at least 35Gi [^;]* for claim d\/z$/);
});

test("claims beside a full file system that fit one by one lack capacity together", () => {
  const world = new World({ disks });
  for (const line of ["node n1", ...csi, "capacity c-n1 csi n1 70Gi"]) world.apply(line);
  for (const name of ["d1", "d2", "d3"]) world.apply(`pv ${name} 100Gi on=n1 class=csi label=fs:root`);
  for (const name of ["x", "y", "z"]) world.apply(`pvc ${name} 60Gi class=csi`);
  expect(advice(world, "x", "y", "z")).toBe(
    "Free space for 120Gi of class csi on node n1 for claims d/y and d/z: 50Gi are missing",
  );
});

test("a claim that rests waits, and lacks nothing else", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm", { from: "allocatable", means: "total" }) } });
  ledger.node("a", { allocatable: { lvm: "10Gi" } }).claim("x", "lvm", "6Gi");
  ledger.state.rests.refused(claimUid("ux"), nodeName("a"), undefined);
  expect(advice(ledger.world, "x")).toBe("Wait: the provisioner refused claim d/x on node a a short time ago");
});

test("a silent class that a provisioner is at work for takes its bytes once it speaks", () => {
  const ledger = new Ledger(["fast", "faster"], shared);
  ledger.world.apply("node a");
  ledger
    .object("g", "faster", "a", "40Gi")
    .claim("x", "fast", "30Gi", { selectedNode: "a" })
    .claim("y", "faster", "20Gi");
  expect(advice(ledger.world, "x", "y")).toBe(
    "Check the provisioner of class fast: it publishes no capacity for node a, and claims d/x and d/y need 50Gi; " +
      "Free space for 50Gi of class fast and faster on node a for claims d/x and d/y: 10Gi are missing",
  );
});

test("of a silent class nobody knows how large its volumes may be, nor that its pool grows with its sibling's", () => {
  const ledger = new Ledger(["fast", "faster"], shared);
  ledger.world.apply("node a");
  ledger.object("g", "faster", "a", "20Gi", { max: "20Gi" }).claim("x", "fast", "10Gi").claim("y", "faster", "30Gi");
  expect(advice(ledger.world, "x", "y")).toBe(
    "Check the provisioner of class fast: it publishes no capacity for node a, and claims d/x and d/y need 40Gi; " +
      "Let the largest volume of class faster on node a be 30Gi instead of 20Gi for claims d/x and d/y; " +
      "Free space for 40Gi of class fast and faster on node a for claims d/x and d/y: 20Gi are missing",
  );
});

test("of the pools of one name, the one that both classes draw on is the one to grow", () => {
  const ledger = new Ledger(["fast", "faster"], shared);
  ledger.world.apply("node a zone=z1");
  ledger.world.apply("capacity wide fast - 30Gi at=zone:z1");
  ledger.object("f", "fast", "a", "10Gi").object("g", "faster", "a", "10Gi");
  ledger.claim("x", "fast", "20Gi").claim("y", "faster", "20Gi");
  expect(advice(ledger.world, "x", "y")).toBe(
    "Free space for 40Gi of class fast and faster on node a for claims d/x and d/y: 30Gi are missing",
  );
});
