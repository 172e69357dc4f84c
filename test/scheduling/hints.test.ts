/** What is true of a Pod's claims on any node, and what somebody probably meant (FR-005, FR-020, FR-026, FR-028, FR-030, FR-037, FR-085). */
import { expect, test } from "vitest";
import { hintsFor, hintsInSteps } from "../../src/scheduling/hints.ts";
import { nearestName } from "../../src/scheduling/near-name.ts";
import { makeMigratedNode, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";
import { Ledger, source } from "./ledger.ts";

const hostname = "kubernetes.io/hostname";

function given(...lines: string[]): World {
  const world = new World();
  for (const line of lines) world.apply(line);
  return world;
}

const hints = (world: World, ...claims: string[]): string[] => hintsFor(world.state, world.pod("p", ...claims), true);

interface Case {
  readonly given: readonly string[];
  readonly claims?: readonly string[];
  readonly says: readonly string[];
}

const five = ["node n1", "node n2", "node n3", "node n4", "node n5"];
const bound = (claim: string, ...nodes: string[]): string[] => [
  `pv v${claim} 5Gi at=${hostname}:${nodes.join("|")} for=${claim} uid=u${claim}`,
  `pvc ${claim} 5Gi volume=v${claim}`,
];
const csi = ["class csi provisioner=csi.example", "driver csi.example capacity"];

const cases: Record<string, Case> = {
  "a claim that leaves the Pod three nodes pins it": {
    given: [...five, ...bound("x", "n3", "n1", "n2")],
    says: ["pinned to n1, n2, n3 by claim d/x"],
  },
  "a claim that leaves it four does not": { given: [...five, ...bound("x", "n1", "n2", "n3", "n4")], says: [] },
  "a claim whose volume every node reaches pins nothing": { given: ["node n1", ...bound("x", "n1")], says: [] },
  "two claims that have a node in common say nothing of each other": {
    given: [...five, ...bound("x", "n1", "n2", "n3", "n4"), ...bound("y", "n4", "n5", "n1", "n2")],
    claims: ["x", "y"],
    says: [],
  },
  "two that have none in common, however many each has": {
    given: [
      ...five,
      ...["node n6", "node n7", "node n8"],
      ...bound("x", "n1", "n2", "n3", "n4"),
      ...bound("y", "n5", "n6", "n7", "n8"),
    ],
    claims: ["x", "y"],
    says: ["no node reaches the volumes of both claims: d/x on n1, n2, n3 and 1 more, d/y on n5, n6, n7 and 1 more"],
  },
  "a volume whose affinity holds alternatives that no node meets": {
    given: [
      "node n1 rack=r1",
      "pv v 5Gi affinity=zone:In:z1,rack:In:r9;disk:Exists for=x uid=ux",
      "pvc x 5Gi volume=v",
    ],
    says: [
      "claim d/x is bound to volume v, whose node affinity matches no node of the cluster: " +
        "zone In [z1] and rack In [r9] or disk Exists; no node has the label zone; nodes have rack r1; " +
        "no node has the label disk; its data is out of reach unless such a node returns",
    ],
  },
  "a volume with an empty value in one of two terms": {
    given: ["node n1 rack=r1", "pv v 5Gi affinity=rack:In:r9;rack:In: for=x uid=ux", "pvc x 5Gi volume=v"],
    says: [
      "claim d/x is bound to volume v, whose node affinity matches no node of the cluster: " +
        "rack In [r9] or rack In []; its value is empty; nodes have rack r1; its data is out of reach unless such a node returns",
    ],
  },
  "nodes with an empty label are shown as such": {
    given: ["node n1 rack=", "pv v 5Gi at=rack:r9 for=x uid=ux", "pvc x 5Gi volume=v"],
    says: [
      "claim d/x is bound to volume v, whose node affinity matches no node of the cluster: rack In [r9]; " +
        'nodes have rack ""; its data is out of reach unless such a node returns',
    ],
  },
  "a volume without any node affinity has no zone as a label either": {
    given: ["node n1", "pv v 5Gi label=disk:ssd for=x uid=ux", "pvc x 5Gi volume=v"],
    says: [],
  },
  "a zone that the affinity says too is nobody else's matter": {
    given: [
      "node n1 zone=z1",
      "pv v 5Gi at=zone:z1 label=topology.kubernetes.io/zone:z1 for=x uid=ux",
      "pvc x 5Gi volume=v",
    ],
    says: [],
  },
  "volumes that are meant for the claim and cannot serve it, by name": {
    given: ["node n1", "pv b 1Gi on=n1 for=x", "pv a 2Gi on=n1 for=x", "pv c 5Gi on=n1", "pvc x 5Gi"],
    says: [
      "volume a is reserved for claim d/x and cannot serve it: too small: 2Gi of 5Gi",
      "volume b is reserved for claim d/x and cannot serve it: too small: 1Gi of 5Gi",
    ],
  },
  "a volume that names the claim's own uid is told by what is wrong with it": {
    given: ["node n1", "pv a 9Gi on=n1 for=x uid=ux phase=Bound deleting", "pvc x 5Gi"],
    says: ["volume a is reserved for claim d/x and cannot serve it: being deleted"],
  },
  "classes by name, of which no object says anything": {
    given: [
      "node n1",
      ...csi,
      "class bsi provisioner=csi.example",
      "pvc x 5Gi class=csi",
      "pvc y 5Gi class=bsi",
      "pvc z 5Gi class=csi",
    ],
    claims: ["x", "y", "z"],
    says: ["bsi", "csi"].map(
      (name) => `no capacity object exists for class ${name} anywhere: is the provisioner publishing?`,
    ),
  },
  "a driver that runs where it publishes needs no word": {
    given: ["node n1", ...csi, "csinode n1 csi.example", "capacity c csi n1 1Gi", "pvc x 5Gi class=csi"],
    says: [],
  },
  "a node whose CSINode is not there yet is not called silent": {
    given: ["node n1", "node n2", ...csi, "csinode n1 csi.example", "capacity c csi n1 1Gi", "pvc x 5Gi class=csi"],
    says: [],
  },
  "objects that a rebuilt node left behind, by name, one of them without a size": {
    given: [
      ...["node n1", ...csi, "capacity c csi n1 1Gi created=2026-03-01T00:00:00Z"],
      ...["capacity b csi n1 created=2026-02-01T00:00:00Z", "capacity a csi n1 3Gi created=2026-01-01T00:00:00Z"],
      "pvc x 5Gi class=csi",
    ],
    says: [
      "3 capacity objects for class csi cover the same nodes: the newest counts, kube-system/c (1Gi), and not " +
        "kube-system/a (3Gi), kube-system/b (no capacity)",
    ],
  },
  "a class that does not exist is known by the volumes of another": {
    given: ["node n1", "pv a 5Gi on=n1", "pvc x 5Gi class=lcoal", "pvc y 5Gi class=lcoal volume=gone half"],
    claims: ["x", "y", "z"],
    says: ['class "lcoal" of claim d/x has no volumes; "local" has 1 that would fit'],
  },
  "a class that provisions is not taken for a slip": {
    given: [
      ...[
        "node n1",
        "class locale provisioner=csi.example",
        "driver csi.example",
        "pv b 9Gi class=locale for=w uid=uw",
      ],
      ...["pv a 5Gi on=n1", "pvc x 5Gi class=locale"],
    ],
    says: ['1 free volume with enough space has class "local" while claim d/x asks for "locale"'],
  },
  "at most three other classes are named, by name": {
    given: [
      ...["node n1", "class own", "pv s 1Gi on=n1 class=own"],
      ...["d", "c", "b", "a"].map((name) => `pv v${name} 5Gi on=n1 class=class-${name}`),
      "pvc x 5Gi class=own",
    ],
    says: ["a", "b", "c"].map(
      (name) => `1 free volume with enough space has class "class-${name}" while claim d/x asks for "own"`,
    ),
  },
  "what is wrong with most volumes comes first, then by its words": {
    given: [
      ...[
        "node n1",
        "pv a 5Gi on=n1 block",
        "pv b 5Gi on=n1 vac=gold",
        "pv c 5Gi on=n1 vac=gold",
        "pv d 5Gi on=n1 modes=ROX",
      ],
      "pvc x 5Gi",
    ],
    says: [
      '2 free volumes of class local would do for claim d/x, but for the volumeAttributesClass: offered is "gold", the claim asks for ""',
      "1 free volume of class local would do for claim d/x, but for the access modes: offered is ReadOnlyMany, the claim asks for ReadWriteOnce",
      "1 free volume of class local would do for claim d/x, but for the volumeMode: offered is Block, the claim asks for Filesystem",
    ],
  },
  "of several volumes that are a little too small the largest is named": {
    given: ["node n1", "pv a 92Gi on=n1", "pv b 96Gi on=n1", "pv c 90Gi on=n1", "pvc x 100Gi"],
    says: ["volume b of class local would do for claim d/x, but is 4Gi too small"],
  },
  "nine tenths is a little too small": {
    given: ["node n1", "pv a 90Gi on=n1", "pvc x 100Gi"],
    says: ["volume a of class local would do for claim d/x, but is 10Gi too small"],
  },
  "less than nine tenths is not": { given: ["node n1", "pv a 89Gi on=n1", "pvc x 100Gi"], says: [] },
  "a volume that was given back and is the only one": {
    given: ["node n1", "pv a 5Gi on=n1 for=w uid=uw phase=Released", "pvc x 5Gi"],
    says: [
      "volume a of class local would do for claim d/x, but is Released: remove its claimRef once its old data may go",
    ],
  },
  "a claim that a provisioner is at work on misses no volume": {
    given: ["node n1", ...csi, "pv a 5Gi on=n1", "capacity c csi n1 1Gi", "pvc x 5Gi class=csi selected=n1"],
    says: [],
  },
};

test.for(Object.entries(cases))("%s", ([, { given: lines, claims = ["x"], says }]) => {
  expect(hints(given(...lines), ...claims)).toEqual(says);
});

test("a Pod that fits somewhere is told nothing of what its claims miss, but of volumes without a class", () => {
  const world = given("node n1", "pv a 5Gi on=n1", "pv b 5Gi on=n1 block", "pv c 5Gi class=", "pvc x 5Gi", ...csi);
  world.apply("pvc y 5Gi class=csi");
  expect(hintsFor(world.state, world.pod("p", "x", "y"), false)).toEqual(
    ["x", "y"].map(
      (name) =>
        `1 free volume with enough space has class "" while claim d/${name} asks for "${name === "x" ? "local" : "csi"}"`,
    ),
  );
});

test("where the Pod is pinned, each node that is unwell is named with what ails it", () => {
  const world = given(...five, ...bound("x", "n1", "n2", "n3"));
  const taints = [
    { key: "soft", effect: "PreferNoSchedule" },
    { key: "hard", effect: "NoExecute" },
  ];
  world.add({ ...makeNode("n1"), spec: { unschedulable: true } });
  world.add({ ...makeNode("n2"), spec: { taints } }, { ...makeNode("n3"), spec: { taints: taints.slice(0, 1) } });
  expect(hints(world, "x")).toEqual([
    "pinned to n1, n2, n3 by claim d/x; n1 is cordoned; n2 has the taint hard:NoExecute",
  ]);
});

test("a nodeSelector that excludes the volume's nodes is told with all that it asks", () => {
  const world = given("node n1 zone=z1 disk=ssd", "node n2 zone=z2", ...bound("x", "n2"));
  const raw = makePod("p", ["x"]);
  const pod = (nodeSelector: Record<string, string>) =>
    world.read({ ...raw, spec: { ...(raw["spec"] as Raw), nodeSelector } });
  expect(hintsFor(world.state, pod({ zone: "z1", disk: "ssd" }), true)[1]).toMatch(
    /^the Pod's nodeSelector \((?:zone In \[z1\] and disk In \[ssd\]|disk In \[ssd\] and zone In \[z1\])\) allows n1, the volume of claim d\/x n2: no node is in both$/,
  );
  expect(hintsFor(world.state, pod({ zone: "z9" }), true)[1]).toContain("allows no node, the volume");
});

test("a volume of a migrated plugin is told as it counts: under the driver's key", () => {
  const world = new World().add(makeNode("n1", { "topology.kubernetes.io/zone": "z1" }));
  const terms = [{ matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: ["z1"] }] }];
  const volume = { source: { awsElasticBlockStore: { volumeID: "v" } }, claim: "x", claimUid: "ux", terms };
  world.add(makePV("v", volume), makePVC("x", { volume: "v" }));
  expect(hints(world, "x")).toEqual([]);
  world.add(makeMigratedNode("n1", "kubernetes.io/aws-ebs"));
  expect(hints(world, "x")).toEqual([
    "claim d/x is bound to volume v, whose node affinity matches no node of the cluster: " +
      "topology.ebs.csi.aws.com/zone In [z1]; which is how kubernetes.io/aws-ebs reads now that a CSI driver serves it; " +
      "no node has the label topology.ebs.csi.aws.com/zone; its data is out of reach unless such a node returns",
  ]);
});

test("a volume whose plugin could be migrated, and is on no node, is told by its own key", () => {
  const world = new World().add(makeNode("n1", { "topology.kubernetes.io/zone": "z1" }));
  const terms = [{ matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: ["z2"] }] }];
  const volume = { source: { awsElasticBlockStore: { volumeID: "v" } }, claim: "x", claimUid: "ux", terms };
  world.add(makePV("v", volume), makePVC("x", { volume: "v" }));
  expect(hints(world, "x")).toEqual([
    "claim d/x is bound to volume v, whose node affinity matches no node of the cluster: " +
      "topology.kubernetes.io/zone In [z2]; nodes have topology.kubernetes.io/zone z1; " +
      "its data is out of reach unless such a node returns",
  ]);
});

test("a volume whose node affinity has no terms is on no node, and that is said", () => {
  const affinity = { required: { nodeSelectorTerms: [] } };
  const world = given("node n1", "pvc x 5Gi volume=v").add(makePV("v", { affinity, claim: "x", claimUid: "ux" }));
  expect(hints(world, "x")).toEqual([
    "claim d/x is bound to volume v, whose node affinity matches no node of the cluster: it has no terms; " +
      "its data is out of reach unless such a node returns",
  ]);
});

test("a Pod that was assigned without Berth waits in vain for its claim, unless a provisioner is at work on it", () => {
  const world = given("node n1", "pv a 5Gi on=n1", ...csi, "pvc x 5Gi", "pvc y 5Gi class=csi selected=n1");
  const says = (claim: string): string[] =>
    hintsFor(world.state, world.read(makePod("p", [claim], { node: "n1" })), false);
  expect(says("x")).toEqual([
    "the Pod was assigned without Berth and claim d/x is not bound: nobody will bind it; " +
      "leave spec.nodeName to the scheduler and use node affinity",
  ]);
  expect(says("y")).toEqual([]);
});

test("a claim for one Pod at a time names the others that mount it, by name, unless they have ended", () => {
  const world = given("node n1", "pv v 5Gi modes=RWOP for=x uid=ux", "pvc x 5Gi modes=RWOP volume=v", "pvc w 5Gi");
  const says =
    "claim d/x is ReadWriteOncePod: kube-scheduler's VolumeRestrictions plugin lets one Pod at a time use it";
  const ended = { ...makePod("ended", ["x"]), status: { phase: "Succeeded" } };
  world.add(makePod("p", ["x"]), makePod("other", ["w"]), ended);
  expect(hints(world, "x")).toEqual([says]);
  world.add(makePod("r", ["w", "x"]), makePod("q", ["x"]));
  expect(hints(world, "x")).toEqual([`${says}; Pods d/q, d/r mount it too`]);
});

test("a class that nodes speak for is not looked for among objects", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } });
  ledger.node("a").claim("x", "lvm", "5Gi");
  expect(hints(ledger.world, "x")).toEqual([]);
});

test("hints may be written in steps, and say the same", () => {
  const world = given("node n1", "pvc x 5Gi");
  for (let volume = 0; volume < 4_001; volume++) world.add(makePV(`v${volume}`, { on: "n1", volumeMode: "Block" }));
  const steps = hintsInSteps(world.state, world.pod("p", "x"), true);
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses++;
  expect([pauses, step.value]).toEqual([2, hints(world, "x")]);
});

const names: Record<string, { wrong: string; known: string[]; says: string | undefined }> = {
  "the same but for case": { wrong: "LOCAL", known: ["local"], says: "local" },
  "one letter replaced": { wrong: "lacal", known: ["local"], says: "local" },
  "one letter dropped": { wrong: "loca", known: ["local"], says: "local" },
  "one letter too many": { wrong: "locall", known: ["local"], says: "local" },
  "two letters changed places": { wrong: "lcoal", known: ["local"], says: "local" },
  "three letters of a short name are too many": { wrong: "lxyzl", known: ["local"], says: undefined },
  "a third of the letters of a long name": { wrong: "abcdefghi", known: ["abcdefxyz"], says: "abcdefxyz" },
  "four letters of nine are too many": { wrong: "abcdefghi", known: ["abcdewxyz"], says: undefined },
  "the nearest of several": { wrong: "fast", known: ["fasted", "fasts", "fest"], says: "fasts" },
  "a later one, if it is nearer": { wrong: "fast", known: ["fasted", "vast"], says: "vast" },
  "a name that is longer by its end": { wrong: "ab", known: ["abcd"], says: "abcd" },
  "a name that is longer by its beginning": { wrong: "cd", known: ["abcd"], says: "abcd" },
  "nothing where nothing is known": { wrong: "local", known: [], says: undefined },
  "nothing like it": { wrong: "local", known: ["premium"], says: undefined },
  "letters in another order are not near": { wrong: "abcdef", known: ["fedcba"], says: undefined },
};

test.for(Object.entries(names))("a mistyped name: %s", ([, { wrong, known, says }]) => {
  expect(nearestName(wrong, known)).toBe(says);
});
