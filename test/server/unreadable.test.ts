/** Objects that cannot be read: whoever needs one is told its name and the field, by the verbs and on the debug pages. */
import { expect, test } from "vitest";
import { className } from "../../src/scheduling/names.ts";
import { makeClass, makeDriver, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";
import { extenderArgs, TestServer } from "./support.ts";

const pod = makePod("p", ["x"]);
const csi = makeClass("csi", { provisioner: "csi.example" });
const brokenSpec = (object: Raw, spec: unknown): Raw => ({ ...object, spec });

interface Row {
  readonly objects: readonly Raw[];
  readonly error: string;
}

const needed: Record<string, Row> = {
  "the claim": {
    objects: [brokenSpec(makePVC("x"), 7)],
    error: 'persistentvolumeclaim "d/x" cannot be read: spec: not an object',
  },
  "the claim's class": {
    objects: [makePVC("x", { class: "odd" }), { ...makeClass("odd"), volumeBindingMode: "Someday" }],
    error:
      'storageclass "odd" cannot be read: volumeBindingMode: "Someday" is neither Immediate nor WaitForFirstConsumer',
  },
  "the volume that the claim is bound to": {
    objects: [makePVC("x", { volume: "a" }), makePV("a", { capacity: "lots" })],
    error: 'persistentvolume "a" cannot be read: spec.capacity.storage: "lots" is no size',
  },
  "the driver that says whether capacity counts": {
    objects: [makePVC("x", { class: "csi" }), csi, brokenSpec(makeDriver("csi.example"), { storageCapacity: "yes" })],
    error: 'csidriver "csi.example" cannot be read: spec.storageCapacity: not true or false',
  },
  "every node": {
    objects: [makePVC("x"), brokenSpec(makeNode("n1"), { unschedulable: 1 })],
    error: 'node "n1" cannot be read: spec.unschedulable: not true or false',
  },
};

test.for(Object.entries(needed))("%s, which the Pod needs", async ([, { objects, error }]) => {
  const server = new TestServer();
  if (!objects.some(({ kind }) => kind === "Node")) server.add(makeNode("n1"));
  server.add(...objects);
  const { status, json } = await server.post("/v1/filter", extenderArgs(pod, ["n1"]));
  expect([status, json.Error]).toEqual([200, error]);
  const asked = { Pod: pod, NodeNameToMetaVictims: { n1: { Pods: [{ UID: "v" }], NumPDBViolations: 0 } } };
  expect((await server.post("/v1/preempt", asked)).json).toEqual({ NodeNameToMetaVictims: {} });
  expect((await server.post("/v1/prioritize", extenderArgs(pod, ["n1"]))).json).toEqual([]);
  expect(server.world.state.reservations.holds.count).toBe(0);
});

test("a driver that cannot be read is nothing to a class of another", async () => {
  const server = new TestServer().add(makeNode("n1"), makePVC("x"), makePV("a", { on: "n1" }));
  server.add(brokenSpec(makeDriver("csi.example"), 7));
  expect((await server.post("/v1/filter", extenderArgs(pod, ["n1"]))).json).toMatchObject({ NodeNames: ["n1"] });
});

test("nor is its own driver to a class that is static by the configuration", () => {
  const fitting = (how: "static" | "dynamic") => {
    const world = new World({ provisioning: new Map([[className("csi"), how]]) });
    world.add(makeNode("n1"), csi, makePVC("x", { class: "csi" }), makePV("a", { on: "n1", class: "csi" }));
    world.add(brokenSpec(makeDriver("csi.example"), 7));
    return world.fitting(world.pod("p", "x"));
  };
  expect([fitting("static"), fitting("dynamic")]).toEqual([["n1"], []]);
});

test("one node of several that cannot be read is refused alone", async () => {
  const server = new TestServer().add(makeNode("n1"), makePVC("x"), makePV("a", { on: "n1" }));
  server.add(brokenSpec(makeNode("n2"), 7));
  const { json } = await server.post("/v1/filter", extenderArgs(pod, ["n1", "n2"]));
  expect([json.NodeNames, json.FailedAndUnresolvableNodes, json.Error]).toEqual([
    ["n1"],
    { n2: "node(s) not known to the volume extender" },
    "",
  ]);
});

test.for([
  { objects: needed["the claim's class"]?.objects, says: "StorageClass odd cannot be read: volumeBindingMode: " },
  {
    objects: needed["the volume that the claim is bound to"]?.objects,
    says: "volume a, which it names, cannot be read: spec.capacity.storage: ",
  },
])("a claim's page says what cannot be read: $says", async ({ objects = [], says }) => {
  const server = new TestServer().add(...objects);
  expect((await server.get("/debug/claim/d/x")).json.says).toContain(says);
});
