/** Two who want one thing: binds against binds, binds against the rest of the world. */
import { beforeEach, describe, expect, test } from "vitest";
import { audit } from "../support/auditor.ts";
import { type Body, reply, World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = new World();
  await world.nodes("n1", "n2");
});

const claimRefOf = async (name: string): Promise<Body> => (await world.get("volume", name)).spec.claimRef;
const foreign = { kind: "PersistentVolumeClaim", namespace: "d", name: "other", uid: "u-other" };
const volumeWrites = (): string[] =>
  world.writes
    .filter(({ path }) => path.includes("persistentvolumes/"))
    .map(({ path }) => path.split("/").at(-1) ?? "");

/** The wire takes `ms` for the first request that matches. */
function delayFirst(path: string, ms: number): void {
  let isFirst = true;
  world.fault = (request, pass) => {
    if (!isFirst || request.method === "GET" || !request.path.includes(path)) return undefined;
    isFirst = false;
    return world.runtime.sleep(ms).then(pass);
  };
}

/** Somebody else's claim, and its hand on a volume just before our write to it arrives. */
async function takeBeforeWrite(name: string): Promise<void> {
  const other = await world.pvc("other", { class: "else" });
  const claimRef = { ...foreign, uid: other.metadata.uid };
  world.beforeFirstWrite(`/${name}`, () => world.patch("volume", name, { spec: { claimRef } }));
}

describe("two binds for one volume", () => {
  test.for([[0], [3_000]])(
    "FR-049: one wins, the other writes nothing, the first write takes %i ms",
    async ([delay = 0]) => {
      await world.pv("a", { on: "n1" });
      const x = await world.pvc("x");
      const y = await world.pvc("y");
      const p1 = await world.pod("p1", ["x"]);
      const p2 = await world.pod("p2", ["y"]);
      await world.start();
      if (delay > 0) delayFirst("/persistentvolumes/a", delay);
      const first = world.bind(p1, "n1");
      const second = world.bind(p2, "n1");
      await world.runtime.settle();
      const [winner, loser, claim, lost] = second.answer ? [first, second, x, y] : [second, first, y, x];
      expect(loser.answer).toMatch(/node n1 cannot hold the volumes: .*volumeAssumed/);
      expect(winner.answer).toBeUndefined();
      await world.runtime.advance(delay);
      await world.controlVolumes();
      expect(winner.answer).toBe("ok");
      expect((await claimRefOf("a")).uid).toBe(claim.metadata.uid);
      expect(volumeWrites()).toEqual(["a"]);
      const untouched = await world.get("claim", `d/${lost.metadata.name}`);
      expect(untouched.metadata.resourceVersion).toBe(lost.metadata.resourceVersion);
      expect(await audit(world)).toEqual([]);
    },
  );

  test("195: while the write is on the wire, and while the watch lags behind it, nobody else gets the volume", async () => {
    const [p1, p2] = await world.rivals();
    const { cluster } = world.berth;
    cluster.hold("volume");
    world.bind(p1, "n1");
    await world.runtime.settle();
    expect(volumeWrites()).toEqual(["a"]);
    const second = world.bind(p2, "n1");
    await world.runtime.settle();
    expect(second.answer).toMatch(/volumeAssumed/);
  });

  test("decision 12: two pods that share a claim both get bound, whoever writes first", async () => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x");
    const pods = [await world.pod("p1", ["x"]), await world.pod("p2", ["x"])];
    await world.start();
    const binds = pods.map((pod) => world.bind(pod, "n1"));
    await world.controlVolumes();
    await world.runtime.advance(1_000);
    expect(binds.map(({ answer }) => answer)).toEqual(["ok", "ok"]);
    expect(await audit(world)).toEqual([]);
  });

  test("a shared claim's volume is not taken back while another pod's bind stands on it", async () => {
    await world.pv("a", { on: "n1" });
    const x = await world.pvc("x");
    const p1 = await world.pod("p1", ["x"]);
    const p2 = await world.pod("p2", ["x"]);
    await world.start();
    const first = world.bind(p1, "n1");
    await world.runtime.settle();
    const second = world.bind(p2, "n1");
    await world.runtime.settle();
    await world.remove("pod", "d/p1");
    await world.runtime.settle();
    expect(first.answer).toMatch(/does not exist any more; volume a stays with claim d\/x for another pod/);
    expect((await claimRefOf("a")).uid).toBe(x.metadata.uid);
    await world.controlVolumes();
    expect(second.answer).toBe("ok");
  });

  test("nor by a bind that looked whether it may before the other began", async () => {
    await world.pv("a", { on: "n1" });
    const x = await world.pvc("x");
    const p1 = await world.pod("p1", ["x"]);
    const p2 = await world.pod("p2", ["x"]);
    await world.start();
    const first = world.bind(p1, "n1");
    await world.runtime.settle();
    // The read before the release takes its time.
    world.fault = ({ method, path }, pass) =>
      method === "GET" && path.endsWith("/a") ? world.runtime.sleep(3_000).then(pass) : undefined;
    await world.remove("pod", "d/p1");
    await world.runtime.settle();
    const second = world.bind(p2, "n1");
    await world.runtime.advance(4_000);
    expect(first.answer).toMatch(/does not exist any more; volume a stays with claim d\/x for another pod/);
    expect((await claimRefOf("a")).uid).toBe(x.metadata.uid);
    await world.controlVolumes();
    expect(second.answer).toBe("ok");
  });
});

describe("a conflict on the write", () => {
  test("FR-062: somebody else took the volume: planned anew on the same node, theirs is never touched", async () => {
    await world.pv("a", { on: "n1", capacity: "10Gi" });
    await world.pv("b", { on: "n1", capacity: "20Gi" });
    await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    await world.start();
    await takeBeforeWrite("a");
    const bind = world.bind(pod, "n1");
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    expect((await claimRefOf("a")).name).toBe("other");
    expect((await claimRefOf("b")).name).toBe("x");
    expect(volumeWrites()).toEqual(["a", "b"]);
    expect(await audit(world)).toEqual([]);
  });

  test("FR-062: no other volume: an Error that names the reason, and nothing of ours in the API", async () => {
    const pod = await world.oneDisk();
    const { cluster } = world.berth;
    await takeBeforeWrite("a");
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toMatch(/node n1 cannot hold the volumes: .*noMatchingVolume/);
    expect((await claimRefOf("a")).name).toBe("other");
    expect(cluster.state.reservations.assumptionCount).toBe(0);
  });

  test("109, 192, 134: the second of two volumes is lost and no plan is left: the first is released", async () => {
    await world.pv("a", { on: "n1" });
    await world.pv("b", { on: "n1" });
    await world.pvc("x");
    await world.pvc("y");
    const pod = await world.pod("p", ["x", "y"]);
    const { cluster } = await world.start();
    await takeBeforeWrite("b");
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toMatch(/node n1 cannot hold the volumes/);
    const released = await world.get("volume", "a");
    expect(released.spec.claimRef).toBeUndefined();
    expect(released.metadata.annotations?.["pv.kubernetes.io/bound-by-controller"]).toBeUndefined();
    expect((await claimRefOf("b")).name).toBe("other");
    expect(cluster.state.reservations.assumptionCount).toBe(0);
  });

  test("decision 19: a volume that the PV controller bound meanwhile is left as it is, and the error says so", async () => {
    await world.pv("a", { on: "n1" });
    await world.pv("b", { on: "n1" });
    await world.pvc("x");
    await world.pvc("y");
    const pod = await world.pod("p", ["x", "y"]);
    await world.start();
    const other = await world.pvc("other", { class: "else" });
    world.beforeFirstWrite("/b", async () => {
      await world.bindVolumes();
      await world.patch("volume", "b", { spec: { claimRef: { ...foreign, uid: other.metadata.uid } } });
    });
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toMatch(/; claim d\/[xy] is already bound to volume a and stays so/);
    expect((await world.get("volume", "a")).status.phase).toBe("Bound");
    expect(await audit(world)).toEqual([]);
  });

  test("decision 19: a volume bound between our look and our release is left: the version forbids it", async () => {
    const pod = await world.oneDisk();
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    world.beforeFirstWrite("/a", () => world.bindVolumes());
    await world.remove("pod", "d/p");
    await world.runtime.advance(2_000);
    expect(bind.answer).toMatch(/claim d\/x is already bound to volume a and stays so/);
    expect((await world.get("claim", "d/x")).spec.volumeName).toBe("a");
    expect(await audit(world)).toEqual([]);
  });

  test("decision 19: a volume that a user reserved by name goes back to that, and no further", async () => {
    await world.pv("a", { on: "n1", claim: "x" });
    await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    await world.start();
    world.bind(pod, "n1");
    await world.runtime.settle();
    expect((await claimRefOf("a")).uid).toBeDefined();
    await world.remove("pod", "d/p");
    await world.runtime.settle();
    expect(await claimRefOf("a")).toEqual({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      namespace: "d",
      name: "x",
    });
  });

  test("decision 19: what a binder wrote after the user took his reservation off is taken back whole", async () => {
    await world.pv("a", { on: "n1", claim: "x" });
    await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    world.bind(pod, "n1");
    await world.runtime.settle();
    cluster.hold("volume");
    const claimRef = await claimRefOf("a");
    await world.patch("volume", "a", { spec: { claimRef: null } });
    const annotations = { "pv.kubernetes.io/bound-by-controller": "yes" };
    await world.patch("volume", "a", { metadata: { annotations }, spec: { claimRef } });
    await world.remove("pod", "d/p");
    await world.runtime.settle();
    expect(await claimRefOf("a")).toBeUndefined();
  });

  test("a harmless change of the volume is written over with the new version", async () => {
    const pod = await world.oneDisk();
    const { cluster } = world.berth;
    cluster.hold("volume");
    await world.patch("volume", "a", { metadata: { labels: { touched: "yes" } } });
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(world.writes.map(({ status }) => status)).toEqual([409, 200]);
    cluster.release("volume");
    await world.runtime.settle();
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
  });

  test("a volume that shrank under the write is lost, not written", async () => {
    await world.pv("a", { on: "n1", capacity: "10Gi" });
    await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("volume");
    await world.patch("volume", "a", { spec: { capacity: { storage: "1Gi" } } });
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(1_000);
    cluster.release("volume");
    await world.runtime.settle();
    await world.runtime.settle();
    expect(bind.answer).toMatch(/noMatchingVolume/);
    expect(await claimRefOf("a")).toBeUndefined();
  });

  test("a loss that the watch does not show in time is an Error; the same volume is not chosen again", async () => {
    const pod = await world.oneDisk();
    const { cluster } = world.berth;
    cluster.hold("volume");
    await takeBeforeWrite("a");
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(2_500);
    expect(bind.answer).toBe("volume a was taken, and the cache has not seen by whom");
    expect(cluster.state.reservations.assumptionCount).toBe(0);
  });

  test("111: the PV controller touched the claim: selected-node is written with the new version", async () => {
    await world.pvc("x", { class: "csi" });
    const pod = await world.pod("p", ["x"]);
    await world.start();
    world.beforeFirstWrite("/x", () => world.patch("claim", "d/x", { metadata: { annotations: { touched: "yes" } } }));
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(world.writes.map(({ status }) => status)).toEqual([409, 200]);
    await world.provision();
    expect(bind.answer).toBe("ok");
  });

  test("112: a claim that is selected for another node under our write is theirs; our volume goes back", async () => {
    await world.pv("a", { on: "n1" });
    await world.pvc("w");
    await world.pvc("x", { class: "csi" });
    const pod = await world.pod("p", ["w", "x"]);
    await world.start();
    const annotations = { "volume.kubernetes.io/selected-node": "n2" };
    world.beforeFirstWrite("/x", () => world.patch("claim", "d/x", { metadata: { annotations } }));
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toMatch(/claim d\/x is being provisioned on node n2/);
    expect(await claimRefOf("a")).toBeUndefined();
  });
});

describe("unknown outcomes", () => {
  test.for([
    ["504 after it took effect", true],
    ["504 before it took effect", false],
  ] as const)("a claimRef write answered %s is settled by a live read, and written once", async ([, takesEffect]) => {
    const pod = await world.oneDisk();
    let isDone = false;
    world.fault = (request, pass) => {
      if (isDone || request.method !== "PATCH") return undefined;
      isDone = true;
      return takesEffect ? pass().then(() => reply(504)) : Promise.resolve(reply(504));
    };
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(1_000);
    expect(volumeWrites()).toHaveLength(takesEffect ? 1 : 2);
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    expect(await audit(world)).toEqual([]);
  });

  test("FR-060: a write that takes 45 s and is given up keeps its promise; it lands, and nobody else was given the volume", async () => {
    const [p1, p2] = await world.rivals();
    delayFirst("/persistentvolumes/a", 45_000);
    const bind = world.bind(p1, "n1");
    await world.runtime.advance(9_000);
    const early = world.bind(p2, "n1");
    await world.runtime.settle();
    expect(early.answer).toMatch(/volumeAssumed/);
    // Given up at 10 s, read, written again: the late one meets another version and cannot land.
    await world.runtime.advance(36_500);
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    const late = world.bind(p2, "n1");
    await world.runtime.settle();
    expect(late.answer).toMatch(/noMatchingVolume/);
    expect(world.writes.filter(({ status }) => status === 409)).toHaveLength(1);
    expect(await audit(world)).toEqual([]);
  });

  test("FR-060: when the bind ends with a write in doubt the promise outlives it, until the API has had its say", async () => {
    const [p1, p2] = await world.rivals({ bindTimeoutMs: 15_000 });
    const { cluster } = world.berth;
    world.fault = (request) => (request.method === "PATCH" ? new Promise(() => {}) : undefined);
    const bind = world.bind(p1, "n1");
    await world.runtime.advance(40_000);
    expect(bind.answer).toMatch(/not bound after 15 s/);
    expect(cluster.state.reservations.assumptionCount).toBe(1);
    const other = world.bind(p2, "n1");
    await world.runtime.settle();
    expect(other.answer).toMatch(/volumeAssumed/);
    await world.runtime.advance(70_000);
    expect(cluster.state.reservations.assumptionCount).toBe(0);
  });

  test("FR-056: a Binding answered 504 once is read back and posted again", async () => {
    const pod = await world.pod("p", []);
    await world.start();
    let times = 0;
    world.fault = (request) =>
      request.path.endsWith("/binding") && times++ === 0 ? Promise.resolve(reply(504)) : undefined;
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(1_000);
    expect(bind.answer).toBe("ok");
    expect(world.writes).toHaveLength(2);
  });

  test("FR-056: a Binding that took effect behind a 504 is a success, and posted once", async () => {
    const pod = await world.pod("p", []);
    await world.start();
    world.fault = (request, pass) => (request.path.endsWith("/binding") ? pass().then(() => reply(504)) : undefined);
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
    expect(world.writes).toHaveLength(1);
  });

  test("FR-056: a connection that breaks under the Binding is retried until the deadline", async () => {
    const pod = await world.pod("p", []);
    await world.start();
    world.fault = (request) =>
      request.path.endsWith("/binding") ? Promise.reject(new Error("ECONNRESET")) : undefined;
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(60_000);
    expect(bind.answer).toBeUndefined();
    expect(world.writes.length).toBeLessThan(40);
    world.fault = undefined;
    await world.runtime.advance(6_000);
    expect(bind.answer).toBe("ok");
  });

  test("FR-079: 201 with a Status, or with noise, is a success", async () => {
    const pod = await world.pod("p", []);
    await world.start();
    world.fault = (request, pass) =>
      request.path.endsWith("/binding")
        ? pass().then(({ headers }) => ({ status: 201, headers, body: "<html>" }))
        : undefined;
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
    expect(world.writes).toHaveLength(1);
  });

  test("429: Retry-After is obeyed, for volumes and for the pod", async () => {
    const pod = await world.oneDisk();
    const refused = new Set<string>();
    world.fault = (request) => {
      if (request.method === "GET" || refused.has(request.path)) return undefined;
      refused.add(request.path);
      return Promise.resolve(reply(429, {}, { "retry-after": "7" }));
    };
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(7_000);
    await world.controlVolumes();
    await world.runtime.advance(7_000);
    expect(bind.answer).toBe("ok");
    expect(world.writes.map(({ at }) => at)).toEqual([0, 7_000, 7_000, 14_000]);
  });

  test("FR-057: a write that is tried again looks first whether its claim is still there", async () => {
    const pod = await world.oneDisk();
    const { cluster } = world.berth;
    world.fault = (request) =>
      request.method === "PATCH" ? Promise.resolve(reply(429, {}, { "retry-after": "60" })) : undefined;
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(30_000);
    world.fault = undefined;
    await world.remove("claim", "d/x");
    await world.runtime.advance(31_000);
    expect(bind.answer).toBe("claim d/x was deleted");
    expect(world.writes).toHaveLength(1);
    expect(cluster.state.reservations.assumptionCount).toBe(0);
  });

  test("decision 19: a volume that was bound and is Released by now is never given away", async () => {
    await world.pv("a", { on: "n1" });
    const x = await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("claim");
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    // Bound for a moment in which no watch looked.
    await world.remove("claim", "d/x");
    await world.patch("volume", "a", { status: { phase: "Released" } }, "/status");
    cluster.release("claim");
    await world.runtime.settle();
    expect(bind.answer).toBe("claim d/x was deleted; volume a is Released and stays so");
    expect((await claimRefOf("a")).uid).toBe(x.metadata.uid);
  });

  test("a write that the API forbids ends the bind at once, and says what may be missing", async () => {
    const pod = await world.oneDisk();
    const { cluster } = world.berth;
    world.fault = (request) =>
      request.method === "PATCH" ? Promise.resolve(reply(403, { message: "berth may not patch" })) : undefined;
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("the API refused to write claimRef of volume a: berth may not patch (403)");
    expect(cluster.state.reservations.assumptionCount).toBe(0);
  });

  test("a live read that fails for good is an Error, and nothing is written", async () => {
    const pod = await world.oneDisk();
    world.fault = (request) => (request.method === "GET" ? Promise.resolve(reply(500)) : undefined);
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(5_000);
    expect(bind.answer).toMatch(/could not be read: made up 500/);
    expect(world.writes).toEqual([]);
  });
});
