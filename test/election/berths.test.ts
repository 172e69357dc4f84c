/** Two Berths behind one address, and pairs of kube-scheduler and Berth: who answers, who writes, who wakes. */
import { expect, test } from "vitest";
import { defaults } from "../../src/config.ts";
import { writeTimeoutOf } from "../../src/server/leadership.ts";
import { audit } from "../support/auditor.ts";
import { makeCapacity, makeDriver } from "../support/make.ts";
import { Berths, type Replica, type Reply } from "./berths.ts";

async function stage(): Promise<{ world: Berths; a: Replica; b: Replica }> {
  const world = new Berths();
  await world.nodes("n1", "n2");
  const a = await world.add("a");
  await world.runtime.advance(500);
  const b = await world.add("b");
  await world.runtime.advance(10_000);
  return { world, a, b };
}

/** The driver says how much there is. */
async function publishes(world: Berths): Promise<void> {
  await world.remove("driver", "csi.example");
  await world.create("driver", makeDriver("csi.example", true));
}

/** Seconds until `who` is ready. */
async function secondsUntilReady(world: Berths, who: Replica): Promise<number> {
  const from = world.runtime.now();
  for (let tries = 0; tries < 400; tries++) {
    if ((await world.ready()).includes(who)) return (world.runtime.now() - from) / 1000;
    await world.runtime.advance(100);
  }
  throw new Error("not ready after 40 s");
}

function heard<T>(promise: Promise<T>): { value: T | undefined } {
  const heard: { value: T | undefined } = { value: undefined };
  void promise.then((value) => {
    heard.value = value;
  });
  return heard;
}

// FR-064.
test("the follower is not ready, says so, and answers Error for Pods with claims alone", async () => {
  const { world, a, b } = await stage();
  await world.pv("v1", { on: "n1" });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  const free = await world.pod("free", []);
  await world.runtime.advance(100);
  expect((await world.ask(a, "GET", "/readyz")).text).toBe("ok\n");
  expect(await world.ask(b, "GET", "/readyz")).toMatchObject({ status: 503, text: "not ready: follower: a leads\n" });

  expect((await world.filter(a, pod, ["n1", "n2"])).json.NodeNames).toEqual(["n1"]);
  const refused = await world.filter(b, pod, ["n1", "n2"]);
  expect([refused.status, refused.json.Error]).toEqual([200, expect.stringContaining("follower: a leads")]);
  expect((await world.ask(b, "POST", "/v1/prioritize", { Pod: pod, NodeNames: ["n1"] })).json).toEqual([]);
  const victims = { n1: { Pods: [{ UID: "u" }], NumPDBViolations: 0 } };
  const preempted = await world.ask(b, "POST", "/v1/preempt", { Pod: pod, NodeNameToMetaVictims: victims });
  expect(preempted.json.NodeNameToMetaVictims).toEqual({});
  const bind = heard(world.askToBind(b, pod, "n1"));
  await world.runtime.advance(1_000);
  expect(bind.value?.json.Error).toContain("follower: a leads");
  expect(world.volumeWrites).toEqual([]);

  expect((await world.filter(b, free, ["n1", "n2"])).json.NodeNames).toEqual(["n1", "n2"]);
  const bound = heard(world.askToBind(b, free, "n2"));
  await world.runtime.advance(1_000);
  expect([bound.value?.json.Error, (await world.get("pod", "d/free")).spec.nodeName]).toEqual(["", "n2"]);
});

test("a Berth that does not lead ends its caller's connection with the answer, so that the next call finds the leader", async () => {
  const { world, a, b } = await stage();
  await world.pv("v1", { on: "n1" });
  await world.pvc("x");
  const pods = [await world.pod("p", ["x"]), await world.pod("free", [])];
  await world.runtime.advance(100);
  const ends = async (of: Replica) =>
    Promise.all(pods.map(async (pod) => (await world.filter(of, pod, ["n1"])).headers["connection"]));
  expect(await ends(a)).toEqual([undefined, undefined]);
  expect(await ends(b)).toEqual(["close", "close"]);
  // A Service leaves the connections that stand where they are, also when who is behind them is ready no more.
  const bind = heard(world.askToBind(a, pods[0], "n1"));
  await world.runtime.advance(1_000);
  a.process.partition();
  await world.runtime.advance(6_000);
  expect(await ends(a)).toEqual(["close", "close"]);
  expect(bind.value?.headers["connection"]).toBe("close");
});

test("the state page and the metrics say who leads", async () => {
  const { world, a, b } = await stage();
  const state = async (of: Replica) => (await world.ask(of, "GET", "/debug/state")).json.leaderElection;
  expect(await state(a)).toEqual({
    mode: "answers",
    lease: "kube-system/berth",
    identity: "a",
    holder: "a",
    role: "leader",
  });
  expect(await state(b)).toMatchObject({ identity: "b", holder: "a", role: "follower" });
  const metrics = async (of: Replica) => (await world.ask(of, "GET", "/metrics")).text;
  expect(await metrics(a)).toMatch(/^berth_leading 1$/m);
  expect(await metrics(a)).toMatch(/^berth_leads_total\{how="created"\} 1$/m);
  expect(await metrics(b)).toMatch(/^berth_leading 0$/m);
  expect(await metrics(b)).toMatch(/^berth_ready 0$/m);
});

test("the leader dies with a bind half done: within 15 s the other answers, and finishes it on the same volume", async () => {
  const { world, a, b } = await stage();
  for (const name of ["v1", "v2"]) await world.pv(name, { on: "n1" });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.runtime.advance(100);
  void world.askToBind(a, pod, "n1");
  await world.runtime.advance(100);
  expect((await world.get("volume", "v1")).spec.claimRef?.name).toBe("x");
  a.process.kill();
  expect(await secondsUntilReady(world, b)).toBeLessThan(14);

  expect((await world.filter(b, pod, ["n1", "n2"])).json.NodeNames).toEqual(["n1"]);
  const bind = heard(world.askToBind(b, pod, "n1"));
  await world.runtime.advance(100);
  await world.controlVolumes();
  await world.runtime.advance(1_000);
  expect(bind.value?.json.Error).toBe("");
  expect((await world.get("volume", "v2")).spec.claimRef).toBeUndefined();
  expect([await audit(world), world.overlaps()]).toEqual([[], []]);
});

test("the leader is cut off: it is a follower after 5 s, its waiting bind is let go, and nothing is undone", async () => {
  const { world, a, b } = await stage();
  await world.pv("v1", { on: "n1" });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.runtime.advance(100);
  const bind = heard(world.askToBind(a, pod, "n1"));
  await world.runtime.advance(900);
  a.process.partition();
  await world.runtime.advance(5_100);
  expect((await world.ask(a, "GET", "/readyz")).text).toContain("not ready: follower");
  expect(bind.value?.json.Error).toContain("this Berth leads no more");
  expect((await world.get("volume", "v1")).spec.claimRef.name).toBe("x");
  expect(await secondsUntilReady(world, b)).toBeLessThan(10);
  a.process.heal();
  await world.runtime.advance(60_000);
  expect(await world.ready()).toEqual([b]);
  expect((await world.filter(a, pod, ["n1"])).json.Error).toContain("follower: b leads");
  expect((await world.get("volume", "v1")).spec.claimRef.name).toBe("x");
});

test("a write that is on its way when the lead ends is cut off, and does not arrive", async () => {
  const { world, a } = await stage();
  await world.pv("v1", { on: "n1" });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.runtime.advance(100);
  let isRefused = true;
  a.process.fault = ({ method, path }, pass) => {
    if (path.includes("/leases")) return isRefused ? Promise.reject(new Error("ECONNREFUSED")) : undefined;
    return method === "PATCH" ? world.runtime.sleep(1_500).then(pass) : undefined;
  };
  while ((await world.ready()).includes(a)) await world.runtime.advance(10);
  isRefused = false;
  while (!(await world.ready()).includes(a)) await world.runtime.advance(10);
  // Just after a renewal.
  await world.runtime.advance(50);
  isRefused = true;
  await world.runtime.advance(4_000);
  const bind = heard(world.askToBind(a, pod, "n1"));
  await world.runtime.advance(1_100);
  expect(bind.value?.json.Error).toContain("leads no more");
  await world.runtime.advance(30_000);
  expect((await world.get("volume", "v1")).spec.claimRef).toBeUndefined();
});

test("the leader stands still with a bind on its way, and on waking it writes nothing", async () => {
  const { world, a, b } = await stage();
  await world.pvc("x", { class: "csi" });
  const pod = await world.pod("p", ["x"]);
  await publishes(world);
  await world.create("capacity", makeCapacity("c1", { class: "csi", on: "n1", capacity: "10Gi" }));
  await world.runtime.advance(100);
  // The look before the write is answered while the process stands still.
  a.process.fault = ({ method, path }, pass) => {
    if (method !== "GET" || !path.endsWith("/persistentvolumeclaims/x")) return undefined;
    a.process.pause();
    return pass();
  };
  const bind = heard(world.askToBind(a, pod, "n1"));
  await world.runtime.advance(100);
  expect(a.process.isPaused).toBe(true);
  expect(await secondsUntilReady(world, b)).toBeLessThan(14);
  a.process.fault = undefined;
  a.process.resume();
  await world.runtime.advance(5_000);
  expect(bind.value?.json.Error).not.toBe("");
  expect(world.volumeWrites).toEqual([]);
});

test("a new leader counts the capacity that the last one promised, although its own watch had not shown it", async () => {
  const { world, a, b } = await stage();
  await publishes(world);
  await world.create("capacity", makeCapacity("c1", { class: "csi", on: "n1", capacity: "8Gi" }));
  for (const claim of ["x", "y"]) await world.pvc(claim, { class: "csi", request: "5Gi" });
  const [first, second] = [await world.pod("p", ["x"]), await world.pod("q", ["y"])];
  await world.runtime.advance(100);
  // The follower's watch of claims falls silent; its lists are well.
  b.process.holdWatch("/persistentvolumeclaims");
  void world.askToBind(a, first, "n1");
  await world.runtime.advance(100);
  expect((await world.get("claim", "d/x")).metadata.annotations["volume.kubernetes.io/selected-node"]).toBe("n1");
  a.process.kill();
  expect(await secondsUntilReady(world, b)).toBeLessThan(14);
  expect((await world.filter(b, second, ["n1"])).json.NodeNames).toEqual([]);
});

test("before it counts, a new leader waits for as long as the last one's write may be out", async () => {
  const { world, a, b } = await stage();
  expect(writeTimeoutOf(defaults.leaderElection)).toBe(2_000);
  a.process.kill();
  while ((await world.lease()).spec.holderIdentity !== "b") await world.runtime.advance(100);
  expect((await world.ask(b, "GET", "/readyz")).text).toContain("new leader: the last leader's writes");
  await world.runtime.advance(1_800);
  expect(await world.ready()).toEqual([]);
  await world.runtime.advance(300);
  expect(await world.ready()).toEqual([b]);
});

test("no write of a leader is out for longer than that", async () => {
  const { world, a } = await stage();
  await world.pv("v1", { on: "n1" });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.runtime.advance(100);
  let isOut = 0;
  const begun: number[] = [];
  a.process.fault = ({ method, path }) => {
    if (method !== "PATCH" || path.includes("/leases")) return undefined;
    begun.push(world.runtime.now());
    isOut++;
    return new Promise(() => {});
  };
  void world.askToBind(a, pod, "n1");
  await world.runtime.advance(4_400);
  const [first = 0, second = 0] = begun;
  expect(isOut).toBeGreaterThan(1);
  expect(second - first).toBeGreaterThanOrEqual(2_000);
  expect(second - first).toBeLessThan(2_500);
});

test("a stop hands over: binds are let go, the Lease is put down, and the other is ready within 5 s", async () => {
  const { world, a, b } = await stage();
  await world.pv("v1", { on: "n1" });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.runtime.advance(100);
  const bind = heard(world.askToBind(a, pod, "n1"));
  await world.runtime.advance(100);
  const stopped = a.berth.stop();
  expect(await secondsUntilReady(world, b)).toBeLessThan(5);
  await stopped;
  expect(bind.value?.json.Error).toContain("stopping");
  expect((await world.lease()).spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  expect((await world.get("volume", "v1")).spec.claimRef.name).toBe("x");
});

test("without permission for the Lease nobody leads, Pods without claims pass, and readyz says what to grant", async () => {
  const world = new Berths();
  await world.nodes("n1");
  const a = await world.add("a");
  a.process.fault = ({ path }) =>
    path.includes("/leases")
      ? Promise.resolve({ status: 403, headers: {}, body: '{"message":"leases is forbidden"}' })
      : undefined;
  await world.runtime.advance(5_000);
  const { text } = await world.ask(a, "GET", "/readyz");
  expect(text).toContain("follower: may not read Lease kube-system/berth: grant get, create and update on leases");
  expect((await world.filter(a, await world.pod("free", []), ["n1"])).json.NodeNames).toEqual(["n1"]);
  expect((await world.ask(a, "GET", "/metrics")).text).toMatch(/^berth_lease_failures_total [1-9]/m);
});

test("one whose cache is not filled leaves the Lease to others", async () => {
  const world = new Berths();
  await world.nodes("n1");
  await world.add("a", "answers", ({ path }) =>
    path.includes("/persistentvolumes") ? new Promise(() => {}) : undefined,
  );
  await world.runtime.advance(10_000);
  expect((await world.lease()).kind).toBe("Status");
});

async function refusedPod(world: Berths, replica: Replica): Promise<Reply> {
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.runtime.advance(100);
  const reply = await world.filter(replica, pod, ["n1"]);
  expect(reply.json.NodeNames).toEqual([]);
  return reply;
}

const wakesOf = async (world: Berths, replica: Replica): Promise<string | undefined> =>
  /^berth_wakes_total\{outcome="ok"\} (\d+)$/m.exec((await world.ask(replica, "GET", "/metrics")).text)?.[1];

test("in pairs both are ready, and the one that kube-scheduler asks takes the Lease and wakes", async () => {
  const world = new Berths();
  await world.nodes("n1");
  const a = await world.add("a", "background");
  await world.runtime.advance(500);
  const b = await world.add("b", "background");
  await world.runtime.advance(3_000);
  expect(await world.ready()).toEqual([a, b]);
  expect((await world.lease()).spec.holderIdentity).toBe("a");
  await refusedPod(world, b);
  await world.runtime.advance(9_000);
  expect((await world.lease()).spec.holderIdentity).toBe("b");
  await world.pv("v1", { on: "n1" });
  await world.runtime.advance(5_000);
  expect([await wakesOf(world, a), await wakesOf(world, b)]).toEqual([undefined, expect.stringMatching(/^[12]$/)]);
});

test("in pairs the other scheduler's Berth goes on from what the first one wrote", async () => {
  const world = new Berths();
  await world.nodes("n1");
  const [a, b] = [await world.add("a", "background"), await world.add("b", "background")];
  await world.runtime.advance(10_000);
  for (const name of ["v1", "v2"]) await world.pv(name, { on: "n1" });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.runtime.advance(100);
  const scheduler = new AbortController();
  const first = heard(world.askToBind(a, pod, "n1", scheduler.signal));
  await world.runtime.advance(100);
  // kube-scheduler ends itself when it loses its own Lease, and its connections end with it.
  scheduler.abort();
  await world.runtime.advance(1_000);
  expect(first.value?.json.Error).toContain("hung up");
  expect((await world.filter(b, pod, ["n1"])).json.NodeNames).toEqual(["n1"]);
  const second = heard(world.askToBind(b, pod, "n1"));
  await world.runtime.advance(100);
  await world.controlVolumes();
  await world.runtime.advance(60_000);
  expect(second.value?.json.Error).toBe("");
  expect((await world.get("volume", "v2")).spec.claimRef).toBeUndefined();
  expect(await audit(world)).toEqual([]);
  const runs = async (of: Replica) => (await world.ask(of, "GET", "/debug/state")).json.bindsInProgress.count;
  expect([await runs(a), await runs(b)]).toEqual([0, 0]);
});

test("two that are both asked take turns of half a minute, and do not fight", async () => {
  const world = new Berths();
  await world.nodes("n1");
  const [a, b] = [await world.add("a", "background"), await world.add("b", "background")];
  await world.runtime.advance(10_000);
  await refusedPod(world, a);
  const pod = await world.get("pod", "d/p");
  for (let second = 0; second < 120; second++) {
    for (const replica of [a, b]) await world.filter(replica, pod, ["n1"]);
    await world.runtime.advance(1_000);
  }
  expect((await world.lease()).spec.leaseTransitions).toBeOneOf([3, 4]);
});

test("with the election off nobody wakes, and no Lease is made", async () => {
  const world = new Berths();
  await world.nodes("n1");
  const a = await world.add("a", "off");
  await world.runtime.advance(5_000);
  await refusedPod(world, a);
  await world.pv("v1", { on: "n1" });
  await world.runtime.advance(10_000);
  expect(await world.ready()).toEqual([a]);
  expect([await wakesOf(world, a), (await world.lease()).kind]).toEqual([undefined, "Status"]);
});
