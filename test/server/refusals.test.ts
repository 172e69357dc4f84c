/**
 * Every reason there is, over the wire: in upstream's words, beyond what preemption could mend, counted under its own key. A node
 * in FailedNodes would be dry-run by kube-scheduler, which knows nothing of volumes, and Pods would be evicted in vain (VB §1.7).
 */
import { expect, test } from "vitest";
import { type NodeReason, nodeReasons, type PodReason, podReasons } from "../../src/scheduling/reasons.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
} from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

const noVolumes = "node(s) didn't find available persistent volumes to bind";
const noSpace = "node(s) did not have enough free storage";
const immediate = "pod has unbound immediate PersistentVolumeClaims";

interface Row {
  /** x unless given. */
  readonly mounts?: readonly string[];
  /** The nodes n1 and n2 are there. */
  readonly cluster: (server: TestServer) => void;
  readonly text: string;
  /** n1 unless given. */
  readonly refused?: string;
}

const csi = makeClass("csi", { provisioner: "csi.example" });
const published = makeDriver("csi.example", true);
const ofCsi = (name: string, size: string, facts = {}) => makePVC(name, { class: "csi", request: size, ...facts });
const room = (size: string) => makeCapacity("room", { class: "csi", on: "n1", capacity: size });

function assume({ world }: TestServer, claim: string): void {
  const pod = world.pod("other", claim);
  expect(world.state.reservations.assume(pod.uid, world.plan(pod, "n1"))).toEqual({ ok: true });
}

const byNode: Record<NodeReason, Row> = {
  volumeNodeConflict: {
    cluster: (server) =>
      server.add(makePVC("x", { volume: "a" }), makePV("a", { on: "n2", claim: "x", claimUid: "ux" })),
    text: "node(s) didn't match PersistentVolume's node affinity",
  },
  noMatchingVolume: { cluster: (server) => server.add(makePVC("x")), text: noVolumes },
  notEnoughVolumes: {
    mounts: ["x", "y"],
    cluster: (server) => server.add(makePVC("x"), makePVC("y"), makePV("a", { on: "n1" })),
    text: noVolumes,
  },
  volumeAssumed: {
    cluster: (server) => {
      server.add(makePVC("x"), makePVC("y"), makePV("a", { on: "n1" }));
      assume(server, "y");
    },
    text: noVolumes,
  },
  selectedOtherNode: {
    cluster: (server) => server.add(csi, ofCsi("x", "5Gi", { selectedNode: "n2" })),
    text: noVolumes,
  },
  preboundElsewhere: {
    cluster: (server) => server.add(csi, ofCsi("x", "5Gi"), makePV("a", { on: "n2", class: "csi", claim: "x" })),
    text: noVolumes,
  },
  topologyNotAllowed: {
    cluster: (server) => {
      const topologies = [{ matchLabelExpressions: [{ key: "zone", values: ["z"] }] }];
      server.add(makeClass("csi", { provisioner: "csi.example", topologies }), ofCsi("x", "5Gi"));
    },
    text: noVolumes,
  },
  driverMissing: {
    cluster: (server) => server.add(csi, ofCsi("x", "5Gi"), makeCsiNode("n1"), makeCsiNode("n2", "csi.example")),
    text: noVolumes,
  },
  selectorNotProvisionable: {
    cluster: (server) => server.add(csi, ofCsi("x", "5Gi", { selector: { matchLabels: { a: "b" } } })),
    text: noVolumes,
  },
  provisioningBackoff: {
    cluster: (server) => server.add(csi, ofCsi("x", "5Gi", { selectedNode: "n1" }), ofCsi("x", "5Gi")),
    text: noSpace,
  },
  noCapacityPublished: { cluster: (server) => server.add(csi, published, ofCsi("x", "5Gi")), text: noSpace },
  claimTooLarge: { cluster: (server) => server.add(csi, published, room("5Gi"), ofCsi("x", "6Gi")), text: noSpace },
  notEnoughSpace: {
    mounts: ["x", "y"],
    cluster: (server) => server.add(csi, published, room("10Gi"), ofCsi("x", "6Gi"), ofCsi("y", "6Gi")),
    text: noSpace,
  },
  capacityAssumed: {
    cluster: (server) => {
      server.add(csi, published, room("10Gi"), ofCsi("x", "6Gi"), ofCsi("y", "6Gi"));
      assume(server, "y");
    },
    text: noSpace,
  },
  boundVolumeMissing: {
    cluster: (server) => server.add(makePVC("x", { volume: "gone" })),
    text: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
  },
  nodeUnknown: {
    cluster: (server) => server.add(makePVC("x"), makePV("a", { on: "n1" })),
    text: "node(s) not known to the volume extender",
    refused: "n9",
  },
};

const byPod: Record<PodReason, Row> = {
  claimNotFound: { cluster: () => {}, text: 'persistentvolumeclaim "x" not found' },
  claimAwaited: {
    mounts: ["~x"],
    cluster: () => {},
    text: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-x"',
  },
  claimLost: {
    cluster: (server) => server.add(makePVC("x", { volume: "gone", phase: "Lost" })),
    text: 'persistentvolumeclaim "x" bound to non-existent persistentvolume "gone"',
  },
  claimDeleting: {
    cluster: (server) => server.add(makePVC("x", { deleting: true })),
    text: 'persistentvolumeclaim "x" is being deleted',
  },
  claimNotOwned: {
    mounts: ["~x"],
    cluster: (server) => server.add(makePVC("p-x", { owner: "another" })),
    text: "PVC d/p-x was not created for pod d/p (pod is not owner)",
  },
  unboundImmediate: {
    cluster: (server) => server.add(makeClass("now", { mode: "Immediate" }), makePVC("x", { class: "now" })),
    text: immediate,
  },
  bindInProgress: { cluster: (server) => server.add(makePVC("x", { volume: "a", halfBound: true })), text: immediate },
};

test("the reasons of this table are all there are", () => {
  expect(Object.keys(byNode)).toEqual(Object.keys(nodeReasons));
  expect(Object.keys(byPod)).toEqual(Object.keys(podReasons));
});

async function expectBeyondPreemption(
  server: TestServer,
  { mounts = ["x"], text, refused = "n1" }: Row,
): Promise<void> {
  const pod = makePod("p", mounts);
  const names = refused === "n1" ? ["n1"] : ["n1", refused];
  const { json } = await server.post("/v1/filter", extenderArgs(pod, names));
  expect([json.FailedNodes, json.FailedAndUnresolvableNodes, json.Error]).toEqual([{}, { [refused]: text }, ""]);
  const candidates = { [refused]: { Pods: [{ UID: "v" }], NumPDBViolations: 0 } };
  const asked = { Pod: pod, NodeNameToVictims: null, NodeNameToMetaVictims: candidates };
  expect((await server.post("/v1/preempt", asked)).json).toEqual({ NodeNameToMetaVictims: {} });
}

test.for(Object.entries(byNode))("%s: unresolvable, and no Pod goes for it", async ([reason, row]) => {
  const server = new TestServer().add(makeNode("n1"), makeNode("n2"));
  row.cluster(server);
  await expectBeyondPreemption(server, row);
  expect(await server.metric(`berth_nodes_refused_total{reason="${reason}"}`)).toBe(1);
});

test.for(Object.entries(byPod))("%s: unresolvable, and no Pod goes for it", async ([reason, row]) => {
  const server = new TestServer().add(makeNode("n1"), makeNode("n2"));
  row.cluster(server);
  await expectBeyondPreemption(server, row);
  expect(server.lines.at(0)).toMatchObject({ reason });
});
