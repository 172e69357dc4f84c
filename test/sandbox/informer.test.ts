/** The sandbox's own client and caches on a bad network: they end up with what the API server has, whatever happens on the way. */
import { expect, test } from "vitest";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { Agent } from "../../src/sandbox/agent.ts";
import type { Change } from "../../src/sandbox/informer.ts";
import type { KubeObject } from "../../src/sandbox/objects.ts";
import { makeApi, makeMap } from "./api-client.ts";
import { node } from "./world.ts";

const nodes = "/api/v1/nodes";

function follow(o: { wrap?: (exchange: Exchange) => Exchange; historyMax?: number } = {}) {
  const made = makeApi(o.historyMax === undefined ? {} : { historyMax: o.historyMax });
  const exchange = o.wrap ? o.wrap(made.api.exchange) : made.api.exchange;
  const agent = new Agent({ who: "test", exchange, runtime: made.runtime });
  const informer = agent.informer("nodes");
  const changes: string[] = [];
  const tell = ({ type, object }: Change<KubeObject>) => changes.push(`${type} ${object.metadata.name}`);
  informer.listen(tell);
  const names = () => [...informer.values()].map(({ metadata }) => metadata.name).sort();
  return { ...made, agent, informer, changes, names };
}

test("additions, changes and deletions are told in order", async () => {
  const { post, patch, call, runtime, changes, informer } = follow();
  await informer.synced;
  await post(nodes, node("a"));
  await patch(`${nodes}/a`, "merge-patch+json", { metadata: { labels: { b: "c" } } });
  await call("DELETE", `${nodes}/a`);
  await runtime.settle();
  expect(changes).toEqual(["added a", "updated a", "deleted a"]);
});

test("a watch that ends goes on where it was", async () => {
  const { post, api, runtime, changes, informer } = follow();
  await informer.synced;
  await post(nodes, node("a"));
  await runtime.settle();
  api.closeWatches();
  await post(nodes, node("b"));
  await runtime.advance(2_000);
  expect(changes).toEqual(["added a", "added b"]);
});

test("what was forgotten meanwhile is listed anew, deletions included", async () => {
  const { post, call, api, runtime, changes, names, informer } = follow();
  await post(nodes, node("a"));
  await informer.synced;
  await runtime.settle();
  api.closeWatches();
  await call("DELETE", `${nodes}/a`);
  await post(nodes, node("b"));
  api.forgetHistory();
  await runtime.advance(5_000);
  expect(changes).toEqual(["added a", "deleted a", "added b"]);
  expect(names()).toEqual(["b"]);
});

test("an object made anew under its name while nobody watched is told as deleted and added", async () => {
  const { post, call, api, runtime, changes, informer } = follow();
  await post(nodes, node("a"));
  await informer.synced;
  await runtime.settle();
  api.closeWatches();
  await call("DELETE", `${nodes}/a`);
  await post(nodes, node("a"));
  api.forgetHistory();
  await runtime.advance(5_000);
  expect(changes).toEqual(["added a", "deleted a", "added a"]);
});

test("lists that fail are tried again, ever more slowly", async () => {
  let failures = 4;
  const times: number[] = [];
  const failing =
    (exchange: Exchange): Exchange =>
    (request, signal) => {
      if (request.path.includes("watch")) return exchange(request, signal);
      times.push(runtime.now());
      return failures-- > 0 ? Promise.reject(new Error("refused")) : exchange(request, signal);
    };
  const { runtime, informer } = follow({ wrap: failing });
  await runtime.advance(60_000);
  expect(informer.hasSynced).toBe(true);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
});

test("an exchange that never answers is given up", async () => {
  let calls = 0;
  const silent =
    (exchange: Exchange): Exchange =>
    (request, signal) =>
      ++calls === 1 ? new Promise(() => {}) : exchange(request, signal);
  const { runtime, informer } = follow({ wrap: silent });
  await runtime.advance(29_000);
  expect(informer.hasSynced).toBe(false);
  await runtime.advance(5_000);
  expect(informer.hasSynced).toBe(true);
});

test("the reply to a write shows at once and is not taken back by an older event", async () => {
  const { post, patch, runtime, informer } = follow();
  await post(nodes, node("a"));
  await informer.synced;
  await runtime.settle();
  const { body } = await patch(`${nodes}/a`, "merge-patch+json", { metadata: { labels: { b: "c" } } });
  informer.remember(body);
  expect(informer.get("a")?.metadata.labels).toMatchObject({ b: "c" });
  await runtime.settle();
  expect(informer.get("a")?.metadata.labels).toMatchObject({ b: "c" });
});

test("the reply to a write does not bring back what is deleted", async () => {
  const { post, call, runtime, informer } = follow();
  const { body } = await post(nodes, node("a"));
  await informer.synced;
  await call("DELETE", `${nodes}/a`);
  await runtime.settle();
  informer.remember(body);
  expect(informer.get("a")).toBeUndefined();
});

test("errors of the API are values with their reason", async () => {
  const { agent, post } = follow();
  await post("/api/v1/namespaces/default/configmaps", makeMap("a"));
  expect(await agent.client.get("nodes", { name: "none" })).toMatchObject({
    ok: false,
    status: 404,
    reason: "NotFound",
  });
  await post(nodes, node("a"));
  const again = await agent.client.create("nodes", { metadata: { name: "a" } });
  expect(again).toMatchObject({ ok: false, status: 409, reason: "AlreadyExists" });
});

test("a stopped agent leaves nothing that waits, and answers its callers", async () => {
  const { agent, runtime, api, informer } = follow();
  await informer.synced;
  await runtime.settle();
  agent.stop();
  await runtime.settle();
  expect(api.watchCount).toBe(0);
  expect(runtime.pending()).toBe(0);
  expect(await agent.client.get("nodes", { name: "a" })).toMatchObject({ ok: false, status: 0 });
});
