import { expect, test } from "vitest";
import { makeApi, makePod, named, pods } from "./api-client.ts";

const bindingTo = (node: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name: "p", ...metadata },
  target: { kind: "Node", name: node },
});

test("a Binding places the pod and clears its nomination", async () => {
  const { post, patch, get } = makeApi();
  const { body: made } = await post(pods, makePod("p"));
  const pending = [
    { type: "PodScheduled", status: "False" },
    { type: "Other", status: "True" },
  ];
  await patch(`${pods}/p/status`, "merge-patch+json", { status: { nominatedNodeName: "n0", conditions: pending } });
  const answer = await post(`${pods}/p/binding`, bindingTo("n1", { uid: made.metadata.uid }));
  expect(answer).toMatchObject({ status: 201, body: { kind: "Status", status: "Success" } });
  const { body } = await get(`${pods}/p`);
  expect(body.spec.nodeName).toBe("n1");
  expect(body.status.nominatedNodeName).toBeUndefined();
  const conditions = body.status.conditions.map(({ type, status }: Record<string, string>) => `${type}=${status}`);
  expect(conditions).toEqual(["Other=True", "PodScheduled=True"]);
});

const conflicts: Record<string, { pod?: object; before?: "bind" | "delete"; binding: object; why: string }> = {
  "it has a node": { before: "bind", binding: bindingTo("n2"), why: 'pod p is already assigned to node "n1"' },
  "it is being deleted": {
    pod: makePod("p", { metadata: { finalizers: ["x/hold"] } }),
    before: "delete",
    binding: bindingTo("n1"),
    why: "pod p is being deleted, cannot be assigned to a host",
  },
  "it is gated": {
    pod: makePod("p", { spec: { schedulingGates: [{ name: "g" }] } }),
    binding: bindingTo("n1"),
    why: "pod p has non-empty .spec.schedulingGates",
  },
  "it is another pod of the name": {
    binding: bindingTo("n1", { uid: "other" }),
    why: "Precondition failed: UID in precondition: other",
  },
  "it has changed since": {
    binding: bindingTo("n1", { resourceVersion: "1" }),
    why: "Precondition failed: ResourceVersion",
  },
};

test.for(Object.entries(conflicts))(
  "a Binding is 409 when %s",
  async ([, { pod = makePod("p"), before, binding, why }]) => {
    const { post, call, api } = makeApi();
    await post(pods, pod);
    if (before === "bind") await post(`${pods}/p/binding`, bindingTo("n1"));
    if (before === "delete") await call("DELETE", `${pods}/p`);
    const version = api.resourceVersion;
    const { status, body } = await post(`${pods}/p/binding`, binding);
    expect([status, body.reason]).toEqual([409, "Conflict"]);
    expect(body.message).toContain('Operation cannot be fulfilled on pods/binding "p": ');
    expect(body.message).toContain(why);
    expect(api.resourceVersion).toBe(version);
  },
);

test("a Binding of a pod that is gone is 404, one without a node 422", async () => {
  const { post } = makeApi();
  expect(await post(`${pods}/p/binding`, bindingTo("n1"))).toMatchObject({ status: 404, body: { reason: "NotFound" } });
  await post(pods, makePod("p"));
  expect((await post(`${pods}/p/binding`, { metadata: { name: "p" } })).status).toBe(422);
  expect((await post(`${pods}/p/binding`, { ...bindingTo("n1"), metadata: { name: "q" } })).status).toBe(400);
});

test("an unassigned pod is removed at once", async () => {
  const { post, call, get } = makeApi();
  await post(pods, makePod("p"));
  expect((await call("DELETE", `${pods}/p`)).body.kind).toBe("Pod");
  expect((await get(`${pods}/p`)).status).toBe(404);
});

test("an assigned pod stops first, and is removed a second later where nobody stands in for its kubelet", async () => {
  const { post, call, watch, runtime } = makeApi();
  await post(pods, makePod("p", { spec: { nodeName: "n" } }));
  const stream = await watch(`${pods}?watch=true&timeoutSeconds=9`);
  const { body } = await call("DELETE", `${pods}/p`);
  expect(body.metadata).toMatchObject({ deletionGracePeriodSeconds: 30, deletionTimestamp: "2026-01-01T00:00:30Z" });
  await runtime.advance(1_500);
  expect(named(await stream.take())).toEqual(["ADDED p", "MODIFIED p", "DELETED p"]);
});

test("a kubelet's stand-in finishes the deletion when it likes; grace 0 does not wait for it", async () => {
  const finishes: (() => void)[] = [];
  const { post, call, get, runtime } = makeApi({ podTermination: (_pod, finish) => finishes.push(finish) });
  for (const name of ["p", "q"]) await post(pods, makePod(name, { spec: { nodeName: "n" } }));
  for (const name of ["p", "q"]) await call("DELETE", `${pods}/${name}`);
  await runtime.advance(60_000);
  expect((await get(`${pods}/p`)).status).toBe(200);
  finishes[0]?.();
  expect((await get(`${pods}/p`)).status).toBe(404);
  await call("DELETE", `${pods}/q?gracePeriodSeconds=0`);
  expect((await get(`${pods}/q`)).status).toBe(404);
  // Late, when another pod has taken the name: not that one's end.
  await post(pods, makePod("q", { spec: { nodeName: "n" } }));
  finishes[1]?.();
  expect((await get(`${pods}/q`)).status).toBe(200);
});

test("an eviction deletes the pod", async () => {
  const { post, get } = makeApi();
  await post(pods, makePod("p"));
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
  expect((await post(`${pods}/p/eviction`, eviction)).status).toBe(201);
  expect((await get(`${pods}/p`)).status).toBe(404);
});

test("priority comes from the class, else from the global default, else it is 0", async () => {
  const { post } = makeApi();
  const classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const priorityOf = async (name: string, spec: object = {}) =>
    (await post(pods, makePod(name, { spec }))).body.spec.priority;
  expect(await priorityOf("none")).toBe(0);
  await post(classes, { metadata: { name: "high" }, value: 1000 });
  await post(classes, { metadata: { name: "usual" }, value: 10, globalDefault: true });
  expect(await priorityOf("a", { priorityClassName: "high" })).toBe(1000);
  expect(await priorityOf("b")).toBe(10);
  expect(await priorityOf("c", { priorityClassName: "system-node-critical" })).toBe(2_000_001_000);
});

test("a namespace waits for its running pods", async () => {
  const { post, call, get, runtime } = makeApi();
  await post("/api/v1/namespaces", { metadata: { name: "n" } });
  await post("/api/v1/namespaces/n/pods", makePod("p", { spec: { nodeName: "n1" } }));
  await call("DELETE", "/api/v1/namespaces/n");
  expect((await get("/api/v1/namespaces/n")).body.status.phase).toBe("Terminating");
  await runtime.advance(2_000);
  expect((await get("/api/v1/namespaces/n")).status).toBe(404);
});

test("a pod can be replaced by one that does not say what was filled in", async () => {
  const { post, call } = makeApi();
  await post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: "high" }, value: 7 });
  await post(pods, makePod("p", { spec: { priorityClassName: "high" } }));
  const next = makePod("p", { labels: { a: "b" }, spec: { priorityClassName: "high" } });
  expect(await call("PUT", `${pods}/p`, next)).toMatchObject({ status: 200, body: { spec: { priority: 7 } } });
});
