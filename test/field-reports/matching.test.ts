/** Field reports on matching, affinity and capacity, as the core answers them. Each test cites its report. */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { podUid } from "../../src/scheduling/names.ts";
import { makeCapacity, makeClass, makeCsiNode, makeDriver, makeNode, makePV, makePVC } from "../support/make.ts";
import { World } from "../support/world.ts";

function csi(world: World, ...nodes: string[]): World {
  world.add(makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true));
  for (const node of nodes) world.add(makeCsiNode(node, "csi.example"));
  return world;
}

test("FR-001: a small claim prefers the node whose disk fits closest, and still passes where only the big one is", () => {
  const world = new World().add(makeNode("n1"), makeNode("n2"), makePV("big", { on: "n1" }));
  world.add(makePV("small", { on: "n2", capacity: "2Gi" }), makePVC("x", { request: "1Gi" }));
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual(["n1", "n2"]);
  const scores = world.scores(pod);
  expect(scores["n2"]).toBeGreaterThan(scores["n1"] ?? 11);
  expect(world.fitting(pod, [world.nodes()[0] ?? ("" as never)])).toEqual(["n1"]);
});

test("FR-002: the small disk goes first, the terabyte disk only when nothing else is left, and the surplus is known", () => {
  const world = new World().add(makeNode("n1"), makePV("s", { on: "n1" }), makePV("l", { on: "n1", capacity: "1Ti" }));
  world.add(makePVC("x"));
  const pod = world.pod("p", "x");
  expect(world.planned(pod, "n1")).toEqual(["x=s"]);
  world.state.delete("volume", "s");
  expect(world.planned(pod, "n1")).toEqual(["x=l"]);
});

test("FR-003: two claims need two disks on one node; the refusal says that one could be served", () => {
  const world = new World().add(makeNode("n1"), makeNode("n2"), makePV("a", { on: "n1", capacity: "50Gi" }));
  world.add(makePV("b", { on: "n2", capacity: "50Gi" }), makePV("c", { on: "n2", capacity: "50Gi" }));
  world.add(makePVC("db", { request: "49Gi" }), makePVC("logs", { request: "49Gi" }));
  const pod = world.pod("p", "db", "logs");
  expect(world.fitting(pod)).toEqual(["n2"]);
  expect(world.reasons(pod, "n1")).toEqual(["notEnoughVolumes"]);
  expect(explainPod(world.state, pod).nodes[0]?.claims).toEqual([
    { claim: "d/db", volume: "a" },
    { claim: "d/logs", refused: [{ volume: "a", why: "needed by claim d/db of the same Pod" }] },
  ]);
  expect(world.planned(pod, "n2")).toEqual(["db=b", "logs=c"]);
});

test("FR-006: an unset volumeMode is Filesystem on both sides", () => {
  const world = new World().add(makeNode("n1"), makeNode("n2"), makePV("a", { on: "n1", volumeMode: "Block" }));
  world.add(
    makePV("f", { on: "n2" }),
    makePVC("x", { request: "1Gi" }),
    makePVC("y", { request: "1Gi", volumeMode: "Block" }),
  );
  expect(world.fitting(world.pod("p", "x"))).toEqual(["n2"]);
  expect(world.fitting(world.pod("q", "y"))).toEqual(["n1"]);
  expect(explainPod(world.state, world.pod("p", "x")).nodes[0]?.claims).toEqual([
    { claim: "d/x", refused: [{ volume: "a", why: "volumeMode Block, the claim asks for Filesystem" }] },
  ]);
});

test("FR-007: a volume must list every access mode of the claim, also one that is reserved for it", () => {
  const world = new World().add(makeNode("n1"), makeNode("n2"), makePV("a", { on: "n1" }));
  world.add(makePV("b", { on: "n2", modes: ["ReadWriteOnce", "ReadOnlyMany"] }));
  world.add(makePVC("x", { modes: ["ReadWriteOnce", "ReadOnlyMany"] }), makePVC("y", { modes: ["ReadWriteMany"] }));
  expect(world.fitting(world.pod("p", "x"))).toEqual(["n2"]);
  expect(world.fitting(world.pod("q", "y"))).toEqual([]);
  world.add(makePV("c", { on: "n1", claim: "y" }));
  expect(world.fitting(world.pod("q", "y"))).toEqual([]);
});

test("FR-008: the beta annotation wins over the spec, no class is no class, and nothing invents a default", () => {
  const world = new World().add(makeNode("n1"), makePV("a", { on: "n1" }), makePV("b", { on: "n1", class: "" }));
  world.add(makePV("c", { on: "n1", class: "", betaClass: "local" }));
  world.add(makePVC("q", { class: null, betaClass: "local" }), makePVC("r", { class: "other", betaClass: "local" }));
  world.add(makePVC("s", { class: "" }), makePVC("t", { class: null }));
  expect(world.planned(world.pod("p", "q"), "n1")).toEqual(["q=a"]);
  world.state.delete("volume", "a");
  expect(world.planned(world.pod("p", "r"), "n1")).toEqual(["r=c"]);
  world.state.delete("volume", "c");
  expect(world.reasons(world.pod("p", "q"), "n1")).toEqual(["noMatchingVolume"]);
  for (const claim of ["s", "t"]) {
    expect(world.reasons(world.pod("p", claim), "n1")).toEqual(["unboundImmediate"]);
    expect(world.text(world.pod("p", claim), "n1")).toBe("pod has unbound immediate PersistentVolumeClaims");
  }
});

test("FR-009: a reservation without uid counts and beats a closer fit; released, failed, pending and dying volumes are never used", () => {
  const world = new World().add(
    makeNode("n1"),
    makeNode("n2"),
    makePVC("x", { uid: "ux" }),
    makePVC("w", { uid: "uw" }),
  );
  world.add(
    makePV("res", { on: "n1", claim: "x" }),
    makePV("old", { on: "n1", capacity: "5Gi", phase: "Released", claim: "x", claimUid: "dead" }),
  );
  world.add(
    makePV("new", { on: "n1", capacity: "5Gi", phase: "Pending" }),
    makePV("bad", { on: "n1", capacity: "5Gi", phase: "Failed" }),
  );
  world.add(
    makePV("dying", { on: "n1", capacity: "5Gi", deleting: true }),
    makePV("free", { on: "n2", capacity: "5Gi" }),
  );
  const x = world.pod("p", "x");
  expect(world.fitting(x)).toEqual(["n1"]);
  expect(world.planned(x, "n1")).toEqual(["x=res"]);
  expect(world.reasons(x, "n2")).toEqual(["preboundElsewhere"]);
  const w = world.pod("q", "w");
  expect(world.fitting(w)).toEqual(["n2"]);
  expect(world.planned(w, "n2")).toEqual(["w=free"]);
});

test("FR-010: a reservation that is too small neither binds nor blocks", () => {
  const world = new World().add(makeNode("n1"), makePV("small", { on: "n1", capacity: "5Gi", claim: "x" }));
  world.add(makePV("ok", { on: "n1" }), makePVC("x", { request: "10Gi" }));
  expect(world.planned(world.pod("p", "x"), "n1")).toEqual(["x=ok"]);
});

test("FR-011: a volume that another pending claim names is left to that claim", () => {
  const world = new World().add(
    makeNode("n1"),
    makePV("pv1", { on: "n1", capacity: "1Gi" }),
    makePV("pv0", { on: "n1", capacity: "1Gi" }),
  );
  world.add(makePVC("c1", { request: "1Gi" }), makePVC("c2", { request: "1Gi", volume: "pv0", halfBound: true }));
  world.add(makePVC("c3", { request: "1Gi", volume: "nowhere", halfBound: true }));
  expect(world.planned(world.pod("p", "c1"), "n1")).toEqual(["c1=pv1"]);
  world.state.delete("claim", "d/c2");
  expect(world.planned(world.pod("p", "c1"), "n1")).toEqual(["c1=pv0"]);
});

test("FR-012: a claim that names its volume but is not bound yet is waited for, never planned elsewhere", () => {
  const world = new World().add(makeNode("n1"), makeNode("n2"), makePV("a", { on: "n1", claim: "x", claimUid: "ux" }));
  world.add(makePV("b", { on: "n2" }), makePVC("x", { volume: "a", halfBound: true }));
  expect(world.reasons(world.pod("p", "x"), "n1")).toEqual(["bindInProgress"]);
  world.add(makePVC("x", { volume: "a" }));
  expect(world.fitting(world.pod("p", "x"))).toEqual(["n1"]);
});

test("FR-015: a bound claim pins the Pod, and the other claim must be served there", () => {
  const world = new World().add(makeNode("n1"), makeNode("n2"), makePV("a", { on: "n1", claim: "x", claimUid: "ux" }));
  world.add(makePVC("x", { volume: "a" }), makePVC("y"), makePV("b", { on: "n1" }), makePV("c", { on: "n2" }));
  const pod = world.pod("p", "x", "y");
  expect(world.fitting(pod)).toEqual(["n1"]);
  expect(world.planned(pod, "n1")).toEqual(["x==a", "y=b"]);
  world.state.delete("volume", "b");
  expect(world.fitting(pod)).toEqual([]);
});

test("FR-018: another tenant's broken objects disturb nobody else, and are named to whoever touches them", () => {
  const world = new World().add(makeNode("n1"), makePV("a", { on: "n1" }), makePVC("x"));
  world.add(makePVC("b1", { namespace: "evil", selector: { matchExpressions: [{ key: "k", operator: "Bogus" }] } }));
  world.add(makePVC("b2", { namespace: "evil", request: "abc" }), makePV("broken", { on: "n1", capacity: "??" }));
  expect(world.planned(world.pod("p", "x"), "n1")).toEqual(["x=a"]);
  expect(world.state.problem("volume", "broken")).toBe('spec.capacity.storage: "??" is no size');
  world.add(makePVC("y", { volume: "broken" }));
  expect(world.reasons(world.pod("q", "y"), "n1")).toEqual(["fault"]);
});

test("FR-021: labels decide where a volume is reachable, not node names", () => {
  const world = new World().add(
    makeNode("n1", { "kubernetes.io/hostname": "n2" }),
    makeNode("n2", { "kubernetes.io/hostname": "n1" }),
  );
  world.add(makePV("a", { on: "n1" }), makePVC("x"));
  expect(world.fitting(world.pod("p", "x"))).toEqual(["n2"]);
  csi(world, "n1", "n2").add(
    makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" }),
    makePVC("y", { class: "csi" }),
  );
  expect(world.fitting(world.pod("q", "y"))).toEqual(["n2"]);
});

test.for(
  Object.entries({
    "matchFields pins to the node's name": {
      terms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n3"] }] }],
      want: ["n3"],
    },
    "terms are alternatives": {
      terms: ["z1", "z2"].map((zone) => ({ matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] })),
      want: ["n1", "n2"],
    },
    "an empty term matches nothing": { terms: [{}], want: [] },
    "no terms match nothing": { terms: [], want: [] },
    "a missing label satisfies NotIn": {
      terms: [{ matchExpressions: [{ key: "zone", operator: "NotIn", values: ["z1"] }] }],
      want: ["n2", "n3"],
    },
    "a missing label satisfies DoesNotExist": {
      terms: [{ matchExpressions: [{ key: "zone", operator: "DoesNotExist" }] }],
      want: ["n3"],
    },
    "Exists asks for the key alone": {
      terms: [{ matchExpressions: [{ key: "zone", operator: "Exists" }] }],
      want: ["n1", "n2"],
    },
    "Gt compares integers": {
      terms: [{ matchExpressions: [{ key: "gen", operator: "Gt", values: ["5"] }] }],
      want: ["n1"],
    },
    "Lt compares integers": {
      terms: [{ matchExpressions: [{ key: "gen", operator: "Lt", values: ["6"] }] }],
      want: ["n2"],
    },
    "requirements of a term must all hold": {
      terms: [
        {
          matchExpressions: [
            { key: "zone", operator: "Exists" },
            { key: "gen", operator: "In", values: ["5"] },
          ],
        },
      ],
      want: ["n2"],
    },
    "a term that cannot be read matches nothing, the others still count": {
      terms: [
        { matchExpressions: [{ key: "gen", operator: "Gt", values: ["many"] }] },
        { matchExpressions: [{ key: "zone", operator: "In", values: ["z2"] }] },
      ],
      want: ["n2"],
    },
    "no affinity is reachable from everywhere": { terms: undefined, want: ["n1", "n2", "n3"] },
  }),
)("FR-022: %s", ([, { terms, want }]) => {
  const world = new World().add(
    makeNode("n1", { zone: "z1", gen: "6" }),
    makeNode("n2", { zone: "z2", gen: "5" }),
    makeNode("n3"),
  );
  world.add(makePV("v", terms === undefined ? {} : { terms }), makePVC("x"));
  expect(world.fitting(world.pod("p", "x"))).toEqual(want);
});

test("FR-024: a label that is mended, or lost, counts at the next call", () => {
  const terms = [{ matchExpressions: [{ key: "rack", operator: "In", values: ["r1"] }] }];
  const world = new World().add(makeNode("n1"), makePV("a", { terms }), makePVC("x"));
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual([]);
  world.add(makeNode("n1", { rack: "r1" }));
  expect(world.fitting(pod)).toEqual(["n1"]);
  world.add(makeNode("n1"));
  expect(world.fitting(pod)).toEqual([]);
});

test("FR-029: allowedTopologies are alternatives of conjunctions, and do not bind claims that match a volume", () => {
  const world = csi(new World(), "n1", "n2", "n3").add(
    makeNode("n1", { disk: "fast", zone: "z1" }),
    makeNode("n2", { disk: "fast", zone: "z2" }),
    makeNode("n3", { disk: "slow" }),
  );
  const topologies = [
    {
      matchLabelExpressions: [
        { key: "disk", values: ["fast"] },
        { key: "zone", values: ["z1"] },
      ],
    },
    { matchLabelExpressions: [{ key: "disk", values: ["slow"] }] },
  ];
  world.add(
    makeDriver("csi.example", false),
    makeClass("csi", { provisioner: "csi.example", topologies }),
    makePVC("x", { class: "csi", request: "1Gi" }),
  );
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual(["n1", "n3"]);
  expect(world.reasons(pod, "n2")).toEqual(["topologyNotAllowed"]);
  world.add(makePV("v", { on: "n2", class: "csi" }));
  expect(world.fitting(pod)).toEqual(["n1", "n2", "n3"]);
});

test("FR-032: a node without the driver that other nodes have is refused, never passed as a fallback", () => {
  const world = csi(new World(), "n1").add(makeNode("n1"), makeNode("n4"), makePVC("x", { class: "csi" }));
  world.add(
    makeCapacity("c1", { class: "csi", on: "n1", capacity: "100Gi" }),
    makeCapacity("c4", { class: "csi", on: "n4", capacity: "100Gi" }),
  );
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual(["n1"]);
  expect(world.reasons(pod, "n4")).toEqual(["driverMissing"]);
});

test("FR-033: what is promised is not promised again, and is not subtracted twice once the driver has published", () => {
  const world = csi(new World(), "n1").add(
    makeNode("n1"),
    makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" }),
  );
  const claims = ["x1", "x2", "x3", "x4", "x5"];
  for (const claim of claims) world.add(makePVC(claim, { class: "csi", request: "3Gi" }));
  const bound = claims.filter((claim) => {
    const pod = world.pod(`p-${claim}`, claim);
    if (world.fitting(pod).length === 0) return false;
    return world.state.reservations.assume(pod.uid, world.plan(pod, "n1")).ok;
  });
  expect(bound).toEqual(["x1", "x2", "x3"]);
  expect(world.reasons(world.pod("p-x4", "x4"), "n1")).toEqual(["capacityAssumed"]);
  // The claims are pinned, provisioned and bound; then the driver publishes what is left.
  for (const claim of bound) {
    world.add(makePVC(claim, { class: "csi", request: "3Gi", selectedNode: "n1" }));
    world.add(makePV(`pv-${claim}`, { on: "n1", class: "csi", capacity: "3Gi", claim, claimUid: `u${claim}` }));
    world.add(makePVC(claim, { class: "csi", request: "3Gi", selectedNode: "n1", volume: `pv-${claim}` }));
  }
  world.add(makeCapacity("c", { class: "csi", on: "n1", capacity: "1Gi", version: "2" }));
  world.add(makePVC("tiny", { class: "csi", request: "1Gi" }));
  expect(world.fitting(world.pod("q", "tiny"))).toEqual(["n1"]);
  expect(world.fitting(world.pod("p-x4", "x4"))).toEqual([]);
});

test("FR-033: a driver that publishes the same value again is waited for, twice its interval long", () => {
  const world = csi(new World(), "n1").add(
    makeNode("n1"),
    makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" }),
  );
  world.add(
    makePVC("x", { class: "csi", request: "8Gi", selectedNode: "n1" }),
    makePVC("z", { class: "csi", request: "8Gi" }),
  );
  const other = world.pod("q", "z");
  expect(world.fitting(other)).toEqual([]);
  world.add(makePV("v", { on: "n1", class: "csi", capacity: "8Gi", claim: "x", claimUid: "ux" }));
  world.now += 119_000;
  expect(world.fitting(other)).toEqual([]);
  world.now += 2_000;
  expect(world.fitting(other)).toEqual(["n1"]);
});

test("FR-036: maximumVolumeSize decides where set, an absent topology is nowhere, absent numbers are not enough", () => {
  const nodes = ["n1", "n2", "n3", "n4", "n5"];
  const world = csi(new World(), ...nodes).add(
    ...nodes.map((node) => makeNode(node)),
    makePVC("x", { class: "csi", request: "50Gi" }),
  );
  world.add(makeCapacity("c1", { class: "csi", on: "n1", capacity: "0", max: "100Gi" }));
  world.add(
    makeCapacity("c2", { class: "csi", on: "n2", capacity: "100Gi", max: "10Gi" }),
    makeCapacity("c3", { class: "csi", on: "n3" }),
  );
  world.add(makeCapacity("c5", { class: "csi", on: null, capacity: "100Gi" }));
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual(["n1"]);
  expect(nodes.slice(1).map((node) => world.reasons(pod, node)[0])).toEqual([
    "claimTooLarge",
    "claimTooLarge",
    "noCapacityPublished",
    "noCapacityPublished",
  ]);
  expect(world.text(pod, "n4")).toBe("node(s) did not have enough free storage");
  world.add(makeCapacity("c6", { class: "csi", on: "*", capacity: "60Gi" }));
  expect(world.fitting(pod)).toEqual(nodes);
  world.state.delete("capacity", "kube-system/c6");
  world.add(makeDriver("csi.example", false));
  expect(world.fitting(pod)).toEqual(nodes);
  world.state.delete("driver", "csi.example");
  expect(world.fitting(pod)).toEqual(nodes);
});

test("FR-038: an old object of a rebuilt node is not added to the new one", () => {
  const world = csi(new World(), "n1").add(makeNode("n1"), makePVC("x", { class: "csi", request: "100Gi" }));
  world.add(makeCapacity("old", { class: "csi", on: "n1", capacity: "800Gi", created: "2026-01-01T00:00:00Z" }));
  world.add(makeCapacity("new", { class: "csi", on: "n1", capacity: "20Gi", created: "2026-02-01T00:00:00Z" }));
  expect(world.fitting(world.pod("p", "x"))).toEqual([]);
});

test("FR-039: promises outlive capacity objects that vanish for a moment", () => {
  const world = csi(new World(), "n1").add(
    makeNode("n1"),
    makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" }),
  );
  world.add(makePVC("x", { class: "csi", request: "8Gi" }), makePVC("z", { class: "csi", request: "8Gi" }));
  const pod = world.pod("p", "x");
  expect(world.state.reservations.assume(pod.uid, world.plan(pod, "n1")).ok).toBe(true);
  world.state.delete("capacity", "kube-system/c");
  expect(world.reasons(world.pod("q", "z"), "n1")).toEqual(["noCapacityPublished"]);
  world.add(makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" }));
  expect(world.reasons(world.pod("q", "z"), "n1")).toEqual(["capacityAssumed"]);
});

test("FR-042: all claims of a Pod are judged together against a pool", () => {
  const world = csi(new World(), "n1", "n2").add(makeNode("n1"), makeNode("n2"));
  world.add(
    makeCapacity("c1", { class: "csi", on: "n1", capacity: "5Gi" }),
    makeCapacity("c2", { class: "csi", on: "n2", capacity: "20Gi" }),
  );
  world.add(
    makePVC("p-e", { class: "csi", request: "10Mi", owner: "up" }),
    makePVC("x", { class: "csi", request: "10Gi" }),
  );
  expect(world.fitting(world.pod("p", "~e", "x"))).toEqual(["n2"]);
});

test("FR-043: a claim that several Pods share is promised once", () => {
  const world = csi(new World(), "n1").add(
    makeNode("n1"),
    makeCapacity("c", { class: "csi", on: "n1", capacity: "50Gi" }),
  );
  world.add(makePVC("s", { class: "csi", request: "20Gi" }), makePVC("t", { class: "csi", request: "30Gi" }));
  for (const name of ["p1", "p2", "p3"]) {
    const pod = world.pod(name, "s");
    expect(world.state.reservations.assume(pod.uid, world.plan(pod, "n1"))).toEqual({ ok: true });
  }
  expect(world.fitting(world.pod("p4", "t"))).toEqual(["n1"]);
});

test("FR-049: of two Pods that want one disk, the second is refused once the first has it, and nothing half-promised stays", () => {
  const world = new World().add(makeNode("n1"), makePV("a", { on: "n1" }), makePVC("x"), makePVC("y"));
  const [p1, p2] = [world.pod("p1", "x"), world.pod("p2", "y")];
  const [plan1, plan2] = [world.plan(p1, "n1"), world.plan(p2, "n1")];
  expect(world.state.reservations.assume(p1.uid, plan1)).toEqual({ ok: true });
  expect(world.state.reservations.assume(p2.uid, plan2)).toEqual({
    ok: false,
    why: "volume a is assumed for claim d/x",
  });
  expect(world.reasons(p2, "n1")).toEqual(["volumeAssumed"]);
  world.state.reservations.forget(podUid("up1"));
  expect(world.fitting(p2)).toEqual(["n1"]);
});

test("FR-055: after a restart, what the API shows of a half-done bind is enough", () => {
  const world = csi(new World(), "n1", "n2").add(makeNode("n1"), makeNode("n2"));
  world.add(
    makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" }),
    makePV("a", { on: "n1", claim: "x", claimUid: "ux" }),
  );
  world.add(
    makePVC("x"),
    makePVC("y", { class: "csi", request: "8Gi", selectedNode: "n1" }),
    makePVC("z", { class: "csi", request: "8Gi" }),
  );
  const p1 = world.pod("p1", "x", "y");
  expect(world.fitting(p1)).toEqual(["n1"]);
  expect(world.planned(p1, "n1")).toEqual(["x=a", "y=+csi"]);
  expect(world.reasons(world.pod("p2", "z"), "n1")).toEqual(["capacityAssumed"]);
});

test("FR-065: a promise dies with the object it was about, not with its name", () => {
  const world = new World().add(makeNode("n1"), makePV("a", { on: "n1", uid: "u1" }), makePVC("x"), makePVC("y"));
  const pod = world.pod("p", "x");
  world.state.reservations.assume(pod.uid, world.plan(pod, "n1"));
  world.add(makePV("a", { on: "n1", uid: "u2" }));
  expect(world.fitting(world.pod("q", "y"))).toEqual(["n1"]);
});

test("FR-072: a selected node that is gone binds nobody; one that exists binds the claim", () => {
  const world = csi(new World(), "n1", "n2", "n3").add(makeNode("n1"), makeNode("n2"));
  for (const node of ["n1", "n2"]) world.add(makeCapacity(`c-${node}`, { class: "csi", on: node, capacity: "10Gi" }));
  world.add(makePVC("x", { class: "csi", selectedNode: "gone" }));
  expect(world.fitting(world.pod("p", "x"))).toEqual(["n1", "n2"]);
  world.add(makePVC("x", { class: "csi", selectedNode: "n3" }), makeNode("n3"));
  const pod = world.pod("p", "x");
  expect(["n1", "n2"].map((node) => world.reasons(pod, node))).toEqual([["selectedOtherNode"], ["selectedOtherNode"]]);
});

test("FR-118: per node one main reason, per claim what stands in the way, and the same answer as filter", () => {
  const world = new World();
  for (let node = 1; node <= 25; node++) world.add(makeNode(`n${node}`));
  world.add(
    makePVC("x", { request: "10Gi" }),
    makePVC("y", { request: "10Gi", class: "ssd" }),
    makeClass("ssd"),
    makePVC("z", { request: "10Gi" }),
  );
  world.add(makePV("x1", { on: "n1" }), makePV("x2", { on: "n2" }), makePV("y2", { on: "n2", class: "ssd" }));
  world.add(makePV("x3", { on: "n3", capacity: "4Gi" }), makePV("y3", { on: "n3", class: "ssd" }));
  world.add(makePV("x25", { on: "n25" }), makePV("y25", { on: "n25", class: "ssd" }));
  const q = world.pod("q", "z");
  world.state.reservations.assume(q.uid, world.plan(q, "n2"));
  const pod = world.pod("p", "x", "y");
  const explained = explainPod(world.state, pod);
  const on = (name: string) => explained.nodes.find(({ node }) => node === name);
  expect(on("n1")?.claims).toEqual([
    { claim: "d/x", volume: "x1" },
    { claim: "d/y", refused: [] },
  ]);
  expect(on("n2")?.claims?.[0]).toEqual({ claim: "d/x", refused: [{ volume: "x2", why: "assumed for claim d/z" }] });
  expect(on("n3")?.claims?.[0]).toEqual({ claim: "d/x", refused: [{ volume: "x3", why: "too small: 4Gi of 10Gi" }] });
  expect(on("n25")).toMatchObject({
    fits: true,
    claims: [
      { claim: "d/x", volume: "x25" },
      { claim: "d/y", volume: "y25" },
    ],
  });
  expect(explained.nodes.filter(({ fits }) => fits).map(({ node }) => node)).toEqual(world.fitting(pod));
  const before = world.state.generation;
  explainPod(world.state, pod);
  expect(world.state.generation).toBe(before);
});
