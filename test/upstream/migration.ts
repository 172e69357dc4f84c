/** VB §8.5 and §3.5: in-tree volumes on nodes where a CSI driver has taken over. @see csi-translation-lib, in_tree_volume.go */
import { describe, expect, test } from "vitest";
import { commitmentOf } from "../../src/binding/commitment.ts";
import { standingOf } from "../../src/binding/standing.ts";
import { explainPod } from "../../src/scheduling/explain.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeMigratedNode,
  makeNode,
  makePV,
  makePVC,
  type Raw,
  type VolumeFacts,
} from "../support/make.ts";
import { World } from "../support/world.ts";
import { ask, type NodeAnswer, scenario, texts } from "./support.ts";

const zone = "topology.kubernetes.io/zone";
const betaZone = "failure-domain.beta.kubernetes.io/zone";
const betaRegion = "failure-domain.beta.kubernetes.io/region";
const gceZone = "topology.gke.io/zone";
const gce = "kubernetes.io/gce-pd";

/** One bound claim on an in-tree volume. */
function gceWorld(volume: VolumeFacts, ...objects: Raw[]): World {
  const source = { gcePersistentDisk: { pdName: "disk" } };
  return new World().add(
    makePVC("x", { volume: "v" }),
    makePV("v", { claim: "x", claimUid: "ux", source, ...volume }),
    ...objects,
  );
}

const requires = (key: string, ...values: string[]) => ({ key, operator: "In", values });

describe("VB 8.5: a bound gce-pd volume whose label names zone us-east-1", () => {
  const labelled = { labels: { [betaZone]: "us-east-1" } };
  const table = (number: number, name: string, objects: readonly Raw[], want: NodeAnswer): void =>
    scenario(number, "core", name, () => {
      const world = gceWorld(labelled, ...objects);
      expect(ask(world, world.pod("p", "x"))).toEqual({ n1: want });
    });

  const inZone1 = makeNode("n1", { [gceZone]: "us-east-1" });
  const inZone2 = makeNode("n1", { [gceZone]: "us-east-2" });
  table(52, "on a migrated node of that zone it is reached", [inZone1, makeMigratedNode("n1", gce)], ["x==v"]);
  table(53, "on a migrated node of another zone it is not", [inZone2, makeMigratedNode("n1", gce)], texts.node);
  table(
    54,
    "where the plugin is not migrated the volume has no affinity at all",
    [inZone2, makeMigratedNode("n1", "kubernetes.io/aws-ebs")],
    ["x==v"],
  );
  table(55, "nor where there is no CSINode", [inZone2], ["x==v"]);
});

describe("VB 3.5: the rules of the translation", () => {
  const nodes = [
    makeNode("n1", { [gceZone]: "z1", "topology.kubernetes.io/region": "r1" }),
    makeNode("n2", { [gceZone]: "z2", "topology.kubernetes.io/region": "r2" }),
    makeNode("n3", { [zone]: "z1" }),
  ];
  const migrated = ["n1", "n2", "n3"].map((name) => makeMigratedNode(name, "kubernetes.io/aws-ebs", gce));
  const cases: Record<string, { volume: VolumeFacts; wantMigrated: string[]; wantBefore: string[] }> = {
    "the zone's key in the affinity becomes the driver's": {
      volume: { terms: [{ matchExpressions: [requires(zone, "z1")] }] },
      wantMigrated: ["n1"],
      wantBefore: ["n3"],
    },
    "the beta key too, and with it the beta region becomes the region": {
      volume: { terms: [{ matchExpressions: [requires(betaZone, "z1", "z2"), requires(betaRegion, "r2")] }] },
      wantMigrated: ["n2"],
      wantBefore: [],
    },
    "beside the zone's present key the beta region stays": {
      volume: { terms: [{ matchExpressions: [requires(zone, "z1"), requires(betaRegion, "r1")] }] },
      wantMigrated: [],
      wantBefore: [],
    },
    "a label is used only where the affinity names no zone": {
      volume: { labels: { [zone]: "z2" }, terms: [{ matchExpressions: [requires(zone, "z1")] }] },
      wantMigrated: ["n1"],
      wantBefore: ["n3"],
    },
    "a label's zone is added to every term": {
      volume: {
        labels: { [zone]: "z2" },
        terms: ["n1", "n2"].map((name) => ({ matchExpressions: [requires("kubernetes.io/hostname", name)] })),
      },
      wantMigrated: ["n2"],
      wantBefore: ["n1", "n2"],
    },
    "a label may list several zones": {
      volume: { labels: { [zone]: "z1__z2" } },
      wantMigrated: ["n1", "n2"],
      wantBefore: ["n1", "n2", "n3"],
    },
    "a volume without any zone is reached from everywhere": {
      volume: {},
      wantMigrated: ["n1", "n2", "n3"],
      wantBefore: ["n1", "n2", "n3"],
    },
    "a term that matches nothing goes on to": {
      volume: { labels: { [zone]: "z1" }, terms: [{}] },
      wantMigrated: [],
      wantBefore: [],
    },
    "a local volume is not translated, whatever its labels": {
      volume: { labels: { [zone]: "z1" }, source: { local: { path: "/mnt/v" } } },
      wantMigrated: ["n1", "n2", "n3"],
      wantBefore: ["n1", "n2", "n3"],
    },
  };

  test.for(Object.entries(cases))("%s", ([, { volume, wantMigrated, wantBefore }]) => {
    const before = gceWorld(volume, ...nodes);
    expect(before.fitting(before.pod("p", "x"))).toEqual(wantBefore);
    const after = gceWorld(volume, ...nodes, ...migrated);
    expect(after.fitting(after.pod("p", "x"))).toEqual(wantMigrated);
  });

  test("explain says what the affinity reads on the node", () => {
    const world = gceWorld({ labels: { [betaZone]: "z1" } }, ...nodes, ...migrated);
    expect(explainPod(world.state, world.pod("p", "x")).nodes[1]).toMatchObject({
      node: "n2",
      fits: false,
      claims: [
        {
          claim: "d/x",
          refused: [
            { volume: "v", why: "bound to it, and its node affinity does not match: topology.gke.io/zone In [z1]" },
          ],
        },
      ],
    });
  });
});

scenario(
  130,
  "wait",
  "a migrated volume in the same zone is awaited, in another it is astray, not migrated it has no affinity",
  () => {
    const standing = (node: Raw, plugin: string): string => {
      const world = new World().add(node, makeMigratedNode("n1", plugin));
      const source = { gcePersistentDisk: { pdName: "disk" } };
      world.add(
        makePVC("x", { class: "csi", selectedNode: "n1" }),
        makeClass("csi", { provisioner: "pd.csi.storage.gke.io" }),
      );
      const plan = world.plan(world.pod("p", "x"), "n1");
      const [planned] = plan.claims;
      if (planned?.kind !== "provision") throw new Error("the claim is to be provisioned");
      const commitment = commitmentOf(planned, { claim: planned.claim, node: plan.node, isInherited: false });
      // The volume is there, the claim names it, and the PV controller has not finished.
      world.add(makePV("v", { claim: "x", claimUid: "ux", source, class: "csi", labels: { [betaZone]: "us-east-1" } }));
      world.add(makePVC("x", { class: "csi", selectedNode: "n1", volume: "v", halfBound: true }));
      return standingOf(world.state, plan.node, [commitment]).kind;
    };
    expect(standing(makeNode("n1", { [gceZone]: "us-east-1" }), gce)).toBe("pending");
    expect(standing(makeNode("n1", { [gceZone]: "us-east-2" }), gce)).toBe("astray");
    expect(standing(makeNode("n1", { [gceZone]: "us-east-2" }), "kubernetes.io/aws-ebs")).toBe("pending");
  },
);

/** @see csi-translation-lib plugins: the names of both */
const replaced: Record<string, string> = {
  "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
  "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
  "kubernetes.io/azure-disk": "disk.csi.azure.com",
  "kubernetes.io/azure-file": "file.csi.azure.com",
  "kubernetes.io/cinder": "cinder.csi.openstack.org",
  "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
  "kubernetes.io/portworx-volume": "pxd.portworx.com",
};

describe.for(Object.entries(replaced))("a class that still names %s, which %s serves", ([plugin, driver]) => {
  /** Two nodes, the class and a claim of it. */
  const old = (...objects: Raw[]): World =>
    new World().add(makeNode("n1"), makeNode("n2"), makeClass("old", { provisioner: plugin }), ...objects);
  const claim = makePVC("x", { class: "old", request: "10Gi" });
  const room = (on: string, capacity: string): Raw => makeCapacity(`c-${on}`, { class: "old", on, capacity });
  const madeBy = (name: string): Raw =>
    makePV("w", { class: "old", phase: "Released", annotations: { "pv.kubernetes.io/provisioned-by": name } });
  const handMade = makePV("v", { class: "old", on: "n2", capacity: "1Gi" });

  const cases: Record<string, { objects: Raw[]; want: Record<string, string[]> }> = {
    "nothing is known of the driver": { objects: [], want: { n1: [], n2: [] } },
    "the driver is registered on one node": {
      objects: [makeCsiNode("n1", driver)],
      want: { n1: [], n2: ["driverMissing"] },
    },
    "the node's drivers are others": {
      objects: [makeCsiNode("n1", driver), makeCsiNode("n2", "csi.example")],
      want: { n1: [], n2: ["driverMissing"] },
    },
    "the driver publishes capacity, as it may for another class, and none for this one": {
      objects: [makeDriver(driver, true)],
      want: { n1: [], n2: [] },
    },
    "somebody publishes capacity for the class": {
      objects: [makeDriver(driver, true), room("n1", "40Gi"), room("n2", "4Gi")],
      want: { n1: [], n2: ["claimTooLarge"] },
    },
    "capacity is published and the driver is not to be believed": {
      objects: [makeDriver(driver), room("n1", "4Gi")],
      want: { n1: [], n2: [] },
    },
    "nobody runs the driver and all volumes are made by hand": {
      objects: [handMade],
      want: { n1: ["noMatchingVolume"], n2: ["noMatchingVolume"] },
    },
    "nobody runs the driver now, and it made a volume": {
      objects: [handMade, madeBy(driver)],
      want: { n1: [], n2: [] },
    },
    "the plugin made a volume before it was moved to CSI": {
      objects: [handMade, madeBy(plugin)],
      want: { n1: [], n2: [] },
    },
  };

  test.for(Object.entries(cases))("%s", ([, { objects, want }]) => {
    const world = old(...objects, claim);
    const pod = world.pod("p", "x");
    expect({ n1: world.reasons(pod, "n1"), n2: world.reasons(pod, "n2") }).toEqual(want);
  });

  test("a capacity object that vanishes leaves the class without any, as before the first", () => {
    const world = old(makeDriver(driver, true), room("n1", "4Gi"), claim);
    const pod = world.pod("p", "x");
    expect(world.fitting(pod)).toEqual([]);
    world.state.delete("capacity", "kube-system/c-n1");
    expect(world.fitting(pod)).toEqual(["n1", "n2"]);
  });

  test("the explanation names both", () => {
    const world = old(makeCsiNode("n1", driver), claim);
    const [, refused] = explainPod(world.state, world.pod("p", "x")).nodes;
    expect(refused?.claims).toEqual([
      {
        claim: "d/x",
        refused: [{ volume: "(new)", why: `driver ${driver} (for ${plugin}) is not registered on the node` }],
      },
    ]);
  });
});

test("an in-tree provisioner that no driver replaces stays the controller manager's", () => {
  const world = new World().add(makeNode("n1"), makeClass("old", { provisioner: "kubernetes.io/host-path" }));
  world.add(makePVC("x", { class: "old" }), makePV("v", { class: "old", capacity: "1Gi" }));
  expect(world.fitting(world.pod("p", "x"))).toEqual(["n1"]);
});
