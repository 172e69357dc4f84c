/** A test with a real external-provisioner beside it; afterwards the auditor looks, and no volume may be left behind. */
import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { audit } from "../support/auditor.ts";
import { objectPathOf as pathOf } from "../support/paths.ts";
import { inLab, type Lab } from "./lab.ts";
import { neighboursForTests } from "./neighbours.ts";
import { onPlane } from "./on-plane.ts";
import { until } from "./reach.ts";
import type { RealStage } from "./real-stage.ts";
import { driverName, type Storage, type StorageOptions, startStorage } from "./storage.ts";

export interface StorageLab extends Omit<Lab, "scheduler"> {
  readonly storage: Storage;
  /** A claim of this test's class that waits for its Pod, or of the one that does not. */
  claim(size: string, of?: "wait" | "now"): { readonly class: string; readonly size: string };
  /** Name of the PersistentVolume that the claim is bound to, once it is. @param key  namespace and name */
  bound(key: string): Promise<string>;
  /** The node that the claim's volume is wanted on; undefined where none is. */
  selectedNode(key: string): Promise<string | undefined>;
  /** Deletes every Pod and claim, after which the driver must have no volume left. */
  drain(): Promise<void>;
}

type WithStorage = (name: string, options: StorageOptions, run: (lab: StorageLab) => Promise<void>) => void;

/**
 * For the tests of a file. Their nodes are those that have pools. Each has classes of its own, for what Berth promised of a class's room
 * may outlive a test: until the driver has published it, or two of its polls.
 */
export function withStorageIn(): WithStorage {
  const found = neighboursForTests();
  const lacks = (): string | undefined => {
    const neighbours = found();
    return typeof neighbours === "string" ? neighbours : undefined;
  };
  return (name, options, run) =>
    onPlane(name, { lacks, timeout: 120_000 }, async (plane) => {
      const neighbours = found();
      if (typeof neighbours === "string") throw new Error(neighbours);
      const { facts } = plane;
      await inLab(plane, "storage", async (lab) => {
        const { stage, processes } = lab;
        const id = randomBytes(4).toString("hex");
        const classOf = (kind: "wait" | "now"): string => `${kind}-${id}`;
        const given: Lab["given"] = (objects) => lab.given(objects, "berth-scheduler");
        await given({
          nodes: Object.fromEntries(Object.keys(options.pools).map((node) => [node, null])),
          classes: {
            [classOf("wait")]: driverName,
            [classOf("now")]: { provisioner: driverName, volumeBindingMode: "Immediate" },
          },
        });
        const place = { facts, processes, stage, neighbours, folder: mkdtempSync(join(facts.folder, "csi-")) };
        const storage = await startStorage(place, options);
        await storage.published(classOf("wait"));
        const drain = () => drained(stage, storage);
        const claim: StorageLab["claim"] = (size, of = "wait") => ({ class: classOf(of), size });
        await run({ ...lab, given, claim, storage, drain, ...claimsOf(stage) });
        expect(await audit(stage)).toEqual([]);
        await nothingLeaked(stage, storage);
        await drain();
      });
    });
}

interface Claim {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly volumeName?: string };
  readonly status?: { readonly phase?: string };
}

function claimsOf(stage: RealStage): Pick<StorageLab, "bound" | "selectedNode"> {
  const find = async (key: string): Promise<Claim | undefined> => {
    const claims = (await stage.list("PersistentVolumeClaim")) as unknown as Claim[];
    return claims.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key);
  };
  return {
    bound: async (key) => {
      await until(`${key} is bound`, async () => (await find(key))?.status?.phase === "Bound");
      return (await find(key))?.spec.volumeName ?? "";
    },
    selectedNode: async (key) => (await find(key))?.metadata.annotations?.["volume.kubernetes.io/selected-node"],
  };
}

/** Where the claim's volume is, once it is bound. @param key  namespace and name */
export async function segmentOf(
  { bound, storage }: Pick<StorageLab, "bound" | "storage">,
  key: string,
): Promise<string | undefined> {
  const volume = await bound(key);
  return (await storage.volumes())[volume];
}

/** Each of the driver's volumes has its PersistentVolume. */
async function nothingLeaked(stage: RealStage, storage: Storage): Promise<void> {
  const volumes = (await stage.list("PersistentVolume")) as unknown as {
    metadata: { name: string };
    spec: { csi?: { driver: string; volumeHandle: string } };
  }[];
  const ours = volumes.flatMap(({ spec }) => (spec.csi?.driver === driverName ? [spec.csi.volumeHandle] : []));
  expect(Object.keys(await storage.volumes()).sort()).toEqual(ours.sort());
}

async function drained(stage: RealStage, storage: Storage): Promise<void> {
  for (const kind of ["StatefulSet", "Pod", "PersistentVolumeClaim"]) {
    for (const object of await stage.list(kind)) {
      const { namespace, name } = object["metadata"] as { namespace: string; name: string };
      await stage.call("DELETE", pathOf(kind, namespace, name));
    }
  }
  const isEmpty = async (): Promise<boolean> =>
    Object.keys(await storage.volumes()).length === 0 && (await stage.list("PersistentVolume")).length === 0;
  await until("the driver and the API have no volume left", isEmpty, 45_000);
}
