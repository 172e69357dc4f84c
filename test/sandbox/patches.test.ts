import { expect, test } from "vitest";
import { claims, configMaps, makeApi, makeClaim, makeMap, makePod, pods, type TestApi } from "./api-client.ts";

const merge = "merge-patch+json";
const strategic = "strategic-merge-patch+json";
const json = "json-patch+json";

test("a merge patch changes what it names, removes what it nulls, and replaces lists", async () => {
  const { post, patch } = makeApi();
  await post(configMaps, {
    ...makeMap("a", { keep: "1", drop: "1" }),
    metadata: { name: "a", finalizers: ["x/a", "x/b"] },
  });
  const { body } = await patch(`${configMaps}/a`, merge, {
    data: { drop: null, add: "2" },
    metadata: { finalizers: ["x/c"] },
  });
  expect(body.data).toEqual({ keep: "1", add: "2" });
  expect(body.metadata.finalizers).toEqual(["x/c"]);
});

const jsonPatches: Record<string, { operations: unknown[]; data?: unknown; status?: number }> = {
  "add sets a member": { operations: [{ op: "add", path: "/data/b", value: "2" }], data: { a: "1", b: "2" } },
  "remove takes one away": { operations: [{ op: "remove", path: "/data/a" }], data: {} },
  "replace wants one that is there": { operations: [{ op: "replace", path: "/data/b", value: "2" }], status: 422 },
  "move renames": { operations: [{ op: "move", from: "/data/a", path: "/data/b" }], data: { b: "1" } },
  "copy doubles": { operations: [{ op: "copy", from: "/data/a", path: "/data/b" }], data: { a: "1", b: "1" } },
  "a test that holds lets the rest through": {
    operations: [
      { op: "test", path: "/data/a", value: "1" },
      { op: "add", path: "/data/a", value: "9" },
    ],
    data: { a: "9" },
  },
  "a test that fails stops everything": {
    operations: [
      { op: "add", path: "/data/a", value: "9" },
      { op: "test", path: "/data/a", value: "1" },
    ],
    status: 422,
  },
  "escapes name a slash and a tilde": {
    operations: [
      { op: "add", path: "/metadata/annotations", value: { "a/b": "1" } },
      { op: "remove", path: "/metadata/annotations/a~1b" },
    ],
    data: { a: "1" },
  },
  "an index beyond the end is refused": {
    operations: [{ op: "add", path: "/metadata/finalizers/3", value: "x/y" }],
    status: 422,
  },
  "an operation of another name is refused": { operations: [{ op: "merge", path: "/data" }], status: 400 },
  "a path into the prototype is refused": { operations: [{ op: "add", path: "/__proto__/x", value: 1 }], status: 400 },
};

test.for(Object.entries(jsonPatches))("JSON patch: %s", async ([, { operations, data, status = 200 }]) => {
  const { post, patch, get } = makeApi();
  await post(configMaps, makeMap("a", { a: "1" }));
  const answer = await patch(`${configMaps}/a`, json, operations);
  expect(answer.status).toBe(status);
  expect((await get(`${configMaps}/a`)).body.data).toEqual(data ?? { a: "1" });
});

async function patchPod(metadata: object, spec: object, patch: unknown): Promise<{ status: number; body: TestBody }> {
  const { post, patch: send } = makeApi();
  await post(pods, makePod("p", { metadata, spec }));
  return send(`${pods}/p`, strategic, patch);
}
type TestBody = Awaited<ReturnType<TestApi["get"]>>["body"];

test("containers merge by name, their environment with them", async () => {
  const containers = [
    { name: "app", image: "app:1", env: [{ name: "A", value: "1" }] },
    { name: "side", image: "side:1" },
  ];
  const { status, body } = await patchPod(
    {},
    { containers },
    { spec: { containers: [{ name: "side", image: "side:2" }] } },
  );
  expect(status).toBe(200);
  expect(body.spec.containers).toMatchObject([containers[0], { name: "side", image: "side:2" }]);
});

const strategicCases: Record<string, { before: object; patch: object; want: object }> = {
  "owner references merge by uid": {
    before: { ownerReferences: [{ uid: "1", name: "a" }] },
    patch: { ownerReferences: [{ uid: "2", name: "b" }] },
    want: {
      ownerReferences: [
        { uid: "1", name: "a" },
        { uid: "2", name: "b" },
      ],
    },
  },
  "an element is deleted by its key": {
    before: {
      ownerReferences: [
        { uid: "1", name: "a" },
        { uid: "2", name: "b" },
      ],
    },
    patch: { ownerReferences: [{ uid: "1", $patch: "delete" }] },
    want: { ownerReferences: [{ uid: "2", name: "b" }] },
  },
  "$patch: replace replaces a list": {
    before: { ownerReferences: [{ uid: "1", name: "a" }] },
    patch: { ownerReferences: [{ uid: "2", name: "b" }, { $patch: "replace" }] },
    want: { ownerReferences: [{ uid: "2", name: "b" }] },
  },
  "$patch: replace replaces a map": {
    before: { labels: { a: "1", b: "1" } },
    patch: { labels: { c: "1", $patch: "replace" } },
    want: { labels: { c: "1" } },
  },
  "$retainKeys drops what it does not name": {
    before: { labels: { a: "1", b: "1" } },
    patch: { labels: { $retainKeys: ["b"] } },
    want: { labels: { b: "1" } },
  },
  "finalizers are a set": {
    before: { finalizers: ["x/a"] },
    patch: { finalizers: ["x/b", "x/a"] },
    want: { finalizers: ["x/a", "x/b"] },
  },
  "a finalizer is deleted by its value": {
    before: { finalizers: ["x/a", "x/b"] },
    patch: { "$deleteFromPrimitiveList/finalizers": ["x/a"], "$setElementOrder/finalizers": ["x/b"] },
    want: { finalizers: ["x/b"] },
  },
  "null removes": {
    before: { labels: { a: "1", b: "1" } },
    patch: { labels: { a: null } },
    want: { labels: { b: "1" } },
  },
};

test.for(Object.entries(strategicCases))("strategic merge: %s", async ([, { before, patch, want }]) => {
  const { body } = await patchPod(before, {}, { metadata: patch });
  expect(body.metadata).toMatchObject(want);
});

test("conditions merge by type, in the status alone", async () => {
  const { post, patch } = makeApi();
  await post(pods, makePod("p"));
  const path = `${pods}/p/status`;
  await patch(path, strategic, {
    status: {
      conditions: [
        { type: "A", status: "False" },
        { type: "B", status: "True" },
      ],
    },
  });
  const { body } = await patch(path, strategic, {
    spec: { nodeName: "x" },
    status: { conditions: [{ type: "A", status: "True" }] },
  });
  expect(body.status.conditions).toEqual([
    { type: "A", status: "True" },
    { type: "B", status: "True" },
  ]);
  expect(body.spec.nodeName).toBeUndefined();
});

test("tolerations and taints are replaced whole, as their types say", async () => {
  const { post, patch } = makeApi();
  await post("/api/v1/nodes", { metadata: { name: "n" }, spec: { taints: [{ key: "a", effect: "NoSchedule" }] } });
  const { body } = await patch("/api/v1/nodes/n", strategic, {
    spec: { taints: [{ key: "b", effect: "NoSchedule" }] },
  });
  expect(body.spec.taints).toEqual([{ key: "b", effect: "NoSchedule" }]);
});

test("a version in a patch is a precondition", async () => {
  const { post, patch } = makeApi();
  const { body: created } = await post(configMaps, makeMap("a"));
  const { resourceVersion } = created.metadata;
  expect((await patch(`${configMaps}/a`, merge, { metadata: { resourceVersion }, data: { x: "1" } })).status).toBe(200);
  const late = await patch(`${configMaps}/a`, merge, { metadata: { resourceVersion }, data: { x: "2" } });
  expect(late).toMatchObject({ status: 409, body: { reason: "Conflict", details: { name: "a", kind: "configmaps" } } });
  expect(late.body.message).toContain("the object has been modified; please apply your changes to the latest version");
});

test("a patch of another type is 415 and names the type", async () => {
  const { post, patch } = makeApi();
  await post(configMaps, makeMap("a"));
  const answer = await patch(`${configMaps}/a`, "json", {});
  expect(answer).toMatchObject({ status: 415, body: { reason: "UnsupportedMediaType" } });
  expect(answer.body.message).toContain("application/json)");
});

test("a patch that changes nothing writes no version", async () => {
  const { post, patch, api } = makeApi();
  await post(configMaps, makeMap("a", { x: "1" }));
  const before = api.resourceVersion;
  await patch(`${configMaps}/a`, merge, { data: { x: "1" } });
  expect(api.resourceVersion).toBe(before);
});

test("apply creates, merges by manager and takes back what it no longer names", async () => {
  const { call } = makeApi();
  const apply = (manager: string, data: string) =>
    call(
      "PATCH",
      `${configMaps}/a?fieldManager=${manager}`,
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: ${data}`,
      {
        "content-type": "application/apply-patch+yaml",
      },
    );
  expect((await apply("me", "{x: '1', y: '1'}")).status).toBe(201);
  expect((await apply("you", "{z: '1', y: '1'}")).body.data).toEqual({ x: "1", y: "1", z: "1" });
  const { body } = await apply("me", "{w: '1'}");
  expect(body.data).toEqual({ w: "1", y: "1", z: "1" });
  expect(body.metadata.managedFields.map(({ manager }: { manager: string }) => manager)).toEqual(["you", "me"]);
});

test("apply refuses a field that another manager applied, unless it is forced", async () => {
  const { call } = makeApi();
  const apply = (query: string, image: string) => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { containers: [{ name: "app", image }] },
    };
    return call("PATCH", `${pods}/p?${query}`, pod, { "content-type": "application/apply-patch+yaml" });
  };
  await apply("fieldManager=me", "a:1");
  expect((await apply("fieldManager=you", "a:1")).status).toBe(200);
  const { status, body } = await apply("fieldManager=you", "a:2");
  expect([status, body.reason]).toEqual([409, "Conflict"]);
  expect(body.message).toBe('Apply failed with 1 conflict: conflict with "me": .spec.containers[name="app"].image');
  expect((await apply("fieldManager=you&force=true", "a:2")).body.spec.containers[0].image).toBe("a:2");
  expect((await apply("fieldManager=you", "a:3")).status).toBe(200);
  expect((await apply("fieldManager=me", "a:1")).status).toBe(409);
});

test("apply without a manager is refused", async () => {
  const { patch } = makeApi();
  expect((await patch(`${configMaps}/a`, "apply-patch+yaml", { metadata: { name: "a" } })).status).toBe(400);
});

test("a dry run answers with what would be, and changes nothing", async () => {
  const { post, patch, call, get, api } = makeApi();
  await post(claims, makeClaim("a"));
  const before = api.resourceVersion;
  const { body } = await patch(`${claims}/a?dryRun=All`, merge, { metadata: { labels: { x: "1" } } });
  expect(body.metadata.labels).toEqual({ x: "1" });
  expect((await post(`${claims}?dryRun=All`, makeClaim("b"))).status).toBe(201);
  expect((await call("DELETE", `${claims}/a?dryRun=All`)).status).toBe(200);
  expect((await get(`${claims}/a`)).body.metadata.labels).toBeUndefined();
  expect(api.resourceVersion).toBe(before);
});
