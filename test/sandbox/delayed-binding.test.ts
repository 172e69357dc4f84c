/**
 * Why binding is delayed at all. In each case the Pod can run on node "roomy" alone, for a reason that no volume
 * controller knows. A class that binds at once takes the smaller disk, which is on node "near", and the Pod is stuck;
 * a class that waits lets the Pod's other needs choose the node first.
 */
import { expect, test } from "vitest";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { virtualRuntime } from "../support/clock.ts";
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

/** The one place that knows which extender these tests run with. */
function startWith(mode: string): { sandbox: Sandbox; runtime: ReturnType<typeof virtualRuntime> } {
  const runtime = virtualRuntime();
  const sandbox = new Sandbox({ runtime, scheduler: false });
  sandbox.startScheduler(new PlainVolumeBinder(sandbox.startAgent(`extender-${mode}`)).entries);
  return { sandbox, runtime };
}

async function place(o: Case, mode: string) {
  const { sandbox, runtime } = startWith(mode);
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

test.for(Object.entries(cases))("%s is placed because its claim waits for it", async ([, one]) => {
  expect(await place(one, "WaitForFirstConsumer")).toMatchObject({ node: "roomy", volume: "roomy-disk" });
});

test.for(Object.entries(cases))("%s is never placed when its claim is bound at once", async ([, one]) => {
  const { node: placed, volume: bound, message } = await place(one, "Immediate");
  expect({ placed, bound }).toEqual({ placed: undefined, bound: "near-disk" });
  expect(message).toMatch(/^0\/2 nodes are available: /);
  expect(message).toContain(`1 ${one.reason}`);
  expect(message).toContain("1 node(s) didn't match PersistentVolume's node affinity");
});
