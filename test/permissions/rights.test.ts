/** The list of rights is true: Berth makes no call outside it, and each of its rights is used. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { kindInfo } from "../../src/apis/kubernetes.ts";
import { defaults } from "../../src/config.ts";
import { ApiClient } from "../../src/kube/client.ts";
import { reviewAccess, reviewToken } from "../../src/kube/reviews.ts";
import { allRights, type Needs, rightsFor, titleOf } from "../../src/permissions/rights.ts";
import { type Kind, kinds } from "../../src/scheduling/objects.ts";
import { Berths } from "../election/berths.ts";
import { base, Cluster } from "../server/berth-world.ts";
import { extenderArgs } from "../server/support.ts";
import { CallLog, callOf } from "../support/api-calls.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { tableIn } from "../support/markdown.ts";
import { sandboxStage } from "../support/sandbox-stage.ts";
import { readScenario, runScenario } from "../support/scenario.ts";

const lease = { namespace: "kube-system", name: "berth" };
const titles = (numbers: Iterable<number>): string[] =>
  [...numbers].flatMap((number) => {
    const right = allRights[number];
    return right ? [titleOf(right, lease)] : [];
  });

async function play(name: string, calls: CallLog): Promise<void> {
  const scenario = readScenario(`test/scenarios/${name}.yaml`);
  const stage = await sandboxStage({}, calls.over);
  await runScenario(scenario, stage);
  await stage.stop();
}

/** What filter asks of the API where the cache lacks something, and what follows where that comes after all. */
async function filterWith(
  calls: CallLog,
  objects: readonly Raw[],
  pod: Raw,
  later: readonly Raw[] = [],
): Promise<void> {
  const cluster = new Cluster();
  cluster.between = calls.over;
  await cluster.start([...objects, pod]);
  const body = JSON.stringify(extenderArgs(await cluster.read("pod", "d/p"), ["n1"]));
  await cluster.berth.extender({ method: "POST", path: "/v1/filter", headers: {}, body }, new AbortController().signal);
  for (const object of later) await cluster.create(object);
  await cluster.runtime.advance(4_000);
}

/** Somebody comes to the debug listener with a token. */
async function lookWithToken(calls: CallLog): Promise<void> {
  const { server, runtime } = new Cluster();
  const exchange = calls.over(server.exchange);
  const client = new ApiClient({ runtime, exchange, userAgent: "berth", timeoutMs: 3_000 });
  const found = await reviewToken(client, "token");
  if (found.kind !== "user") throw new Error(`the sandbox knows no user: ${found.kind}`);
  await reviewAccess(client, found.user, { path: "/metrics", verb: "get" });
}

/** The second failure is the first one's event, counted. */
async function bindTwiceInVain(calls: CallLog): Promise<void> {
  const cluster = new Cluster();
  cluster.between = calls.over;
  await cluster.start([makeNode("n1"), makeClass("local"), makePVC("x"), makePod("p", ["x"])]);
  const { metadata } = await cluster.read("pod", "d/p");
  const body = JSON.stringify({ PodName: "p", PodNamespace: "d", PodUID: metadata.uid, Node: "n1" });
  for (let times = 0; times < 2; times++) {
    const request = { method: "POST", path: "/v1/bind", headers: {}, body };
    void cluster.berth.extender(request, new AbortController().signal);
    await cluster.runtime.advance(4_000);
  }
}

test("every right of the list is used, and nothing outside it is asked", { timeout: 60_000 }, async () => {
  const calls = new CallLog();
  await play("static-and-dynamic", calls);
  await play("provisioning-exhausted", calls);

  const paged = new Cluster();
  paged.between = calls.over;
  await paged.start(base, { cache: { ...defaults.cache, streamsLists: false } });

  const node = makeNode("n1");
  const local = makeClass("local");
  await filterWith(calls, [node, local, makePVC("x")], makePod("p", ["x"]), [makePV("a", { on: "n1" })]);
  await filterWith(calls, [node], makePod("p", ["gone"]));
  await filterWith(calls, [node, makePVC("x")], makePod("p", ["x"]));
  await filterWith(calls, [node, local, makePVC("x", { selectedNode: "gone" })], makePod("p", ["x"]));
  await filterWith(calls, [node, makePVC("x", { volume: "gone" })], makePod("p", ["x"]));

  await bindTwiceInVain(calls);

  const berths = new Berths();
  await berths.nodes("n1");
  await berths.add("a", "answers", undefined, calls.over);
  await berths.runtime.advance(10_000);

  await lookWithToken(calls);

  expect({ strange: [...calls.strange] }).toEqual({ strange: [] });
  const unused = allRights.flatMap((_, number) => (calls.used.has(number) ? [] : [number]));
  expect({ unused: titles(unused) }).toEqual({ unused: [] });
});

test("a call outside the list is noticed, and so is one on another object than the list names", () => {
  const calls = new CallLog();
  const send = (method: string, path: string): void =>
    void calls.over(async () => ({ status: 200, headers: {}, body: "" }))(
      { method, path, headers: {} },
      new AbortController().signal,
    );
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  send("GET", "/api/v1/nodes?limit=50");
  send("GET", `${leases}/berth`);
  expect([...calls.strange]).toEqual([]);
  send("GET", leases);
  send("DELETE", "/api/v1/persistentvolumes/a");
  send("PATCH", "/api/v1/namespaces/d/pods/p");
  send("GET", "/api/v1/secrets");
  expect([...calls.strange]).toEqual([
    `GET ${leases}`,
    "DELETE /api/v1/persistentvolumes/a",
    "PATCH /api/v1/namespaces/d/pods/p",
    "GET /api/v1/secrets",
  ]);
});

test("a deployment that leaves a part out needs none of its rights", () => {
  const of = (needs: Needs) => [...new Set(rightsFor(needs).map(({ part }) => part))];
  const all = { binds: true, elects: true, reviews: true };
  expect(of(all)).toEqual(["read", "bind", "wake", "tell", "lease", "debug"]);
  expect(of({ ...all, binds: false })).toEqual(["read", "wake", "tell", "lease", "debug"]);
  expect(of({ ...all, elects: false })).toEqual(["read", "bind", "tell", "debug"]);
  expect(of({ ...all, reviews: false })).toEqual(["read", "bind", "wake", "tell", "lease"]);
  expect(of({ binds: false, elects: false, reviews: false })).toEqual(["read"]);
});

test("docs/permissions.md tells each right, what it is for and what fails without it", () => {
  expect(tableIn(readFileSync("docs/permissions.md", "utf8"), "right")).toEqual(
    allRights.map((right) => [`\`${titleOf(right, lease)}\``, right.part, right.why, right.without]),
  );
});

/** A Berth whose requests of this kind are forbidden. */
async function withheld(kind: Kind, ...verbs: readonly string[]): Promise<Cluster> {
  const cluster = new Cluster();
  const { plural } = kindInfo[kind];
  cluster.between = (exchange) => (request, signal) => {
    const { resource, verb } = callOf(request);
    if (resource !== plural || !verbs.includes(verb)) return exchange(request, signal);
    const body = JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: "forbidden" });
    return Promise.resolve({ status: 403, headers: { "content-type": "application/json" }, body });
  };
  return cluster.start(base);
}

test.for(kinds)("without list and watch of %s Berth is not ready, and names it", async (kind) => {
  const { berth } = await withheld(kind, "list", "watch");
  expect(berth.cluster.readiness()).toEqual({ ready: false, why: `not synced yet: ${kind}` });
});

test.for(kinds)("without watch of %s Berth is ready until that kind is stale", async (kind) => {
  const { berth, runtime } = await withheld(kind, "watch");
  expect(berth.cluster.readiness()).toEqual({ ready: true });
  await runtime.advance(defaults.cache.staleAfterMs + 1_000);
  expect(berth.cluster.readiness()).toEqual({ ready: false, why: `not heard of for 150 s: ${kind}` });
});

test.for(kinds)("without list of %s Berth is ready, for the API streams its lists", async (kind) => {
  const { berth, runtime } = await withheld(kind, "list");
  await runtime.advance(defaults.cache.staleAfterMs + 1_000);
  expect(berth.cluster.readiness()).toEqual({ ready: true });
});
