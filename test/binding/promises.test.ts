/** What a run's promises become when it ends early: neither kept beyond their cause nor taken from a newer run (design.md §7.7). */
import { beforeEach, expect, test } from "vitest";
import type { HttpReply } from "../../src/runtime/runtime.ts";
import { type Body, reply, World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = new World();
  await world.nodes("n1", "n2");
});

/** Claims that are promised to a Pod, each with its node. */
function promised(): string[] {
  const { assumptions } = world.berth.cluster.state.reservations.dump();
  return assumptions.map(({ claim, node }) => `${claim} on ${node}`);
}

/**
 * A bind to n1 that has promised and written nothing: the claim's old node is gone, and the look that confirms it before the
 * first write takes three seconds.
 */
async function promisedOnly(): Promise<Body> {
  await world.nodes("gone");
  await world.pvc("x", { class: "csi", selectedNode: "gone" });
  await world.remove("node", "gone");
  const pod = await world.pod("p", ["x"]);
  await world.start();
  let looks = 0;
  world.fault = (request, pass) => {
    if (!request.path.endsWith("/nodes/gone")) return undefined;
    // The first is for the plan.
    return ++looks === 2 ? world.runtime.sleep(3_000).then(pass) : undefined;
  };
  return pod;
}

test("a bind that is let go before its first write ends its promises in that very turn", async () => {
  const pod = await promisedOnly();
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  expect([promised(), world.writes]).toEqual([["d/x on n1"], []]);
  world.berth.binder.filterSeen(pod.metadata.uid);
  expect(promised()).toEqual([]);
  await world.runtime.advance(4_000);
  expect([bind.answer, world.writes]).toEqual([expect.stringMatching(/schedules the pod again/), []]);
});

test("a bind that was stopped before its first write, and ends late, leaves a newer one's promises alone", async () => {
  const pod = await promisedOnly();
  world.bind(pod, "n1");
  await world.runtime.settle();
  const newer = world.bind(pod, "n2");
  const { fault } = world;
  // The newer one's write is on the wire for longer than the old one lives.
  world.fault = (request, pass) =>
    request.method === "PATCH" ? world.runtime.sleep(6_000).then(pass) : fault?.(request, pass);
  await world.runtime.advance(4_000);
  expect(world.berth.binder.inProgress()).toHaveLength(1);
  expect([promised(), newer.answer]).toEqual([["d/x on n2"], undefined]);
  await world.runtime.advance(4_000);
  await world.provision();
  expect(newer.answer).toBe("ok");
});

/** The first write is answered 504 and has no effect, or none yet; every later one is turned away unread. */
function lossThenThrottling(touch: () => Promise<unknown>): void {
  let writes = 0;
  world.fault = (request): Promise<HttpReply> | undefined => {
    if (request.method !== "PATCH") return undefined;
    if (++writes > 1) return Promise.resolve(reply(429, {}, { "retry-after": "1" }));
    return touch().then(() => reply(504));
  };
}

const doubts = {
  "a claimRef": { class: "local", kind: "volume", key: "a" },
  "a selected-node": { class: "csi", kind: "claim", key: "d/x" },
} as const;
const touch = { metadata: { annotations: { touched: "yes" } } };

test.for(Object.entries(doubts))(
  "%s whose version is past can land no more: its promise ends with the bind",
  async ([, { class: name, kind, key }]) => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x", { class: name });
    const pod = await world.pod("p", ["x"]);
    await world.start({ bindTimeoutMs: 10_000 });
    lossThenThrottling(() => world.patch(kind, key, touch));
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(9_000);
    expect(promised()).toEqual(["d/x on n1"]);
    await world.runtime.advance(3_000);
    expect([bind.answer, promised()]).toEqual([expect.stringMatching(/not bound after 10 s/), []]);
  },
);

test.for(Object.entries(doubts))(
  "%s whose version still stands may land: its promise outlives the bind until it cannot",
  async ([, { class: name }]) => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x", { class: name });
    const pod = await world.pod("p", ["x"]);
    await world.start({ bindTimeoutMs: 10_000 });
    lossThenThrottling(async () => {});
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(12_000);
    expect([bind.answer, promised()]).toEqual([expect.stringMatching(/not bound after 10 s/), ["d/x on n1"]]);
    await world.runtime.advance(90_000);
    expect(promised()).toEqual([]);
  },
);

/** A bind that ended in doubt after ten seconds: the write is given up for good, or taken for landed, 70 s later. */
async function endedInDoubt(): Promise<Body> {
  await world.pv("a", { on: "n1" });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.start({ bindTimeoutMs: 10_000 });
  lossThenThrottling(async () => {});
  world.bind(pod, "n1");
  await world.runtime.advance(12_000);
  return pod;
}

test("while the API cannot be asked, a promise in doubt stays, and is looked at again", async () => {
  await endedInDoubt();
  world.fault = () => Promise.resolve(reply(500));
  await world.runtime.advance(90_000);
  expect(promised()).toEqual(["d/x on n1"]);
  world.fault = undefined;
  await world.runtime.advance(70_000);
  expect(promised()).toEqual([]);
});

test("a promise in doubt that a newer bind takes over, while the API is asked about it, is that bind's", async () => {
  const pod = await endedInDoubt();
  let isFirst = true;
  world.fault = (request, pass) => {
    if (request.method === "PATCH") return world.runtime.sleep(9_000).then(pass);
    if (!isFirst || !request.path.endsWith("/persistentvolumes/a")) return undefined;
    isFirst = false;
    return world.runtime.sleep(3_000).then(pass);
  };
  await world.runtime.advance(69_000);
  expect(isFirst).toBe(false);
  const newer = world.bind(pod, "n1");
  await world.runtime.advance(5_000);
  expect([promised(), newer.answer]).toEqual([["d/x on n1"], undefined]);
});

const afterRefusal: Record<string, { before: () => unknown; kept: boolean }> = {
  "and the node rests: the sibling's volume goes back": { before: () => {}, kept: false },
  "and a volume has come that serves it here: the sibling's stays": {
    before: () => world.pv("b", { on: "n1", class: "csi" }),
    kept: true,
  },
  "and its class cannot be read: a doubt undoes nothing": {
    before: () => world.berth.cluster.state.setAside("class", "csi", "volumeBindingMode: wrong"),
    kept: true,
  },
};
test.for(Object.entries(afterRefusal))(
  "departure D18: one of two claims is refused by its provisioner, %s",
  async ([, { before, kept }]) => {
    await world.pv("a", { on: "n1" });
    await world.pvc("w");
    await world.pvc("x", { class: "csi" });
    const pod = await world.pod("p", ["w", "x"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    await before();
    await world.patch("claim", "d/x", { metadata: { annotations: { "volume.kubernetes.io/selected-node": null } } });
    await world.runtime.settle();
    expect(bind.answer).toMatch(/provisioning of claim d\/x on node n1 was refused/);
    expect((await world.get("volume", "a")).spec.claimRef !== undefined).toBe(kept);
    expect(promised()).toEqual([]);
  },
);

test("a promise outlives a run that found its claim bound, until the watch shows the volume", async () => {
  const pod = await world.oneDisk({ bindTimeoutMs: 5_000 });
  const { cluster } = world.berth;
  cluster.hold("volume");
  world.bind(pod, "n1");
  await world.controlVolumes();
  await world.runtime.advance(6_000);
  world.fault = ({ path }) => (path.endsWith("/binding") ? Promise.resolve(reply(403)) : undefined);
  const again = world.bind(pod, "n1");
  await world.runtime.advance(1_000);
  expect([again.answer, promised()]).toEqual([expect.stringMatching(/refused to bind/), ["d/x on n1"]]);
  await world.runtime.advance(80_000);
  expect(promised()).toEqual(["d/x on n1"]);
  cluster.release("volume");
  await world.runtime.settle();
  expect(promised()).toEqual([]);
});

test("a volume whose plan went astray stays promised until its claimRef is taken back", async () => {
  const pod = await world.oneDisk();
  world.berth.cluster.hold("volume");
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  // Only the release is slow.
  world.fault = (request, pass) => (request.method === "PATCH" ? world.runtime.sleep(3_000).then(pass) : undefined);
  await world.patch("node", "n1", { metadata: { labels: { "kubernetes.io/hostname": "elsewhere" } } });
  await world.runtime.advance(2_000);
  expect([bind.answer, promised()]).toEqual([undefined, ["d/x on n1"]]);
  await world.runtime.advance(2_000);
  expect([bind.answer, promised()]).toEqual([expect.stringMatching(/node affinity of volume a/), []]);
  expect((await world.get("volume", "a")).spec.claimRef).toBeUndefined();
});

test("a volume whose plan went astray and that stays its claim's stays promised until the watch shows it", async () => {
  const pod = await world.oneDisk();
  world.berth.cluster.hold("volume");
  const bind = world.bind(pod, "n1");
  await world.controlVolumes();
  await world.patch("node", "n1", { metadata: { labels: { "kubernetes.io/hostname": "elsewhere" } } });
  await world.runtime.advance(1_000);
  expect([bind.answer, promised()]).toEqual([expect.stringMatching(/already bound to volume a/), ["d/x on n1"]]);
  world.berth.cluster.release("volume");
  await world.runtime.settle();
  expect(promised()).toEqual([]);
});

/** What takes a written claimRef its sense while the watch has not shown it, and leaves the node a plan. */
const overtaken: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
  [
    "is created anew",
    async () => {
      await world.remove("claim", "d/x");
      await world.pvc("x");
    },
    /claim d\/x was deleted/,
  ],
  [
    "is bound to another volume",
    async () => {
      await world.pv("b", { on: "n1" });
      const { uid } = (await world.get("claim", "d/x")).metadata;
      await world.patch("volume", "b", {
        spec: { claimRef: { kind: "PersistentVolumeClaim", namespace: "d", name: "x", uid } },
      });
      await world.patch("claim", "d/x", {
        metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
        spec: { volumeName: "b" },
      });
    },
    /claim d\/x was bound to volume b instead of a/,
  ],
];

test.for(overtaken)(
  "the volume of a claim that %s is taken back, though the node has a plan still",
  async ([, change, error]) => {
    const pod = await world.oneDisk();
    world.berth.cluster.hold("volume");
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    await change();
    await world.runtime.advance(2_000);
    expect([bind.answer, promised()]).toEqual([expect.stringMatching(error), []]);
    expect((await world.get("volume", "a")).spec.claimRef).toBeUndefined();
  },
);

test.for(overtaken)(
  "where it cannot be, it stays promised until the watch shows it: a claim that %s",
  async ([, change, error]) => {
    const pod = await world.oneDisk();
    world.berth.cluster.hold("volume");
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    world.fault = ({ method }) => (method === "PATCH" ? Promise.resolve(reply(403)) : undefined);
    await change();
    await world.runtime.advance(2_000);
    expect([bind.answer, promised()]).toEqual([expect.stringMatching(error), ["d/x on n1"]]);
    world.berth.cluster.release("volume");
    await world.runtime.settle();
    expect(promised()).toEqual([]);
  },
);

test("a volume that is promised by a write in doubt, and that another claim got, is never written over", async () => {
  const pod = await world.oneDisk();
  const thief = await world.pvc("thief");
  world.fault = ({ method }) => (method === "PATCH" ? Promise.resolve(reply(500)) : undefined);
  world.bind(pod, "n1");
  await world.runtime.settle();
  await world.remove("pod", "d/p");
  const anew = await world.pod("p", ["x"]);
  await world.runtime.advance(10_000);
  world.fault = undefined;
  expect([promised(), world.berth.binder.inProgress()]).toEqual([["d/x on n1"], []]);
  const { name, namespace, uid } = thief.metadata;
  await world.patch("volume", "a", { spec: { claimRef: { kind: "PersistentVolumeClaim", namespace, name, uid } } });
  await world.runtime.settle();
  const next = world.bind(anew, "n1");
  await world.runtime.advance(1_000);
  expect(next.answer).toMatch(/cannot hold the volumes/);
  expect((await world.get("volume", "a")).spec.claimRef.name).toBe("thief");
  expect(promised()).toEqual([]);
});

test("what a bind left behind, looked after, leaves alone what a newer bind of the Pod promised since", async () => {
  await world.pv("a", { on: "n1", capacity: "10Gi" });
  await world.pv("b", { on: "n1", capacity: "20Gi" });
  await world.pvc("x", { request: "5Gi" });
  await world.pvc("y", { request: "15Gi" });
  const pod = await world.pod("p", ["x", "y"]);
  await world.start({ bindTimeoutMs: 5_000 });
  world.berth.cluster.hold("volume");
  world.fault = ({ method, path }) =>
    method === "PATCH" && path.endsWith("/b") ? Promise.resolve(reply(403)) : undefined;
  const first = world.bind(pod, "n1");
  await world.runtime.advance(60_000);
  expect([first.answer, promised()]).toEqual([expect.stringMatching(/refused to write/), ["d/x on n1"]]);
  world.fault = undefined;
  const newer = world.bind(pod, "n1");
  await world.runtime.advance(6_000);
  expect([newer.answer, promised()]).toEqual([
    expect.stringMatching(/not bound after 5 s/),
    ["d/x on n1", "d/y on n1"],
  ]);
  await world.runtime.advance(20_000);
  expect(promised()).toEqual(["d/x on n1", "d/y on n1"]);
});

test("what the watch tells late, of the time before the write, ends no promise", async () => {
  const pod = await world.oneDisk();
  const thief = await world.pvc("thief");
  const { cluster } = world.berth;
  cluster.hold("volume");
  const { name, namespace, uid } = thief.metadata;
  await world.patch("volume", "a", { spec: { claimRef: { kind: "PersistentVolumeClaim", namespace, name, uid } } });
  await world.patch("volume", "a", { spec: { claimRef: null } });
  world.bind(pod, "n1");
  await world.runtime.advance(1_000);
  expect((await world.get("volume", "a")).spec.claimRef.name).toBe("x");
  const told: unknown[] = [];
  cluster.subscribe(({ kind, key }) => {
    if (kind === "volume") told.push([cluster.state.get("volume", key)?.claimRef?.claim, promised()]);
  });
  cluster.release("volume");
  await world.runtime.settle();
  expect(told).toEqual([
    ["d/thief", ["d/x on n1"]],
    [undefined, ["d/x on n1"]],
    ["d/x", []],
  ]);
});

/** Another scheduler, which looks at nothing. */
async function place(node: string): Promise<void> {
  await world.call("POST", "/api/v1/namespaces/d/pods/p/binding", {
    metadata: { name: "p", namespace: "d" },
    target: { kind: "Node", name: node },
  });
}

test.for([
  ["a volume that it reaches there stays its claim's", undefined, "d/x"],
  ["a volume that it does not is taken back", "n1", undefined],
] as const)("of a pod that somebody else put on another node %s", async ([, on, owner]) => {
  await world.pv("a", on === undefined ? { source: { nfs: { server: "nas", path: "/a" } } } : { on });
  await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.start();
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  await place("n2");
  await world.runtime.advance(2_000);
  expect(bind.answer).toMatch(/already assigned to node n2/);
  const { claimRef } = (await world.get("volume", "a")).spec;
  expect(claimRef && `${claimRef.namespace}/${claimRef.name}`).toBe(owner);
});

test("of a pod that somebody else put on its node no volume is taken back, though its claim is to go with it", async () => {
  await world.pv("a", { on: "n1" });
  await world.pvc("x");
  await world.patch("claim", "d/x", { metadata: { finalizers: ["kubernetes.io/pvc-protection"] } });
  const pod = await world.pod("p", ["x"]);
  const { cluster } = await world.start();
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  cluster.hold("pod");
  await place("n1");
  await world.remove("claim", "d/x");
  await world.runtime.advance(2_000);
  expect(bind.answer).toMatch(/claim d\/x is being deleted; volume a stays with claim d\/x for the pod on node n1/);
  expect((await world.get("volume", "a")).spec.claimRef.name).toBe("x");
});

/** The first claimRef lands, is seen, and taken off; its answer is lost. What is promised at each later one is noted. */
function takenOff(noted: unknown[]): void {
  let isFirst = true;
  world.fault = ({ method, path }, pass) => {
    if (method !== "PATCH" || !path.endsWith("/a")) return undefined;
    if (!isFirst) noted.push(promised());
    if (!isFirst) return undefined;
    isFirst = false;
    return pass()
      .then(() => world.patch("volume", "a", { spec: { claimRef: null } }))
      .then(() => reply(500));
  };
}

test("a claimRef that was seen, and taken off, is promised again before it is written again", async () => {
  const pod = await world.oneDisk();
  const noted: unknown[] = [];
  takenOff(noted);
  const bind = world.bind(pod, "n1");
  await world.runtime.advance(1_000);
  expect(noted).toEqual([["d/x on n1"]]);
  await world.controlVolumes();
  expect(bind.answer).toBe("ok");
});

test("it is not written again once the volume is promised to another", async () => {
  const [first, second] = await world.rivals();
  const noted: unknown[] = [];
  takenOff(noted);
  const loser = world.bind(first, "n1");
  await world.runtime.settle();
  const winner = world.bind(second, "n1");
  await world.runtime.advance(3_000);
  expect(noted).toEqual([["d/y on n1"]]);
  expect(loser.answer).toMatch(/cannot hold the volumes/);
  await world.controlVolumes();
  expect(winner.answer).toBe("ok");
});

test.for([
  ["is being deleted", ["example.com/held"], /claim d\/x is being deleted/],
  ["is gone", [], /claim d\/x was deleted/],
] as const)(
  "a selected-node whose answer was lost stays promised until the watch shows it, though its claim %s",
  async ([, finalizers, error]) => {
    await world.pvc("x", { class: "csi" });
    await world.patch("claim", "d/x", { metadata: { finalizers } });
    const pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("claim");
    let isFirst = true;
    world.fault = ({ method }, pass) => {
      if (method !== "PATCH" || !isFirst) return undefined;
      isFirst = false;
      return pass()
        .then(() => world.remove("claim", "d/x"))
        .then(() => reply(504));
    };
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(3_000);
    // The provisioner may be making the volume by now.
    expect([bind.answer, promised()]).toEqual([expect.stringMatching(error), ["d/x on n1"]]);
    cluster.release("claim");
    await world.runtime.advance(80_000);
    expect(promised()).toEqual([]);
  },
);

test("a selected-node whose answer was lost, and that the provisioner took back meanwhile, is not written again", async () => {
  await world.pvc("x", { class: "csi" });
  const pod = await world.pod("p", ["x"]);
  await world.start();
  let isFirst = true;
  world.fault = (request, pass) => {
    if (request.method !== "PATCH" || !isFirst) return undefined;
    isFirst = false;
    // It takes effect, and no answer comes until Berth gives up waiting for it.
    return pass().then(() => new Promise(() => {}));
  };
  const bind = world.bind(pod, "n1");
  await world.runtime.advance(2_000);
  await world.patch("claim", "d/x", { metadata: { annotations: { "volume.kubernetes.io/selected-node": null } } });
  await world.runtime.advance(20_000);
  expect(bind.answer).toMatch(/provisioning of claim d\/x on node n1 was refused/);
  expect(world.writes.filter(({ method }) => method === "PATCH")).toHaveLength(1);
  expect(promised()).toEqual([]);
});
