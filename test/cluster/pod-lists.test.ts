/** Pods on a node, listed live for explanations: within the rights, bounded, and a failure is a value. */
import { expect, test } from "vitest";
import { PodLists } from "../../src/cluster/pod-lists.ts";
import { ApiClient } from "../../src/kube/client.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { nodeName } from "../../src/scheduling/names.ts";
import { ask, Cluster } from "../server/berth-world.ts";
import { CallLog } from "../support/api-calls.ts";
import { virtualRuntime } from "../support/clock.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";

const asking = (pod: Raw, cpu: string, more: Raw = {}): Raw => {
  const containers = [{ name: "c", image: "i", resources: { requests: { cpu } } }];
  return { ...pod, spec: { ...(pod["spec"] as Raw), ...more, containers } };
};

test("a Pod that its bound volume pins is told what the node lacks and who holds it, from the API itself", async () => {
  const calls = new CallLog();
  const cluster = new Cluster();
  cluster.between = calls.over;
  await cluster.start([
    makeClass("local"),
    makeNode("n1"),
    makeNode("n2"),
    makePV("a", { on: "n1", claim: "x" }),
    makePVC("x"),
    asking(makePod("p", ["x"]), "5"),
    asking(makePod("there", [], { node: "n1" }), "6"),
    asking(makePod("elsewhere", [], { node: "n2" }), "8"),
  ]);
  await cluster.bindClaim("x", "a");
  await cluster.runtime.advance(1_000);
  const { json } = await ask(cluster.berth.debug, "GET", "/debug/explain/d/p");
  expect(json.placings).toMatchObject([
    {
      node: "n1",
      because: "pinned",
      obstacles: [{ resource: "cpu", short: "3", holders: [{ pod: "d/there", holds: "6" }], holdersLeft: 0 }],
    },
  ]);
  expect([...calls.strange]).toEqual([]);
  const placed = await ask(cluster.berth.debug, "GET", "/debug/explain/d/there");
  expect(placed.json).toMatchObject({ pod: "d/there", assignedTo: "n1" });
  await cluster.berth.stop();
});

function listsOver(exchange: Exchange): PodLists {
  return new PodLists(new ApiClient({ runtime: virtualRuntime(), exchange, userAgent: "t", timeoutMs: 1_000 }));
}

const { signal } = new AbortController();
const saying =
  (status: number, body: unknown): Exchange =>
  async () => ({
    status,
    headers: {},
    body: JSON.stringify(body),
  });

test("a node's name is no part of another question, and a page is all that is asked for", async () => {
  const paths: string[] = [];
  const lists = listsOver((request, its) => {
    paths.push(request.path);
    return saying(200, { items: [{}], metadata: { continue: "more" } })(request, its);
  });
  expect(await lists.onNode(nodeName("n1&watch=true"), signal)).toEqual({ ok: true, pods: [{}], isWhole: false });
  const asked = new URL(paths[0] ?? "", "http://api").searchParams;
  expect(Object.fromEntries(asked)).toEqual({ fieldSelector: "spec.nodeName=n1&watch=true", limit: "500" });
  expect(await lists.named("..", "p", signal)).toEqual({ ok: true, pods: [], isWhole: true });
  expect(paths).toHaveLength(1);
});

test("what fails is a value", async () => {
  const status = { kind: "Status", code: 403, reason: "Forbidden", message: "pods is forbidden" };
  expect(await listsOver(saying(403, status)).onNode(nodeName("n1"), signal)).toEqual({
    ok: false,
    why: "pods is forbidden",
  });
  const gone = AbortSignal.abort();
  expect(await listsOver(saying(200, {})).onNode(nodeName("n1"), gone)).toEqual({
    ok: false,
    why: "the caller has gone",
  });
  expect(await listsOver(saying(200, {})).onNode(nodeName("n1"), signal)).toEqual({
    ok: true,
    pods: [],
    isWhole: true,
  });
});

test("two are out at one time", async () => {
  let out = 0;
  let most = 0;
  const lists = listsOver(async (request, its) => {
    most = Math.max(most, ++out);
    await new Promise((resolve) => setImmediate(resolve));
    out--;
    return saying(200, { items: [] })(request, its);
  });
  await Promise.all(Array.from({ length: 6 }, () => lists.onNode(nodeName("n1"), signal)));
  expect(most).toBe(2);
});
