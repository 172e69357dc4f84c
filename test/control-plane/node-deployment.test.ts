/** Berth beside one external-provisioner a node (--node-deployment), each with a driver that reaches its own node's pool alone. */
import { expect } from "vitest";
import { until } from "./reach.ts";
import { segmentOf, withStorageIn } from "./storage-lab.ts";

const withStorage = withStorageIn();
const options = { pools: { n1: "10Gi", n2: "10Gi", n3: "10Gi" }, nodeDeployment: true } as const;

withStorage("each node's provisioner makes the volumes of the Pods that go there", options, async (lab) => {
  const nodes = ["n1", "n2", "n3"];
  await lab.given({
    claims: Object.fromEntries(nodes.map((node) => [`shop/${node}`, lab.claim("8Gi")])),
    pods: Object.fromEntries(nodes.map((node) => [`shop/${node}`, { claims: [node] }])),
  });
  const placed: string[] = [];
  for (const node of nodes) {
    const on = await lab.placed(`shop/${node}`);
    placed.push(on);
    expect(await segmentOf(lab, `shop/${node}`)).toBe(on);
  }
  // None has room for two.
  expect(placed.sort()).toEqual(nodes);
});

withStorage("a node whose pool is full after all is left for another", options, async (lab) => {
  await lab.storage.set({ faults: [{ segment: "n1", code: "ResourceExhausted", times: 99 }] });
  await lab.given({
    claims: { "shop/cart": lab.claim("5Gi") },
    pods: { "shop/web": { claims: ["cart"], prefers: "n1" } },
  });
  const node = await lab.placed("shop/web", 30_000);
  expect(node).not.toBe("n1");
  expect(await segmentOf(lab, "shop/cart")).toBe(node);
});

withStorage("a claim of an immediate class is taken by one provisioner, and the Pod follows", options, async (lab) => {
  await lab.given({ claims: { "shop/cart": lab.claim("5Gi", "now") }, pods: { "shop/web": { claims: ["cart"] } } });
  const node = await lab.placed("shop/web", 30_000);
  // Which names its own node on the claim, though the class waits for nobody.
  expect(await lab.selectedNode("shop/cart")).toBe(node);
  expect(await segmentOf(lab, "shop/cart")).toBe(node);
});

withStorage(
  "a claim on a node whose provisioner is gone stays there until that is back or the node is gone",
  options,
  async (lab) => {
    await lab.storage.stopProvisioner("n1");
    await lab.given({
      claims: { "shop/cart": lab.claim("5Gi") },
      pods: { "shop/web": { claims: ["cart"], prefers: "n1" } },
    });
    await until("the claim names n1", async () => (await lab.selectedNode("shop/cart")) === "n1");
    await lab.stage.delete("Node", undefined, "n1");
    const node = await lab.placed("shop/web", 60_000);
    expect(node).not.toBe("n1");
    expect(await segmentOf(lab, "shop/cart")).toBe(node);
  },
);
