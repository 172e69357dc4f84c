import { expect, test } from "vitest";
import { configMaps, makeApi, makeMap, makePod, pods, type TestApi } from "./api-client.ts";

async function withMaps(count: number, options: Parameters<typeof makeApi>[0] = {}): Promise<TestApi> {
  const api = makeApi(options);
  for (let index = 0; index < count; index++) await api.post(configMaps, makeMap(`m${String(index).padStart(3, "0")}`));
  return api;
}

const namesOf = (list: { items: { metadata: { name: string } }[] }): string[] =>
  list.items.map(({ metadata }) => metadata.name);

test("a list has a kind, a version and items without kinds, in the order of their names", async () => {
  const { post, get, api } = makeApi();
  for (const name of ["b", "constructor", "a"]) await post(configMaps, makeMap(name));
  const { body } = await get(configMaps);
  expect(body).toMatchObject({ kind: "ConfigMapList", apiVersion: "v1" });
  expect(body.metadata).toEqual({ resourceVersion: String(api.resourceVersion) });
  expect(namesOf(body)).toEqual(["a", "b", "constructor"]);
  expect(Object.keys(body.items[0])).toEqual(["metadata", "data"]);
});

test("pages show one version, whatever is written between them", async () => {
  const { get, call, post, patch } = await withMaps(6);
  const { body: first } = await get(`${configMaps}?limit=2`);
  expect(first.metadata.remainingItemCount).toBe(4);
  await call("DELETE", `${configMaps}/m003`);
  await post(configMaps, makeMap("m0025"));
  await patch(`${configMaps}/m004`, "merge-patch+json", { data: { changed: "yes" } });
  await call("DELETE", `${configMaps}/m000`);

  const { body: second } = await get(`${configMaps}?limit=2&continue=${first.metadata.continue}`);
  const { body: third } = await get(`${configMaps}?limit=2&continue=${second.metadata.continue}`);
  expect([first, second, third].map(namesOf)).toEqual([
    ["m000", "m001"],
    ["m002", "m003"],
    ["m004", "m005"],
  ]);
  expect(third.items[0].data ?? {}).toEqual({});
  expect(new Set([first, second, third].map(({ metadata }) => metadata.resourceVersion)).size).toBe(1);
  expect(third.metadata.continue).toBeUndefined();
});

test("a token whose version is forgotten is 410, with a token for the inconsistent rest", async () => {
  const { get, post, api } = await withMaps(4);
  const { body: first } = await get(`${configMaps}?limit=2`);
  await post(configMaps, makeMap("m9"));
  api.forgetHistory();
  const gone = await get(`${configMaps}?limit=2&continue=${first.metadata.continue}`);
  expect(gone).toMatchObject({ status: 410, body: { kind: "Status", reason: "Expired", code: 410 } });
  const { body: rest } = await get(`${configMaps}?continue=${gone.body.metadata.continue}`);
  expect(namesOf(rest)).toEqual(["m002", "m003", "m9"]);
});

test("a list at an exact version shows that version", async () => {
  const { get, call, api } = await withMaps(2);
  const then = api.resourceVersion;
  await call("DELETE", `${configMaps}/m000`);
  const exact = await get(`${configMaps}?resourceVersion=${then}&resourceVersionMatch=Exact`);
  expect(namesOf(exact.body)).toEqual(["m000", "m001"]);
  expect(namesOf((await get(`${configMaps}?resourceVersion=${then}`)).body)).toEqual(["m001"]);
});

const refused: Record<string, { query: string; status: number; reason: string }> = {
  "a version of the future": { query: "resourceVersion=99999", status: 504, reason: "Timeout" },
  "a continue token of nobody's": { query: "continue=abc", status: 400, reason: "BadRequest" },
  "a token together with a version": { query: "continue=abc&resourceVersion=3", status: 400, reason: "BadRequest" },
  "a version that is no number": { query: "resourceVersion=x", status: 400, reason: "BadRequest" },
  "a limit below zero": { query: "limit=-1", status: 400, reason: "BadRequest" },
  "a match without a version": { query: "resourceVersionMatch=Exact", status: 422, reason: "Invalid" },
  "a field that cannot be selected by": { query: "fieldSelector=spec.host%3Da", status: 400, reason: "BadRequest" },
  "a label selector that is none": { query: "labelSelector=a%20b", status: 400, reason: "BadRequest" },
};

test.for(Object.entries(refused))("a list refuses %s", async ([, { query, status, reason }]) => {
  const { get } = makeApi();
  expect(await get(`${configMaps}?${query}`)).toMatchObject({ status, body: { kind: "Status", reason, code: status } });
});

const selected: Record<string, { query: Record<string, string>; want: string[] }> = {
  equality: { query: { labelSelector: "app=web" }, want: ["web-1", "web-2"] },
  "double equality": { query: { labelSelector: "app==db" }, want: ["db"] },
  "inequality, which the unlabelled meet": { query: { labelSelector: "app!=web" }, want: ["bare", "db"] },
  "a set": { query: { labelSelector: "app in (db, none)" }, want: ["db"] },
  "the complement of a set": { query: { labelSelector: "app notin (web)" }, want: ["bare", "db"] },
  existence: { query: { labelSelector: "canary" }, want: ["web-2"] },
  absence: { query: { labelSelector: "app,!canary" }, want: ["db", "web-1"] },
  "a label named like a method": { query: { labelSelector: "constructor" }, want: [] },
  "all at once": { query: { labelSelector: "app in (web,db),canary!=yes" }, want: ["db", "web-1"] },
  "the name": { query: { fieldSelector: "metadata.name=db" }, want: ["db"] },
  "the node": { query: { fieldSelector: "spec.nodeName=n1" }, want: ["db"] },
  "no node": { query: { fieldSelector: "spec.nodeName=,status.phase=Pending" }, want: ["bare", "web-1", "web-2"] },
  "another scheduler": { query: { fieldSelector: "spec.schedulerName!=default-scheduler" }, want: ["bare"] },
};

test.for(Object.entries(selected))("pods are selected by %s", async ([, { query, want }]) => {
  const { post, get } = makeApi();
  await post(pods, makePod("web-1", { labels: { app: "web" } }));
  await post(pods, makePod("web-2", { labels: { app: "web", canary: "yes" } }));
  await post(pods, makePod("db", { labels: { app: "db" }, spec: { nodeName: "n1" } }));
  await post(pods, makePod("bare", { spec: { schedulerName: "other" } }));
  expect(namesOf((await get(`${pods}?${new URLSearchParams(query)}`)).body)).toEqual(want);
});

test("pages of a selection are full, and count nothing they have not looked at", async () => {
  const { post, get } = makeApi();
  for (const name of ["a", "b", "c", "d"])
    await post(pods, makePod(name, { labels: { odd: String("ac".includes(name)) } }));
  const { body } = await get(`${pods}?limit=1&labelSelector=odd%3Dtrue`);
  expect(namesOf(body)).toEqual(["a"]);
  expect(body.metadata.remainingItemCount).toBeUndefined();
  expect(namesOf((await get(`${pods}?labelSelector=odd%3Dtrue&continue=${body.metadata.continue}`)).body)).toEqual([
    "c",
  ]);
});

test("events are one collection in two groups, each with its own field names", async () => {
  const { post, get } = makeApi();
  const event = {
    metadata: { name: "e1" },
    involvedObject: { kind: "Pod", name: "p" },
    reason: "Late",
    message: "hello",
  };
  expect((await post("/api/v1/namespaces/default/events", event)).status).toBe(201);
  const grouped = "/apis/events.k8s.io/v1/namespaces/default/events";
  const { body } = await get(`${grouped}?fieldSelector=regarding.name%3Dp`);
  expect(body).toMatchObject({ kind: "EventList", apiVersion: "events.k8s.io/v1" });
  expect(body.items[0]).toMatchObject({ regarding: { name: "p" }, note: "hello" });
  await post(grouped, {
    metadata: { name: "e2" },
    regarding: { kind: "Pod", name: "p" },
    note: "again",
    reason: "Late",
  });
  const { body: core } = await get("/api/v1/events?fieldSelector=involvedObject.name%3Dp");
  expect(core.items.map(({ message }: { message: string }) => message)).toEqual(["hello", "again"]);
});

test("tables carry the columns of kubectl and metadata only", async () => {
  const { post, get } = makeApi();
  await post(pods, makePod("a"));
  const { body } = await get(pods, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" });
  const columns = body.columnDefinitions.filter(({ priority }: { priority: number }) => priority === 0);
  expect(columns.map(({ name }: { name: string }) => name)).toEqual(["Name", "Ready", "Status", "Restarts", "Age"]);
  expect(body.rows[0]).toMatchObject({ object: { kind: "PartialObjectMetadata", metadata: { name: "a" } } });
  expect(body.rows[0].object.spec).toBeUndefined();
});

test("metadata alone can be asked for, and what is no JSON cannot", async () => {
  const { post, get } = makeApi();
  await post(pods, makePod("a"));
  const { body } = await get(pods, { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" });
  expect(body).toMatchObject({ kind: "PartialObjectMetadataList", items: [{ kind: "PartialObjectMetadata" }] });
  expect((await get(pods, { accept: "application/vnd.kubernetes.protobuf" })).status).toBe(406);
});
