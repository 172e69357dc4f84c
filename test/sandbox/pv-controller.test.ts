/** Each rule of the PV controller, as VB §4.5 states it. */
import { expect, test } from "vitest";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { annotation } from "../../src/sandbox/objects.ts";
import { claim, type Json, makeWorld, node, pod, storageClass, volume, type World } from "./world.ts";

const settleMs = 1_000;

async function worldWith(...objects: readonly Json[]): Promise<World> {
  const world = makeWorld({ scheduler: false });
  await world.apply(storageClass("wait"), storageClass("now", { mode: "Immediate" }), ...objects);
  await world.runtime.advance(settleMs);
  return world;
}

const phaseOf = async (world: World, name: string) => (await world.get("persistentvolumes", name))?.status?.phase;
const claimOf = async (world: World, name = "data") => world.get("persistentvolumeclaims", name);

/** What the scheduler writes to have a volume bound to a claim. */
async function reserve(world: World, name: string, o: { marks?: boolean } = {}): Promise<void> {
  const uid = (await claimOf(world))?.metadata.uid;
  await world.patch("persistentvolumes", name, {
    ...(o.marks ? { metadata: { annotations: { [annotation.boundByController]: "yes" } } } : {}),
    spec: { claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "default", name: "data", uid } },
  });
  await world.runtime.advance(settleMs);
}

test("a volume without claimRef becomes Available", async () => {
  const world = await worldWith(volume("a"));
  expect(await phaseOf(world, "a")).toBe("Available");
});

test("a claim that waits for its first consumer stays Pending beside a volume that would do", async () => {
  const world = await worldWith(volume("a"), claim("data"));
  const data = await claimOf(world);
  expect(data?.status?.phase).toBe("Pending");
  expect(data?.spec.volumeName).toBeUndefined();
  expect(await world.reasons("data")).toEqual(["WaitForFirstConsumer"]);
});

test("a claimRef with the claim's uid binds: both phases, the volume's name, both annotations, the capacity", async () => {
  const world = await worldWith(volume("a", { capacity: "20Gi" }), claim("data"));
  await reserve(world, "a", { marks: true });
  const data = await claimOf(world);
  expect(data?.spec.volumeName).toBe("a");
  expect(data?.metadata.annotations).toMatchObject({
    [annotation.bindCompleted]: "yes",
    [annotation.boundByController]: "yes",
  });
  expect(data?.status).toMatchObject({ phase: "Bound", capacity: { storage: "20Gi" }, accessModes: ["ReadWriteOnce"] });
  expect(await phaseOf(world, "a")).toBe("Bound");
});

test("a claimRef without uid is completed, and the volume is not marked as bound by the controller", async () => {
  const reserved = volume("a", { spec: { claimRef: { namespace: "default", name: "data" } } });
  const world = await worldWith(reserved);
  expect(await phaseOf(world, "a")).toBe("Available");
  await world.apply(claim("data"));
  await world.runtime.advance(settleMs);
  const [bound, data] = [await world.get("persistentvolumes", "a"), await claimOf(world)];
  expect(bound?.spec.claimRef?.uid).toBe(data?.metadata.uid);
  expect(bound?.metadata.annotations).not.toHaveProperty([annotation.boundByController]);
  expect(data?.status?.phase).toBe("Bound");
});

test("an Immediate claim gets the smallest volume that is large enough", async () => {
  const sizes = { small: "1Gi", right: "10Gi", large: "50Gi" };
  const volumes = Object.entries(sizes).map(([name, capacity]) => volume(name, { class: "now", capacity }));
  const world = await worldWith(...volumes, claim("data", { class: "now" }));
  expect((await claimOf(world))?.spec.volumeName).toBe("right");
});

test("an Immediate claim prefers the volume with the fewest access modes, even a larger one", async () => {
  const wide = volume("wide", { class: "now", capacity: "6Gi", modes: ["ReadWriteOnce", "ReadWriteMany"] });
  const plain = volume("plain", { class: "now", capacity: "50Gi" });
  const world = await worldWith(wide, plain, claim("data", { class: "now" }));
  expect((await claimOf(world))?.spec.volumeName).toBe("plain");
});

test("an Immediate claim that came first is bound when its volume appears", async () => {
  const world = await worldWith(claim("data", { class: "now" }));
  expect((await claimOf(world))?.status?.phase).toBe("Pending");
  await world.apply(volume("a", { class: "now" }));
  await world.runtime.advance(settleMs);
  expect((await claimOf(world))?.status?.phase).toBe("Bound");
});

test.for([
  ["of another class", {}, { class: "other" }],
  ["of another volume mode", { volumeMode: "Block" }, {}],
  ["that its selector does not match", { selector: { matchLabels: { disk: "ssd" } } }, {}],
  ["that lacks an access mode", { accessModes: ["ReadWriteMany"] }, {}],
] as const)("an Immediate claim leaves alone a volume %s", async ([, spec, facts]) => {
  const world = await worldWith(volume("a", { class: "now", ...facts }), claim("data", { class: "now", spec }));
  expect((await claimOf(world))?.status?.phase).toBe("Pending");
});

test("a prebound volume of another mode is never bound, and both objects are told why", async () => {
  const world = await worldWith(volume("a"), claim("data", { spec: { volumeMode: "Block" } }));
  await reserve(world, "a");
  expect((await claimOf(world))?.status?.phase).toBe("Pending");
  expect(await world.reasons("a")).toContain("VolumeMismatch");
  expect(await world.reasons("data")).toContain("VolumeMismatch");
});

test("a claim with a selected node is handed to its class's provisioner", async () => {
  const world = await worldWith(
    storageClass("dyn", { provisioner: "x.example.com" }),
    claim("data", { class: "dyn", annotations: { [annotation.selectedNode]: "n" } }),
  );
  expect((await claimOf(world))?.metadata.annotations).toMatchObject({
    [annotation.storageProvisioner]: "x.example.com",
    [annotation.betaStorageProvisioner]: "x.example.com",
  });
  expect(await world.reasons("data")).toContain("ExternalProvisioning");
});

test("the volume of a deleted claim is Released and keeps its claimRef where it is retained", async () => {
  const world = await worldWith(volume("a"), claim("data"));
  await reserve(world, "a");
  await world.remove("persistentvolumeclaims", "data");
  await world.runtime.advance(settleMs);
  const released = await world.get("persistentvolumes", "a");
  expect(released?.status?.phase).toBe("Released");
  expect(released?.spec.claimRef?.name).toBe("data");
});

test("a Released volume that nobody can delete fails; one that has a provisioner is left to it", async () => {
  const spec = { persistentVolumeReclaimPolicy: "Delete" };
  const phases: unknown[] = [];
  for (const annotations of [{}, { [annotation.provisionedBy]: "somebody" }]) {
    const world = await worldWith(volume("a", { spec, annotations }), claim("data"));
    await reserve(world, "a");
    await world.remove("persistentvolumeclaims", "data");
    await world.runtime.advance(settleMs);
    phases.push(await phaseOf(world, "a"));
  }
  expect(phases).toEqual(["Failed", "Released"]);
});

test("a volume whose claim was bound elsewhere is freed: wholly if a controller reserved it, to its name if a user did", async () => {
  const world = await worldWith(volume("a"), volume("ours"), volume("theirs"), claim("data"));
  await reserve(world, "a");
  await reserve(world, "ours", { marks: true });
  await reserve(world, "theirs");
  const [ours, theirs] = [await world.get("persistentvolumes", "ours"), await world.get("persistentvolumes", "theirs")];
  expect(ours?.spec.claimRef).toBeUndefined();
  expect(ours?.metadata.annotations ?? {}).not.toHaveProperty([annotation.boundByController]);
  expect(theirs?.spec.claimRef).toMatchObject({ namespace: "default", name: "data" });
  expect(theirs?.spec.claimRef?.uid).toBeUndefined();
  expect([ours?.status?.phase, theirs?.status?.phase]).toEqual(["Available", "Available"]);
  expect((await claimOf(world))?.spec.volumeName).toBe("a");
});

test("a bound claim whose volume is gone is Lost", async () => {
  const world = await worldWith(volume("a"), claim("data"));
  await reserve(world, "a");
  await world.patch("persistentvolumes", "a", { metadata: { finalizers: null } });
  await world.remove("persistentvolumes", "a");
  await world.runtime.advance(settleMs);
  expect((await claimOf(world))?.status?.phase).toBe("Lost");
});

test("a claim that a placed pod uses outlives its deletion until the pod is gone", async () => {
  const world = await worldWith(node("n"), claim("data"), pod("user", { claims: ["data"], spec: { nodeName: "n" } }));
  await world.remove("persistentvolumeclaims", "data");
  await world.runtime.advance(settleMs);
  expect((await claimOf(world))?.metadata.deletionTimestamp).toBeDefined();
  await world.remove("pods", "user");
  await world.runtime.advance(40_000);
  expect(await claimOf(world)).toBeUndefined();
});

test("a claim that only a pod without a node names is deleted at once", async () => {
  const world = await worldWith(claim("data"), pod("user", { claims: ["data"] }));
  await world.remove("persistentvolumeclaims", "data");
  await world.runtime.advance(settleMs);
  expect(await claimOf(world)).toBeUndefined();
});

test("a bind that is broken off between any two of its writes is finished by the next look", async () => {
  for (let lost = 1; lost <= 6; lost++) {
    let writes = 0;
    const losing = (exchange: Exchange): Exchange => {
      return (request, signal) => {
        const isWrite = request.method === "PUT";
        return isWrite && ++writes === lost ? Promise.reject(new Error("lost")) : exchange(request, signal);
      };
    };
    const world = makeWorld({
      scheduler: false,
      wrap: (who, exchange) => (who === "pv-controller" ? losing(exchange) : exchange),
    });
    await world.apply(
      storageClass("now", { mode: "Immediate" }),
      volume("a", { class: "now" }),
      claim("data", { class: "now" }),
    );
    await world.runtime.advance(30_000);
    expect((await claimOf(world))?.status?.phase, `write ${lost} lost`).toBe("Bound");
    expect(await phaseOf(world, "a")).toBe("Bound");
  }
});

test("a claim that names no class gets the default one when there is one", async () => {
  const world = await worldWith(claim("data", { spec: { storageClassName: undefined } }));
  expect((await claimOf(world))?.spec.storageClassName).toBeUndefined();
  const annotations = { [annotation.defaultClass]: "true" };
  await world.apply({ ...storageClass("usual"), metadata: { name: "usual", annotations } });
  await world.runtime.advance(settleMs);
  expect((await claimOf(world))?.spec.storageClassName).toBe("usual");
});

test("a restarted controller takes up what the one before left", async () => {
  const world = await worldWith(volume("a", { class: "now" }));
  world.sandbox.stopController("pv-controller");
  await world.apply(claim("data", { class: "now" }));
  await world.runtime.advance(60_000);
  expect((await claimOf(world))?.status?.phase).toBe("Pending");
  world.sandbox.startController("pv-controller");
  await world.runtime.advance(settleMs);
  expect((await claimOf(world))?.status?.phase).toBe("Bound");
});
