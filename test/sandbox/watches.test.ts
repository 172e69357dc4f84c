import { expect, test } from "vitest";
import { configMaps, makeApi, makeMap, makePod, named, pods } from "./api-client.ts";

test("a watch without a version begins with what is there", async () => {
  const { post, watch } = makeApi();
  await post(configMaps, makeMap("a"));
  const stream = await watch(`${configMaps}?watch=true`);
  await post(configMaps, makeMap("b"));
  expect(named(await stream.take())).toEqual(["ADDED a", "ADDED b"]);
});

test("a watch from a version sends every later change, in order", async () => {
  const { post, call, patch, watch, get } = makeApi();
  await post(configMaps, makeMap("a"));
  const { body: list } = await get(configMaps);
  await post(configMaps, makeMap("b"));
  await patch(`${configMaps}/a`, "merge-patch+json", { data: { x: "1" } });
  await call("DELETE", `${configMaps}/a`);
  const stream = await watch(`${configMaps}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
  const events = await stream.take();
  expect(named(events)).toEqual(["ADDED b", "MODIFIED a", "DELETED a"]);
  const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
  expect(versions).toEqual([...versions].sort((a, b) => a - b));
});

test("an object that enters a selector is added, one that leaves it is deleted as it was last seen", async () => {
  const { post, patch, watch } = makeApi();
  await post(pods, makePod("a", { labels: { app: "x" } }));
  const stream = await watch(`${pods}?watch=true&labelSelector=app%3Dx`);
  await patch(`${pods}/a`, "merge-patch+json", { metadata: { labels: { app: "y" } } });
  await patch(`${pods}/a`, "merge-patch+json", { metadata: { labels: { unseen: "1" } } });
  const { body: back } = await patch(`${pods}/a`, "merge-patch+json", { metadata: { labels: { app: "x" } } });
  const events = await stream.take();
  expect(named(events)).toEqual(["ADDED a", "DELETED a", "ADDED a"]);
  expect(events[1]?.object.metadata.labels).toEqual({ app: "x" });
  expect(Number(events[1]?.object.metadata.resourceVersion)).toBe(Number(back.metadata.resourceVersion) - 2);
});

test("a bound pod leaves the watch of pending pods", async () => {
  const { post, watch } = makeApi();
  await post(pods, makePod("a"));
  const stream = await watch(`/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3D`);
  await post(`${pods}/a/binding`, { target: { kind: "Node", name: "n" } });
  expect(named(await stream.take())).toEqual(["ADDED a", "DELETED a"]);
});

test("a watch of one namespace hears nothing of another", async () => {
  const { post, watch } = makeApi();
  const stream = await watch(`${configMaps}?watch=true`);
  await post("/api/v1/namespaces/kube-system/configmaps", makeMap("other"));
  expect(await stream.take()).toEqual([]);
});

test("bookmarks come on time, with the version of the whole store, and only to those who asked", async () => {
  const { post, watch, runtime, api } = makeApi({ bookmarkIntervalMs: 10_000 });
  const asked = await watch(`${configMaps}?watch=true&allowWatchBookmarks=true`);
  const silent = await watch(`${configMaps}?watch=true`);
  await post(pods, makePod("elsewhere"));
  await runtime.advance(25_000);
  const events = await asked.take();
  expect(events.map(({ type }) => type)).toEqual(["BOOKMARK", "BOOKMARK"]);
  expect(events[0]?.object).toMatchObject({
    kind: "ConfigMap",
    metadata: { resourceVersion: String(api.resourceVersion) },
  });
  expect(await silent.take()).toEqual([]);
});

test("sendInitialEvents ends the initial state with an annotated bookmark", async () => {
  const { post, watch } = makeApi();
  await post(configMaps, makeMap("a"));
  const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const stream = await watch(`${configMaps}?${query}`);
  const events = await stream.take();
  expect(events.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
  expect(events[1]?.object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
});

test("a watch from before the history is told 410 in the stream", async () => {
  const { post, watch } = makeApi({ historyMax: 4 });
  for (let index = 0; index < 20; index++) await post(configMaps, makeMap(`m${index}`));
  const stream = await watch(`${configMaps}?watch=true&resourceVersion=5`);
  const [event] = await stream.take();
  expect(stream.status).toBe(200);
  expect(event).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
  expect(stream.isEnded()).toBe(true);
});

test("a forgotten history is 410 to watches that begin, not to those up to date", async () => {
  const { api, post, watch } = makeApi();
  await post(configMaps, makeMap("a"));
  const old = api.resourceVersion - 1;
  const open = await watch(`${configMaps}?watch=true&resourceVersion=${api.resourceVersion}`);
  await open.take();
  await post(configMaps, makeMap("b"));
  await open.take();
  api.forgetHistory();
  await post(configMaps, makeMap("c"));
  expect(named(await open.take())).toEqual(["ADDED c"]);
  const late = await watch(`${configMaps}?watch=true&resourceVersion=${old}`);
  expect(named(await late.take())).toEqual(["ERROR Expired"]);
});

test("a reader that does not read is cut off, and nothing is kept for it", async () => {
  const { api, post } = makeApi({ historyMax: 8 });
  const request = {
    method: "GET",
    path: `${configMaps}?watch=true&resourceVersion=${api.resourceVersion}`,
    headers: {},
  };
  const reply = await api.exchange(request, new AbortController().signal);
  for (let index = 0; index < 50; index++) await post(configMaps, makeMap(`m${index}`));
  let text = "";
  for await (const chunk of reply.body as AsyncIterable<Uint8Array>) text += Buffer.from(chunk).toString();
  expect(JSON.parse(text)).toMatchObject({ type: "ERROR", object: { code: 410 } });
});

test("timeoutSeconds ends a watch, and no timer is left behind", async () => {
  const { watch, runtime, api } = makeApi();
  const stream = await watch(`${configMaps}?watch=true&timeoutSeconds=5&allowWatchBookmarks=true`);
  await runtime.advance(4_999);
  expect(stream.isEnded()).toBe(false);
  await runtime.advance(2);
  expect(stream.isEnded()).toBe(true);
  expect(runtime.pending()).toBe(0);
  expect(api.watchCount).toBe(0);
});

test("an aborted watch ends and leaves nothing behind", async () => {
  const { watch, runtime, api } = makeApi();
  const stream = await watch(`${configMaps}?watch=true`);
  stream.abort();
  await runtime.settle();
  expect([stream.isEnded(), runtime.pending(), api.watchCount]).toEqual([true, 0, 0]);
});

test("closeWatches ends all, as a restart does", async () => {
  const { watch, runtime, api } = makeApi();
  const streams = [await watch(`${configMaps}?watch=true`), await watch(`${pods}?watch=true`)];
  api.closeWatches();
  await runtime.settle();
  expect(streams.map((stream) => stream.isEnded())).toEqual([true, true]);
});

test("a watch in table form sends one row an event", async () => {
  const { api, post, runtime } = makeApi();
  await post(pods, makePod("a"));
  const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
  const controller = new AbortController();
  const reply = await api.exchange({ method: "GET", path: `${pods}?watch=true`, headers }, controller.signal);
  const stream = (reply.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const { value } = await stream.next();
  const { type, object } = JSON.parse(Buffer.from(value as Uint8Array).toString());
  expect(type).toBe("ADDED");
  expect(object).toMatchObject({ kind: "Table", rows: [{ cells: expect.arrayContaining(["a", "0/1", "Pending"]) }] });
  controller.abort();
  await runtime.settle();
});
