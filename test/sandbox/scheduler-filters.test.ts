/** The in-tree filters, the words kube-scheduler has for them, and preemption. */
import { expect, test } from "vitest";
import { extender, passAll, type Reply, type Verbs } from "./fake-extender.ts";
import { claim, type Json, makeWorld, node, pod, storageClass, volume, type World } from "./world.ts";

async function messageOf(world: World, name = "p"): Promise<string | undefined> {
  return (await world.get("pods", name))?.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message;
}

const notHelpful =
  "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
const noVictims =
  "no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";
const term = (key: string, operator: string, values: readonly string[] = []) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
    },
  },
});
const between = (kind: "podAffinity" | "podAntiAffinity", app: string, topologyKey = "kubernetes.io/hostname") => ({
  [kind]: {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app } } }],
  },
});
const byName = (name: string) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] }],
    },
  },
});

interface Case {
  readonly node?: Json;
  readonly pod: Json;
  readonly others?: readonly Json[];
  readonly message: string;
}

const taint = { key: "dedicated", value: "db", effect: "NoSchedule" };
const affinity = "node(s) didn't match Pod's node affinity/selector";
const refused: Record<string, Case> = {
  "a cordoned node": {
    node: node("n", { spec: { unschedulable: true } }),
    pod: pod("p"),
    message: `1 node(s) were unschedulable. ${notHelpful}`,
  },
  "a taint": {
    node: node("n", { spec: { taints: [taint] } }),
    pod: pod("p", { spec: { tolerations: [{ key: "dedicated", value: "web" }] } }),
    message: `1 node(s) had untolerated taint(s). ${notHelpful}`,
  },
  "a nodeSelector": { pod: pod("p", { spec: { nodeSelector: { a: "b" } } }), message: `1 ${affinity}. ${notHelpful}` },
  "an affinity by In": {
    pod: pod("p", { spec: { affinity: term("zone", "In", ["x"]) } }),
    message: `1 ${affinity}. ${notHelpful}`,
  },
  "an affinity by Gt": {
    node: node("n", { labels: { size: "5" } }),
    pod: pod("p", { spec: { affinity: term("size", "Gt", ["5"]) } }),
    message: `1 ${affinity}. ${notHelpful}`,
  },
  "an affinity by name": {
    pod: pod("p", { spec: { affinity: byName("m") } }),
    message: `1 ${affinity}. ${notHelpful}`,
  },
  "more CPU than is free": {
    others: [pod("other", { cpu: "3", spec: { nodeName: "n" } })],
    pod: pod("p", { cpu: "2" }),
    message: `1 Insufficient cpu. ${noVictims}`,
  },
  "more CPU than there is": { pod: pod("p", { cpu: "5" }), message: `1 Insufficient cpu. ${notHelpful}` },
  "a pod that its anti-affinity avoids": {
    others: [pod("other", { labels: { app: "db" }, spec: { nodeName: "n" } })],
    pod: pod("p", { spec: { affinity: between("podAntiAffinity", "db") } }),
    message: `1 node(s) didn't match pod anti-affinity rules. ${noVictims}`,
  },
  "a pod whose anti-affinity avoids it": {
    others: [pod("other", { spec: { nodeName: "n", affinity: between("podAntiAffinity", "db") } })],
    pod: pod("p", { labels: { app: "db" } }),
    message: `1 node(s) didn't satisfy existing pods anti-affinity rules. ${noVictims}`,
  },
  "nobody to be near": {
    pod: pod("p", { spec: { affinity: between("podAffinity", "db") } }),
    message: `1 node(s) didn't match pod affinity rules. ${notHelpful}`,
  },
  "a missing claim": {
    pod: pod("p", { claims: ["gone"] }),
    message: `persistentvolumeclaim "gone" not found. ${notHelpful}`,
  },
  "a claim whose class is missing": {
    others: [claim("data", { class: "none" })],
    pod: pod("p", { claims: ["data"] }),
    message: `storageclass.storage.k8s.io "none" not found. ${notHelpful}`,
  },
  "an unbound claim that does not wait": {
    others: [storageClass("now", { mode: "Immediate" }), claim("data", { class: "now" })],
    pod: pod("p", { claims: ["data"] }),
    message: `PersistentVolume had no name. ${notHelpful}`,
  },
};

test.for(Object.entries(refused))("%s keeps a pod off, in kube-scheduler's words", async ([, one]) => {
  const world = makeWorld();
  await world.apply(one.node ?? node("n"), ...(one.others ?? []));
  await world.runtime.advance(100);
  await world.apply(one.pod);
  expect(await messageOf(world)).toBe(`0/1 nodes are available: ${one.message}`);
});

const placed: Record<string, { node?: Json; others?: readonly Json[]; pod: Json }> = {
  "a toleration of the taint": {
    node: node("n", { spec: { taints: [taint] } }),
    pod: pod("p", { spec: { tolerations: [{ key: "dedicated", operator: "Exists" }] } }),
  },
  "an affinity by NotIn of an absent label": { pod: pod("p", { spec: { affinity: term("zone", "NotIn", ["x"]) } }) },
  "an affinity by name": { pod: pod("p", { spec: { affinity: byName("n") } }) },
  "an anti-affinity to pods of another app": {
    others: [pod("other", { labels: { app: "web" }, spec: { nodeName: "n" } })],
    pod: pod("p", { spec: { affinity: between("podAntiAffinity", "db") } }),
  },
  "an affinity to pods like itself, as the first of them": {
    pod: pod("p", { labels: { app: "db" }, spec: { affinity: between("podAffinity", "db") } }),
  },
  "CPU that is free to the last bit": {
    others: [pod("other", { cpu: "1500m", spec: { nodeName: "n" } })],
    pod: pod("p", { cpu: "2.5" }),
  },
};

test.for(Object.entries(placed))("%s lets a pod on", async ([, one]) => {
  const world = makeWorld();
  await world.apply(one.node ?? node("n"), ...(one.others ?? []));
  await world.runtime.advance(100);
  await world.apply(one.pod);
  expect(await world.placements()).toMatchObject({ p: "n" });
});

test("anti-affinity reaches as far as its topology key: a whole zone", async () => {
  const world = makeWorld();
  const zoned = (name: string, zone: string) => node(name, { labels: { zone } });
  await world.apply(zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"));
  await world.apply(pod("other", { labels: { app: "db" }, spec: { nodeName: "a1" } }));
  await world.apply(pod("p", { spec: { affinity: between("podAntiAffinity", "db", "zone") } }));
  expect(await world.placements()).toMatchObject({ p: "b1" });
});

test("assumed pods count before their binding is seen", async () => {
  const { entry } = extender({ filter: passAll, bind: () => "never" });
  const world = makeWorld({ extenders: [entry] });
  await world.apply(node("n", { cpu: "3" }), pod("first", { cpu: "2" }), pod("p", { cpu: "2" }));
  expect(await messageOf(world)).toContain("1 Insufficient cpu");
});

test("reasons are counted over nodes, sorted, and the extender's stand among the others", async () => {
  const refuse = ({ NodeNames }: { NodeNames: string[] }): Reply => ({
    NodeNames: [],
    FailedAndUnresolvableNodes: Object.fromEntries(NodeNames.map((name) => [name, "node(s) had no disk"])),
  });
  const world = makeWorld({ extenders: [extender({ filter: refuse }).entry] });
  await world.apply(node("a"), node("b"), node("c", { spec: { unschedulable: true } }));
  await world.runtime.advance(100);
  await world.apply(pod("p"));
  expect(await messageOf(world)).toBe(
    "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had no disk. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
  );
});

test("a node dropped without a word has no reason", async () => {
  const world = makeWorld({ extenders: [extender({ filter: () => ({ NodeNames: [] }) }).entry] });
  await world.apply(node("a"));
  await world.runtime.advance(100);
  await world.apply(pod("p"));
  expect(await messageOf(world)).toBe(`0/1 nodes are available: ${notHelpful}`);
});

/** Two full nodes with a pod of no priority on each, and an extender that sees fit to refuse the first. */
async function crowded(o: { failed: "FailedNodes" | "FailedAndUnresolvableNodes"; preempt?: Verbs[string] }) {
  const filter = ({ NodeNames }: { NodeNames: string[] }): Reply => ({
    NodeNames: NodeNames.filter((name) => name !== "a"),
    [o.failed]: { a: "node(s) had no disk" },
  });
  const { entry, calls } = extender({
    filter,
    preempt: o.preempt ?? (({ NodeNameToMetaVictims }) => ({ NodeNameToMetaVictims })),
  });
  const world = makeWorld({ extenders: [entry] });
  const priorityClass = {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "high" },
    value: 10,
  };
  // "a" has room, "b" is full: in-tree filters alone would choose "a".
  await world.apply(priorityClass, node("a"), node("b"), pod("small", { cpu: "1", spec: { nodeName: "a" } }));
  await world.apply(pod("full", { cpu: "4", spec: { nodeName: "b" } }));
  await world.runtime.advance(100);
  await world.apply(pod("p", { cpu: "2", spec: { priorityClassName: "high" } }));
  return { world, calls };
}

test("preemption makes room on a node that pods fill, and the pod follows there", async () => {
  const { world, calls } = await crowded({ failed: "FailedAndUnresolvableNodes" });
  const sent = calls.find(({ verb }) => verb === "preempt")?.body;
  expect(sent.NodeNameToVictims).toBeNull();
  expect(Object.keys(sent.NodeNameToMetaVictims)).toEqual(["b"]);
  expect((await world.get("pods", "p"))?.status?.nominatedNodeName).toBe("b");
  await world.runtime.advance(60_000);
  expect(await world.placements()).toEqual({ small: "a", p: "b" });
  expect(await world.reasons("full")).toContain("Preempted");
});

test("the nomination stays while the victims end, though the pod is tried and refused meanwhile", async () => {
  const { world, calls } = await crowded({ failed: "FailedAndUnresolvableNodes" });
  await world.patch("pods", "p", { metadata: { annotations: { nudge: "1" } } });
  expect((await world.get("pods", "p"))?.status?.nominatedNodeName).toBe("b");
  expect(calls.filter(({ verb }) => verb === "preempt")).toHaveLength(1);
});

test("a node refused as resolvable that needs no victim is no candidate", async () => {
  const { calls } = await crowded({ failed: "FailedNodes" });
  expect(Object.keys(calls.find(({ verb }) => verb === "preempt")?.body.NodeNameToMetaVictims)).toEqual(["b"]);
});

test("such nodes alone fail the preemption", async () => {
  const filter = ({ NodeNames }: { NodeNames: string[] }): Reply => ({
    NodeNames: [],
    FailedNodes: Object.fromEntries(NodeNames.map((name) => [name, "node(s) had no disk"])),
  });
  const world = makeWorld({ extenders: [extender({ filter }).entry] });
  const priorityClass = {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "high" },
    value: 10,
  };
  await world.apply(priorityClass, node("a"), pod("small", { spec: { nodeName: "a" } }));
  await world.runtime.advance(100);
  await world.apply(pod("p", { spec: { priorityClassName: "high" } }));
  expect(await messageOf(world)).toBe(
    '0/1 nodes are available: 1 node(s) had no disk. preemption: expected at least one victim pod on node "a"',
  );
  expect((await world.list("pods")).length).toBe(2);
});

test.for<readonly [string, () => Reply, string]>([
  ["strikes out every node", () => ({ NodeNameToMetaVictims: {} }), "no candidate node for preemption"],
  [
    "echoes an empty list of victims",
    () => ({ NodeNameToMetaVictims: { b: { Pods: [] } } }),
    "expected at least one victim",
  ],
  [
    "names a pod that is not there",
    () => ({ NodeNameToMetaVictims: { b: { Pods: [{ UID: "x" }] } } }),
    "not found on that node",
  ],
  ["fails", () => 500, "code 500"],
])("an extender that %s stops the preemption", async ([, preempt, text]) => {
  const { world } = await crowded({ failed: "FailedAndUnresolvableNodes", preempt });
  expect(await messageOf(world)).toContain(text);
  await world.runtime.advance(5_000);
  expect((await world.get("pods", "full"))?.metadata.deletionTimestamp).toBeUndefined();
});

test("a pod that may not preempt says so", async () => {
  const world = makeWorld();
  await world.apply(node("n"), pod("full", { cpu: "4", spec: { nodeName: "n" } }));
  await world.runtime.advance(100);
  await world.apply(pod("p", { cpu: "1", spec: { preemptionPolicy: "Never" } }));
  expect(await messageOf(world)).toContain(
    "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.",
  );
});

test("a claim that one pod alone may use keeps the next one waiting", async () => {
  const world = makeWorld();
  const spec = { accessModes: ["ReadWriteOncePod"] };
  await world.apply(node("n"), storageClass("now", { mode: "Immediate" }));
  await world.apply(volume("v", { class: "now", modes: ["ReadWriteOncePod"] }), claim("data", { class: "now", spec }));
  await world.runtime.advance(1_000);
  await world.apply(pod("first", { claims: ["data"] }), pod("p", { claims: ["data"] }));
  expect(await messageOf(world)).toContain("ReadWriteOncePod access mode already in-use by another pod");
});

test("of nodes that are equal otherwise, the one with most CPU and memory left gets the pod", async () => {
  const world = makeWorld();
  const takes = (cpu: string) => ({ containers: [{ name: "app", image: "app", resources: { requests: { cpu } } }] });
  await world.apply(node("a"), node("b"), node("c"));
  await world.apply(pod("on-a", { spec: { ...takes("1"), nodeName: "a" } }));
  await world.apply(pod("on-c", { spec: { ...takes("500m"), nodeName: "c" } }));
  await world.apply(pod("first"));
  await world.apply(pod("second", { spec: takes("1500m") }));
  await world.apply(pod("third"));
  expect(await world.placements()).toMatchObject({ first: "b", second: "b", third: "c" });
});
