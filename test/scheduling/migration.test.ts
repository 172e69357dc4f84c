/** Zones in labels of volumes whose in-tree plugin was migrated, beside what the affinity itself asks (VB §3.5). */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { filterNodes } from "../../src/scheduling/filter.ts";
import { makeMigratedNode, makeNode, makePV, makePVC, type VolumeFacts } from "../support/make.ts";
import { World } from "../support/world.ts";

const zone = "topology.kubernetes.io/zone";
const driverZone = "topology.gke.io/zone";
const plugin = "kubernetes.io/gce-pd";
const hosts = (...values: string[]) => ({ key: "kubernetes.io/hostname", operator: "In", values });
const names = (...values: string[]) => ({ key: "metadata.name", operator: "In", values });

/** Nodes n1 and n2 in zone z1, n3 in z2, all migrated, and a claim bound to a volume of these facts. */
function makeWorld(volume: VolumeFacts): World {
  const zones = { n1: "z1", n2: "z1", n3: "z2" };
  return new World().add(
    ...Object.entries(zones).flatMap(([name, value]) => [
      makeNode(name, { [driverZone]: value }),
      makeMigratedNode(name, plugin),
    ]),
    makePVC("x", { volume: "v" }),
    makePV("v", { claim: "x", claimUid: "ux", source: { gcePersistentDisk: { pdName: "disk" } }, ...volume }),
  );
}

const cases: Record<string, { volume: VolumeFacts; want: string[] }> = {
  "spaces around a zone are not part of it": { volume: { labels: { [zone]: " z1 __ z3 " } }, want: ["n1", "n2"] },
  "a label of nothing but delimiters names no zone": {
    volume: { labels: { [zone]: "__ __" } },
    want: ["n1", "n2", "n3"],
  },
  "a term of a field alone gets the zone": {
    volume: { labels: { [zone]: "z1" }, terms: [{ matchFields: [names("n1")] }, { matchFields: [names("n3")] }] },
    want: ["n1"],
  },
  "a term of as many labels as fields gets the zone": {
    volume: {
      labels: { [zone]: "z1" },
      terms: [{ matchExpressions: [hosts("n2", "n3")], matchFields: [names("n3")] }],
    },
    want: [],
  },
};

test.for(Object.entries(cases))("%s", ([, { volume, want }]) => {
  const world = makeWorld(volume);
  expect(world.fitting(world.pod("p", "x"))).toEqual(want);
});

test("the zones of a label are told in order", () => {
  const world = makeWorld({ labels: { [zone]: "z9__z3" } });
  expect(JSON.stringify(explainPod(world.state, world.pod("p", "x")).nodes[0])).toContain(
    "topology.gke.io/zone In [z3, z9]",
  );
});

test("a plugin that migrates without a topology of its own has no zone, whatever the volume's labels say", () => {
  const world = makeWorld({
    labels: { [zone]: "z1" },
    terms: [{ matchExpressions: [hosts("n3")] }],
    source: { portworxVolume: {} },
  });
  world.add(...["n1", "n2", "n3"].map((name) => makeMigratedNode(name, "kubernetes.io/portworx-volume")));
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual(["n3"]);
  expect(JSON.stringify(explainPod(world.state, pod).nodes)).toContain(
    'does not match: kubernetes.io/hostname In [n3]"',
  );
});

test("a bound claim whose volume does not exist is refused everywhere, and the cache may lack the volume", () => {
  const world = makeWorld({});
  world.state.delete("volume", "v");
  expect(world.reasons(world.pod("p", "x"), "n1")).toEqual(["boundVolumeMissing"]);
  expect(filterNodes(world.state, world.pod("p", "x"), world.nodes())).toMatchObject({
    doubts: [{ kind: "volume", key: "v" }],
  });
});
