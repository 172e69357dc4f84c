/**
 * From kube-scheduler's own VolumeBinding to Berth and back, with workloads running and work half done. docs/migration.md quotes these
 * tests. Each goes both ways, on the one control plane.
 */
import { expect } from "vitest";
import { audit } from "../support/auditor.ts";
import type { Raw } from "../support/make.ts";
import { type Expectation, runScenario } from "../support/scenario.ts";
import { inLab, type Lab } from "./lab.ts";
import { onPlane } from "./on-plane.ts";
import { until } from "./reach.ts";
import { statefulSet } from "./stateful-set.ts";

const disk = (on: string, size = "10Gi") => ({ on, class: "local", size });
const claim = (size = "10Gi") => ({ class: "local", size });
const template = {
  accessModes: ["ReadWriteOnce"],
  storageClassName: "local",
  resources: { requests: { storage: "10Gi" } },
};

/** All of it at one moment, within this time. */
async function comesOut({ stage }: Lab, expect: Expectation, within = "30s"): Promise<void> {
  await runScenario({ name: "", covers: [], steps: [{ expect: { within, ...expect } }] }, stage);
}

interface Running {
  readonly uid: string;
  readonly node: string;
}

/** Uid and node of each Pod of the StatefulSet. */
async function replicas({ stage }: Lab, names: readonly string[]): Promise<Record<string, Running | undefined>> {
  const pods = (await stage.list("Pod")) as unknown as {
    metadata: { name: string; uid: string; deletionTimestamp?: string };
    spec: { nodeName?: string };
  }[];
  return Object.fromEntries(
    names.map((name) => {
      const pod = pods.find(({ metadata }) => metadata.name === name && metadata.deletionTimestamp === undefined);
      return [name, pod && { uid: pod.metadata.uid, node: pod.spec.nodeName ?? "" }];
    }),
  );
}

/** Deletes a replica: another one comes to the same volume, and so to the same node. */
async function comesBack(lab: Lab, name: string): Promise<void> {
  const { [name]: before } = await replicas(lab, [name]);
  await lab.stage.delete("Pod", "shop", name);
  await until(
    `another ${name} is where the last one was`,
    async () => {
      const { [name]: now } = await replicas(lab, [name]);
      return now !== undefined && now.uid !== before?.uid && now.node === before?.node;
    },
    40_000,
  );
}

const names = ["db-0", "db-1"];

async function given(lab: Lab, schedulerName: string): Promise<void> {
  await lab.given({
    nodes: { n1: null, n2: null, n3: null },
    drivers: { "pool.example.com": { capacity: { n3: "100Gi" }, pollSeconds: 1 } },
    classes: { local: "wait", pool: "pool.example.com" },
    volumes: { "db-a": disk("n1"), "db-b": disk("n2") },
    claims: { "shop/waiting": claim("30Gi"), "shop/refused": claim("40Gi") },
  });
  await until("what is free is published", async () => (await lab.stage.list("CSIStorageCapacity")).length > 0);
  await lab.stage.apply(statefulSet({ namespace: "shop", name: "db", replicas: 2, template, schedulerName }));
}

/** kube-scheduler with its own VolumeBinding, and none of Berth's entries. */
const inTree = (lab: Lab) => lab.scheduler([], { schedulerName: "default-scheduler", volumeBinding: "on", user });
const user = "system:kube-scheduler" as const;

onPlane(
  "the cluster's kube-scheduler goes from VolumeBinding to Berth and back: what runs is not touched, what is half bound is finished, who waits is placed",
  { timeout: 180_000 },
  (plane) =>
    inLab(plane, "default-scheduler", async (lab) => {
      const { stage } = lab;
      await given(lab, "default-scheduler");
      const before = await inTree(lab);
      await comesOut(lab, {
        pods: { "shop/db-0": {}, "shop/db-1": {} },
        claims: { "shop/data-db-0": "*", "shop/data-db-1": "*" },
      });
      for (const name of names) await lab.placed(`shop/${name}`);
      const running = await replicas(lab, names);
      // No volume is large enough.
      await lab.given({ pods: { "shop/waiting": { claims: ["waiting"] } } });
      await lab.outcome("shop/waiting");

      // VolumeBinding has written, and waits for the PV controller, when kube-scheduler ends.
      await lab.given({ volumes: { "half-a": disk("n3") } });
      await comesOut(lab, { volumes: { "half-a": "Available" } });
      await stage.pause();
      await lab.given({
        claims: { "shop/half": claim(), "shop/made": { class: "pool", size: "10Gi" } },
        pods: { "shop/half": { claims: ["half"] }, "shop/made": { claims: ["made"] } },
      });
      await comesOut(lab, { reserved: { "half-a": "shop/half" } });
      await until("the other claim has its node", async () => (await selectedNode(lab, "made")) === "n3");
      await before.stop();

      const berth = await lab.scheduler([lab.berth.asks, lab.berth.binds], {
        schedulerName: "default-scheduler",
        user,
      });
      await stage.resume();
      await comesOut(lab, {
        pods: { "shop/half": { node: "n3" }, "shop/made": { node: "n3" }, "shop/waiting": { node: "" } },
        claims: { "shop/half": "half-a", "shop/made": "*" },
      });
      expect(await replicas(lab, names)).toEqual(running);
      await lab.given({ volumes: { "large-a": disk("n2", "30Gi") } });
      await comesOut(lab, { pods: { "shop/waiting": { node: "n2" } }, claims: { "shop/waiting": "large-a" } });
      await comesBack(lab, "db-1");

      // And back, while Berth has written and waits.
      await lab.given({ pods: { "shop/refused": { claims: ["refused"] } } });
      await lab.outcome("shop/refused");
      await lab.given({ volumes: { "back-a": disk("n1") } });
      await comesOut(lab, { volumes: { "back-a": "Available" } });
      await stage.pause();
      await lab.given({ claims: { "shop/back": claim() }, pods: { "shop/back": { claims: ["back"] } } });
      await comesOut(lab, { reserved: { "back-a": "shop/back" }, pods: { "shop/back": { node: "" } } });
      await berth.stop();

      await inTree(lab);
      await stage.resume();
      await comesOut(lab, { pods: { "shop/back": { node: "n1" } }, claims: { "shop/back": "back-a" } });
      await lab.given({ volumes: { "large-b": disk("n3", "40Gi") } });
      await comesOut(lab, { pods: { "shop/refused": { node: "n3" } }, claims: { "shop/refused": "large-b" } });
      expect((await replicas(lab, names))["db-0"]).toEqual(running["db-0"]);
      await comesBack(lab, "db-0");
      expect(await audit(stage)).toEqual([]);
    }),
);

async function selectedNode({ stage }: Lab, name: string): Promise<unknown> {
  const claims = (await stage.list("PersistentVolumeClaim")) as unknown as {
    metadata: { name: string; annotations?: Record<string, string> };
  }[];
  const found = claims.find(({ metadata }) => metadata.name === name);
  return found?.metadata.annotations?.["volume.kubernetes.io/selected-node"];
}

/** The template names another scheduler; who runs stays as he is until he is deleted. */
function handOver({ stage }: Lab, schedulerName: string): Promise<void> {
  const spec: Raw = {
    updateStrategy: { type: "OnDelete", rollingUpdate: null },
    template: { spec: { schedulerName } },
  };
  return stage.patch("StatefulSet", "shop", "db", { spec });
}

onPlane(
  "a StatefulSet goes to a second scheduler with Berth and back, replica by replica; a Pod that waits is made anew",
  { timeout: 180_000 },
  (plane) =>
    inLab(plane, "berth-scheduler-2", async (lab) => {
      const { stage } = lab;
      await given(lab, "default-scheduler");
      await inTree(lab);
      await lab.scheduler([lab.berth.asks, lab.berth.binds]);
      for (const name of names) {
        await until(`${name} is there`, async () => (await replicas(lab, [name]))[name] !== undefined);
        await lab.placed(`shop/${name}`);
      }
      const running = await replicas(lab, names);
      await lab.given({ pods: { "shop/waiting": { claims: ["waiting"] } } }, "default-scheduler");
      await lab.outcome("shop/waiting");

      await handOver(lab, "berth-scheduler-2");
      expect(await replicas(lab, names)).toEqual(running);
      await comesBack(lab, "db-1");
      expect(await schedulerOf(lab, "db-1")).toBe("berth-scheduler-2");
      // A Pod keeps its scheduler's name for life.
      await stage.delete("Pod", "shop", "waiting");
      await until("it is gone", async () => (await replicas(lab, ["waiting"]))["waiting"] === undefined);
      await lab.given({
        volumes: { "large-a": disk("n2", "30Gi") },
        pods: { "shop/waiting": { claims: ["waiting"] } },
      });
      await comesOut(lab, { pods: { "shop/waiting": { node: "n2" } }, claims: { "shop/waiting": "large-a" } });
      // Both schedulers have work, and neither takes what the other has.
      await lab.given({
        volumes: { "one-a": disk("n1"), "one-b": disk("n3") },
        claims: { "shop/theirs": claim(), "shop/ours": claim() },
      });
      await lab.given({ pods: { "shop/theirs": { claims: ["theirs"] } } }, "default-scheduler");
      await lab.given({ pods: { "shop/ours": { claims: ["ours"] } } });
      await comesOut(lab, { claims: { "shop/theirs": "*", "shop/ours": "*" } });
      for (const name of ["theirs", "ours"]) await lab.placed(`shop/${name}`, 40_000);

      await handOver(lab, "default-scheduler");
      await comesBack(lab, "db-1");
      expect(await schedulerOf(lab, "db-1")).toBe("default-scheduler");
      expect((await replicas(lab, names))["db-0"]).toEqual(running["db-0"]);
      expect(await audit(stage)).toEqual([]);
    }),
);

async function schedulerOf({ stage }: Lab, name: string): Promise<unknown> {
  const pods = (await stage.list("Pod")) as unknown as {
    metadata: { name: string };
    spec: { schedulerName: string };
  }[];
  return pods.find(({ metadata }) => metadata.name === name)?.spec.schedulerName;
}
