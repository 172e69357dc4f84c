/** Field reports of people who could not learn why: what `/debug/explain` and `/debug/claim` tell them. */
import { expect, test } from "vitest";
import { extenderArgs, TestServer } from "../server/support.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";

// biome-ignore lint/suspicious/noExplicitAny: replies are JSON of every shape
type Report = any;

function cluster(...objects: Raw[]): TestServer {
  return new TestServer().add(makeNode("n1"), makeNode("n2"), ...objects);
}

function csi(...nodes: string[]): Raw[] {
  const driver = [makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true)];
  return [...driver, ...nodes.map((node) => makeCsiNode(node, "csi.example"))];
}

const withSelector = (pod: Raw, nodeSelector: Record<string, string>): Raw => ({
  ...pod,
  spec: { ...(pod["spec"] as Raw), nodeSelector },
});
const at = (key: string, ...values: string[]) => ({ terms: [{ matchExpressions: [{ key, operator: "In", values }] }] });
const hostname = "kubernetes.io/hostname";

async function explain(server: TestServer, pod = "p"): Promise<Report> {
  const { status, json } = await server.get(`/debug/explain/d/${pod}`);
  expect(status).toBe(200);
  return json;
}

/** The notes, but for the one that says that nobody asked yet. */
async function notes(server: TestServer, pod = "p"): Promise<string[]> {
  return (await explain(server, pod)).notes.filter((note: string) => !note.startsWith("never asked"));
}

async function filter(server: TestServer, pod: Raw, nodes: readonly string[]): Promise<Report> {
  const { status, json } = await server.post("/v1/filter", extenderArgs(pod, nodes));
  expect(status).toBe(200);
  return json;
}

const nearlySuitable: Record<string, { volumes: Raw[]; claim: Parameters<typeof makePVC>[1]; says: string[] }> = {
  "FR-005: volumes of the class are free, and none carries what the claim selects": {
    volumes: [
      makePV("p1", { on: "n1", labels: { app: "m" } }),
      makePV("p2", { on: "n1", labels: { app: "s1" } }),
      makePV("p3", { on: "n1" }),
    ],
    claim: { selector: { matchLabels: { app: "s2" } } },
    says: [
      "3 free volumes of class local would do for claim d/x, but none carries the labels that it selects: app In [s2]",
    ],
  },
  "FR-005: a selector that is not what stands in the way is not blamed": {
    volumes: [makePV("p1", { on: "n1", capacity: "1Gi", labels: { app: "m" } })],
    claim: { selector: { matchLabels: { app: "s2" } } },
    says: [],
  },
  "FR-005: a selector that a volume elsewhere satisfies is not blamed": {
    volumes: [makePV("p1", { on: "n1" }), makePV("p2", { on: "n9", labels: { app: "s2" } })],
    claim: { selector: { matchLabels: { app: "s2" } } },
    says: [],
  },
  "FR-020: a volume without a class, and a claim that was given one": {
    volumes: [makePV("a", { class: "" }), makePV("tiny", { class: "", capacity: "1Gi" })],
    claim: {},
    says: [
      "no volume of class local exists on any node, whatever its size",
      '1 free volume with enough space has class "" while claim d/x asks for "local"',
    ],
  },
  "FR-020: volumes of other classes, those that are taken or of another mode left out": {
    volumes: [
      makePV("a", { class: "fast", on: "n1" }),
      makePV("b", { class: "fast", on: "n2" }),
      makePV("c", { class: "slow", on: "n2", claim: "w", claimUid: "uw" }),
      makePV("d", { class: "slow", on: "n2", volumeMode: "Block" }),
    ],
    claim: {},
    says: [
      "no volume of class local exists on any node, whatever its size",
      '2 free volumes with enough space have class "fast" while claim d/x asks for "local"',
    ],
  },
  "FR-121: no volume of the class at all": {
    volumes: [],
    claim: { request: "1Gi" },
    says: ["no volume of class local exists on any node, whatever its size"],
  },
  "FR-121: volumes of the class that are too small are there": {
    volumes: [makePV("a", { on: "n1", capacity: "1Gi" })],
    claim: {},
    says: [],
  },
};

test.for(Object.entries(nearlySuitable))("%s", async ([, { volumes, claim, says }]) => {
  const server = cluster(...volumes, makePVC("x", claim), makePod("p", ["x"]));
  expect(await notes(server)).toEqual(says);
  expect((await explain(server)).schedulable).toBe(false);
});

test("FR-020: where the class provisions, the classless volume is still no candidate, and that is said", async () => {
  const server = cluster(makeClass("standard", { provisioner: "csi.example" }), makePV("a", { class: "" }));
  server.add(makePVC("x", { class: "standard" }), makePod("p", ["x"]));
  const { nodes, notes } = await explain(server);
  expect(nodes[0].claims).toEqual([{ claim: "d/x", provision: "standard" }]);
  expect(notes).toContain('1 free volume with enough space has class "" while claim d/x asks for "standard"');
});

const gone: Record<string, { affinity: Parameters<typeof makePV>[1]; says: RegExp }> = {
  "FR-025: an empty host name": {
    affinity: at(hostname, ""),
    says: /^claim d\/x is bound to volume a, whose node affinity matches no node of the cluster: kubernetes\.io\/hostname In \[\]; its value is empty; nodes have kubernetes\.io\/hostname n1, n2;/,
  },
  "FR-026: a placeholder from a copied manifest": {
    affinity: at(hostname, "worker-node01"),
    says: /matches no node of the cluster: kubernetes\.io\/hostname In \[worker-node01\]; nodes have kubernetes\.io\/hostname n1, n2;/,
  },
  "FR-026: a label that no node has": { affinity: at("rack", "r1"), says: /no node has the label rack;/ },
  "FR-026: a field": {
    affinity: { terms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n9"] }] }] },
    says: /matches no node of the cluster: metadata\.name In \[n9\]; its data is out of reach/,
  },
  "FR-087: the node of the local disk is gone": {
    affinity: at(hostname, "n9"),
    says: /kubernetes\.io\/hostname In \[n9\].*its data is out of reach unless such a node returns$/,
  },
};

test.for(Object.entries(gone))(
  "%s: no node reaches the bound volume, and why is said",
  async ([, { affinity, says }]) => {
    const server = cluster(makePV("a", { ...affinity, claim: "x", claimUid: "ux" }), makePVC("x", { volume: "a" }));
    const pod = makePod("p", ["x"]);
    server.add(pod);
    const told = await filter(server, pod, ["n1", "n2"]);
    expect(Object.keys(told.FailedAndUnresolvableNodes)).toEqual(["n1", "n2"]);
    expect(told.FailedNodes ?? {}).toEqual({});
    const report = await explain(server);
    expect(report.notes).toEqual([expect.stringMatching(says)]);
    expect(report.suggestion).toBe(
      "Claim d/x is bound to volume a, which no node can reach: bring back a node that its node affinity matches, or delete the claim if its data may go",
    );
    expect(await server.metric('berth_nodes_refused_total{reason="volumeNodeConflict"}')).toBe(2);
    server.add(makeNode("n9", { rack: "r1" }), makeNode("worker-node01"), makeNode("n0", { [hostname]: "" }));
    expect((await explain(server)).schedulable).toBe(true);
  },
);

test("FR-026: of many values a few are listed", async () => {
  const server = cluster(
    makePV("a", { ...at(hostname, "x"), claim: "x", claimUid: "ux" }),
    makePVC("x", { volume: "a" }),
  );
  for (let node = 10; node < 60; node++) server.add(makeNode(`n${node}`));
  server.add(makePod("p", ["x"]));
  expect((await notes(server))[0]).toContain("nodes have kubernetes.io/hostname n1, n10, n11 and 49 more;");
});

test("FR-087: a claim that was cleaned away is named, with what brings both back", async () => {
  const server = cluster(makePod("p", ["x"]));
  const report = await explain(server);
  expect(report).toMatchObject({ schedulable: false, reason: 'persistentvolumeclaim "x" not found' });
  expect(report.suggestion).toBe(
    "Create claim d/x; where a StatefulSet made the Pod, deleting the Pod re-creates both",
  );
  await filter(server, makePod("p", ["x"]), ["n1"]);
  expect(await server.metric('berth_pods_refused_total{reason="claimNotFound"}')).toBe(1);
});

test.for([
  ["topology.kubernetes.io/zone", "z1"],
  ["failure-domain.beta.kubernetes.io/zone", "z1__z2"],
])(
  "FR-027: a zone that is only a label (%s) is left to VolumeZone, and explain says so",
  async ([key = "", value = ""]) => {
    const server = cluster(makePVC("x", { volume: "a" }), makePod("p", ["x"]), makeNode("n3", { [key]: "z3" }));
    server.add(makePV("a", { labels: { [key]: value }, claim: "x", claimUid: "ux" }));
    const report = await explain(server);
    expect(report.nodes.map(({ fits }: { fits: boolean }) => fits)).toEqual([true, true, true]);
    expect(report.notes).toContain(
      `volume a has its zone as a label (${key}=${value}): kube-scheduler's VolumeZone plugin looks at it, Berth does not`,
    );
  },
);

test("FR-028: what the Pod selects and where its volume is have no node in common, told without any filter call", async () => {
  const zone = "topology.kubernetes.io/zone";
  const server = new TestServer().add(makeNode("n1", { [zone]: "z1" }), makeNode("n2", { [zone]: "z2" }));
  server.add(makePV("a", { ...at(zone, "z2"), claim: "x", claimUid: "ux" }), makePVC("x", { volume: "a" }));
  server.add(withSelector(makePod("p", ["x"]), { [zone]: "z1" }));
  expect(await notes(server)).toEqual([
    "pinned to n2 by claim d/x",
    `the Pod's nodeSelector (${zone} In [z1]) allows n1, the volume of claim d/x n2: no node is in both`,
  ]);
  server.add(withSelector(makePod("p", ["x"]), { [zone]: "z2" }));
  expect(await notes(server)).toEqual(["pinned to n2 by claim d/x"]);
});

test("FR-028: two volumes on two nodes have no node in common either", async () => {
  const server = cluster(makePVC("x", { volume: "a" }), makePVC("y", { volume: "b" }), makePod("p", ["x", "y"]));
  server.add(
    makePV("a", { on: "n1", claim: "x", claimUid: "ux" }),
    makePV("b", { on: "n2", claim: "y", claimUid: "uy" }),
  );
  expect(await notes(server)).toContain("no node reaches the volumes of both claims: d/x on n1, d/y on n2");
});

const unwell: Record<string, { node: Raw; says: string }> = {
  "is cordoned": { node: { spec: { unschedulable: true } }, says: "n1 is cordoned" },
  "is not ready": { node: { status: { conditions: [{ type: "Ready", status: "Unknown" }] } }, says: "n1 is not ready" },
  "has a taint": {
    node: { spec: { taints: [{ key: "disk", value: "bad", effect: "NoSchedule" }] } },
    says: "n1 has the taint disk:NoSchedule",
  },
};

test.for(Object.entries(unwell))(
  "FR-030: the one node with the volume %s and was not offered",
  async ([, { node, says }]) => {
    const server = cluster(makePV("a", { on: "n1", claim: "x", claimUid: "ux" }), makePVC("x", { volume: "a" }));
    const others = Array.from({ length: 99 }, (_, index) => `m${index}`);
    for (const name of others) server.add(makeNode(name));
    server.add({ ...makeNode("n1"), ...node }, makePod("p", ["x"]));
    const told = await filter(server, makePod("p", ["x"]), others);
    expect(Object.keys(told.FailedAndUnresolvableNodes)).toHaveLength(99);
    const report = await explain(server);
    expect(report.notes[0]).toBe(`pinned to n1 by claim d/x; ${says}`);
    expect(report.feasibleNotOffered).toEqual(["n1"]);
  },
);

test("FR-037: a node for which nothing is published is told from one that is full", async () => {
  const server = cluster(...csi("n1", "n2"), makeCapacity("c1", { class: "csi", on: "n1", capacity: "1Gi" }));
  server.add(makePVC("x", { class: "csi" }), makePod("p", ["x"]));
  const report = await explain(server);
  expect(report.nodes.map(({ claims }: Report) => claims[0].refused)).toEqual([
    [{ volume: "(new)", why: "needs 5Gi: 1Gi free of 1Gi, largest volume 1Gi" }],
    [{ volume: "(new)", why: "no capacity published for class csi on this node" }],
  ]);
  expect(report.notes).toContain(
    "the driver of class csi runs on n2 and publishes no capacity there: that is not the same as full",
  );
  await filter(server, makePod("p", ["x"]), ["n1", "n2"]);
  expect(await server.metric('berth_nodes_refused_total{reason="noCapacityPublished"}')).toBe(1);
});

test("FR-045: no capacity object anywhere points at the provisioner", async () => {
  const server = cluster(...csi("n1", "n2"), makePVC("x", { class: "csi", request: "1Gi" }), makePod("p", ["x"]));
  // Of another class of the same driver, or reachable from nowhere: neither says anything of this class.
  server.add(makeCapacity("c1", { class: "other", on: "n1", capacity: "1Ti" }));
  server.add(makeCapacity("c2", { class: "csi", on: null, capacity: "1Ti" }));
  expect(await notes(server)).toEqual([
    "no capacity object exists for class csi anywhere: is the provisioner publishing?",
  ]);
});

test("FR-041: one volume on a node without room for the other is called a dead end, with both ways out", async () => {
  const server = cluster(...csi("n1", "n2"), makePVC("y", { class: "csi", request: "60Gi" }), makePod("p", ["x", "y"]));
  server.add(makePV("a", { on: "n1", class: "csi", capacity: "60Gi", claim: "x", claimUid: "ux" }));
  server.add(makePVC("x", { class: "csi", request: "60Gi", volume: "a" }));
  server.add(makeCapacity("c1", { class: "csi", on: "n1", capacity: "40Gi" }));
  server.add(makeCapacity("c2", { class: "csi", on: "n2", capacity: "200Gi" }));
  const { schedulable, suggestion } = await explain(server);
  expect(schedulable).toBe(false);
  expect(suggestion).toBe(
    "Free space for 60Gi of class csi on node n1 for claim d/y: 20Gi are missing; " +
      "no other node will do while claim d/x pins the Pod to n1: or delete it, if its data may go",
  );
  server.add(makeCapacity("c1", { class: "csi", on: "n1", capacity: "60Gi", version: "2" }));
  expect((await explain(server)).schedulable).toBe(true);
});

test("FR-038: an object that a rebuilt node left behind is shown beside the one that counts", async () => {
  const server = cluster(...csi("n1"), makePVC("x", { class: "csi", request: "100Gi" }), makePod("p", ["x"]));
  const on = { class: "csi", on: "n1" };
  server.add(makeCapacity("old", { ...on, capacity: "800Gi", created: "2026-01-01T00:00:00Z" }));
  server.add(makeCapacity("new", { ...on, capacity: "20Gi", created: "2026-02-01T00:00:00Z" }));
  expect(await notes(server)).toEqual([
    "2 capacity objects for class csi cover the same nodes: the newest counts, kube-system/new (20Gi), and not kube-system/old (800Gi)",
  ]);
});

const reserved: Record<string, { volume: Parameters<typeof makePV>[1]; says: string[] }> = {
  "is too small": { volume: { capacity: "5Gi" }, says: ["too small: 5Gi of 10Gi"] },
  "is of another class": { volume: { class: "fast" }, says: ['class "fast", the claim asks for "local"'] },
  "lacks an access mode": {
    volume: { modes: ["ReadOnlyMany"] },
    says: ["lacks an access mode the claim asks for"],
  },
  "belonged to an earlier claim": {
    volume: { claimUid: "dead", phase: "Released" },
    says: ["it belongs to an earlier claim of that name"],
  },
  "is being deleted": { volume: { deleting: true }, says: ["being deleted"] },
  "will do": { volume: {}, says: [] },
};

test.for(Object.entries(reserved))(
  "FR-010: a volume that is reserved for the claim and %s",
  async ([, { volume, says }]) => {
    const server = cluster(makePV("r", { on: "n1", claim: "x", ...volume }), makePV("ok", { on: "n1" }));
    server.add(makePVC("x", { request: "10Gi" }), makePod("p", ["x"]));
    expect((await explain(server)).schedulable).toBe(true);
    expect(await notes(server)).toEqual(
      says.map((why) => `volume r is reserved for claim d/x and cannot serve it: ${why}`),
    );
  },
);

test("FR-015: one claim pins the Pod to a node where the other finds no volume, and both are said", async () => {
  const server = cluster(makePV("a", { on: "n1", claim: "x", claimUid: "ux" }), makePV("c", { on: "n2" }));
  server.add(makePVC("x", { volume: "a" }), makePVC("y"), makePod("p", ["x", "y"]));
  const report = await explain(server);
  expect(report.schedulable).toBe(false);
  expect(report.notes).toContain("pinned to n1 by claim d/x");
  expect(report.suggestion).toBe(
    "Add a volume of class local with at least 5Gi (Filesystem, ReadWriteOnce) on node n1 for claim d/y",
  );
});

test("FR-018: whoever touches an unreadable object is told which and why; nobody else is", async () => {
  const server = cluster(makePV("a", { on: "n1" }), makePVC("x"), makePod("p", ["x"]), makePod("q", ["bad"]));
  server.add(makePVC("bad", { request: "abc" }), makePV("broken", { on: "n1", capacity: "??" }));
  expect(await explain(server)).toMatchObject({ schedulable: true, notes: [expect.stringMatching(/^never asked/)] });
  expect((await explain(server, "q")).reason).toMatch(/^claim d\/bad cannot be read: .*"abc" is no size$/);
});

const bypassed: Record<string, { claim: Parameters<typeof makePVC>[1]; unbound: boolean }> = {
  "a static claim": { claim: {}, unbound: true },
  "a dynamic claim": { claim: { class: "csi" }, unbound: true },
  "a claim that is being provisioned": { claim: { class: "csi", selectedNode: "n1" }, unbound: false },
  "a claim that is bound": { claim: { volume: "a" }, unbound: false },
};

test.for(Object.entries(bypassed))(
  "FR-074: a Pod that names its node itself, with %s",
  async ([, { claim, unbound }]) => {
    const server = cluster(
      ...csi("n1"),
      makePV("a", claim?.volume ? { on: "n1", claim: "x", claimUid: "ux" } : { on: "n1" }),
    );
    server.add(makePVC("x", claim), makePod("p", ["x"], { node: "n1" }));
    const said = await notes(server);
    expect(said).toContain("the Pod is assigned to node n1");
    expect(said.some((note) => note.includes("claim d/x is not bound: nobody will bind it"))).toBe(unbound);
  },
);

test("FR-085: a claim for one Pod at a time is kube-scheduler's to refuse, and the other Pod is named", async () => {
  const server = cluster(makePV("a", { on: "n1", modes: ["ReadWriteOncePod"], claim: "x", claimUid: "ux" }));
  server.add(makePVC("x", { volume: "a", modes: ["ReadWriteOncePod"] }), makePod("p1", ["x"], { node: "n1" }));
  server.add(makePod("p2", ["x"]));
  expect((await filter(server, makePod("p2", ["x"]), ["n1", "n2"])).NodeNames).toEqual(["n1"]);
  expect(await notes(server, "p2")).toContain(
    "claim d/x is ReadWriteOncePod: kube-scheduler's VolumeRestrictions plugin lets one Pod at a time use it; Pod d/p1 mounts it too",
  );
});

const claims: Record<string, { objects: Raw[]; says: string; pods?: string[] }> = {
  "waits for its first consumer": { objects: [makePVC("x")], says: "waiting for a Pod; nothing is wrong" },
  "waits with its Pod": {
    objects: [makePVC("x"), makePod("p", ["x"])],
    says: "waiting for Pod d/p to be placed: see /debug/explain/d/p",
    pods: ["d/p"],
  },
  "is being provisioned": {
    objects: [makePVC("x", { class: "csi", selectedNode: "n1" }), makeClass("csi", { provisioner: "csi.example" })],
    says: "a volume is being provisioned for it on node n1",
  },
  "is half bound": {
    objects: [makePVC("x", { volume: "a", halfBound: true }), makePV("a", { on: "n1" })],
    says: "the PV controller is binding it to volume a",
  },
  "is bound": { objects: [makePVC("x", { volume: "a" }), makePV("a", { on: "n1" })], says: "bound to volume a" },
  "names a volume that is not there": {
    objects: [makePVC("x", { volume: "a" })],
    says: "volume a, which it names, does not exist",
  },
  "is of a class that binds at once": {
    objects: [makePVC("x", { class: "now" }), makeClass("now", { mode: "Immediate" })],
    says: "class now binds at once: the PV controller or the provisioner must bind it, no scheduler does",
  },
  "is of a class that does not exist": {
    objects: [makePVC("x", { class: "nope" })],
    says: "StorageClass nope does not exist",
  },
  "has no class": {
    objects: [makePVC("x", { class: "" })],
    says: "it has no class: the PV controller must find it a volume without one",
  },
  "is being deleted": { objects: [makePVC("x", { deleting: true })], says: "it is being deleted" },
};

test.for(Object.entries(claims))("FR-119: a claim that %s", async ([, { objects, says, pods = [] }]) => {
  const { status, json } = await cluster(...objects).get("/debug/claim/d/x");
  expect([status, json.says, json.pods]).toEqual([200, says, pods]);
});

test("FR-119: a claim that nobody knows is 404, one that cannot be read says why", async () => {
  const server = cluster(makePVC("bad", { request: "abc" }));
  expect((await server.get("/debug/claim/d/x")).status).toBe(404);
  const bad = await server.get("/debug/claim/d/bad");
  expect(bad.status).toBe(404);
  expect(bad.json.message).toContain('"abc" is no size');
});
