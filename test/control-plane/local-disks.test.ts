/**
 * The stand-in for sig-storage-local-static-provisioner against real controllers: it publishes, cleans and publishes anew as that
 * one's discovery and deleter do. Scenarios show what becomes of Pods that wait (disks-cleaned-again, disk-retained).
 */
import { expect } from "vitest";
import { audit } from "../support/auditor.ts";
import { inLab, type Lab } from "./lab.ts";
import { onPlane } from "./on-plane.ts";
import { until } from "./reach.ts";

interface Volume {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly claimRef?: object };
  readonly status: { readonly phase: string };
}

async function volume({ stage }: Lab, name: string): Promise<Volume | undefined> {
  const volumes = (await stage.list("PersistentVolume")) as unknown as Volume[];
  return volumes.find(({ metadata }) => metadata.name === name);
}

const phases = async (lab: Lab) => [(await volume(lab, "raw"))?.status.phase, (await volume(lab, "fs"))?.status.phase];

onPlane("a local disk is published as its documentation says, and under its name anew once it is clean", {}, (plane) =>
  inLab(plane, "local-disks", async (lab) => {
    const disk = { node: "n1", class: "local", cleanSeconds: 3 };
    await lab.given({
      nodes: { n1: null },
      classes: { local: "wait" },
      disks: {
        raw: { ...disk, capacity: "10Gi", volumeMode: "Block" },
        fs: { ...disk, capacity: "20Gi", labels: { media: "ssd" } },
      },
      claims: {
        "shop/raw": { class: "local", size: "10Gi", volumeMode: "Block" },
        "shop/fs": { class: "local", size: "10Gi" },
      },
    });
    await until("both are published", async () => (await phases(lab)).join() === "Available,Available");
    const [node] = (await lab.stage.list("Node")) as unknown as [{ metadata: { uid: string } }];
    const hostname = { key: "kubernetes.io/hostname", operator: "In", values: ["n1"] };
    const both = {
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: "local",
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [hostname] }] } },
    };
    const provisionedBy = `local-volume-provisioner-n1-${node.metadata.uid}`;
    const annotations = { "pv.kubernetes.io/provisioned-by": provisionedBy };
    const [raw, fs] = [await volume(lab, "raw"), await volume(lab, "fs")];
    expect(raw).toMatchObject({
      metadata: { annotations },
      spec: { ...both, capacity: { storage: "10Gi" }, volumeMode: "Block", local: { path: "/mnt/disks/raw" } },
    });
    expect(fs).toMatchObject({
      metadata: { annotations, labels: { media: "ssd" } },
      spec: { ...both, capacity: { storage: "20Gi" }, volumeMode: "Filesystem", local: { path: "/mnt/disks/fs" } },
    });

    const { asks, binds } = lab.berth;
    await lab.scheduler([asks, binds]);
    await lab.given({ pods: { "shop/first": { claims: ["raw", "fs"] } } });
    expect(await lab.placed("shop/first")).toBe("n1");
    expect(await lab.claims()).toEqual({ "shop/raw": "raw", "shop/fs": "fs" });
    await lab.stage.delete("Pod", "shop", "first");
    for (const name of ["raw", "fs"]) await lab.stage.delete("PersistentVolumeClaim", "shop", name);

    // Nobody else's while it is cleaned: the object is the old one, and it still names its claim.
    await until("both are released", async () => (await phases(lab)).join() === "Released,Released");
    await lab.stage.pass(1_500);
    for (const old of [raw, fs]) {
      const now = await volume(lab, old?.metadata.name ?? "");
      expect(now?.metadata.uid).toBe(old?.metadata.uid);
      expect(now?.spec.claimRef).toBeDefined();
    }
    await until("both are published anew", async () => (await phases(lab)).join() === "Available,Available");
    for (const old of [raw, fs]) {
      const now = await volume(lab, old?.metadata.name ?? "");
      expect(now?.metadata.uid).not.toBe(old?.metadata.uid);
      expect(now?.spec.claimRef).toBeUndefined();
    }
    expect(await audit(lab.stage)).toEqual([]);
  }),
);
