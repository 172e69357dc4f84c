/** Berth without sockets, from watches to writes, over the sandbox's API server and a virtual clock. */
import { expect, test } from "vitest";
import { parseConfig } from "../../src/config/load.ts";
import { type Config, defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { startBerth } from "../../src/server/berth.ts";
import { virtualRuntime } from "../support/clock.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { ask, type Body, base, Cluster } from "./berth-world.ts";
import { extenderArgs } from "./support.ts";

test("from start to a bound Pod: ready, filter, prioritize, bind, and the API shows it", async () => {
  const cluster = await new Cluster().start(base);
  const { extender, debug } = cluster.berth;
  expect((await ask(extender, "GET", "/readyz")).status).toBe(200);
  const pod = await cluster.read("pod", "d/p");
  const filtered = await ask(extender, "POST", "/v1/filter", extenderArgs(pod, ["n1", "n2"]));
  expect(filtered.json.NodeNames).toEqual(["n1"]);

  const { name: PodName, namespace: PodNamespace, uid: PodUID } = pod.metadata;
  const bind = ask(extender, "POST", "/v1/bind", { PodName, PodNamespace, PodUID, Node: "n1" });
  await cluster.runtime.advance(100);
  const claim = await cluster.read("claim", "d/x");
  expect((await cluster.read("volume", "a")).spec.claimRef).toMatchObject({ name: "x", uid: claim.metadata.uid });
  expect((await ask(debug, "GET", "/debug/state")).json.bindsInProgress).toMatchObject({
    count: 1,
    first: [{ pod: "d/p", node: "n1" }],
  });
  await cluster.bindClaim("x", "a");
  await cluster.runtime.advance(100);
  expect((await bind).json).toEqual({ Error: "" });
  expect((await cluster.read("pod", "d/p")).spec.nodeName).toBe("n1");
  const metrics = (await ask(debug, "GET", "/metrics")).json;
  expect(metrics).toContain('berth_binds_total{ending="bound"} 1');
  expect(metrics).toContain('berth_write_duration_seconds_count{write="claimRef",result="ok"} 1');
  expect(metrics).toContain('berth_lists_total{kind="pod"} 1');
  expect(metrics).toContain('berth_limit{limit="calls"} 64');
  // Nobody stands beside it, so nobody is missing who would lead.
  expect(metrics).not.toMatch(/^berth_leading /m);
  expect(metrics).toContain('berth_watch_changes_total{kind="node"} 2');
  expect(metrics).toContain('berth_call_duration_seconds_count{verb="filter",outcome="feasible"} 1');
  await cluster.berth.stop();
});

// FR-049.
test("of two Pods bound to one disk at once exactly one gets it, and the next filter refuses the other", async () => {
  const cluster = await new Cluster().start([...base, makePVC("y"), makePod("q", ["y"])]);
  const { extender } = cluster.berth;
  const pods = [await cluster.read("pod", "d/p"), await cluster.read("pod", "d/q")];
  for (const pod of pods) {
    expect((await ask(extender, "POST", "/v1/filter", extenderArgs(pod, ["n1"]))).json.NodeNames).toEqual(["n1"]);
  }
  const binds = pods.map(({ metadata: { name: PodName, namespace: PodNamespace, uid: PodUID } }) =>
    ask(extender, "POST", "/v1/bind", { PodName, PodNamespace, PodUID, Node: "n1" }),
  );
  await cluster.runtime.advance(100);
  await cluster.bindClaim("x", "a");
  await cluster.runtime.advance(100);
  const [won, lost] = await Promise.all(binds);
  expect(won.json).toEqual({ Error: "" });
  expect(lost.json.Error).not.toBe("");
  expect((await cluster.read("claim", "d/y")).spec.volumeName).toBeUndefined();
  const again = await ask(extender, "POST", "/v1/filter", extenderArgs(pods[1], ["n1"]));
  expect(again.json.NodeNames).toEqual([]);
  await cluster.berth.stop();
});

test("a bind body that names what does not exist is an Error, and nothing is written", async () => {
  const cluster = await new Cluster().start(base);
  const before = cluster.server.resourceVersion;
  const pod = await cluster.read("pod", "d/p");
  const wrong = [
    { PodName: "nobody", PodNamespace: "d", PodUID: "u", Node: "n1" },
    { PodName: "p", PodNamespace: "d", PodUID: "another-uid", Node: "n1" },
    { PodName: "../../nodes/n1", PodNamespace: "..", PodUID: "u", Node: "n1" },
    { PodName: "p", PodNamespace: "d", PodUID: pod.metadata.uid, Node: "constructor" },
    { PodName: "p", PodNamespace: "d", PodUID: pod.metadata.uid, Node: "n2" },
  ];
  for (const body of wrong) {
    const bind = ask(cluster.berth.extender, "POST", "/v1/bind", body);
    await cluster.runtime.advance(15_000);
    const { status, json } = await bind;
    expect([status, typeof json.Error, json.Error === ""], JSON.stringify(body)).toEqual([200, "string", false]);
  }
  const events = (await ask(cluster.server.exchange, "GET", "/apis/events.k8s.io/v1/events")).json.items ?? [];
  expect(cluster.server.resourceVersion - before).toBe(events.length);
  expect((await cluster.read("volume", "a")).spec.claimRef).toBeUndefined();
  await cluster.berth.stop();
});

test("a stop lets waiting binds go, leaves what they wrote, and answers new calls with 503", async () => {
  const cluster = await new Cluster().start(base);
  const { extender } = cluster.berth;
  const { name: PodName, namespace: PodNamespace, uid: PodUID } = (await cluster.read("pod", "d/p")).metadata;
  const bind = ask(extender, "POST", "/v1/bind", { PodName, PodNamespace, PodUID, Node: "n1" });
  await cluster.runtime.advance(100);
  const stopped = cluster.berth.stop();
  await cluster.runtime.advance(100);
  expect((await ask(extender, "GET", "/readyz")).status).toBe(503);
  expect((await ask(extender, "POST", "/v1/filter", extenderArgs(makePod("z", []), ["n1"]))).status).toBe(503);
  expect((await bind).json.Error).toContain("stopping");
  await cluster.runtime.advance(1_000);
  await stopped;
  expect((await cluster.read("volume", "a")).spec.claimRef).toMatchObject({ name: "x" });
  expect(cluster.server.watchCount).toBe(0);
});

// FR-093.
test("while the API does not answer, Pods without claims pass and others are an Error", async () => {
  const runtime = virtualRuntime();
  const log = createLog({ level: "error", stream: { write: () => {} }, runtime });
  const exchange: Exchange = () => Promise.reject(new Error("connection refused"));
  const berth = await startBerth({ exchange, runtime, config: defaults, log, version: "test" });
  await runtime.advance(1_000);
  expect((await ask(berth.extender, "GET", "/readyz")).status).toBe(503);
  const free = await ask(berth.extender, "POST", "/v1/filter", extenderArgs(makePod("free", []), ["n1"]));
  expect(free.json.NodeNames).toEqual(["n1"]);
  const other = await ask(berth.extender, "POST", "/v1/filter", extenderArgs(makePod("p", ["x"]), ["n1"]));
  expect(other.json.Error).toContain("not ready");
  const stopped = berth.stop();
  await runtime.advance(30_000);
  await stopped;
});

test("a class that the configuration calls static is not provisioned from", async () => {
  const provisioned = makeClass("csi", { provisioner: "csi.example.com" });
  const objects = [provisioned, makeNode("n1"), makePVC("x", { class: "csi" }), makePod("p", ["x"])];
  const passes = async (config: Partial<Config>) => {
    const cluster = await new Cluster().start(objects, config);
    const pod = await cluster.read("pod", "d/p");
    const reply = await ask(cluster.berth.extender, "POST", "/v1/filter", extenderArgs(pod, ["n1"]));
    await cluster.berth.stop();
    return reply.json.NodeNames;
  };
  expect(await passes({ classes: [{ name: "csi", provisioning: "dynamic" }] })).toEqual(["n1"]);
  expect(await passes({ classes: [{ name: "csi", provisioning: "static" }] })).toEqual([]);
});

async function fitting(cluster: Cluster, pod: Raw, nodes: readonly string[]): Promise<Body> {
  const { json } = await ask(cluster.berth.extender, "POST", "/v1/filter", extenderArgs(pod, nodes));
  return json.NodeNames ?? json.Error ?? [];
}

test("capacity that nodes carry is read as the configuration says, shared, promised, and shown on the state page", async () => {
  const { classes } = parseConfig(
    `apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
classes:
- {name: fast, pool: vg0, capacity: {annotation: example.com/vg0, unit: 1Gi}}
- {name: faster, pool: vg0, capacity: {annotation: example.com/vg0, unit: 1Gi}}
`,
    "berth.yaml",
  );
  const carrying = (name: string, value: string): Raw => {
    const node = makeNode(name);
    const annotations = { "example.com/vg0": value, "example.com/other": "1" };
    return { ...node, metadata: { ...(node["metadata"] as Raw), annotations } };
  };
  const cluster = await new Cluster().start(
    [
      ...["fast", "faster"].map((name) => makeClass(name, { provisioner: "lvm.example" })),
      carrying("n1", "10"),
      carrying("n2", "5"),
      carrying("n3", "many"),
      makePVC("x", { class: "fast", request: "6Gi" }),
      makePVC("y", { class: "faster", request: "4Gi" }),
      makePVC("z", { class: "faster", request: "1Gi" }),
      makePod("p", ["x", "y"]),
    ],
    { classes },
  );
  const nodes = ["n1", "n2", "n3"];
  expect(await fitting(cluster, makePod("p", ["x", "y"]), nodes)).toEqual(["n1"]);

  const { state } = cluster.berth.cluster;
  const [node] = [...state.topologies.nodes.values()];
  expect([...(node?.node.annotations.keys() ?? [])]).toEqual(["example.com/vg0"]);

  const { uid: PodUID } = (await cluster.read("pod", "d/p")).metadata;
  const bind = { PodName: "p", PodNamespace: "d", PodUID, Node: "n1" };
  void ask(cluster.berth.extender, "POST", "/v1/bind", bind);
  await cluster.runtime.advance(1_000);
  expect(await fitting(cluster, makePod("q", ["z"]), nodes)).toEqual(["n2"]);

  const { json } = await ask(cluster.berth.debug, "GET", "/debug/state");
  const source = {
    source: "annotation example.com/vg0",
    published: String(10n << 30n),
    largestVolume: String(10n << 30n),
  };
  expect(json.pools.first).toContainEqual({
    pool: 'pool/vg0 n[[[],[["metadata.name","In",["n1"]]]]]',
    total: String(10n << 30n),
    free: "0",
    promised: String(10n << 30n),
    held: "0",
    demands: 2,
    sources: [
      { class: "fast", ...source },
      { class: "faster", ...source },
    ],
  });
  expect(json.unreadableNodeCapacities).toBe(2);
  const { json: metrics } = await ask(cluster.berth.debug, "GET", "/metrics");
  expect(metrics).toContain("berth_node_capacities_unreadable 2");
});

test("a volume that is newer than what its driver published is in flight when Berth starts", async () => {
  const annotations = { "pv.kubernetes.io/provisioned-by": "csi.example" };
  const cluster = new Cluster();
  await ask(cluster.server.exchange, "POST", "/api/v1/namespaces", {
    kind: "Namespace",
    metadata: { name: "kube-system" },
  });
  await cluster.start([
    makeDriver("csi.example", true),
    makeClass("csi", { provisioner: "csi.example" }),
    makeNode("n1"),
    makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" }),
    makePVC("x", { class: "csi", request: "6Gi", volume: "vx", selectedNode: "n1" }),
    makePVC("y", { class: "csi", request: "6Gi" }),
  ]);
  const { uid } = (await cluster.read("claim", "d/x")).metadata;
  expect(await fitting(cluster, makePod("p", ["y"]), ["n1"])).toEqual(["n1"]);
  await cluster.berth.stop();

  await cluster.create(
    makePV("vx", { class: "csi", on: "n1", capacity: "6Gi", claim: "x", claimUid: uid, annotations }),
  );
  await cluster.start([]);
  expect(await fitting(cluster, makePod("p", ["y"]), ["n1"])).toEqual([]);
  await cluster.runtime.advance(2 * defaults.capacity.pollIntervalMs);
  expect(await fitting(cluster, makePod("p", ["y"]), ["n1"])).toEqual(["n1"]);
});
