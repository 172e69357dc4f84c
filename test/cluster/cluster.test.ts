/** The whole cache against the in-memory API server: what it believes is what the API has, whatever happens on the way. */
import { afterEach, expect, test } from "vitest";
import { kindInfo, objectPath } from "../../src/apis/kubernetes.ts";
import { type Change, Cluster, type ClusterDeps } from "../../src/cluster/cluster.ts";
import { ApiClient } from "../../src/kube/client.ts";
import { silentLog } from "../../src/runtime/log.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { type Kind, kinds } from "../../src/scheduling/objects.ts";
import { ClusterState } from "../../src/scheduling/state.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";

interface World {
  readonly runtime: VirtualRuntime;
  readonly api: ApiServer;
  readonly cluster: Cluster;
  readonly state: ClusterState;
  readonly changes: Change[];
  /** Requests seen, "GET /api/v1/…". */
  readonly asked: string[];
  /** Stands between the cluster and the server; passes everything on unless a test replaces it. */
  between: (exchange: Exchange) => Exchange;
  create(kind: Kind, raw: Raw, namespace?: string): Promise<void>;
  remove(kind: Kind, key: string): Promise<void>;
  patch(kind: Kind, key: string, patch: unknown): Promise<void>;
}

const clusters: Cluster[] = [];
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop();
});

function makeWorld(options: Partial<ClusterDeps["options"]> = {}): World {
  const runtime = virtualRuntime();
  const api = new ApiServer({ runtime, protectsVolumes: false });
  const asked: string[] = [];
  const exchange: Exchange = (request, signal) => {
    asked.push(`${request.method} ${request.path}`);
    return world.between(api.exchange)(request, signal);
  };
  const client = new ApiClient({ runtime, exchange, userAgent: "test", timeoutMs: 10_000 });
  const direct = new ApiClient({ runtime, exchange: api.exchange, userAgent: "test", timeoutMs: 10_000 });
  const state = new ClusterState({ clock: () => runtime.now() });
  const changes: Change[] = [];
  const cluster = new Cluster({
    runtime,
    client,
    state,
    log: silentLog,
    options: { staleAfterMs: 150_000, liveReadsMax: 4, nodeAnnotations: new Set(), streamsLists: false, ...options },
  });
  cluster.subscribe((change) => changes.push(change));
  clusters.push(cluster);
  const wrote = async (outcome: ReturnType<ApiClient["get"]>): Promise<void> => {
    const done = await outcome;
    if (!done.ok) throw new Error(done.message);
    await runtime.settle();
  };
  const world: World = {
    runtime,
    api,
    cluster,
    state,
    changes,
    asked,
    between: (inner) => inner,
    create: (kind, raw, namespace = "default") => {
      const { path, plural, namespaced } = kindInfo[kind];
      const at = namespaced ? `${path.slice(0, -plural.length)}namespaces/${namespace}/${plural}` : path;
      const metadata = { ...(raw["metadata"] as Raw), uid: undefined, resourceVersion: undefined };
      return wrote(
        direct.post(at, { ...raw, metadata: { ...metadata, namespace: namespaced ? namespace : undefined } }),
      );
    },
    remove: (kind, key) => wrote(direct.delete(objectPath(kind, key) ?? "")),
    patch: (kind, key, patch) => wrote(direct.patch(objectPath(kind, key) ?? "", "merge", patch)),
  };
  return world;
}

async function fill({ create }: World): Promise<void> {
  await create("node", makeNode("n1"));
  await create("class", makeClass("local"));
  await create("driver", makeDriver("lvm.csi", true));
  await create("csiNode", makeCsiNode("n1", "lvm.csi"));
  await create("capacity", makeCapacity("c", { class: "lvm", on: "n1", capacity: "1Ti" }), "kube-system");
  await create("volume", makePV("a", { on: "n1" }));
  await create("claim", makePVC("x", { namespace: "default" }));
  await create("pod", makePod("p", ["x"]));
}

const keysOf = (state: ClusterState, kind: Kind): string[] => [...state.keys(kind)].sort();

test("every kind is listed, then followed", async () => {
  const world = makeWorld();
  await fill(world);
  world.cluster.start();
  expect(world.cluster.readiness()).toMatchObject({ ready: false });
  await world.runtime.settle();
  expect(world.cluster.synced()).toBe(true);
  expect(world.cluster.readiness()).toEqual({ ready: true });
  const found = Object.fromEntries(kinds.map((kind) => [kind, keysOf(world.state, kind)]));
  expect(found).toEqual({
    node: ["n1"],
    volume: ["a"],
    claim: ["default/x"],
    class: ["local"],
    driver: ["lvm.csi"],
    csiNode: ["n1"],
    capacity: ["kube-system/c"],
    pod: ["default/p"],
  });
  await world.create("volume", makePV("b", { on: "n1" }));
  await world.remove("volume", "a");
  expect(keysOf(world.state, "volume")).toEqual(["b"]);
  expect(world.changes.slice(-2)).toEqual([
    { kind: "volume", key: "b", deleted: false },
    { kind: "volume", key: "a", deleted: true },
  ]);
});

test("a listener sees the state as the change left it", async () => {
  const world = makeWorld();
  const seen: unknown[] = [];
  world.cluster.subscribe(({ kind, key }) => seen.push(world.state.get(kind, key)?.resourceVersion));
  world.cluster.start();
  await world.runtime.settle();
  await world.create("volume", makePV("a", { on: "n1" }));
  expect(seen).toEqual([world.state.get("volume", "a")?.resourceVersion]);
  expect(seen[0]).toBeDefined();
});

test("a listener that throws disturbs nobody", async () => {
  let failures = 0;
  const world = makeWorld();
  const { runtime, api, state } = world;
  const client = new ApiClient({ runtime, exchange: api.exchange, userAgent: "test", timeoutMs: 10_000 });
  const options = { staleAfterMs: 150_000, liveReadsMax: 4, nodeAnnotations: new Set<string>(), streamsLists: false };
  const cluster = new Cluster({
    runtime,
    client,
    state,
    log: silentLog,
    options,
    observer: { listenerFailed: () => failures++ },
  });
  clusters.push(cluster);
  const heard: string[] = [];
  cluster.subscribe(() => {
    throw new Error("mine");
  });
  const stop = cluster.subscribe(({ key }) => heard.push(key));
  cluster.start();
  await runtime.settle();
  await world.create("volume", makePV("a", { on: "n1" }));
  stop();
  await world.create("volume", makePV("b", { on: "n1" }));
  expect(heard).toEqual(["a"]);
  expect(failures).toBe(2);
  expect(keysOf(state, "volume")).toEqual(["a", "b"]);
});

test("a pod that leaves the selection leaves the state", async () => {
  const world = makeWorld();
  await world.create("pod", makePod("p", []));
  world.cluster.start();
  await world.runtime.settle();
  expect(keysOf(world.state, "pod")).toEqual(["default/p"]);
  const client = new ApiClient({
    runtime: world.runtime,
    exchange: world.api.exchange,
    userAgent: "kubelet",
    timeoutMs: 10_000,
  });
  const done = await client.patch("/api/v1/namespaces/default/pods/p/status", "merge", {
    status: { phase: "Running" },
  });
  expect(done.ok).toBe(true);
  await world.runtime.settle();
  expect(keysOf(world.state, "pod")).toEqual([]);
  expect(world.changes.at(-1)).toEqual({ kind: "pod", key: "default/p", deleted: true });
});

test("deletions that fell into a compacted gap are found by the next list", async () => {
  const world = makeWorld();
  await fill(world);
  world.cluster.start();
  await world.runtime.settle();
  world.between = () => async () => {
    throw new Error("connect ECONNREFUSED");
  };
  world.api.closeWatches();
  await world.runtime.settle();
  await world.remove("volume", "a");
  await world.create("volume", makePV("b", { on: "n1" }));
  await world.create("volume", makePV("a", { on: "n1", capacity: "7Gi" }));
  await world.remove("claim", "default/x");
  world.api.forgetHistory();
  world.between = (inner) => inner;
  await world.runtime.advance(60_000);
  expect(keysOf(world.state, "volume")).toEqual(["a", "b"]);
  expect(world.state.get("volume", "a")?.capacity).toBe(7n << 30n);
  expect(keysOf(world.state, "claim")).toEqual([]);
  expect(world.cluster.status().get("volume")?.relists).toBe(1);
  expect(world.cluster.readiness()).toEqual({ ready: true });
});

test("an object re-created under its name is another (FR-061, FR-065)", async () => {
  const world = makeWorld();
  await world.create("volume", makePV("a", { on: "n1" }));
  world.cluster.start();
  await world.runtime.settle();
  const before = world.state.get("volume", "a")?.uid;
  await world.remove("volume", "a");
  await world.create("volume", makePV("a", { on: "n1" }));
  const after = world.state.get("volume", "a")?.uid;
  expect(after).toBeDefined();
  expect(after).not.toBe(before);
});

test("an object told again at the same version changes nothing (FR-107)", async () => {
  const world = makeWorld();
  await fill(world);
  world.cluster.start();
  await world.runtime.settle();
  const { generation } = world.state;
  const heard = world.changes.length;
  world.api.forgetHistory();
  world.api.closeWatches();
  await world.runtime.advance(10_000);
  await world.create("node", makeNode("n2"));
  expect(world.state.generation).toBe(generation + 1);
  expect(world.changes.length).toBe(heard + 1);
});

/** Objects that the API server would refuse today, but an older one, or etcd, may hold (FR-018). */
function poison(exchange: Exchange, path: string, spoil: (object: Raw) => unknown): Exchange {
  return async (request, signal) => {
    const reply = await exchange(request, signal);
    if (!request.path.startsWith(path) || typeof reply.body === "string") return reply;
    const spoilText = (text: string): string => {
      const value = JSON.parse(text) as { items?: Raw[]; object?: Raw };
      if (value.items) return JSON.stringify({ ...value, items: value.items.map(spoil) });
      return value.object ? JSON.stringify({ ...value, object: spoil(value.object) }) : text;
    };
    if (reply.body instanceof Uint8Array) return { ...reply, body: spoilText(Buffer.from(reply.body).toString()) };
    const lines = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of body) yield Buffer.from(`${spoilText(Buffer.from(chunk).toString())}\n`);
    };
    return { ...reply, body: lines(reply.body) };
  };
}

test("a poisoned object is set aside, counted and named, and the others go on (FR-018)", async () => {
  const world = makeWorld();
  world.between = (inner) =>
    poison(inner, "/api/v1/persistentvolumes", (object) => {
      const { name } = object["metadata"] as { name?: string };
      return name === "evil"
        ? { ...object, spec: { ...(object["spec"] as Raw), capacity: { storage: "??" } } }
        : object;
    });
  for (const name of ["a", "evil", "b"]) await world.create("volume", makePV(name, { on: "n1" }));
  world.cluster.start();
  await world.runtime.settle();
  await world.create("volume", makePV("c", { on: "n1" }));
  expect(world.state.get("volume", "evil")).toBe(undefined);
  expect(world.state.problem("volume", "evil")).toBe('spec.capacity.storage: "??" is no size');
  expect(["a", "b", "c"].every((name) => world.state.get("volume", name))).toBe(true);
  expect(world.cluster.status().get("volume")).toMatchObject({ malformed: 1, objects: 4, synced: true });

  // The same version, told again, is judged once.
  world.api.forgetHistory();
  world.api.closeWatches();
  await world.runtime.advance(10_000);
  expect(world.cluster.status().get("volume")?.malformed).toBe(1);

  // Mended, it is an object like any other; deleted, it leaves nothing behind.
  world.between = (inner) => inner;
  world.api.closeWatches();
  await world.runtime.advance(10_000);
  await world.patch("volume", "evil", { metadata: { labels: { mended: "yes" } } });
  expect(world.state.get("volume", "evil")).toBeDefined();
  expect(world.state.problem("volume", "evil")).toBe(undefined);
  await world.remove("volume", "evil");
  expect(keysOf(world.state, "volume")).toEqual(["a", "b", "c"]);
});

test("an object that was good and turned bad is no longer believed", async () => {
  const world = makeWorld();
  await world.create("claim", makePVC("x"));
  world.cluster.start();
  await world.runtime.settle();
  world.between = (inner) =>
    poison(inner, "/api/v1/persistentvolumeclaims", (object) => ({ ...object, spec: { accessModes: ["Sometimes"] } }));
  world.api.closeWatches();
  await world.runtime.advance(5_000);
  await world.patch("claim", "default/x", { metadata: { labels: { touched: "yes" } } });
  expect(world.state.get("claim", "default/x")).toBe(undefined);
  expect(world.state.problem("claim", "default/x")).toContain("spec.accessModes");
  await world.remove("claim", "default/x");
  expect(keysOf(world.state, "claim")).toEqual([]);
});

test("a cache that hears nothing says so after its limit, by kind, and is ready again by itself (FR-109)", async () => {
  const world = makeWorld();
  await fill(world);
  world.cluster.start();
  await world.runtime.settle();
  world.between = () => async () => {
    throw new Error("connect ECONNREFUSED");
  };
  world.api.closeWatches();
  await world.runtime.advance(149_000);
  expect(world.cluster.readiness()).toEqual({ ready: true });
  await world.runtime.advance(2_000);
  expect(world.cluster.readiness()).toEqual({
    ready: false,
    why: "not heard of for 150 s: node, volume, claim, class, driver, csiNode, capacity, pod",
  });
  expect(keysOf(world.state, "volume")).toEqual(["a"]);
  await world.runtime.advance(150_000);
  world.between = (inner) => inner;
  await world.runtime.advance(40_000);
  expect(world.cluster.readiness()).toEqual({ ready: true });
});

test("one kind that cannot be read keeps the whole from being ready, and is named", async () => {
  const world = makeWorld();
  world.between = (inner) => (request, signal) =>
    request.path.includes("csistoragecapacities")
      ? Promise.resolve({ status: 403, headers: {}, body: JSON.stringify({ kind: "Status", message: "forbidden" }) })
      : inner(request, signal);
  world.cluster.start();
  await world.runtime.advance(5_000);
  expect(world.cluster.synced()).toBe(false);
  expect(world.cluster.readiness()).toEqual({ ready: false, why: "not synced yet: capacity" });
  expect(world.cluster.status().get("capacity")).toMatchObject({
    synced: false,
    ageMs: undefined,
    problem: "forbidden",
  });
});

test("quiet kinds stay fresh by their bookmarks, and are never listed again (FR-115)", async () => {
  const world = makeWorld();
  await fill(world);
  world.cluster.start();
  await world.runtime.advance(2 * 3_600_000);
  expect(world.cluster.readiness()).toEqual({ ready: true });
  expect([...world.cluster.status().values()].every(({ relists }) => relists === 0)).toBe(true);
});

test("one watch that falls silent is mended before its kind counts as stale", async () => {
  const world = makeWorld();
  let isSilent = true;
  world.between = (inner) => async (request, signal) => {
    const reply = await inner(request, signal);
    if (!isSilent || !request.path.startsWith("/api/v1/pods?watch=")) return reply;
    isSilent = false;
    const body = (async function* nothing(): AsyncGenerator<Uint8Array> {
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("gone"))));
    })();
    return { ...reply, body };
  };
  world.cluster.start();
  for (let seconds = 0; seconds < 300; seconds += 5) {
    await world.runtime.advance(5_000);
    expect([seconds, world.cluster.readiness()]).toEqual([seconds, { ready: true }]);
  }
  expect(isSilent).toBe(false);
});

test("a streamed list ends in the same state", async () => {
  const world = makeWorld({ streamsLists: true });
  await fill(world);
  world.cluster.start();
  await world.runtime.settle();
  expect(world.cluster.synced()).toBe(true);
  expect(kinds.every((kind) => world.state.size(kind) === 1)).toBe(true);
  expect(world.asked.every((request) => request.includes("watch=true"))).toBe(true);
});

test("pages end in the same state", async () => {
  const world = makeWorld();
  for (let index = 0; index < 250; index++) await world.create("node", makeNode(`n${index}`));
  world.cluster.start();
  for (let turn = 0; turn < 5; turn++) await world.runtime.settle();
  expect(world.state.size("node")).toBe(250);
  // The first page is a short one: nobody knows how large the objects are.
  expect(world.asked.filter((request) => /\/nodes\?limit=(50|100)\b/.test(request))).toHaveLength(3);
});

test("what the first lists mean is worked out in slices, and decisions wait for it", async () => {
  const world = makeWorld();
  for (let index = 0; index < 600; index++) await world.create("claim", makePVC(`x${index}`));
  world.cluster.start();
  const seen = new Set<string>();
  for (let turn = 0; turn < 2_000 && !world.cluster.synced(); turn++) {
    const readiness = world.cluster.readiness();
    if (!readiness.ready) seen.add(readiness.why.replace(/: .*(claim|pod|class).*/, ""));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect([...seen]).toContain("not synced yet: taking stock");
  expect(world.cluster.readiness()).toEqual({ ready: true });
});

const lives: Record<string, { kind: Kind; key: string; want: object }> = {
  "an object that is there": {
    kind: "volume",
    key: "a",
    want: { found: true, object: { name: "a" }, raw: { metadata: { name: "a" } } },
  },
  "a namespaced one": { kind: "claim", key: "default/x", want: { found: true, object: { key: "default/x" } } },
  "one that is not": { kind: "volume", key: "z", want: { found: false } },
  "a name that can be nobody's": { kind: "claim", key: "default/../secrets/s", want: { found: false } },
};

test.for(Object.entries(lives))("live: %s", async ([, { kind, key, want }]) => {
  const world = makeWorld();
  await fill(world);
  expect(await world.cluster.live(kind, key)).toMatchObject(want);
});

test("live: an API that does not answer is a failure within its time, and no more than so many are asked at once", async () => {
  const world = makeWorld({ liveReadsMax: 2 });
  let open = 0;
  let most = 0;
  world.between = () => (_, signal) => {
    most = Math.max(most, ++open);
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        open--;
        reject(new Error("aborted"));
      }),
    );
  };
  const reads = ["a", "b", "c", "d"].map((name) => world.cluster.live("volume", name));
  await world.runtime.advance(60_000);
  expect(await Promise.all(reads)).toEqual(Array(4).fill({ failed: "no answer within 10000 ms" }));
  expect(most).toBe(2);
});

test("live: a caller who has gone is not served", async () => {
  const world = makeWorld();
  const gone = new AbortController();
  gone.abort();
  expect(await world.cluster.live("volume", "a", gone.signal)).toEqual({ failed: "the caller has gone" });
  expect(world.asked).toEqual([]);
});

test("live: an object that lasts while the cache lacks it has its kind listed anew (FR-052)", async () => {
  const world = makeWorld();
  // A watch that swallows every event but answers with bookmarks.
  world.between = (inner) => async (request, signal) => {
    const reply = await inner(request, signal);
    if (!request.path.includes("persistentvolumes?watch") && !/persistentvolumes\?.*watch=true/.test(request.path))
      return reply;
    const { body } = reply;
    if (typeof body === "string" || body instanceof Uint8Array) return reply;
    const only = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of body) if (Buffer.from(chunk).includes("BOOKMARK")) yield chunk;
    };
    return { ...reply, body: only() };
  };
  world.cluster.start();
  await world.runtime.settle();
  await world.create("volume", makePV("a", { on: "n1" }));
  expect(Object.hasOwn(await world.cluster.live("volume", "a"), "found")).toBe(true);
  await world.runtime.advance(5_000);
  await world.cluster.live("volume", "a");
  await world.runtime.settle();
  expect(world.state.get("volume", "a")).toBe(undefined);
  await world.runtime.advance(15_000);
  await world.cluster.live("volume", "a");
  await world.runtime.settle();
  expect(world.state.get("volume", "a")).toBeDefined();
  expect(world.cluster.status().get("volume")?.relists).toBe(1);
});

test("a stopped cluster leaves no timer and no watch behind", async () => {
  const world = makeWorld();
  await fill(world);
  world.cluster.start();
  await world.runtime.settle();
  expect(world.api.watchCount).toBe(kinds.length);
  await world.cluster.stop();
  await world.runtime.settle();
  expect(world.api.watchCount).toBe(0);
});

test("random writes under random faults: once it is quiet, the cache is a fresh list", async () => {
  const world = makeWorld();
  const { runtime } = world;
  world.between = (inner) => async (request, signal) => {
    const chance = runtime.random();
    if (chance < 0.1) throw new Error("read ECONNRESET");
    if (chance < 0.2) return { status: 503, headers: {}, body: "" };
    return inner(request, signal);
  };
  world.cluster.start();
  for (let step = 0; step < 150; step++) {
    const name = `v${Math.floor(runtime.random() * 20)}`;
    const known = await new ApiClient({ runtime, exchange: world.api.exchange, userAgent: "t", timeoutMs: 1_000 }).get(
      `/api/v1/persistentvolumes/${name}`,
    );
    if (!known.ok) await world.create("volume", makePV(name, { on: "n1" }));
    else if (runtime.random() < 0.5) await world.remove("volume", name);
    else await world.patch("volume", name, { metadata: { labels: { step: String(step) } } });
    const fate = runtime.random();
    if (fate < 0.05) world.api.closeWatches();
    if (fate > 0.97) world.api.forgetHistory();
    await runtime.advance(Math.floor(runtime.random() * 3_000));
  }
  world.between = (inner) => inner;
  await runtime.advance(120_000);
  const fresh = await new ApiClient({ runtime, exchange: world.api.exchange, userAgent: "t", timeoutMs: 1_000 }).get(
    "/api/v1/persistentvolumes",
  );
  if (!fresh.ok) throw new Error(fresh.message);
  const items = (fresh.body as { items: { metadata: { name: string; resourceVersion: string } }[] }).items;
  const want = items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]).sort();
  const found = keysOf(world.state, "volume").map((name) => [name, world.state.get("volume", name)?.resourceVersion]);
  expect(found).toEqual(want);
});

test("a refresh ends with a list that began after it: one under way does not count", async () => {
  const world = makeWorld();
  await fill(world);
  world.cluster.start();
  await world.runtime.settle();
  const claimLists = () => world.asked.filter((path) => /persistentvolumeclaims\?(?!.*watch=)/.test(path)).length;
  const slow: typeof world.between = (inner) => async (request, signal) => {
    const reply = await inner(request, signal);
    if (/persistentvolumeclaims\?(?!.*watch=)/.test(request.path)) await world.runtime.sleep(1_000);
    return reply;
  };
  world.between = slow;
  const never = new AbortController().signal;
  const story: string[] = [];
  void world.cluster.refresh("claim", never).then(() => story.push("first"));
  await world.runtime.advance(500);
  void world.cluster.refresh("claim", never).then(() => story.push("second"));
  await world.runtime.advance(700);
  expect([story, claimLists()]).toEqual([["first"], 3]);
  await world.runtime.advance(1_500);
  expect([story, claimLists()]).toEqual([["first", "second"], 3]);
});

test("a refresh that is broken off ends although no list does", async () => {
  const world = makeWorld();
  world.between = () => (_, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  world.cluster.start();
  const given = new AbortController();
  let ended = false;
  void world.cluster.refresh("claim", given.signal).then(() => {
    ended = true;
  });
  await world.runtime.advance(5_000);
  expect(ended).toBe(false);
  given.abort();
  await world.runtime.settle();
  expect(ended).toBe(true);
});
