/**
 * The control-plane deployment: the cluster's own kube-scheduler, of the profile `default-scheduler` and with the roles that Kubernetes
 * gives it, asks Berth about every Pod.
 */
import { expect } from "vitest";
import { audit } from "../support/auditor.ts";
import type { Raw } from "../support/make.ts";
import { berthCommand } from "./control-plane.ts";
import { berthEntries } from "./kube-scheduler.ts";
import { inLab, type Lab } from "./lab.ts";
import { onPlane } from "./on-plane.ts";
import { freePorts } from "./processes.ts";
import { until } from "./reach.ts";
import { statefulSet } from "./stateful-set.ts";

function wholeCluster(name: string, run: (lab: Lab) => Promise<void>): void {
  onPlane(name, {}, (plane) =>
    inLab(plane, "default-scheduler", async (lab) => {
      await run(lab);
      expect(await audit(lab.stage)).toEqual([]);
    }),
  );
}

const user = "system:kube-scheduler" as const;
const disk = (on: string, size = "10Gi") => ({ on, class: "local", size });
const claim = { class: "local", size: "10Gi" };

/** As the DaemonSet controller makes them: tied to a node by its name. */
const daemon = (node: string, claims: readonly string[]) => {
  const term = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
  const tolerations = [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }];
  return { claims, affinity: { nodeAffinity: required }, tolerations };
};

wholeCluster("every kind of Pod is placed by the cluster's one kube-scheduler", async (lab) => {
  const nodes = ["n1", "n2", "n3"];
  await lab.given({
    nodes: Object.fromEntries(nodes.map((node) => [node, null])),
    classes: { local: "wait" },
    volumes: Object.fromEntries([
      ...nodes.map((node) => [`daemon-${node}`, disk(node, "1Gi")] as const),
      ...nodes.map((node) => [`db-${node}`, disk(node)] as const),
      ["web", disk("n2", "20Gi")] as const,
    ]),
    claims: Object.fromEntries([
      ...nodes.map((node) => [`kube-system/daemon-${node}`, { class: "local", size: "1Gi" }] as const),
      ["shop/web", { class: "local", size: "15Gi" }] as const,
    ]),
  });
  await lab.stage.patch("Node", undefined, "n3", { spec: { unschedulable: true } });
  await lab.scheduler([lab.berth.asks, lab.berth.binds], { user });
  await lab.given({
    pods: {
      "shop/plain": {},
      "shop/web": { claims: ["web"] },
      ...Object.fromEntries(nodes.map((node) => [`kube-system/daemon-${node}`, daemon(node, [`daemon-${node}`])])),
      "kube-system/plain-n3": daemon("n3", []),
    },
  });
  expect(await lab.placed("shop/web")).toBe("n2");
  expect(await lab.placed("shop/plain")).toMatch(/^n[12]$/);
  for (const node of nodes) expect(await lab.placed(`kube-system/daemon-${node}`)).toBe(node);
  expect(await lab.placed("kube-system/plain-n3")).toBe("n3");
  await lab.stage.patch("Node", undefined, "n3", { spec: { unschedulable: false } });

  const template = {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "local",
    resources: { requests: { storage: "10Gi" } },
  };
  await lab.stage.apply(statefulSet({ namespace: "shop", name: "db", replicas: 3, template }));
  const placed: string[] = [];
  for (const pod of ["db-0", "db-1", "db-2"]) {
    await until(`${pod} is there`, async () => (await podNames(lab)).includes(pod));
    placed.push(await lab.placed(`shop/${pod}`, 30_000));
  }
  expect(placed.sort()).toEqual(nodes);
  // Berth posted the Bindings, its kube-scheduler none; the events are kube-scheduler's.
  const events = (await lab.stage.list("Event")) as unknown as {
    reason: string;
    reportingComponent: string;
    source: Raw;
  }[];
  const scheduled = events.filter(({ reason }) => reason === "Scheduled");
  expect(scheduled.length).toBeGreaterThanOrEqual(9);
  expect(new Set(scheduled.map(({ reportingComponent }) => reportingComponent))).toEqual(
    new Set(["default-scheduler"]),
  );
});

wholeCluster(
  "a Pod of high priority displaces others only where its volume is, one without claims anywhere",
  async (lab) => {
    for (const [name, value] of [["high", 1000] as const, ["low", 10] as const]) {
      await lab.stage.apply({ apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name }, value });
    }
    await lab.given({
      nodes: { n1: null, n2: null, n3: null },
      classes: { local: "wait" },
      volumes: { one: disk("n2"), low: disk("n1") },
      claims: { "shop/high": claim, "shop/low": claim },
    });
    await lab.scheduler([lab.berth.asks, lab.berth.binds], { user });
    const low = (on: string, claims: readonly string[] = []) => ({ on, claims, cpu: "3", priorityClassName: "low" });
    await lab.given({ pods: { "shop/low-1": low("n1", ["low"]), "shop/low-2": low("n2"), "shop/low-3": low("n3") } });
    for (const name of ["low-1", "low-2", "low-3"]) await lab.placed(`shop/${name}`);

    await lab.given({ pods: { "shop/high": { claims: ["high"], cpu: "3", priorityClassName: "high" } } });
    expect(await lab.placed("shop/high", 30_000)).toBe("n2");
    expect(await podNames(lab)).toEqual(["high", "low-1", "low-3"]);
    await lab.given({ pods: { "shop/free": { cpu: "3", priorityClassName: "high" } } });
    expect(await lab.placed("shop/free", 30_000)).toMatch(/^n[13]$/);
    expect(await podNames(lab)).toHaveLength(3);
    expect(await lab.claims()).toEqual({ "shop/high": "one", "shop/low": "low" });
  },
);

wholeCluster(
  "while Berth is down every new Pod waits, with claims or without; once it is back all are placed",
  async (lab) => {
    const [extender = 0, debug = 0] = await freePorts(2);
    const start = async (): Promise<void> => {
      lab.processes.start("own-berth", berthCommand(lab.facts.kubeconfig, extender, debug));
      const ready = `http://127.0.0.1:${debug}/readyz`;
      await until("its own Berth is ready", async () => (await fetch(ready)).status === 200);
    };
    await start();
    const url = `http://127.0.0.1:${extender}/v1`;
    const { asks, binds } = berthEntries(url);
    await lab.given({
      nodes: { n1: null, n2: null },
      classes: { local: "wait" },
      volumes: { d1: disk("n1"), d2: disk("n2"), d3: disk("n2", "20Gi") },
      claims: { "shop/before": claim, "shop/web": claim, "kube-system/daemon": { class: "local", size: "15Gi" } },
    });
    await lab.scheduler([asks, binds], { user });
    await lab.given({ pods: { "shop/before": { claims: ["before"] } } });
    await lab.placed("shop/before");
    await lab.processes.end("own-berth");

    await lab.given({
      pods: { "shop/plain": {}, "shop/web": { claims: ["web"] }, "kube-system/daemon": daemon("n2", ["daemon"]) },
    });
    const message = `Post "${url}/filter": dial tcp 127.0.0.1:${extender}: connect: connection refused`;
    for (const pod of ["shop/plain", "shop/web", "kube-system/daemon"]) {
      expect(await lab.outcome(pod), pod).toEqual({ reason: "SchedulerError", message });
    }
    expect(await podNames(lab)).toEqual(["before", "daemon", "plain", "web"]);
    await start();
    // kube-scheduler's pause between errors grows to 10 s.
    for (const pod of ["shop/plain", "shop/web", "kube-system/daemon"]) await lab.placed(pod, 30_000);
    expect(await lab.claims()).toMatchObject({ "kube-system/daemon": "d3" });
  },
);

async function podNames({ stage }: Lab): Promise<string[]> {
  return (await stage.list("Pod")).map(({ metadata }) => (metadata as { name: string }).name).sort();
}
