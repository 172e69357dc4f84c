/**
 * Why binding is delayed at all. In each case the Pod can run on node "roomy" alone, for a reason that no volume
 * controller knows. A class that binds at once takes the smaller disk, which is on node "near", and the Pod is stuck;
 * a class that waits lets the Pod's other needs choose the node first.
 */
import { expect, test } from "vitest";
import { sandboxEntries } from "../../src/cli/sandbox-entries.ts";
import { defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { ExtenderEntry } from "../../src/sandbox/scheduler/extender.ts";
import { startBerth } from "../../src/server/berth.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";
import { PlainVolumeBinder } from "./fake-extender.ts";
import { claim, type Json, node, pod, storageClass, volume } from "./world.ts";

interface Case {
  readonly near: Json;
  readonly roomy: Json;
  readonly neighbours?: readonly Json[];
  readonly pod: Json;
  /** What kube-scheduler says of "near". */
  readonly reason: string;
}

const antiAffinity = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "db" } } },
    ],
  },
};

const cases: Record<string, Case> = {
  "a Pod whose CPU fits another node only": {
    near: node("near", { cpu: "1" }),
    roomy: node("roomy", { cpu: "4" }),
    pod: pod("db", { claims: ["data"], cpu: "2" }),
    reason: "Insufficient cpu",
  },
  "a Pod whose nodeSelector names another node": {
    near: node("near"),
    roomy: node("roomy", { labels: { tier: "db" } }),
    pod: pod("db", { claims: ["data"], spec: { nodeSelector: { tier: "db" } } }),
    reason: "node(s) didn't match Pod's node affinity/selector",
  },
  "a Pod whose anti-affinity leaves another node": {
    near: node("near"),
    roomy: node("roomy"),
    neighbours: [pod("other", { labels: { app: "db" }, spec: { nodeName: "near" } })],
    pod: pod("db", { claims: ["data"], labels: { app: "db" }, spec: { affinity: antiAffinity } }),
    reason: "node(s) didn't match pod anti-affinity rules",
  },
};

/** The one place that knows which extenders these tests run with: each makes the entries for a scheduler of `sandbox`. */
const extenders: Record<string, (sandbox: Sandbox, runtime: VirtualRuntime) => Promise<readonly ExtenderEntry[]>> = {
  "a plain extender": async (sandbox) => new PlainVolumeBinder(sandbox.startAgent("plain-extender")).entries,
  Berth: async (sandbox, runtime) => {
    const log = createLog({ level: "error", stream: { write: () => {} }, runtime });
    const { exchange } = sandbox.api;
    const berth = await startBerth({ exchange, runtime, config: defaults, log, version: "test" });
    const bindTimeoutMs = defaults.binding.timeoutMs;
    return sandboxEntries({ urlPrefix: "http://berth/v1", exchange: berth.extender, bindTimeoutMs });
  },
};

async function place(o: Case, mode: string, by: string) {
  const runtime = virtualRuntime();
  const sandbox = new Sandbox({ runtime, scheduler: false });
  sandbox.startScheduler((await extenders[by]?.(sandbox, runtime)) ?? []);
  await sandbox.apply([storageClass("local", { mode }), o.near, o.roomy, ...(o.neighbours ?? [])]);
  const disks = [
    volume("near-disk", { on: "near", class: "local", capacity: "10Gi" }),
    volume("roomy-disk", { on: "roomy", class: "local", capacity: "20Gi" }),
  ];
  await sandbox.apply([...disks, claim("data", { class: "local" })]);
  await runtime.advance(1_000);
  await sandbox.apply([o.pod]);
  await runtime.advance(60_000);
  const { client } = sandbox.startAgent("test");
  const placed = await client.get("pods", { namespace: "default", name: "db" });
  const data = await client.get("persistentvolumeclaims", { namespace: "default", name: "data" });
  sandbox.stop();
  if (!placed.ok || !data.ok) throw new Error("the pod or its claim is gone");
  const scheduled = placed.value.status?.conditions?.find(({ type }) => type === "PodScheduled");
  return { node: placed.value.spec.nodeName, volume: data.value.spec.volumeName, message: scheduled?.message };
}

const runs = Object.entries(cases).flatMap(([name, one]) =>
  Object.keys(extenders).map((by) => [name, by, one] as const),
);

test.for(runs)("%s is placed by %s because its claim waits for it", async ([, by, one]) => {
  expect(await place(one, "WaitForFirstConsumer", by)).toMatchObject({ node: "roomy", volume: "roomy-disk" });
});

test.for(runs)("%s is never placed by %s when its claim is bound at once", async ([, by, one]) => {
  const { node: placed, volume: bound, message } = await place(one, "Immediate", by);
  expect({ placed, bound }).toEqual({ placed: undefined, bound: "near-disk" });
  expect(message).toMatch(/^0\/2 nodes are available: /);
  expect(message).toContain(`1 ${one.reason}`);
  expect(message).toContain("1 node(s) didn't match PersistentVolume's node affinity");
});
