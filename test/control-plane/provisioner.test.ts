/** Berth beside the real external-provisioner 6.4.0 and a CSI driver that fails when it is told to. */
import { expect } from "vitest";
import { until } from "./reach.ts";
import { type StorageLab, segmentOf, withStorageIn } from "./storage-lab.ts";

const withStorage = withStorageIn();
const pools = { n1: "10Gi", n2: "10Gi" };

withStorage("a claim that waits for its Pod gets a volume on the Pod's node", { pools }, async (lab) => {
  await lab.given({
    claims: { "shop/cart": lab.claim("5Gi") },
    pods: { "shop/web": { claims: ["cart"], prefers: "n2" } },
  });
  expect(await lab.placed("shop/web")).toBe("n2");
  expect(await segmentOf(lab, "shop/cart")).toBe("n2");
  expect(await lab.storage.calls()).toEqual([{ segment: "n2", code: "OK" }]);
});

withStorage(
  "a burst of Pods fills the pools to the last that fits, and asks for nothing more",
  { pools },
  async (lab) => {
    const names = ["p1", "p2", "p3", "p4", "p5", "p6"];
    await lab.given({
      claims: Object.fromEntries([...names, "late"].map((name) => [`shop/${name}`, lab.claim("3Gi")])),
      pods: Object.fromEntries(names.map((name) => [`shop/${name}`, { claims: [name] }])),
    });
    const nodes: string[] = [];
    for (const name of names) nodes.push(await lab.placed(`shop/${name}`));
    expect(nodes.sort()).toEqual(["n1", "n1", "n1", "n2", "n2", "n2"]);

    await lab.given({ pods: { "shop/late": { claims: ["late"] } } });
    expect(await lab.outcome("shop/late")).toMatchObject({ reason: "Unschedulable" });
    // Upstream's plugin goes by what is published alone, and lets the provisioner find out.
    expect((await lab.storage.calls()).map(({ code }) => code)).toEqual(names.map(() => "OK"));

    // Until then it is not known whether what the last volumes took is published, and that is counted for two looks of the driver.
    await until("what is left is published", async () => [...new Set(await capacityOf(lab))].join() === "1Gi");
    await lab.stage.delete("Pod", "shop", "p1");
    await lab.stage.delete("PersistentVolumeClaim", "shop", "p1");
    await lab.placed("shop/late", 40_000);
  },
);

withStorage("a claim of an immediate class has its volume first, and the Pod follows it", { pools }, async (lab) => {
  await lab.given({ claims: { "shop/now": lab.claim("5Gi", "now"), "shop/wait": lab.claim("5Gi") } });
  const node = await segmentOf(lab, "shop/now");
  await lab.given({ pods: { "shop/web": { claims: ["now", "wait"] } } });
  expect(await lab.placed("shop/web")).toBe(node);
  expect(await segmentOf(lab, "shop/wait")).toBe(node);
});

const lying = { pools: { n1: "5Gi", n2: "50Gi" } };

withStorage(
  "where the driver has less than it says, the claim is given back and goes elsewhere",
  lying,
  async (lab) => {
    await lab.storage.set({ published: { n1: "100Gi" } });
    await until("the lie is published", async () => (await capacityOf(lab)).includes("100Gi"));
    await lab.given({
      claims: { "shop/cart": lab.claim("40Gi") },
      pods: { "shop/web": { claims: ["cart"], prefers: "n1" } },
    });
    expect(await lab.placed("shop/web")).toBe("n2");
    expect(await segmentOf(lab, "shop/cart")).toBe("n2");
    expect(await lab.storage.calls()).toEqual([
      { segment: "n1", code: "ResourceExhausted" },
      { segment: "n2", code: "OK" },
    ]);
  },
);

withStorage("the only node is tried again after a rest", { pools: { n1: "10Gi" } }, async (lab) => {
  await lab.storage.set({ faults: [{ segment: "n1", code: "ResourceExhausted", times: 1 }] });
  await lab.given({ claims: { "shop/cart": lab.claim("5Gi") }, pods: { "shop/web": { claims: ["cart"] } } });
  await until("the claim is given back", async () => (await lab.storage.calls()).length === 1);
  await until("no node is named any more", async () => (await lab.selectedNode("shop/cart")) === undefined);
  expect(await lab.placed("shop/web", 30_000)).toBe("n1");
  const codes = (await lab.storage.calls()).map(({ code }) => code);
  expect(codes).toEqual(["ResourceExhausted", "OK"]);
});

withStorage("other errors are the provisioner's to try again, on the node that was chosen", { pools }, async (lab) => {
  const faults = [
    { segment: "n1", code: "Internal", times: 1 },
    { segment: "n1", code: "DeadlineExceeded", times: 1 },
  ] as const;
  await lab.storage.set({ faults });
  await lab.given({
    claims: { "shop/cart": lab.claim("5Gi") },
    pods: { "shop/web": { claims: ["cart"], prefers: "n1" } },
  });
  expect(await lab.placed("shop/web", 30_000)).toBe("n1");
  const calls = await lab.storage.calls();
  expect(calls.map(({ code }) => code)).toEqual(["Internal", "DeadlineExceeded", "OK"]);
});

const hasty = { pools, timeout: "1s" } as const;

withStorage("a volume whose making outlasts the provisioner's patience is waited for", hasty, async (lab) => {
  await lab.storage.set({ createMs: 3_500 });
  await lab.given({
    claims: { "shop/cart": lab.claim("5Gi") },
    pods: { "shop/web": { claims: ["cart"], prefers: "n2" } },
  });
  await until("the first call is given up", async () => (await lab.storage.calls()).length > 0);
  expect(await lab.selectedNode("shop/cart")).toBe("n2");
  expect(await lab.placed("shop/web", 30_000)).toBe("n2");
  const calls = await lab.storage.calls();
  expect(new Set(calls.map(({ segment }) => segment))).toEqual(new Set(["n2"]));
  expect(calls[0]?.code).toBe("DeadlineExceeded");
  expect(calls.at(-1)?.code).toBe("OK");
  expect(Object.keys(await lab.storage.volumes())).toHaveLength(1);
});

withStorage("a Pod made anew meanwhile goes where the volume is being made", hasty, async (lab) => {
  await lab.storage.set({ createMs: 4_000 });
  await lab.given({
    claims: { "shop/cart": lab.claim("5Gi") },
    pods: { "shop/web": { claims: ["cart"], prefers: "n2" } },
  });
  await until("the volume is being made", async () => Object.keys(await lab.storage.volumes()).length === 1);
  await lab.stage.delete("Pod", "shop", "web");
  await lab.given({ pods: { "shop/again": { claims: ["cart"], prefers: "n1" } } });
  expect(await lab.placed("shop/again", 30_000)).toBe("n2");
  expect(await segmentOf(lab, "shop/cart")).toBe("n2");
});

withStorage("a claim deleted while its volume is being made takes the volume with it", hasty, async (lab) => {
  await lab.storage.set({ createMs: 4_000 });
  await lab.given({ claims: { "shop/cart": lab.claim("5Gi") }, pods: { "shop/web": { claims: ["cart"] } } });
  await until("the first call is given up", async () => (await lab.storage.calls()).length > 0);
  expect(Object.keys(await lab.storage.volumes())).toHaveLength(1);
  await lab.drain();
});

withStorage(
  "a claim that is being deleted gets its volume all the same, and takes it along",
  { pools },
  async (lab) => {
    await lab.given({ claims: { "shop/cart": lab.claim("5Gi") } });
    const patch = (metadata: unknown) => lab.stage.patch("PersistentVolumeClaim", "shop", "cart", { metadata });
    await patch({ finalizers: ["example.com/kept"] });
    await lab.stage.delete("PersistentVolumeClaim", "shop", "cart");
    await patch({ annotations: { "volume.kubernetes.io/selected-node": "n2" } });
    expect(await segmentOf(lab, "shop/cart")).toBe("n2");
    await patch({ finalizers: null });
    await lab.drain();
  },
);

withStorage("a node deleted while a volume is being made on it does not move the volume", hasty, async (lab) => {
  await lab.storage.set({ createMs: 4_000 });
  await lab.given({
    claims: { "shop/cart": lab.claim("5Gi") },
    pods: { "shop/web": { claims: ["cart"], prefers: "n2" } },
  });
  await until("the first call is given up", async () => (await lab.storage.calls()).length > 0);
  await lab.stage.delete("Node", undefined, "n2");
  // The provisioner knows the gone node's topology still, and makes what it has begun.
  expect(await segmentOf(lab, "shop/cart")).toBe("n2");
  expect(new Set((await lab.storage.calls()).map(({ segment }) => segment))).toEqual(new Set(["n2"]));
  expect(await lab.outcome("shop/web")).toMatchObject({ reason: expect.any(String) });
});

const spilling = { pools: { n1: "5Gi", n2: "50Gi" } };

withStorage(
  "a driver that makes the volume on another node than it was asked takes the Pod there",
  spilling,
  async (lab) => {
    await lab.storage.set({ spills: true, published: { n1: "100Gi" } });
    await until("the lie is published", async () => (await capacityOf(lab)).includes("100Gi"));
    await lab.given({
      claims: { "shop/cart": lab.claim("40Gi") },
      pods: { "shop/web": { claims: ["cart"], prefers: "n1" } },
    });
    expect(await lab.placed("shop/web", 30_000)).toBe("n2");
    expect(await lab.storage.calls()).toEqual([{ segment: "n1", code: "OK" }]);
  },
);

async function capacityOf({ stage }: StorageLab): Promise<string[]> {
  return ((await stage.list("CSIStorageCapacity")) as { capacity?: string }[]).map(({ capacity = "" }) => capacity);
}
