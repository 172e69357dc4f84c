/** The wait for bound claims, row by row of VB §4.3, and what ends it early (FR-077). */
import { beforeEach, describe, expect, test } from "vitest";
import { type Bind, type Body, World } from "./world.ts";

let world: World;
let pod: Body;
let claim: Body;

beforeEach(async () => {
  world = new World();
  await world.nodes("n1", "n2");
});

/** A bind that has written the claimRef of volume a for claim x, and waits. */
async function waitStatic(): Promise<Bind> {
  await world.pv("a", { on: "n1" });
  claim = await world.pvc("x");
  pod = await world.pod("p", ["x"]);
  await world.start();
  return begin();
}

/** A bind that has set selected-node of claim x, and waits. */
async function waitProvision(): Promise<Bind> {
  claim = await world.pvc("x", { class: "csi" });
  pod = await world.pod("p", ["x"]);
  await world.start();
  return begin();
}

async function begin(): Promise<Bind> {
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  expect(bind.answer).toBeUndefined();
  expect(world.writes).toHaveLength(1);
  return bind;
}

const bindings = (): number => world.writes.filter(({ path }) => path.endsWith("/binding")).length;
const refOfA = async (): Promise<Body> => (await world.get("volume", "a"))?.spec.claimRef;

describe("static volumes", () => {
  test("132: a claim that becomes bound after 5 s ends the wait at that moment, without a clock", async () => {
    const bind = await waitStatic();
    // The deadline is the only timer besides those of the watches.
    expect(world.runtime.pending()).toBe(world.berth.idleTimers + 1);
    await world.runtime.advance(5_000);
    expect(bind.answer).toBeUndefined();
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    expect(bind.at).toBe(5_000);
  });

  test("115: volumeName alone is not bound", async () => {
    const bind = await waitStatic();
    await world.patch("claim", "d/x", { spec: { volumeName: "a" } });
    await world.runtime.settle();
    expect(bind.answer).toBeUndefined();
  });

  test("114, 116: a claimed volume whose claim is not bound is not bound", async () => {
    const bind = await waitStatic();
    await world.patch("volume", "a", { status: { phase: "Bound" } }, "/status");
    await world.runtime.advance(60_000);
    expect(bind.answer).toBeUndefined();
  });

  test("121: of two claims, one bound is not enough", async () => {
    await world.pv("a", { on: "n1" });
    await world.pv("b", { on: "n1" });
    await world.pvc("x");
    const y = await world.pvc("y");
    pod = await world.pod("p", ["x", "y"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    const volume = (await world.get("volume", "a")).spec.claimRef.uid === y.metadata.uid ? "a" : "b";
    await world.patch("claim", "d/y", {
      metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
      spec: { volumeName: volume },
    });
    await world.runtime.settle();
    expect(bind.answer).toBeUndefined();
  });

  test.for([
    ["117, 137: the claim is deleted", async () => world.remove("claim", "d/x"), /claim d\/x was deleted/],
    ["118: the volume is deleted", async () => world.remove("volume", "a"), /volume a was deleted/],
    [
      "119: the claimRef is reset",
      async () => world.patch("volume", "a", { spec: { claimRef: null } }),
      /the claimRef of volume a was reset/,
    ],
    [
      "120: the claimRef loses its uid",
      async () => world.patch("volume", "a", { spec: { claimRef: { uid: null } } }),
      /the claimRef of volume a was reset/,
    ],
    [
      "FR-077: somebody else takes the claimRef",
      async () => world.patch("volume", "a", { spec: { claimRef: { name: "other", uid: "u-other" } } }),
      /volume a was taken by claim d\/other/,
    ],
    [
      "138: the node loses the label of the volume's affinity",
      async () => world.patch("node", "n1", { metadata: { labels: { "kubernetes.io/hostname": "renamed" } } }),
      /node affinity of volume a does not match node n1/,
    ],
    ["step 0: the node is deleted", async () => world.remove("node", "n1"), /node n1 does not exist any more/],
    ["step 1, 135: the pod is deleted", async () => world.remove("pod", "d/p"), /pod d\/p does not exist any more/],
    [
      "step 1: the pod is being deleted",
      async () => {
        await world.patch("pod", "d/p", { metadata: { finalizers: ["example.com/keep"] } });
        await world.remove("pod", "d/p");
      },
      /pod d\/p is being deleted/,
    ],
    [
      "FR-077: the claim is being deleted",
      async () => {
        await world.patch("claim", "d/x", { metadata: { finalizers: ["example.com/keep"] } });
        await world.remove("claim", "d/x");
      },
      /claim d\/x is being deleted/,
    ],
    [
      "FR-077: the claim is deleted and created anew",
      async () => {
        await world.remove("claim", "d/x");
        await world.pvc("x");
      },
      /claim d\/x was deleted/,
    ],
    [
      "FR-077: the volume is deleted and created anew (FR-065)",
      async () => {
        await world.remove("volume", "a");
        await world.pv("a", { on: "n1" });
      },
      /volume a was deleted/,
    ],
    [
      "193, D11: the claim is bound to another volume than planned",
      async () => {
        await world.pv("b", { on: "n1", claim: "x", claimUid: claim.metadata.uid });
        await world.patch("claim", "d/x", {
          metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
          spec: { volumeName: "b" },
        });
      },
      /claim d\/x was bound to volume b instead of a/,
    ],
  ] as const)("%s: an Error within 2 s, and no Binding", async ([, change, error]) => {
    const bind = await waitStatic();
    await world.runtime.advance(5_000);
    await change();
    await world.runtime.advance(2_000);
    expect(bind.answer).toMatch(error);
    expect(bindings()).toBe(0);
    expect(world.berth.cluster.state.reservations.assumptionCount).toBe(0);
    expect(world.berth.binder.inProgress()).toEqual([]);
  });

  test("FR-077: a deleted claim's volume is free again before anybody takes it for used", async () => {
    await waitStatic();
    await world.remove("claim", "d/x");
    await world.runtime.settle();
    expect(await refOfA()).toBeUndefined();
  });

  test("194: a pod re-created under its name ends the bind; no Binding carries the old uid", async () => {
    const bind = await waitStatic();
    await world.remove("pod", "d/p");
    await world.pod("p", ["x"]);
    await world.runtime.advance(2_000);
    expect(bind.answer).toMatch(/pod d\/p (was deleted and created anew|does not exist any more)/);
    expect(bindings()).toBe(0);
    // The volume was not bound yet, so it is free again for whoever comes.
    expect(await refOfA()).toBeUndefined();
  });

  test("FR-077: it works where the deletion itself is missed and only a newer state shows it", async () => {
    const bind = await waitStatic();
    world.berth.cluster.hold("claim");
    await world.remove("claim", "d/x");
    await world.pvc("x");
    await world.runtime.settle();
    world.berth.cluster.state.delete("claim", "d/x");
    world.berth.cluster.release("claim");
    await world.runtime.settle();
    await world.runtime.advance(2_000);
    expect(bind.answer).toMatch(/claim d\/x was deleted/);
  });

  test("step 3: a state older than our write is not taken for a reset", async () => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x");
    pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("volume");
    const bind = await begin();
    await world.patch("node", "n1", { metadata: { labels: { touched: "yes" } } });
    await world.runtime.settle();
    expect(bind.answer).toBeUndefined();
    expect(cluster.state.reservations.assumptionCount).toBe(1);
    cluster.release("volume");
    await world.runtime.settle();
    expect(cluster.state.reservations.assumptionCount).toBe(0);
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
  });

  test("step 3: nor is one in which an earlier claimRef of the claim was, and then was not", async () => {
    await world.pv("a", { on: "n1" });
    const { metadata } = await world.pvc("x");
    pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("volume");
    const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "d", name: "x", uid: metadata.uid };
    await world.patch("volume", "a", { spec: { claimRef } });
    await world.patch("volume", "a", { spec: { claimRef: null } });
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(1_000);
    expect(world.writes.map(({ status }) => status)).toEqual([409, 200]);
    cluster.release("volume");
    await world.runtime.settle();
    expect(bind.answer).toBeUndefined();
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
  });

  test("decision 21: a pod that left the cache is not gone for that", async () => {
    const bind = await waitStatic();
    world.berth.cluster.state.delete("pod", "d/p");
    await world.patch("node", "n1", { metadata: { labels: { touched: "yes" } } });
    await world.runtime.advance(2_000);
    expect(bind.answer).toBeUndefined();
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
  });

  test("FR-067: a pod that somebody else bound to our node ends the wait well", async () => {
    const bind = await waitStatic();
    await world.call("POST", "/api/v1/namespaces/d/pods/p/binding", {
      metadata: { name: "p" },
      target: { kind: "Node", name: "n1" },
    });
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
  });

  test("FR-067: bound by somebody else to another node, it is a conflict, and the unbound volume is free again", async () => {
    const bind = await waitStatic();
    await world.call("POST", "/api/v1/namespaces/d/pods/p/binding", {
      metadata: { name: "p" },
      target: { kind: "Node", name: "n2" },
    });
    await world.runtime.advance(1_000);
    expect(bind.answer).toMatch(/already assigned to node n2/);
    expect(await refOfA()).toBeUndefined();
  });
});

describe("claims to provision", () => {
  test("a refusal of which the watch shows the end alone makes the node rest all the same (departure D18)", async () => {
    claim = await world.pvc("x", { class: "csi" });
    pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("claim");
    const bind = await begin();
    await world.patch("claim", "d/x", { metadata: { annotations: { "volume.kubernetes.io/selected-node": null } } });
    // As a new list would show it.
    const live = await cluster.live("claim", "d/x", new AbortController().signal);
    if (!("object" in live)) throw new Error("no claim");
    cluster.state.set("claim", "d/x", live.object);
    await world.patch("pod", "d/p", { metadata: { annotations: { touched: "yes" } } });
    await world.runtime.settle();
    expect(bind.answer).toMatch(/provisioning of claim d\/x on node n1 was refused/);
    expect(cluster.state.rests.dump()).toMatchObject([{ node: "n1", refusals: 1 }]);
  });

  test("110: selected-node is the whole write, guarded by uid and version", async () => {
    await waitProvision();
    const { uid, resourceVersion } = claim.metadata;
    expect(world.writes[0]?.path).toBe("/api/v1/namespaces/d/persistentvolumeclaims/x");
    expect(world.writes[0]?.body).toEqual({
      metadata: { uid, resourceVersion, annotations: { "volume.kubernetes.io/selected-node": "n1" } },
    });
  });

  test("122, 133: bound to a volume that the node reaches, 5 s later", async () => {
    const bind = await waitProvision();
    await world.runtime.advance(5_000);
    await world.provision();
    expect(bind.answer).toBe("ok");
  });

  test("123: selected-node alone is not bound", async () => {
    const bind = await waitProvision();
    await world.runtime.advance(60_000);
    expect(bind.answer).toBeUndefined();
  });

  test("129: bound to a volume that the cache lacks is not yet", async () => {
    const bind = await waitProvision();
    world.berth.cluster.hold("volume");
    await world.provision();
    expect(bind.answer).toBeUndefined();
    world.berth.cluster.release("volume");
    await world.runtime.settle();
    await world.runtime.settle();
    expect(bind.answer).toBe("ok");
  });

  test.for([
    ["124: the claim is deleted", async () => world.remove("claim", "d/x"), /claim d\/x was deleted/],
    [
      "125: all annotations are gone",
      async () => world.patch("claim", "d/x", { metadata: { annotations: null } }),
      /provisioning of claim d\/x on node n1 was refused/,
    ],
    [
      "126, FR-071: the provisioner takes selected-node off",
      async () =>
        world.patch("claim", "d/x", { metadata: { annotations: { "volume.kubernetes.io/selected-node": null } } }),
      /provisioning of claim d\/x on node n1 was refused/,
    ],
    [
      "127: selected-node names another node",
      async () =>
        world.patch("claim", "d/x", { metadata: { annotations: { "volume.kubernetes.io/selected-node": "n2" } } }),
      /selected-node of claim d\/x was changed to n2/,
    ],
    [
      "139, FR-023: bound to a volume that the node cannot reach",
      async () => world.provision("n2"),
      /claim d\/x was bound to volume pvc-x, which node n1 cannot reach/,
    ],
    ["step 0: the node is deleted", async () => world.remove("node", "n1"), /node n1 does not exist any more/],
  ] as const)("%s: an Error within 2 s, and no Binding", async ([, change, error]) => {
    const bind = await waitProvision();
    await world.runtime.advance(5_000);
    await change();
    await world.runtime.advance(2_000);
    expect(bind.answer).toMatch(error);
    expect(bindings()).toBe(0);
    expect(world.berth.cluster.state.reservations.assumptionCount).toBe(0);
  });

  test("FR-071: the claim's last warning is told", async () => {
    const bind = await waitProvision();
    await world.call("POST", "/api/v1/namespaces/d/events", {
      metadata: { name: "x.1", namespace: "d" },
      involvedObject: { kind: "PersistentVolumeClaim", namespace: "d", name: "x", uid: claim.metadata.uid },
      type: "Warning",
      reason: "ProvisioningFailed",
      message: "disk at 100% on n1",
      lastTimestamp: "2026-01-01T00:00:00Z",
    });
    await world.patch("claim", "d/x", { metadata: { annotations: { "volume.kubernetes.io/selected-node": null } } });
    await world.runtime.settle();
    expect(bind.answer).toBe("provisioning of claim d/x on node n1 was refused: disk at 100 percent on n1");
  });

  test("decision 18: selected-node is never taken back, not even when the pod is gone", async () => {
    const bind = await waitProvision();
    await world.remove("pod", "d/p");
    await world.runtime.settle();
    expect(bind.answer).toMatch(/does not exist any more; claim d\/x stays with node n1 for its provisioner/);
    expect((await world.get("claim", "d/x")).metadata.annotations["volume.kubernetes.io/selected-node"]).toBe("n1");
    expect(world.writes).toHaveLength(1);
  });

  test("128: a static claim bound and one still being provisioned is not yet", async () => {
    await world.pv("a", { on: "n1" });
    await world.pvc("w");
    await world.pvc("x", { class: "csi" });
    pod = await world.pod("p", ["w", "x"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.controlVolumes();
    expect(bind.answer).toBeUndefined();
    await world.provision();
    expect(bind.answer).toBe("ok");
  });

  test("FR-072, 197: a selected-node of a node that is gone is replaced, after a live look", async () => {
    await world.pvc("x", { class: "csi", selectedNode: "gone" });
    pod = await world.pod("p", ["x"]);
    await world.start();
    const bind = await begin();
    expect(world.writes[0]?.body.metadata.annotations).toEqual({ "volume.kubernetes.io/selected-node": "n1" });
    await world.provision();
    expect(bind.answer).toBe("ok");
  });

  test("FR-072: a selected-node of a node that exists is never written over, cached or not", async () => {
    await world.pvc("x", { class: "csi", selectedNode: "n3" });
    pod = await world.pod("p", ["x"]);
    const { cluster } = await world.start();
    cluster.hold("node");
    await world.nodes("n3");
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(bind.answer).toBe("node n3, selected for claim d/x, has not reached the cache yet");
    cluster.release("node");
    await world.runtime.settle();
    const again = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(again.answer).toMatch(/claim d\/x: selectedOtherNode/);
    expect(world.writes).toEqual([]);
  });
});

describe("time", () => {
  test("136, decision 17: the timeout is an Error that says what is missing, and undoes nothing", async () => {
    const bind = await waitStatic();
    await world.runtime.advance(599_999);
    expect(bind.answer).toBeUndefined();
    await world.runtime.advance(1);
    expect(bind.answer).toBe("not bound after 600 s: claim d/x is not bound to volume a yet; what is written stays");
    expect((await refOfA()).uid).toBe(claim.metadata.uid);
    expect(world.writes).toHaveLength(1);
  });

  test("FR-103: the next try finds the claimRef, writes nothing twice and just waits", async () => {
    await waitStatic();
    await world.runtime.advance(600_000);
    const again = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(again.answer).toBeUndefined();
    // The API says it already: a promise besides would have nothing to end it.
    expect(world.berth.cluster.state.reservations.assumptionCount).toBe(0);
    await world.controlVolumes();
    expect(again.answer).toBe("ok");
    expect(world.writes.map(({ method }) => method)).toEqual(["PATCH", "POST"]);
  });

  test("FR-068: the next try waits for a write that the timeout cut off, and does not send it again", async () => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x");
    pod = await world.pod("p", ["x"]);
    await world.start({ bindTimeoutMs: 5_000 });
    world.fault = (request, pass) => (request.method === "PATCH" ? world.runtime.sleep(8_000).then(pass) : undefined);
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(5_000);
    expect(bind.answer).toMatch(/not bound after 5 s: it was writing; what is written stays/);
    const again = world.bind(pod, "n1");
    await world.runtime.advance(3_500);
    await world.controlVolumes();
    expect(again.answer).toBe("ok");
    expect(world.writes.map(({ method }) => method)).toEqual(["PATCH", "POST"]);
  });

  test("FR-069: provisioning that outlasts the deadline is found by the next try", async () => {
    await waitProvision();
    await world.runtime.advance(600_000);
    await world.provision();
    const again = world.bind(pod, "n1");
    await world.runtime.settle();
    expect(again.answer).toBe("ok");
    expect(world.writes).toHaveLength(2);
  });

  test("FR-103: five hundred waiting binds cost one timer each, and a claim's change wakes one of them", async () => {
    const pods: Body[] = [];
    for (let i = 0; i < 500; i++) {
      await world.pv(`a${i}`, { on: "n1" });
      await world.pvc(`x${i}`);
      pods.push(await world.pod(`p${i}`, [`x${i}`]));
    }
    await world.start();
    const binds = pods.map((one) => world.bind(one, "n1"));
    await world.runtime.settle();
    expect(world.writes).toHaveLength(500);
    const before = world.runtime.pending();
    expect(before).toBe(world.berth.idleTimers + 500);
    await world.runtime.advance(60_000);
    expect(world.runtime.pending()).toBeLessThanOrEqual(before);
    await world.controlVolumes();
    expect(binds.filter(({ answer }) => answer === "ok")).toHaveLength(500);
  });
});
