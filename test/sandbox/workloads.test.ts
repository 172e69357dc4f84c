/** The controllers around pods: ephemeral volumes, StatefulSets, the kubelet, the collection of garbage. */
import { expect, test } from "vitest";
import { claim, type Json, makeWorld, node, pod, storageClass, volume, type World } from "./world.ts";

const names = async (world: World, plural: "pods" | "persistentvolumeclaims") =>
  (await world.list(plural)).map(({ metadata }) => metadata.name).sort();

function set(replicas: number, o: { spec?: Json; podSpec?: Json } = {}): Json {
  const template = { metadata: { name: "data" }, spec: claim("", { class: "wait" })["spec"] };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "default" },
    spec: {
      serviceName: "db",
      replicas,
      selector: { matchLabels: { app: "db" } },
      template: {
        metadata: { labels: { app: "db" } },
        spec: { containers: [{ name: "db", image: "db" }], ...o.podSpec },
      },
      volumeClaimTemplates: [template],
      ...o.spec,
    },
  };
}

test("a generic ephemeral volume gets a claim of its own, which goes with its pod", async () => {
  const world = makeWorld({ scheduler: false });
  const template = { spec: claim("", { class: "wait" })["spec"] };
  const volumes = [{ name: "scratch", ephemeral: { volumeClaimTemplate: template } }];
  await world.apply(pod("job", { spec: { volumes } }));
  await world.runtime.advance(1_000);
  const made = await world.get("persistentvolumeclaims", "job-scratch");
  const owner = await world.get("pods", "job");
  expect(made?.metadata.ownerReferences).toEqual([
    expect.objectContaining({ kind: "Pod", name: "job", uid: owner?.metadata.uid, controller: true }),
  ]);
  await world.remove("pods", "job");
  await world.runtime.advance(1_000);
  expect(await names(world, "persistentvolumeclaims")).toEqual([]);
});

test("a claim that somebody else made is not taken for the pod's", async () => {
  const world = makeWorld({ scheduler: false });
  const volumes = [{ name: "scratch", ephemeral: { volumeClaimTemplate: { spec: claim("")["spec"] } } }];
  await world.apply(claim("job-scratch"), pod("job", { spec: { volumes } }));
  await world.runtime.advance(1_000);
  expect((await world.get("persistentvolumeclaims", "job-scratch"))?.metadata.ownerReferences).toBeUndefined();
  expect(await world.reasons("job")).toContain("FailedBinding");
});

test("an ordered set waits for each pod to be ready before it makes the next", async () => {
  const world = makeWorld({ scheduler: false });
  await world.apply(node("n"), set(3));
  await world.runtime.advance(1_000);
  expect(await names(world, "pods")).toEqual(["db-0"]);
  expect(await names(world, "persistentvolumeclaims")).toEqual(["data-db-0"]);
});

test("a parallel set makes all its pods at once", async () => {
  const world = makeWorld({ scheduler: false });
  await world.apply(set(3, { spec: { podManagementPolicy: "Parallel" } }));
  await world.runtime.advance(1_000);
  expect(await names(world, "pods")).toEqual(["db-0", "db-1", "db-2"]);
});

test("a set with volumes that bind at once comes up pod by pod, and its claims outlive scaling down", async () => {
  const world = makeWorld();
  const disks = ["a", "b", "c"].map((name) => volume(name, { class: "now" }));
  const template = { metadata: { name: "data" }, spec: claim("", { class: "now" })["spec"] };
  const spec = { volumeClaimTemplates: [template] };
  await world.apply(node("n"), storageClass("now", { mode: "Immediate" }), ...disks, set(3, { spec }));
  await world.runtime.advance(30_000);
  expect(await world.placements()).toEqual({ "db-0": "n", "db-1": "n", "db-2": "n" });
  expect((await world.list("statefulsets"))[0]?.status).toMatchObject({ readyReplicas: 3 });

  await world.patch("statefulsets", "db", { spec: { replicas: 1 } });
  await world.runtime.advance(30_000);
  expect(await names(world, "pods")).toEqual(["db-0"]);
  expect(await names(world, "persistentvolumeclaims")).toEqual(["data-db-0", "data-db-1", "data-db-2"]);

  await world.patch("statefulsets", "db", { spec: { replicas: 2 } });
  await world.runtime.advance(30_000);
  expect(await names(world, "pods")).toEqual(["db-0", "db-1"]);
});

test("the pods of a deleted set go with it, its claims do not", async () => {
  const world = makeWorld({ scheduler: false });
  await world.apply(set(2, { spec: { podManagementPolicy: "Parallel" } }));
  await world.runtime.advance(1_000);
  await world.remove("statefulsets", "db");
  await world.runtime.advance(5_000);
  expect(await names(world, "pods")).toEqual([]);
  expect(await names(world, "persistentvolumeclaims")).toEqual(["data-db-0", "data-db-1"]);
});

test("a placed pod runs only once its claims are bound", async () => {
  const world = makeWorld({ scheduler: false });
  await world.apply(node("n"), storageClass("now", { mode: "Immediate" }), claim("data", { class: "now" }));
  await world.apply(pod("db", { claims: ["data"], spec: { nodeName: "n" } }));
  await world.runtime.advance(5_000);
  expect((await world.get("pods", "db"))?.status?.phase).toBe("Pending");
  await world.apply(volume("a", { class: "now", on: "n" }));
  await world.runtime.advance(5_000);
  const running = await world.get("pods", "db");
  expect(running?.status?.phase).toBe("Running");
  expect(running?.status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
  const { containerStatuses = [] } = (running?.status ?? {}) as { containerStatuses?: readonly Json[] };
  const ready = { ready: true, started: true, state: { running: { startedAt: expect.any(String) } } };
  expect(containerStatuses).toEqual((running?.spec.containers ?? []).map(() => expect.objectContaining(ready)));
  expect(containerStatuses).not.toEqual([]);
});

test("a pod whose bound volume is on another node never starts", async () => {
  const world = makeWorld({ scheduler: false });
  await world.apply(node("n"), node("m"), storageClass("now", { mode: "Immediate" }));
  await world.apply(volume("a", { class: "now", on: "m" }), claim("data", { class: "now" }));
  await world.apply(pod("db", { claims: ["data"], spec: { nodeName: "n" } }));
  await world.runtime.advance(60_000);
  expect((await world.get("pods", "db"))?.status?.phase).toBe("Pending");
  expect(await world.reasons("db")).toContain("FailedMount");
});

test("a node applied with its name alone becomes ready and gets its hostname label", async () => {
  const world = makeWorld({ scheduler: false });
  await world.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "bare" } });
  await world.runtime.advance(1_000);
  const bare = await world.get("nodes", "bare");
  expect(bare?.metadata.labels).toMatchObject({ "kubernetes.io/hostname": "bare" });
  expect(bare?.status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
  expect(bare?.status?.allocatable).toMatchObject({ pods: "110" });
});

test("the pods of a node that is gone are collected", async () => {
  const world = makeWorld({ scheduler: false });
  await world.apply(node("n"), pod("db", { spec: { nodeName: "n" } }));
  await world.runtime.advance(1_000);
  await world.remove("nodes", "n");
  await world.runtime.advance(1_000);
  expect(await names(world, "pods")).toEqual([]);
});
