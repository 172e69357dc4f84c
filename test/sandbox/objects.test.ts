import { expect, test } from "vitest";
import {
  claims,
  configMaps,
  makeApi,
  makeClaim,
  makeMap,
  makePod,
  makeVolume,
  named,
  pods,
  volumes,
} from "./api-client.ts";

const merge = "merge-patch+json";
const classes = "/apis/storage.k8s.io/v1/storageclasses";

test("a new object gets its identity from the server", async () => {
  const { post } = makeApi();
  const metadata = {
    name: "p",
    uid: "mine",
    creationTimestamp: "1999-01-01T00:00:00Z",
    deletionTimestamp: "1999-01-01T00:00:00Z",
  };
  const { status, body } = await post(pods, { ...makePod("p"), metadata, status: { phase: "Running" } });
  expect(status).toBe(201);
  expect(body).toMatchObject({ kind: "Pod", apiVersion: "v1", status: { phase: "Pending" } });
  expect(body.metadata).toMatchObject({
    namespace: "default",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
  });
  expect(body.metadata.uid).not.toBe("mine");
  expect(body.metadata.deletionTimestamp).toBeUndefined();
});

test("two servers of one seed answer alike", async () => {
  const run = async (): Promise<unknown> => {
    const { post, get } = makeApi();
    for (let count = 0; count < 5; count++) await post(pods, { ...makePod(""), metadata: { generateName: "job-" } });
    return (await get(pods)).body;
  };
  expect(await run()).toEqual(await run());
});

test("YAML is as good as JSON", async () => {
  const { call } = makeApi();
  const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata: {a: 'b'}\n";
  expect((await call("POST", configMaps, text, { "content-type": "application/yaml" })).body.data).toEqual({ a: "b" });
});

const refusals: Record<string, { path?: string; body: object; status: number; message: string }> = {
  "a name twice": { body: makeMap("taken"), status: 409, message: 'configmaps "taken" already exists' },
  "a namespace that is not there": {
    path: "/api/v1/namespaces/nowhere/configmaps",
    body: makeMap("a"),
    status: 404,
    message: 'namespaces "nowhere" not found',
  },
  "a name in capitals": { body: makeMap("Bad"), status: 422, message: "a lowercase RFC 1123 subdomain" },
  "no name": { body: { metadata: {} }, status: 422, message: "name or generateName is required" },
  "a version on a new object": {
    body: { metadata: { name: "a", resourceVersion: "1" } },
    status: 400,
    message: "resourceVersion",
  },
  "another namespace than the path's": {
    body: { metadata: { name: "a", namespace: "b" } },
    status: 400,
    message: "namespace",
  },
  "another kind": {
    body: { kind: "Pod", metadata: { name: "a" } },
    status: 400,
    message: "cannot be handled as a ConfigMap",
  },
  "a pod without containers": {
    path: pods,
    body: { metadata: { name: "a" }, spec: {} },
    status: 422,
    message: "spec.containers: Required value",
  },
  "a pod of an unknown priority": {
    path: pods,
    body: makePod("a", { spec: { priorityClassName: "none" } }),
    status: 403,
    message: "no PriorityClass with name none was found",
  },
  "a local volume without a place": {
    path: volumes,
    body: makeVolume("a", { spec: { nodeAffinity: null } }),
    status: 422,
    message: "Local volume requires node affinity",
  },
  "a volume without a source": {
    path: volumes,
    body: makeVolume("a", { spec: { local: null } }),
    status: 422,
    message: "must specify a volume type",
  },
  "a size that is none": {
    path: volumes,
    body: makeVolume("a", { spec: { capacity: { storage: "ten" } } }),
    status: 422,
    message: "quantities must match",
  },
  "a claim without a size": {
    path: claims,
    body: makeClaim("a", { spec: { resources: {} } }),
    status: 422,
    message: "spec.resources[storage]: Required value",
  },
  "a claim without a mode": {
    path: claims,
    body: makeClaim("a", { spec: { accessModes: [] } }),
    status: 422,
    message: "at least 1 access mode",
  },
  "a class without a provisioner": {
    path: classes,
    body: { metadata: { name: "a" } },
    status: 422,
    message: "provisioner: Required value",
  },
};

test.for(Object.entries(refusals))("creation refuses %s", async ([, { path = configMaps, body, status, message }]) => {
  const { post, api } = makeApi();
  await post(configMaps, makeMap("taken"));
  const before = api.resourceVersion;
  const answer = await post(path, body);
  expect(answer).toMatchObject({ status, body: { kind: "Status", apiVersion: "v1", status: "Failure", code: status } });
  expect(answer.body.message).toContain(message);
  expect(api.resourceVersion).toBe(before);
});

test("PUT replaces; its version and uid are preconditions", async () => {
  const { post, call } = makeApi();
  const { body: made } = await post(configMaps, makeMap("a", { x: "1" }));
  const put = (metadata: object, data: object) =>
    call("PUT", `${configMaps}/a`, { metadata: { name: "a", ...metadata }, data });
  const { resourceVersion, uid, creationTimestamp } = made.metadata;
  const { body } = await put({ resourceVersion, uid }, { y: "1" });
  expect(body).toMatchObject({ data: { y: "1" }, metadata: { uid, creationTimestamp } });
  expect(body.data.x).toBeUndefined();
  expect((await put({ resourceVersion }, {})).status).toBe(409);
  expect((await put({ uid: "other" }, {})).status).toBe(409);
  expect((await put({}, { z: "1" })).status).toBe(200);
  expect((await call("PUT", `${configMaps}/b`, makeMap("b"))).status).toBe(404);
  expect((await call("PUT", `${configMaps}/a`, makeMap("b"))).status).toBe(400);
});

test("a lease is created by PUT, as kubelets do", async () => {
  const { call } = makeApi();
  const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l";
  expect((await call("PUT", path, { metadata: { name: "l" }, spec: {} })).status).toBe(201);
});

test("the status and the rest are written apart", async () => {
  const { post, patch } = makeApi();
  await post(claims, makeClaim("a"));
  const { body: spec } = await patch(`${claims}/a`, merge, {
    status: { phase: "Bound" },
    metadata: { labels: { l: "1" } },
  });
  expect([spec.status.phase, spec.metadata.labels]).toEqual(["Pending", { l: "1" }]);
  const { body: status } = await patch(`${claims}/a/status`, merge, {
    status: { phase: "Bound" },
    metadata: { labels: { l: "2" } },
  });
  expect([status.status.phase, status.metadata.labels]).toEqual(["Bound", { l: "1" }]);
});

test("the generation counts changes of the spec alone", async () => {
  const { post, patch } = makeApi();
  await post(volumes, makeVolume("a"));
  await patch(`${volumes}/a`, merge, { metadata: { labels: { a: "1" } } });
  const { body } = await patch(`${volumes}/a`, merge, { spec: { claimRef: { namespace: "default", name: "c" } } });
  expect(body.metadata.generation).toBe(2);
});

test("a finalizer keeps a deleted object until it is taken off", async () => {
  const { post, call, patch, get, watch } = makeApi();
  await post(configMaps, { metadata: { name: "a", finalizers: ["x/hold"] } });
  const stream = await watch(`${configMaps}?watch=true`);
  const { status, body } = await call("DELETE", `${configMaps}/a`);
  expect([status, body.metadata.deletionTimestamp]).toEqual([200, "2026-01-01T00:00:00Z"]);
  await call("DELETE", `${configMaps}/a`);
  const added = await patch(`${configMaps}/a`, merge, { metadata: { finalizers: ["x/hold", "x/more"] } });
  expect(added.status).toBe(422);
  await patch(`${configMaps}/a`, merge, { metadata: { finalizers: null } });
  expect((await get(`${configMaps}/a`)).status).toBe(404);
  expect(named(await stream.take())).toEqual(["ADDED a", "MODIFIED a", "DELETED a"]);
});

test("volumes and claims are protected where the server is told to", async () => {
  const { post, call } = makeApi({ protectsVolumes: true });
  expect((await post(volumes, makeVolume("v"))).body.metadata.finalizers).toEqual(["kubernetes.io/pv-protection"]);
  expect((await post(claims, makeClaim("c"))).body.metadata.finalizers).toEqual(["kubernetes.io/pvc-protection"]);
  expect((await call("DELETE", `${claims}/c`)).body.metadata.deletionTimestamp).toBeDefined();
});

test("deletion keeps its preconditions", async () => {
  const { post, call, get } = makeApi();
  const { body: made } = await post(configMaps, makeMap("a"));
  const remove = (preconditions: object) => call("DELETE", `${configMaps}/a`, { preconditions });
  expect(await remove({ uid: "other" })).toMatchObject({ status: 409, body: { reason: "Conflict" } });
  expect((await remove({ resourceVersion: "1" })).status).toBe(409);
  expect((await get(`${configMaps}/a`)).status).toBe(200);
  const { uid, resourceVersion } = made.metadata;
  expect(await remove({ uid, resourceVersion })).toMatchObject({
    status: 200,
    body: { status: "Success", details: { uid } },
  });
  expect((await remove({})).status).toBe(404);
});

test("a collection is deleted by selector", async () => {
  const { post, call, get } = makeApi();
  await post(configMaps, { metadata: { name: "a", labels: { go: "1" } } });
  await post(configMaps, makeMap("b"));
  await call("DELETE", `${configMaps}?labelSelector=go`);
  expect((await get(configMaps)).body.items).toHaveLength(1);
});

test("a namespace goes with all that is in it, and not before", async () => {
  const { post, call, get, patch } = makeApi();
  await post("/api/v1/namespaces", { metadata: { name: "n" } });
  const inside = "/api/v1/namespaces/n/configmaps";
  await post(inside, makeMap("a"));
  await post(inside, { metadata: { name: "held", finalizers: ["x/hold"] } });
  await call("DELETE", "/api/v1/namespaces/n");
  expect((await get("/api/v1/namespaces/n")).body.status.phase).toBe("Terminating");
  expect((await get(`${inside}/a`)).status).toBe(404);
  expect((await post(inside, makeMap("late"))).status).toBe(403);
  await patch(`${inside}/held`, merge, { metadata: { finalizers: [] } });
  expect((await get("/api/v1/namespaces/n")).status).toBe(404);
  expect((await call("DELETE", "/api/v1/namespaces/default")).status).toBe(403);
});

test("a claim without a class gets the default one; one that wants none does not", async () => {
  const { post } = makeApi();
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  await post(classes, { metadata: { name: "fast", annotations }, provisioner: "x" });
  expect((await post(claims, makeClaim("a"))).body.spec.storageClassName).toBe("fast");
  expect((await post(claims, makeClaim("b", { spec: { storageClassName: "" } }))).body.spec.storageClassName).toBe("");
});

test("scale reads and sets the replicas", async () => {
  const { post, patch, get } = makeApi();
  const sets = "/apis/apps/v1/namespaces/default/statefulsets";
  const template = { metadata: { labels: { a: "b" } }, spec: makePod("").spec };
  await post(sets, {
    metadata: { name: "s" },
    spec: { serviceName: "s", selector: { matchLabels: { a: "b" } }, template },
  });
  expect((await patch(`${sets}/s/scale`, merge, { spec: { replicas: 4 } })).body).toMatchObject({
    kind: "Scale",
    spec: { replicas: 4 },
  });
  expect((await get(`${sets}/s`)).body.spec.replicas).toBe(4);
  expect((await get(`${sets}/s/scale`)).body.status).toEqual({ replicas: 0, selector: "a=b" });
});

test("a volume says since when it is in its phase, and a client may say so itself", async () => {
  const { post, patch, runtime } = makeApi();
  const said = async (status: object): Promise<string> => {
    const { body } = await patch(`${volumes}/v/status`, merge, { status });
    return body.status.lastPhaseTransitionTime;
  };
  const { body } = await post(volumes, makeVolume("v"));
  expect(body.status).toEqual({ phase: "Pending", lastPhaseTransitionTime: "2026-01-01T00:00:00Z" });
  await runtime.advance(60_000);
  expect(await said({ message: "the same phase" })).toBe("2026-01-01T00:00:00Z");
  expect(await said({ phase: "Released" })).toBe("2026-01-01T00:01:00Z");
  const own = "2025-01-01T00:00:00Z";
  expect(await said({ phase: "Failed", lastPhaseTransitionTime: own })).toBe(own);
});
