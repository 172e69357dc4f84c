/** `/debug/explain`, `POST /debug/simulate`, `berth explain` and `berth simulate` say the same of the same state. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kindInfo } from "../../src/apis/kubernetes.ts";
import { explainCommand } from "../../src/cli/explain.ts";
import { simulateCommand } from "../../src/cli/simulate.ts";
import { parseConfig } from "../../src/config/load.ts";
import { listen } from "../../src/http/listener.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import { kinds } from "../../src/scheduling/objects.ts";
import { runCommand } from "../cli/support.ts";
import { Random } from "../oracle/random.ts";
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
import { configurationOf } from "../support/scenario.ts";
import { ask, Cluster } from "./berth-world.ts";
import { TestServer } from "./support.ts";

const seeds = 60;
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-same-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const listOf = (items: readonly unknown[]): string => JSON.stringify({ apiVersion: "v1", kind: "List", items });
const asking = (pod: Raw, more: Raw): Raw => ({ ...pod, spec: { ...(pod["spec"] as Raw), ...more } });
const requesting = (cpu: string) => [{ name: "c", resources: { requests: { cpu } } }];

/** A few nodes, classes, disks, pools and claims in all states, and a Pod of one to three of the claims. */
function randomState(random: Random): { objects: Raw[]; pod: Raw } {
  const nodes = Array.from({ length: random.int(1, 5) }, (_, index) => `n${index}`);
  const chance = (share: number): boolean => random.int(1, 100) <= share * 100;
  const size = (): string => `${random.int(1, 12)}Gi`;
  const version = (): string => String(random.int(1, 50));
  const objects: Raw[] = [
    makeClass("local"),
    makeClass("csi", { provisioner: "csi.example" }),
    makeClass("now", { mode: "Immediate" }),
    makeDriver("csi.example", chance(0.8)),
  ];
  for (const name of nodes) {
    const node = makeNode(name, { zone: random.pick(["a", "b"]) });
    const taints = chance(0.2) ? [{ key: "k", effect: "NoSchedule" }] : [];
    objects.push({ ...node, spec: { unschedulable: chance(0.2), taints } });
    if (chance(0.7)) objects.push(makeCsiNode(name, "csi.example"));
    if (chance(0.7)) {
      objects.push(makeCapacity(`c-${name}`, { class: "csi", on: name, capacity: size(), version: version() }));
    }
    if (chance(0.5)) objects.push(asking(makePod(`r-${name}`, [], { node: name }), { containers: requesting("7") }));
  }
  const claims = ["x", "y", "z"];
  for (const claim of claims) {
    const name = random.pick(["local", "local", "local", "csi", "csi", "now", "lost"]);
    const bound = chance(0.3);
    if (bound) {
      const on = random.pick(nodes);
      const made = name === "csi" ? { annotations: { "pv.kubernetes.io/provisioned-by": "csi.example" } } : {};
      const facts = { on, class: name, capacity: size(), claim, claimUid: `u${claim}`, version: version(), ...made };
      if (chance(0.9)) objects.push(makePV(`b-${claim}`, facts));
    }
    const selected = chance(bound ? 0.5 : 0.2) ? { selectedNode: random.pick(nodes) } : {};
    const facts = { class: name, request: size(), ...(bound && { volume: `b-${claim}` }), ...selected };
    if (chance(0.95)) objects.push(makePVC(claim, facts));
  }
  for (let index = random.int(0, 6); index > 0; index--) {
    const phase = random.pick(["Available", "Available", "Available", "Released", "Failed"]);
    const reserved = chance(0.2) ? { claim: random.pick([...claims, "other"]) } : {};
    const modes = chance(0.2) ? { volumeMode: "Block" } : {};
    objects.push(makePV(`v${index}`, { on: random.pick(nodes), capacity: size(), phase, ...reserved, ...modes }));
  }
  const mounted = claims.filter(() => chance(0.6));
  const pod = asking(makePod("p", mounted), { containers: requesting(random.pick(["1", "4", "9"])) });
  return { objects: [...objects, pod], pod };
}

/** What explain alone knows: when, of whom, what kube-scheduler asked, what is promised. */
function withoutStanding(report: Record<string, unknown>): Record<string, unknown> {
  const { at: _, reservations: __, asked: ___, feasibleNotOffered: ____, notes, ...answer } = report;
  return { ...answer, notes: (notes as string[]).filter((note) => !note.startsWith("never asked about this Pod")) };
}

function serverOf(objects: readonly Raw[], pod: Raw): TestServer {
  const server = new TestServer().add(...objects);
  server.world.state.listed();
  const placed = objects.filter(({ kind }) => kind === "Pod");
  server.podNamed = () => ({ ok: true, pods: [pod], isWhole: true });
  server.podsOn = (node) => {
    const there = placed.filter(({ spec }) => (spec as { nodeName?: string }).nodeName === node);
    return { ok: true, pods: there, isWhole: true };
  };
  return server;
}

test(`explain, simulate and berth simulate answer alike over ${seeds} random states`, async () => {
  const seen = new Map<string, number>();
  const count = (what: string, is: boolean): void => void (is && seen.set(what, (seen.get(what) ?? 0) + 1));
  for (let seed = 1; seed <= seeds; seed++) {
    const { objects, pod } = randomState(new Random(seed));
    const server = serverOf(objects, pod);
    const explained = withoutStanding((await server.get("/debug/explain/d/p")).json);
    const simulated = (await server.postDebug("/debug/simulate", pod)).json;
    const path = write("state.json", listOf(objects));
    const offline = await runCommand(simulateCommand, ["-f", path, "--pod", "d/p", "-o", "json"]);
    expect({ seed, answer: simulated }).toEqual({ seed, answer: explained });
    expect({ seed, answer: JSON.parse(offline.stdout) }).toEqual({ seed, answer: explained });
    expect({ seed, code: offline.code }).toEqual({ seed, code: explained["schedulable"] ? 0 : 1 });
    count("fits", explained["schedulable"] === true);
    count("refused by nodes", explained["schedulable"] === false && explained["reason"] === undefined);
    count("refused as a whole", explained["reason"] !== undefined);
    count("not offered", explained["placings"] !== undefined);
    count("claims that meet or not", explained["meeting"] !== undefined);
  }
  // Not one of them by chance alone.
  const kindsSeen = ["fits", "refused by nodes", "refused as a whole", "not offered", "claims that meet or not"];
  for (const what of kindsSeen) expect({ what, often: (seen.get(what) ?? 0) >= 5 }).toEqual({ what, often: true });
});

test("a volume that is newer than what its driver published takes its room offline too", async () => {
  const made = { annotations: { "pv.kubernetes.io/provisioned-by": "csi.example" } };
  const pod = makePod("p", ["x"]);
  const objects = [
    makeClass("csi", { provisioner: "csi.example" }),
    makeDriver("csi.example", true),
    makeNode("n1"),
    makeCsiNode("n1", "csi.example"),
    makeCapacity("c1", { class: "csi", on: "n1", capacity: "10Gi", version: "5" }),
    makePV("b", { on: "n1", class: "csi", capacity: "6Gi", claim: "y", claimUid: "uy", version: "9", ...made }),
    makePVC("y", { class: "csi", request: "6Gi", volume: "b", selectedNode: "n1" }),
    makePVC("x", { class: "csi", request: "6Gi" }),
    pod,
  ];
  const explained = withoutStanding((await serverOf(objects, pod).get("/debug/explain/d/p")).json);
  const path = write("newer.json", listOf(objects));
  const { stdout } = await runCommand(simulateCommand, ["-f", path, "--pod", "d/p", "-o", "json"]);
  expect(explained).toMatchObject({ schedulable: false });
  expect(JSON.parse(stdout)).toEqual(explained);
});

test("over a real listener, from a Berth that watches an API server, and from what that server lists", async () => {
  const config = configurationOf({
    classes: [
      { name: "vg-a", pool: "vg" },
      { name: "vg-b", pool: "vg" },
      { name: "carried", capacity: { annotation: "example.com/free" } },
    ],
  });
  const node = (name: string, free: string): Raw => {
    const made = makeNode(name);
    return { ...made, metadata: { ...(made["metadata"] as Raw), annotations: { "example.com/free": free } } };
  };
  const objects = [
    makeClass("vg-a", { provisioner: "csi.example" }),
    makeClass("vg-b", { provisioner: "csi.example" }),
    makeClass("carried", { provisioner: "lvm.example" }),
    makeDriver("csi.example", true),
    ...["n1", "n2"].map((name) => node(name, "20Gi")),
    ...["n1", "n2"].map((name) => makeCsiNode(name, "csi.example")),
    makeCapacity("c1", { class: "vg-a", on: "n1", capacity: "10Gi" }),
    makeCapacity("c2", { class: "vg-b", on: "n1", capacity: "10Gi" }),
    makeCapacity("c3", { class: "vg-a", on: "n2", capacity: "30Gi" }),
    makeCapacity("c4", { class: "vg-b", on: "n2", capacity: "30Gi" }),
    makePVC("a", { class: "vg-a", request: "6Gi" }),
    makePVC("b", { class: "vg-b", request: "6Gi" }),
    makePVC("c", { class: "carried", request: "25Gi" }),
    makePod("p", ["a", "b", "c"]),
  ].map((object) => (object["kind"] === "CSIStorageCapacity" ? inNamespace(object) : object));
  const cluster = await new Cluster().start(objects, parseConfig(config, "berth.yaml"));
  const listener = await listen({ handler: cluster.berth.debug, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
  try {
    const items: unknown[] = [];
    for (const kind of kinds) {
      const { json } = await ask(cluster.server.exchange, "GET", kindInfo[kind].path);
      const { kind: name, apiVersion } = kindInfo[kind];
      items.push(...(json.items ?? []).map((item: object) => ({ kind: name, apiVersion, ...item })));
    }
    const path = write("listed.json", listOf(items));
    const configPath = write("berth.yaml", config);
    const url = `http://127.0.0.1:${listener.port}`;
    const [online, offline, simulated] = await Promise.all([
      runCommand(explainCommand, ["d/p", "--url", url, "-o", "json"], { runtime: nodeRuntime }),
      runCommand(simulateCommand, ["-f", path, "--pod", "d/p", "--config", configPath, "-o", "json"]),
      fetch(`${url}/debug/simulate`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(await cluster.read("pod", "d/p")),
      }).then((reply) => reply.json()),
    ]);
    const answer = withoutStanding(JSON.parse(online.stdout));
    expect([online.code, online.stderr, offline.code, offline.stderr]).toEqual([1, "", 1, ""]);
    expect(answer).toMatchObject({ schedulable: false, meeting: { alone: [{}, {}, { claim: "d/c", nodes: 0 }] } });
    expect(JSON.parse(offline.stdout)).toEqual(answer);
    expect(simulated).toEqual(answer);
    const without = await runCommand(simulateCommand, ["-f", path, "--pod", "d/p", "-o", "json"]);
    expect(JSON.parse(without.stdout)).not.toEqual(answer);
  } finally {
    await listener.closeNow();
    await cluster.berth.stop();
  }
});

/** The one that the API server of this test has. */
function inNamespace(object: Raw): Raw {
  return { ...object, metadata: { ...(object["metadata"] as Raw), namespace: "d" } };
}
