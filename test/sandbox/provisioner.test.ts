/** The CSI driver's stand-in and the one of the local disks, as VB §4.6 describes their models. */
import { expect, test } from "vitest";
import type { CreateFault, DriverConfiguration } from "../../src/sandbox/backend.ts";
import { annotation } from "../../src/sandbox/objects.ts";
import { claim, makeWorld, node, storageClass, type World } from "./world.ts";

const driver: DriverConfiguration = { name: "lvm.example.com", capacity: { a: "100Gi", b: "50Gi" } };

async function worldWith(o: Partial<DriverConfiguration> = {}): Promise<World> {
  const world = makeWorld({ scheduler: false, drivers: [{ ...driver, ...o }] });
  await world.apply(node("a"), node("b"), node("c"), storageClass("lvm", { provisioner: driver.name }));
  await world.runtime.advance(1_000);
  return world;
}

const wanting = (size: string, on = "a") =>
  claim("data", { class: "lvm", size, annotations: { [annotation.selectedNode]: on } });
const dataOf = (world: World) => world.get("persistentvolumeclaims", "data");
const published = async (world: World): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await world.list("csistoragecapacities")).map((object) => [
      object.nodeTopology?.matchLabels?.["kubernetes.io/hostname"] ?? "",
      `${BigInt(object.capacity ?? "0") >> 30n}Gi`,
    ]),
  );

test("the driver announces itself, the nodes it runs on, and what room each has", async () => {
  const world = await worldWith();
  expect((await world.list("csidrivers"))[0]).toMatchObject({ spec: { storageCapacity: true } });
  const nodes = await world.list("csinodes");
  expect(nodes.map(({ metadata }) => metadata.name).sort()).toEqual(["a", "b"]);
  expect(await published(world)).toEqual({ a: "100Gi", b: "50Gi" });
});

test("a driver that publishes nothing says so", async () => {
  const world = await worldWith({ publishesCapacity: false });
  expect((await world.list("csidrivers"))[0]).toMatchObject({ spec: { storageCapacity: false } });
  expect(await published(world)).toEqual({});
});

test("a claim with a selected node gets a volume there, bound to it, and the room shrinks", async () => {
  const world = await worldWith();
  await world.apply(wanting("30Gi"));
  await world.runtime.advance(1_000);
  const data = await dataOf(world);
  expect(data?.status?.phase).toBe("Bound");
  const [made] = await world.list("persistentvolumes");
  expect(made).toMatchObject({
    metadata: { name: `pvc-${data?.metadata.uid}`, annotations: { [annotation.provisionedBy]: driver.name } },
    spec: { persistentVolumeReclaimPolicy: "Delete", claimRef: { uid: data?.metadata.uid } },
  });
  expect(JSON.stringify(made?.spec.nodeAffinity)).toContain('"values":["a"]');
  expect(await published(world)).toEqual({ a: "70Gi", b: "50Gi" });
});

test("a claim without a selected node waits", async () => {
  const world = await worldWith();
  await world.apply(claim("data", { class: "lvm" }));
  await world.runtime.advance(60_000);
  expect((await dataOf(world))?.status?.phase).toBe("Pending");
});

test("a claim whose class is missing is tried again until the class is there", async () => {
  const world = makeWorld({ scheduler: false, drivers: [driver] });
  const marks = { [annotation.selectedNode]: "a", [annotation.storageProvisioner]: driver.name };
  await world.apply(node("a"), claim("data", { class: "lvm", size: "30Gi", annotations: marks }));
  await world.runtime.advance(1_000);
  await world.apply(storageClass("lvm", { provisioner: driver.name }));
  await world.runtime.advance(20_000);
  expect((await dataOf(world))?.status?.phase).toBe("Bound");
});

test("a claim that does not wait gets a volume where most room is", async () => {
  const world = await worldWith();
  await world.apply(
    storageClass("now", { provisioner: driver.name, mode: "Immediate" }),
    claim("data", { class: "now" }),
  );
  await world.runtime.advance(1_000);
  expect((await dataOf(world))?.status?.phase).toBe("Bound");
  expect(await published(world)).toMatchObject({ a: "95Gi" });
});

test("a full pool takes the selected node off the claim, with an event", async () => {
  const world = await worldWith();
  await world.apply(wanting("80Gi", "b"));
  await world.runtime.advance(1_000);
  expect((await dataOf(world))?.metadata.annotations).not.toHaveProperty([annotation.selectedNode]);
  expect(await world.reasons("data")).toContain("ProvisioningFailed");
});

test("a node without the driver takes the selected node off the claim", async () => {
  const world = await worldWith();
  await world.apply(wanting("1Gi", "c"));
  await world.runtime.advance(1_000);
  expect((await dataOf(world))?.metadata.annotations).not.toHaveProperty([annotation.selectedNode]);
});

test("a node whose driver has not registered yet is waited for", async () => {
  const world = await worldWith();
  const others = [{ name: "other.example.com", nodeID: "c", topologyKeys: [] }];
  await world.apply({
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: { name: "c" },
    spec: { drivers: others },
  });
  await world.apply(wanting("1Gi", "c"));
  await world.runtime.advance(1_000);
  expect((await dataOf(world))?.metadata.annotations).toHaveProperty([annotation.selectedNode], "c");
  expect(await world.reasons("data")).toContain("ProvisioningFailed");
});

test("a node deleted while a volume is being made there neither gives the claim back nor moves the volume", async () => {
  const world = await worldWith({ onCreate: ({ attempt }) => (attempt === 1 ? { inProgressMs: 10_000 } : undefined) });
  await world.apply(wanting("40Gi"));
  await world.runtime.advance(1_000);
  await world.remove("nodes", "a");
  await world.runtime.advance(60_000);
  expect((await dataOf(world))?.status?.phase).toBe("Bound");
  expect(JSON.stringify((await world.list("persistentvolumes"))[0]?.spec.nodeAffinity)).toContain('"values":["a"]');
});

test("any other error is tried again on the same node", async () => {
  const failing = (attempt: number): CreateFault | undefined => (attempt <= 3 ? { code: "Internal" } : undefined);
  const world = await worldWith({ onCreate: ({ attempt }) => failing(attempt) });
  await world.apply(wanting("1Gi"));
  await world.runtime.settle();
  expect((await dataOf(world))?.metadata.annotations).toHaveProperty([annotation.selectedNode], "a");
  await world.runtime.advance(5_000);
  expect((await dataOf(world))?.status?.phase).toBe("Bound");
});

test("a creation that outlives its call is found again by the next one, and takes its room once", async () => {
  const world = await worldWith({ onCreate: ({ attempt }) => (attempt === 1 ? { inProgressMs: 10_000 } : undefined) });
  await world.apply(wanting("40Gi"));
  await world.runtime.advance(5_000);
  expect((await dataOf(world))?.status?.phase).toBe("Pending");
  expect((await dataOf(world))?.metadata.annotations).toHaveProperty([annotation.selectedNode], "a");
  await world.runtime.advance(30_000);
  expect((await dataOf(world))?.status?.phase).toBe("Bound");
  expect(await published(world)).toMatchObject({ a: "60Gi" });
});

test("a selected node taken away while the volume is being made leaks the volume", async () => {
  const world = await worldWith({ onCreate: () => ({ inProgressMs: 10_000 }) });
  await world.apply(wanting("40Gi"));
  await world.runtime.advance(1_000);
  await world.patch("persistentvolumeclaims", "data", {
    metadata: { annotations: { [annotation.selectedNode]: null } },
  });
  await world.runtime.advance(60_000);
  expect(await world.list("persistentvolumes")).toEqual([]);
  expect(world.sandbox.provisioner(driver.name)?.backend.volumes.size).toBe(1);
});

test("a claim deleted while its volume is being made leaves nothing behind", async () => {
  const world = await worldWith({ onCreate: ({ attempt }) => (attempt === 1 ? { inProgressMs: 10_000 } : undefined) });
  await world.apply(wanting("40Gi"));
  await world.runtime.advance(1_000);
  await world.remove("persistentvolumeclaims", "data");
  await world.runtime.advance(60_000);
  expect(await world.list("persistentvolumes")).toEqual([]);
  expect(world.sandbox.provisioner(driver.name)?.backend.volumes.size).toBe(0);
});

test("a claim that is being deleted gets its volume all the same", async () => {
  const world = await worldWith();
  await world.apply(claim("data", { class: "lvm", size: "1Gi" }));
  await world.patch("persistentvolumeclaims", "data", { metadata: { finalizers: ["example.com/kept"] } });
  await world.remove("persistentvolumeclaims", "data");
  await world.patch("persistentvolumeclaims", "data", {
    metadata: { annotations: { [annotation.selectedNode]: "a" } },
  });
  await world.runtime.advance(1_000);
  expect(await world.list("persistentvolumes")).toHaveLength(1);
});

test("the volume of a deleted claim is deleted, and its room is published again", async () => {
  const world = await worldWith();
  await world.apply(wanting("30Gi"));
  await world.runtime.advance(1_000);
  await world.remove("persistentvolumeclaims", "data");
  await world.runtime.advance(1_000);
  expect(await world.list("persistentvolumes")).toEqual([]);
  expect(await published(world)).toEqual({ a: "100Gi", b: "50Gi" });
});

test("a local disk comes back under its name after it was cleaned", async () => {
  const disk = { name: "a-1", node: "a", class: "wait", capacity: "10Gi", cleanMs: 5_000 };
  const world = makeWorld({ scheduler: false, disks: [disk] });
  await world.apply(storageClass("wait"));
  expect(await world.list("persistentvolumes")).toEqual([]);
  await world.apply(node("a"), claim("data"));
  await world.runtime.advance(1_000);
  const before = await world.get("persistentvolumes", "a-1");
  expect(before?.status?.phase).toBe("Available");

  const uid = (await dataOf(world))?.metadata.uid;
  await world.patch("persistentvolumes", "a-1", { spec: { claimRef: { namespace: "default", name: "data", uid } } });
  await world.runtime.advance(1_000);
  await world.remove("persistentvolumeclaims", "data");
  await world.runtime.advance(1_000);
  expect((await world.get("persistentvolumes", "a-1"))?.status?.phase).toBe("Released");
  await world.runtime.advance(10_000);
  const after = await world.get("persistentvolumes", "a-1");
  expect(after?.status?.phase).toBe("Available");
  expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
});

test("a local disk is published with its class, under its policy; one that is retained waits for its volume to be deleted", async () => {
  const disk = { name: "a-1", node: "a", class: "kept", capacity: "10Gi", volumeMode: "Block" };
  const world = makeWorld({ scheduler: false, disks: [disk] });
  await world.apply(node("a"), claim("data", { class: "kept", spec: { volumeMode: "Block" } }));
  await world.runtime.advance(1_000);
  expect(await world.list("persistentvolumes")).toEqual([]);

  await world.apply({ ...storageClass("kept"), reclaimPolicy: "Retain" });
  await world.runtime.advance(1_000);
  const before = await world.get("persistentvolumes", "a-1");
  expect(before?.spec).toMatchObject({ volumeMode: "Block", persistentVolumeReclaimPolicy: "Retain" });

  const uid = (await dataOf(world))?.metadata.uid;
  await world.patch("persistentvolumes", "a-1", { spec: { claimRef: { namespace: "default", name: "data", uid } } });
  await world.runtime.advance(1_000);
  await world.remove("persistentvolumeclaims", "data");
  await world.runtime.advance(60_000);
  expect((await world.get("persistentvolumes", "a-1"))?.status?.phase).toBe("Released");
  await world.remove("persistentvolumes", "a-1");
  await world.runtime.advance(1_000);
  const after = await world.get("persistentvolumes", "a-1");
  expect(after?.status?.phase).toBe("Available");
  expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
});

test("a disk's volume of an earlier node of that name is left alone", async () => {
  const disk = { name: "a-1", node: "a", class: "wait", capacity: "10Gi" };
  const world = makeWorld({ scheduler: false, disks: [disk] });
  await world.apply(storageClass("wait"), node("a"), claim("data"));
  await world.runtime.advance(1_000);
  const uid = (await dataOf(world))?.metadata.uid;
  await world.patch("persistentvolumes", "a-1", { spec: { claimRef: { namespace: "default", name: "data", uid } } });
  await world.remove("nodes", "a");
  await world.apply(node("a"));
  await world.remove("persistentvolumeclaims", "data");
  await world.runtime.advance(60_000);
  expect((await world.get("persistentvolumes", "a-1"))?.status?.phase).toBe("Released");
});
