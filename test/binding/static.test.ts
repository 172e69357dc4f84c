/** What a bind writes for volumes that exist, in which order, and what it answers. */
import { beforeEach, describe, expect, test } from "vitest";
import { audit } from "../support/auditor.ts";
import { World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = new World();
  await world.nodes("n1", "n2");
});

const paths = (): string[] => world.writes.map(({ method, path }) => `${method} ${path.replace("/api/v1/", "")}`);

describe("volume writes", () => {
  test("106: a claim on a free volume gets a claimRef, is awaited, and then the pod is bound", async () => {
    const pod = await world.oneDisk();
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(paths()).toEqual(["PATCH persistentvolumes/a"]);
    expect(bind.answer).toBeUndefined();

    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    expect(paths()).toEqual(["PATCH persistentvolumes/a", "POST namespaces/d/pods/p/binding"]);
    expect((await world.get("pod", "d/p")).spec.nodeName).toBe("n1");
    expect(await audit(world)).toEqual([]);
  });

  test("FR-057, FR-080: the claimRef is full, marked, guarded by uid and version, and sent as a merge patch", async () => {
    const volume = await world.pv("a", { on: "n1" });
    const claim = await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    await world.start();
    world.bind(pod, "n1");
    await world.runtime.settle();
    const [write] = world.writes;
    expect(write?.contentType).toBe("application/merge-patch+json");
    expect(write?.body).toEqual({
      metadata: {
        uid: volume.metadata.uid,
        resourceVersion: volume.metadata.resourceVersion,
        annotations: { "pv.kubernetes.io/bound-by-controller": "yes" },
      },
      spec: {
        claimRef: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          namespace: "d",
          name: "x",
          uid: claim.metadata.uid,
          resourceVersion: claim.metadata.resourceVersion,
        },
      },
    });
  });

  test("VB §4.2, FR-057: a volume that a user reserved by name is completed and keeps its lack of the mark", async () => {
    await world.pv("a", { on: "n1", claim: "x" });
    const claim = await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    const volume = await world.get("volume", "a");
    expect(volume.spec.claimRef.uid).toBe(claim.metadata.uid);
    expect(volume.metadata.annotations?.["pv.kubernetes.io/bound-by-controller"]).toBeUndefined();
  });

  test("107: two claims get two volumes", async () => {
    await world.pv("a", { on: "n1" });
    await world.pv("b", { on: "n1" });
    await world.pvc("x");
    await world.pvc("y");
    const pod = await world.pod("p", ["x", "y"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    expect(paths().slice(0, 2).sort()).toEqual(["PATCH persistentvolumes/a", "PATCH persistentvolumes/b"]);
    expect(await audit(world)).toEqual([]);
  });

  test("108: a volume that is as wanted already is not written again", async () => {
    const claim = await world.pvc("x");
    await world.pv("a", { on: "n1", claim: "x", claimUid: claim.metadata.uid, phase: "Available" });
    const pod = await world.pod("p", ["x"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    expect(paths()).toEqual(["POST namespaces/d/pods/p/binding"]);
  });

  test("105, 131: claims that are bound need no write and no wait", async () => {
    const claim = await world.pvc("x");
    await world.pv("a", { on: "n1", claim: "x", claimUid: claim.metadata.uid, phase: "Available" });
    await world.controlVolumes();
    const pod = await world.pod("p", ["x"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
    expect(paths()).toEqual(["POST namespaces/d/pods/p/binding"]);
  });

  test("FR-075, FR-076: volumes, then claims, then the wait, then the pod; the pod itself is never written before", async () => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x");
    await world.pvc("y", { class: "csi" });
    const pod = await world.pod("p", ["x", "y"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(paths()).toEqual(["PATCH persistentvolumes/a", "PATCH namespaces/d/persistentvolumeclaims/y"]);
    await world.provision();
    expect(bind.answer).toBe("ok");
    expect(paths()).toHaveLength(3);
    expect(paths()[2]).toBe("POST namespaces/d/pods/p/binding");
    expect(await audit(world)).toEqual([]);
  });
});

describe("pods without claims", () => {
  test("decision 2: the Binding is posted at once, without a read, whatever the cache's state", async () => {
    const pod = await world.pod("p", []);
    const { cluster } = await world.start();
    cluster.readiness = () => ({ ready: false, why: "claims are not listed yet" });
    let reads = 0;
    world.fault = (request) => {
      if (request.method === "GET") reads++;
      return undefined;
    };
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
    expect(reads).toBe(0);
    expect(world.writes[0]?.body).toMatchObject({ metadata: { uid: pod.metadata.uid }, target: { name: "n1" } });
  });

  test("a pod that the cache lacks is read live", async () => {
    const { cluster } = await world.start();
    cluster.hold("pod");
    const pod = await world.pod("p", []);
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
  });

  test("200: a bind that is repeated after it took effect succeeds", async () => {
    const pod = await world.pod("p", []);
    await world.start();
    world.bind(pod, "n1");
    await world.runtime.settle();
    const again = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(again.answer).toBe("ok");
    const elsewhere = world.bind(pod, "n2");
    await world.runtime.settle();
    expect(elsewhere.answer).toMatch(/already assigned to node n1/);
  });
});

describe("the look before the first write", () => {
  test.for([
    ["a uid that is not the pod's", async (): Promise<void> => {}, "other-uid", /created anew/],
    [
      "a pod that is being deleted",
      async (): Promise<void> => {
        await world.patch("pod", "d/p", { metadata: { finalizers: ["example.com/keep"] } });
        await world.remove("pod", "d/p");
      },
      undefined,
      /being deleted/,
    ],
    ["a pod that is gone", async (): Promise<void> => world.remove("pod", "d/p"), undefined, /does not exist any more/],
    [
      "a pod that has another node",
      async (): Promise<void> => {
        await world.call("POST", "/api/v1/namespaces/d/pods/p/binding", {
          metadata: { name: "p" },
          target: { kind: "Node", name: "n2" },
        });
      },
      undefined,
      /already assigned to node n2/,
    ],
    [
      "a claim that is gone",
      async (): Promise<void> => world.remove("claim", "d/x"),
      undefined,
      /claim d\/x does not exist/,
    ],
  ] as const)(
    "FR-054: %s fails with zero writes, though the cache knows nothing of it",
    async ([, change, uid, error]) => {
      await world.pv("a", { on: "n1" });
      await world.pvc("x");
      const pod = await world.pod("p", ["x"]);
      const { cluster } = await world.start();
      for (const kind of ["pod", "claim"] as const) cluster.hold(kind);
      await change();
      if (uid !== undefined) pod.metadata.uid = uid;
      const bind = world.bind(pod, "n1");
      await world.runtime.advance(3_000);
      expect(bind.answer).toMatch(error);
      expect(world.writes).toEqual([]);
      expect(cluster.state.reservations.assumptionCount).toBe(0);
    },
  );

  test("200: a pod that is on the node already is a success without a write", async () => {
    const pod = await world.oneDisk();
    const { cluster } = world.berth;
    cluster.hold("pod");
    await world.call("POST", "/api/v1/namespaces/d/pods/p/binding", {
      metadata: { name: "p" },
      target: { kind: "Node", name: "n1" },
    });
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
    expect(world.writes).toEqual([]);
  });

  test("a claim that was bound while the cache slept is awaited, then planned as bound", async () => {
    await world.pv("a", { on: "n1" });
    await world.pv("b", { on: "n1" });
    const claim = await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("claim");
    await world.patch("volume", "b", {
      spec: { claimRef: { kind: "PersistentVolumeClaim", namespace: "d", name: "x", uid: claim.metadata.uid } },
    });
    await world.controlVolumes();
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(500);
    expect(bind.answer).toBeUndefined();
    cluster.release("claim");
    await world.runtime.settle();
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
    expect(paths()).toEqual(["POST namespaces/d/pods/p/binding"]);
  });

  test("a cache that does not catch up is an Error, not a plan on old news", async () => {
    await world.pv("a", { on: "n1" });
    const pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("claim");
    await world.pvc("x");
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(2_500);
    expect(bind.answer).toMatch(/has not yet seen the newest version of claim d\/x/);
    expect(world.writes).toEqual([]);
  });

  test("FR-055: a cache that is not ready answers so and writes nothing", async () => {
    const pod = await world.oneDisk();
    const { cluster } = world.berth;
    cluster.readiness = () => ({ ready: false, why: "claims are not listed yet" });
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("not ready: claims are not listed yet");
    expect(world.writes).toEqual([]);
  });
});

describe("refusals", () => {
  test("a node without a volume is refused by name and reason, without a percent sign (FR-091)", async () => {
    await world.pv("a", { on: "n2" });
    await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe(
      "node n1 cannot hold the volumes: node(s) didn't find available persistent volumes to bind (claim d/x: noMatchingVolume)",
    );
    expect(world.writes).toEqual([]);
  });

  test("decision 1: a node that exists and is not cached yet is an Error that says so", async () => {
    await world.pv("a", { on: "n3" });
    await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("node");
    await world.nodes("n3");
    const bind = world.bind(pod, "n3");
    await world.runtime.settle();
    expect(bind.answer).toBe("node n3 exists but has not reached the cache yet");
  });

  test("an object that cannot be read is named", async () => {
    const pod = await world.oneDisk();
    const { cluster } = world.berth;
    cluster.state.setAside("class", "local", "volumeBindingMode: 100% wrong");
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("class local cannot be read: volumeBindingMode: 100 percent wrong");
  });
});
