/** The failure matrix of VB §1.5, and what failures and refusals do to the queue (RC §3). */
import { expect, test } from "vitest";
import { extender, passAll, type Reply, urlPrefix, type Verbs } from "./fake-extender.ts";
import { claim, makeWorld, node, pod, storageClass, volume, type World } from "./world.ts";

const refuseAll = ({ NodeNames }: { NodeNames: string[] }): Reply => ({
  NodeNames: [],
  FailedAndUnresolvableNodes: Object.fromEntries(NodeNames.map((name) => [name, "node(s) had no disk"])),
});

async function worldWith(verbs: Verbs, o: { ignorable?: boolean; httpTimeoutMs?: number } = {}) {
  const { entry, calls } = extender(verbs, o);
  const world = makeWorld({ extenders: [entry] });
  await world.apply(node("a"), node("b"));
  await world.runtime.advance(100);
  return { world, calls };
}

async function condition(world: World, name = "p") {
  const found = (await world.get("pods", name))?.status?.conditions?.find(({ type }) => type === "PodScheduled");
  return found && { status: found.status, reason: found.reason, message: found.message };
}

const filterFailures: Record<string, { reply: Reply; text: string; afterMs?: number }> = {
  "a status other than 200": {
    reply: 500,
    text: `failed filter with extender at URL ${urlPrefix}/filter, code 500`,
  },
  "a 204": { reply: 204, text: `failed filter with extender at URL ${urlPrefix}/filter, code 204` },
  "an Error": { reply: { Error: "the cache is behind" }, text: "the cache is behind" },
  "no connection": { reply: new Error("connection refused"), text: `Post "${urlPrefix}/filter": connection refused` },
  "an answer that never comes": {
    reply: "never",
    text: `Post "${urlPrefix}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    afterMs: 5_000,
  },
  "a node nobody asked about": {
    reply: { NodeNames: ["c"] },
    text: `extender "${urlPrefix}" claims a filtered node "c" which is not found in the input node list`,
  },
};

test.for(Object.entries(filterFailures))(
  "filter: %s fails the cycle with its text",
  async ([, { reply, text, afterMs }]) => {
    const { world } = await worldWith({ filter: () => reply });
    await world.apply(pod("p"));
    await world.runtime.advance(afterMs ?? 0);
    expect(await condition(world)).toEqual({ status: "False", reason: "SchedulerError", message: text });
    expect(await world.reasons("p")).toEqual(["FailedScheduling"]);
  },
);

test.for(Object.entries(filterFailures))(
  "filter: %s of an ignorable extender leaves its nodes unfiltered",
  async ([, { reply, afterMs }]) => {
    const { world } = await worldWith({ filter: () => reply }, { ignorable: true });
    await world.apply(pod("p"));
    await world.runtime.advance(afterMs ?? 0);
    expect((await world.placements())["p"]).not.toBe("");
  },
);

test("prioritize: a failure is no opinion", async () => {
  const { world } = await worldWith({ filter: passAll, prioritize: () => [{ Host: "a", Score: 1.5 }] });
  await world.apply(pod("p"));
  expect((await world.placements())["p"]).not.toBe("");
});

test("bind: a failure puts the pod back with the text as it is, and frees what it was assumed to take", async () => {
  let fails = true;
  const bind = (): Reply => (fails ? { Error: "volumes are not bound" } : { Error: "" });
  const { world, calls } = await worldWith({ filter: passAll, bind });
  await world.apply(pod("p", { cpu: "4" }));
  expect(await condition(world)).toMatchObject({ reason: "SchedulerError", message: "volumes are not bound" });
  fails = false;
  await world.runtime.advance(2_000);
  expect(calls.filter(({ verb }) => verb === "bind")).toHaveLength(2);
});

test("bind: a failure of an ignorable extender falls through to the default binder", async () => {
  const { world } = await worldWith({ filter: passAll, bind: () => 500 }, { ignorable: true });
  await world.apply(pod("p"));
  expect((await world.placements())["p"]).not.toBe("");
});

test("bind: a binding that comes after the caller gave up still counts", async () => {
  const { world, calls } = await worldWith({ filter: passAll, bind: () => "never" }, { httpTimeoutMs: 1_000 });
  await world.apply(pod("p"));
  const { client } = world.sandbox.startAgent("late-binder");
  await world.runtime.advance(1_000);
  const late = await world.get("pods", "p");
  if (late) await client.bind(late, "a");
  await world.runtime.advance(60_000);
  expect(await world.placements()).toEqual({ p: "a" });
  expect(calls.filter(({ verb }) => verb === "filter")).toHaveLength(1);
});

test("bind: a slow one holds nobody up", async () => {
  const { world } = await worldWith({
    filter: passAll,
    bind: ({ PodName }) => (PodName === "slow" ? "never" : { Error: "" }),
  });
  await world.apply(pod("slow"), pod("p"));
  await world.runtime.advance(100);
  expect(world.cycles.filter(({ outcome }) => outcome === "bound").map(({ pod: key }) => key)).toEqual(["default/p"]);
});

test("filter: a slow one holds everybody up", async () => {
  const { world } = await worldWith({
    filter: ({ Pod, NodeNames }) => (Pod.metadata.name === "slow" ? "never" : { NodeNames }),
  });
  await world.apply(pod("slow"), pod("p"));
  await world.runtime.advance(4_000);
  expect(await world.placements()).toMatchObject({ p: "" });
  await world.runtime.advance(2_000);
  expect((await world.placements())["p"]).not.toBe("");
});

/** Times of the filter calls about "p", since its creation. */
async function filterTimes(filter: Verbs["filter"], ms: number): Promise<number[]> {
  const times: number[] = [];
  const { world } = await worldWith({
    filter: (body) => {
      times.push(world.runtime.now());
      return filter?.(body) ?? 500;
    },
  });
  const start = world.runtime.now();
  await world.apply(pod("p"));
  await world.runtime.advance(ms);
  return times.map((time) => time - start);
}

// Begun 100 ms into a second, and each backoff ends with the second it ends in: 1.9 s, 3 s, 5 s, 9 s, 11 s (RC §3 has 1.5, 3, 5).
test("errors are tried again with a backoff from one second to ten, by whole seconds", async () => {
  expect(await filterTimes(() => 500, 40_000)).toEqual([0, 1_900, 4_900, 9_900, 18_900, 29_900]);
});

test("an error after many refusals has the backoff of a first error", async () => {
  let calls = 0;
  const times = await filterTimes((body) => (++calls < 3 ? refuseAll(body) : 500), 336_000);
  expect(times.map((time, index) => time - (times[index - 1] ?? 0))).toEqual([0, 0, 329_900, 2_000, 3_000]);
});

test("a refused pod is tried once more because of its own condition, at once, then not for five minutes", async () => {
  expect(await filterTimes(refuseAll, 329_000)).toEqual([0, 0]);
  expect(await filterTimes(refuseAll, 331_000)).toEqual([0, 0, 329_900]);
});

test("an idle scheduler waits for no backoff of a refused pod, and does for that of an error", async () => {
  for (const [reply, calls] of [
    // Its own condition, and of each volume that it comes and that it becomes Available.
    [refuseAll, 2 + 10 * 2],
    [(): Reply => 500, 2],
  ] as const) {
    let asked = 0;
    const { world } = await worldWith({
      filter: (body) => {
        asked++;
        return reply(body);
      },
    });
    await world.apply(pod("p"));
    for (let number = 0; number < 10; number++) {
      await world.apply(volume(`v${number}`));
      await world.runtime.advance(200);
    }
    expect(asked).toBe(calls);
  }
});

test("a pod in backoff goes after all others, and among such the one whose backoff ends first", async () => {
  let letGo = (): void => {};
  const order: string[] = [];
  const { world } = await worldWith({
    filter: async (body) => {
      const { name } = body.Pod.metadata;
      order.push(name);
      if (name === "slow") await new Promise<void>((resolve) => (letGo = resolve));
      return name === "slow" || name === "new" ? passAll(body) : refuseAll(body);
    },
  });
  // "old" has failed more often: its backoff is longer.
  await world.apply(pod("old"));
  for (const number of [1, 2, 3]) await world.apply(volume(`v${number}`));
  await world.apply(pod("young"));
  order.length = 0;
  await world.apply(pod("slow"), volume("all"), pod("new"));
  letGo();
  await world.runtime.settle();
  expect([...new Set(order)]).toEqual(["slow", "new", "young", "old"]);
});

test("with no node at all a pod is tried again after its backoff, as after an error", async () => {
  const world = makeWorld({ scheduler: {} });
  await world.apply(pod("p"));
  await world.runtime.advance(20_000);
  expect(world.cycles.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => "refused"));
});

test.for([
  ["a volume", volume("v")],
  ["a claim", claim("c")],
  ["a class", storageClass("s")],
  ["a node", node("n")],
  ["a driver", { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: "d.example.com" }, spec: {} }],
  ["a CSINode", { apiVersion: "storage.k8s.io/v1", kind: "CSINode", metadata: { name: "a" }, spec: { drivers: [] } }],
  ["a placed pod", pod("other", { spec: { nodeName: "a" } })],
] as const)("%s that appears wakes a pod that an extender refused", async ([, object]) => {
  const { world, calls } = await worldWith({ filter: refuseAll });
  await world.apply(pod("p"));
  await world.runtime.advance(30_000);
  calls.length = 0;
  await world.apply(object);
  expect(calls.length).toBeGreaterThan(0);
});

test.for<readonly [string, object, boolean]>([
  [
    "a heartbeat",
    { status: { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T00:00:09Z" }] } },
    false,
  ],
  ["a list of images", { status: { images: [{ names: ["app"] }] } }, false],
  ["an annotation", { metadata: { annotations: { rack: "r1" } } }, true],
  ["a label", { metadata: { labels: { rack: "r1" } } }, true],
  ["a cordon", { spec: { unschedulable: true } }, true],
])("%s of a node wakes a pod that an extender refused, where it matters", async ([, patch, wakes]) => {
  const { world, calls } = await worldWith({ filter: refuseAll });
  await world.apply(pod("p"));
  await world.runtime.advance(30_000);
  calls.length = 0;
  const { client } = world.sandbox.startAgent("test-node");
  const subresource = "status" in patch ? { subresource: "status" as const } : {};
  const patched = await client.patch("nodes", { name: "a" }, patch, subresource);
  await world.runtime.settle();
  expect([patched.ok, calls.length > 0]).toEqual([true, wakes]);
});

test("a pod whose claim is missing is woken by that claim and by nothing else of its kind", async () => {
  const world = makeWorld();
  await world.apply(node("a"), storageClass("wait"), pod("p", { claims: ["x"] }));
  await world.runtime.advance(30_000);
  const before = world.cycles.length;
  await world.apply(volume("v"), claim("y"), storageClass("other"));
  await world.runtime.advance(30_000);
  expect(world.cycles).toHaveLength(before);
  await world.apply(claim("x"));
  expect(await world.placements()).toEqual({ p: "a" });
});

test("a patch of the pod itself wakes it", async () => {
  const { world, calls } = await worldWith({ filter: refuseAll });
  await world.apply(pod("p"));
  await world.runtime.advance(30_000);
  calls.length = 0;
  await world.patch("pods", "p", { metadata: { annotations: { nudge: "1" } } });
  expect(calls).toHaveLength(1);
});

test("a pod that only in-tree filters refused is not woken by volumes", async () => {
  const world = makeWorld();
  await world.apply(node("a"), pod("p", { spec: { nodeSelector: { tier: "none" } } }));
  await world.runtime.advance(30_000);
  const before = world.cycles.length;
  await world.apply(volume("v"));
  await world.runtime.advance(30_000);
  expect(world.cycles).toHaveLength(before);
  await world.apply(node("b", { labels: { tier: "none" } }));
  await world.runtime.advance(10_000);
  expect(await world.placements()).toEqual({ p: "b" });
});

test("an event during a cycle is not lost", async () => {
  let world: World | undefined;
  let asked = 0;
  const made = await worldWith({
    filter: async (body) => {
      if (++asked === 3) await world?.apply(volume("v"));
      return refuseAll(body);
    },
  });
  world = made.world;
  await world.apply(pod("p"));
  await world.runtime.advance(30_000);
  await world.patch("pods", "p", { metadata: { annotations: { nudge: "1" } } });
  await world.runtime.advance(30_000);
  expect(asked).toBe(4);
});

test("a gated pod is not tried until its gate is gone", async () => {
  const world = makeWorld();
  await world.apply(node("a"), pod("p", { spec: { schedulingGates: [{ name: "wait" }] } }));
  await world.runtime.advance(10_000);
  expect(world.cycles).toEqual([]);
  await world.patch("pods", "p", { spec: { schedulingGates: null } });
  expect(await world.placements()).toEqual({ p: "a" });
});

test("a pod of another scheduler is left alone", async () => {
  const world = makeWorld({ scheduler: { schedulerNames: ["berth-scheduler"] } });
  await world.apply(node("a"), pod("p", { spec: { schedulerName: "another" } }));
  await world.runtime.advance(10_000);
  expect(await world.placements()).toEqual({ p: "" });
});

test("higher priority goes first", async () => {
  const world = makeWorld({ scheduler: false });
  const priorityClass = {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "high" },
    value: 10,
  };
  await world.apply(node("a"), priorityClass, pod("low"), pod("high", { spec: { priorityClassName: "high" } }));
  const order: string[] = [];
  world.sandbox.startScheduler([], { onCycle: ({ pod: key, outcome }) => outcome === "placed" && order.push(key) });
  await world.runtime.advance(100);
  expect(order).toEqual(["default/high", "default/low"]);
});
