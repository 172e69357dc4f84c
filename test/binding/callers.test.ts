/** Who waits for a bind: joining, hanging up, a newer filter, another node, too many at once, and a stop. */
import { beforeEach, describe, expect, test } from "vitest";
import { audit } from "../support/auditor.ts";
import { type Bind, type Body, reply, World } from "./world.ts";

let world: World;
let pod: Body;

beforeEach(async () => {
  world = new World();
  await world.nodes("n1", "n2");
});

async function waitStatic(): Promise<Bind> {
  await world.pv("a", { on: "n1" });
  await world.pvc("x");
  pod = await world.pod("p", ["x"]);
  await world.start();
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  expect(world.writes).toHaveLength(1);
  return bind;
}

const bindings = (): number => world.writes.filter(({ path }) => path.endsWith("/binding")).length;

test("FR-051: a second call for the same node joins; both get the one answer", async () => {
  const first = await waitStatic();
  const second = world.bind(pod, "n1");
  await world.controlVolumes();
  expect([first.answer, second.answer]).toEqual(["ok", "ok"]);
  expect(world.writes).toHaveLength(2);
});

test("FR-051: a call for another node is refused once anything is written, by name", async () => {
  const first = await waitStatic();
  const second = world.bind(pod, "n2");
  await world.runtime.settle();
  expect(second.answer).toBe("pod d/p is being bound to node n1, its volumes are being written there");
  await world.controlVolumes();
  expect(first.answer).toBe("ok");
});

test("decision 16: before anything is written a call for another node takes the place of the older one", async () => {
  await world.pv("a", { on: "n1" });
  await world.pv("b", { on: "n2" });
  await world.pvc("x");
  pod = await world.pod("p", ["x"]);
  await world.start();
  // The first bind hangs in its live look.
  let isFirst = true;
  world.fault = (request, pass) => {
    if (!isFirst || request.method !== "GET") return undefined;
    isFirst = false;
    return world.runtime.sleep(1_500).then(pass);
  };
  const first = world.bind(pod, "n1");
  await world.runtime.settle();
  const second = world.bind(pod, "n2");
  await world.runtime.settle();
  expect(first.answer).toBe("a bind of the pod to node n2 took its place");
  await world.runtime.advance(2_000);
  await world.controlVolumes();
  expect(second.answer).toBe("ok");
  expect((await world.get("volume", "a")).spec.claimRef).toBeUndefined();
  expect(await audit(world)).toEqual([]);
});

test.for([
  ["takes the place of a bind with bound claims that nobody waits for", undefined, /^ok$/],
  ["that cannot reach them is refused for that", "n1", /^node n2 cannot hold the volumes/],
] as const)("decision 16: a call for another node %s", async ([, on, answer]) => {
  await world.pv("a", on === undefined ? { source: { nfs: { server: "nas", path: "/a" } } } : { on });
  await world.pvc("x");
  pod = await world.pod("p", ["x"]);
  await world.start();
  world.bind(pod, "n1").hangUp();
  await world.runtime.settle();
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  bind.hangUp();
  const early = world.bind(pod, "n2");
  await world.runtime.settle();
  expect(early.answer).toMatch(/is being bound to node n1/);
  await world.controlVolumes();
  world.berth.binder.filterSeen(pod.metadata.uid);
  const late = world.bind(pod, "n2");
  await world.runtime.advance(1_000);
  expect(late.answer).toMatch(answer);
  expect((await world.get("claim", "d/x")).spec.volumeName).toBe("a");
  expect(await audit(world)).toEqual([]);
});

test("FR-098: a caller that hangs up leaves the run and its writes; no Binding until the retry joins", async () => {
  const bind = await waitStatic();
  await world.runtime.advance(5_000);
  bind.hangUp();
  await world.controlVolumes();
  await world.runtime.advance(20_000);
  expect(bindings()).toBe(0);
  expect(world.berth.binder.inProgress()).toHaveLength(1);
  const retry = world.bind(pod, "n1");
  await world.runtime.settle();
  expect(retry.answer).toBe("ok");
  expect(world.writes).toHaveLength(2);
});

test("decision 16: a newer filter of the pod lets the caller go; whoever binds again joins", async () => {
  const bind = await waitStatic();
  world.berth.binder.filterSeen(pod.metadata.uid);
  await world.runtime.settle();
  expect(bind.answer).toMatch(/schedules the pod again/);
  await world.controlVolumes();
  expect(bindings()).toBe(0);
  const retry = world.bind(pod, "n1");
  await world.runtime.settle();
  expect(retry.answer).toBe("ok");
});

test("decision 16: a newer filter before anything is written ends the run and its promise in the same turn", async () => {
  await world.pv("a", { on: "n1" });
  await world.pvc("x");
  pod = await world.pod("p", ["x"]);
  const { cluster, binder } = await world.start();
  let isHeld = false;
  world.fault = (request) => {
    if (request.method !== "PATCH" || isHeld) return undefined;
    isHeld = true;
    return Promise.resolve(reply(429, {}, { "retry-after": "30" }));
  };
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  // Sent, so it counts as written; a run in its live look does not.
  expect(binder.hasWritten(pod.metadata.uid)).toBe(true);
  expect(binder.runningOn(pod.metadata.uid)).toBe("n1");
  binder.filterSeen(pod.metadata.uid);
  expect(cluster.state.reservations.assumptionCount).toBe(1);
  await world.runtime.settle();
  expect(bind.answer).toMatch(/schedules the pod again/);

  await world.pvc("y");
  const other = await world.pod("q", ["y"]);
  const early = world.bind(other, "n1");
  expect(binder.runningOn(other.metadata.uid)).toBe("n1");
  binder.filterSeen(other.metadata.uid);
  expect(binder.runningOn(other.metadata.uid)).toBeUndefined();
  await world.runtime.settle();
  expect(early.answer).toMatch(/schedules the pod again/);
  expect(binder.runningOn(other.metadata.uid)).toBeUndefined();
});

test("a bind that nobody waits for ends at its deadline and undoes nothing", async () => {
  const bind = await waitStatic();
  bind.hangUp();
  await world.controlVolumes();
  await world.runtime.advance(600_000);
  expect(world.berth.endings).toEqual(["timedOut"]);
  expect(bindings()).toBe(0);
  expect(await audit(world)).toEqual([]);
});

test("a bind without claims that nobody waits for ends once its Binding is answered or looked for, and may be asked again", async () => {
  pod = await world.pod("p", []);
  await world.start();
  // The API takes the Binding after its answer was given up.
  let late: (() => Promise<unknown>) | undefined;
  world.fault = (request, pass) => {
    if (!request.path.endsWith("/binding") || late) return undefined;
    late = pass;
    return world.runtime.sleep(1_000).then(() => reply(504));
  };
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  bind.hangUp();
  await world.runtime.advance(5_000);
  expect(world.berth.endings).toEqual(["detached"]);
  expect(world.berth.binder.inProgress()).toEqual([]);
  await late?.();
  const elsewhere = world.bind(pod, "n2");
  const again = world.bind(pod, "n1");
  await world.runtime.advance(5_000);
  expect(elsewhere.answer).toMatch(/assigned to node n1|took its place|being bound/);
  expect(again.answer).toBe("ok");
});

test("a join gives the run its full time anew", async () => {
  await waitStatic();
  await world.runtime.advance(500_000);
  const retry = world.bind(pod, "n1");
  await world.runtime.advance(599_000);
  expect(retry.answer).toBeUndefined();
  await world.controlVolumes();
  expect(retry.answer).toBe("ok");
});

test("the pod is deleted while nobody waits: what is ours and unbound goes back all the same", async () => {
  const bind = await waitStatic();
  bind.hangUp();
  await world.remove("pod", "d/p");
  await world.runtime.settle();
  expect((await world.get("volume", "a")).spec.claimRef).toBeUndefined();
  expect(world.berth.endings).toEqual(["podGone"]);
});

describe("too many at once", () => {
  async function threePods(): Promise<Body[]> {
    const pods: Body[] = [];
    for (const name of ["a", "b", "c"]) {
      await world.pv(name, { on: "n1" });
      await world.pvc(name);
      pods.push(await world.pod(name, [name]));
    }
    await world.start({ inProgressMax: 1, queuedMax: 1 });
    return pods;
  }

  test("one more than may be in progress waits its turn, one more than may wait is told so", async () => {
    const pods = await threePods();
    const [first, second, third] = pods.map((one) => world.bind(one, "n1"));
    await world.runtime.settle();
    expect(third?.answer).toBe("too many binds are in progress; the pod is tried again");
    expect(world.writes).toHaveLength(1);
    await world.controlVolumes();
    expect(first?.answer).toBe("ok");
    expect(second?.answer).toBeUndefined();
    await world.controlVolumes();
    expect(second?.answer).toBe("ok");
  });

  test("one that hangs up while it waits its turn gives it to the next", async () => {
    const pods = await threePods();
    const [first, second] = pods.map((one) => world.bind(one, "n1"));
    await world.runtime.settle();
    second?.hangUp();
    const third = world.bind(pods[2], "n1");
    await world.controlVolumes();
    expect(first?.answer).toBe("ok");
    await world.controlVolumes();
    expect(third.answer).toBe("ok");
  });

  test("decision 2: a pod without claims never waits its turn", async () => {
    const pods = await threePods();
    for (const one of pods) world.bind(one, "n1");
    const free = await world.pod("free", []);
    await world.runtime.settle();
    const bind = world.bind(free, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
  });
});

describe("a stop", () => {
  test("decisions 17, 25: waiting callers are told at once, nothing is undone, new calls are turned away", async () => {
    const bind = await waitStatic();
    await world.berth.binder.drain();
    await world.runtime.settle();
    expect(bind.answer).toMatch(/Berth is stopping; what is written of the bind stays/);
    expect((await world.get("volume", "a")).spec.claimRef.name).toBe("x");
    const late = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(late.answer).toBe("Berth is stopping");
    await world.start();
    const next = world.bind(pod, "n1");
    await world.controlVolumes();
    expect(next.answer).toBe("ok");
  });

  test("a write that is out is awaited, so that a stop leaves no write behind that nobody knows of", async () => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x");
    pod = await world.pod("p", ["x"]);
    const { binder } = await world.start();
    world.fault = (request, pass) => (request.method === "PATCH" ? world.runtime.sleep(3_000).then(pass) : undefined);
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    let isDrained = false;
    void binder.drain().then(() => {
      isDrained = true;
    });
    await world.runtime.advance(2_000);
    expect(bind.answer).toMatch(/Berth is stopping/);
    expect(isDrained).toBe(false);
    await world.runtime.advance(1_000);
    expect(isDrained).toBe(true);
    expect(world.runtime.pending()).toBe(world.berth.idleTimers);
  });
});

test("debug/state shows each bind with its claims and what it waits for", async () => {
  await waitStatic();
  await world.runtime.advance(3_000);
  expect(world.berth.binder.inProgress()).toEqual([
    {
      pod: "d/p",
      podUid: pod.metadata.uid,
      node: "n1",
      phase: "waiting",
      ageMs: 3_000,
      callers: 1,
      waitingFor: "claim d/x is not bound to volume a yet",
      claims: [{ claim: "d/x", volume: "a", progress: "ours" }],
    },
  ]);
});

test("metrics hear of every write, the wait, the end and how many are in progress", async () => {
  await world.pv("a", { on: "n1" });
  await world.pvc("x");
  pod = await world.pod("p", ["x"]);
  const heard: string[] = [];
  await world.start(
    {},
    {
      wrote: (kind, result, ms) => heard.push(`${kind} ${result} ${ms}`),
      waited: (ms) => heard.push(`waited ${ms}`),
      ended: (ending, ms) => heard.push(`${ending} ${ms}`),
      inProgress: (count) => heard.push(`${count} in progress`),
    },
  );
  let isFirst = true;
  world.fault = (request) => {
    if (!isFirst || !request.path.endsWith("/binding")) return undefined;
    isFirst = false;
    return Promise.resolve(reply(429, {}, { "retry-after": "2" }));
  };
  world.bind(pod, "n1");
  await world.runtime.advance(3_000);
  await world.controlVolumes();
  await world.runtime.advance(2_000);
  expect(heard).toEqual([
    "1 in progress",
    "claimRef ok 0",
    "waited 3000",
    "binding throttled 0",
    "binding ok 0",
    "bound 5000",
    "0 in progress",
  ]);
});

describe("events on the pod", () => {
  test("a success and a failure are told once each, in a closed set of reasons", async () => {
    await waitStatic();
    await world.controlVolumes();
    expect(world.events).toHaveLength(1);
    expect(world.events[0]).toMatchObject({
      type: "Normal",
      reason: "BerthVolumesBound",
      note: expect.stringMatching(/^Bound claims d\/x for node n1 to volumes a in \d+\.\d s$/),
      reportingController: "berth.dev/berth",
      action: "Binding",
      regarding: { kind: "Pod", namespace: "d", name: "p", uid: pod.metadata.uid },
    });
    await world.pvc("y");
    const other = await world.pod("q", ["y"]);
    for (let tries = 0; tries < 3; tries++) world.bind(other, "n1");
    await world.runtime.advance(1_000);
    world.bind(other, "n1");
    await world.runtime.advance(1_000);
    expect(world.events.slice(1).map(({ reason }) => reason)).toEqual(["BerthBindFailed"]);
    const { body } = await world.call("GET", "/api/v1/namespaces/d/events");
    expect(body.items).toHaveLength(2);
  });

  test("an API that takes no events delays and fails no bind", async () => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x");
    pod = await world.pod("p", ["x"]);
    await world.start();
    world.fault = (request) => (request.path.includes("/events") ? new Promise(() => {}) : undefined);
    const bind = world.bind(pod, "n1");
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    await world.pod("free", []);
    expect(bind.at).toBe(0);
  });
});
