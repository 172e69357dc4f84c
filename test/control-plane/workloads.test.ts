/** What makes claims and Pods in a real cluster, with a real external-provisioner to make the volumes. */
import { expect } from "vitest";
import type { Raw } from "../support/make.ts";
import { until } from "./reach.ts";
import { statefulSet } from "./stateful-set.ts";
import { type StorageLab, withStorageIn } from "./storage-lab.ts";

const withStorage = withStorageIn();
const pools = { n1: "10Gi", n2: "10Gi", n3: "10Gi" };

function templateOf({ claim }: StorageLab): Raw {
  const { class: storageClassName, size: storage } = claim("6Gi");
  return { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage } } };
}

withStorage("a StatefulSet's replicas each get a volume, on nodes that have the room", { pools }, async (lab) => {
  await lab.given({
    claims: { "shop/other": lab.claim("6Gi") },
    pods: { "shop/other": { claims: ["other"] } },
  });
  const taken = await lab.placed("shop/other");
  const template = templateOf(lab);
  const schedulerName = "berth-scheduler";
  await lab.stage.apply(statefulSet({ namespace: "shop", name: "db", replicas: 2, template, schedulerName }));
  const nodes = [await lab.placed("shop/db-0", 30_000), await lab.placed("shop/db-1", 30_000)];
  expect([taken, ...nodes].sort()).toEqual(["n1", "n2", "n3"]);

  // A replica that is deleted comes back to its volume.
  const before = await uidOf(lab, "db-1");
  await lab.stage.delete("Pod", "shop", "db-1");
  await until("there is another db-1", async () => ![before, undefined].includes(await uidOf(lab, "db-1")));
  expect(await lab.placed("shop/db-1", 30_000)).toBe(nodes[1]);
  expect(Object.values(await lab.storage.volumes()).sort()).toEqual(["n1", "n2", "n3"]);
});

withStorage("a generic ephemeral volume is made where its Pod goes, and goes with it", { pools }, async (lab) => {
  const scratch = { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: templateOf(lab) } } };
  await lab.given({ pods: { "shop/job": { volumes: [scratch], prefers: "n3" } } });
  expect(await lab.placed("shop/job")).toBe("n3");
  const volume = await lab.bound("shop/job-scratch");
  expect(await lab.storage.volumes()).toEqual({ [volume]: "n3" });
  await lab.drain();
});

async function uidOf({ stage }: StorageLab, pod: string): Promise<string | undefined> {
  const pods = (await stage.list("Pod")) as unknown as { metadata: { name: string; uid: string } }[];
  return pods.find(({ metadata }) => metadata.name === pod)?.metadata.uid;
}
