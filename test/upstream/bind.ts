/**
 * VB §8.10 to §8.12: what is written, and what the wait makes of each change, through the binder over the sandbox's API server.
 * @see volumebinding/binder_test.go, TestBindAPIUpdate, TestCheckBindings, TestBindPodVolumes
 */
import { describe, expect } from "vitest";
import { type Bind, type Body, World } from "../binding/world.ts";
import { audit } from "../support/auditor.ts";
import { scenario } from "./support.ts";

interface Begun {
  readonly world: World;
  readonly pod: Body;
  readonly bind: Bind;
}

/** u1 and u2 are served by volumes pv1a and pv1b of node1, d1 and d2 are provisioned. */
async function prepare(...mounts: string[]): Promise<World> {
  const world = new World();
  await world.nodes("node1", "node2");
  await world.pv("pv1a", { on: "node1", capacity: "5Gi" });
  await world.pv("pv1b", { on: "node1", capacity: "10Gi" });
  for (const name of mounts) {
    if (name.startsWith("u")) await world.pvc(name, { request: name === "u1" ? "1Gi" : "6Gi" });
    else await world.pvc(name, { class: "csi", request: "1Gi" });
  }
  return world;
}

/** The Pod's bind on node1, as far as it goes by itself; upstream's tests give it 10 s. */
async function begin(world: World, ...mounts: string[]): Promise<Begun> {
  const pod = await world.pod("p", mounts);
  await world.start({ bindTimeoutMs: 10_000 });
  const bind = world.bind(pod, "node1");
  await world.runtime.settle();
  return { world, pod, bind };
}

/** "volume pv1a 200", "claim d1 200", "pod p 201" of each write, in order. */
function writesOf({ writes }: World): string[] {
  return writes.map(({ path, status }) => {
    const parts = path.split("/");
    if (path.endsWith("/binding")) return `pod ${parts.at(-2)} ${status}`;
    return `${path.includes("persistentvolumeclaims/") ? "claim" : "volume"} ${parts.at(-1)} ${status}`;
  });
}

const bindCompleted = { "pv.kubernetes.io/bind-completed": "yes" };
const selectedNode = "volume.kubernetes.io/selected-node";
const selectedOf = async (world: World, claim: string): Promise<string | undefined> =>
  (await world.get("claim", `d/${claim}`))?.metadata.annotations?.[selectedNode];
const refOf = async (world: World, volume: string): Promise<Body> => (await world.get("volume", volume))?.spec.claimRef;

async function expectBound({ world, bind }: Begun): Promise<void> {
  await world.runtime.settle();
  expect(bind.answer).toBe("ok");
  expect((await world.get("pod", "d/p")).spec.nodeName).toBe("node1");
  expect(writesOf(world).at(-1)).toBe("pod p 201");
  expect(await audit(world)).toEqual([]);
}

async function expectPending({ world, bind }: Begun): Promise<void> {
  await world.runtime.settle();
  expect(bind.answer).toBeUndefined();
  expect((await world.get("pod", "d/p")).spec.nodeName).toBeUndefined();
}

/** With this text, without a Binding, and with no promise left. */
async function expectFailed({ world, bind }: Begun, text: string): Promise<void> {
  await world.runtime.advance(1_000);
  expect(bind.answer).toBe(text);
  expect(writesOf(world).filter((write) => write.startsWith("pod"))).toEqual([]);
  expect(world.berth.cluster.state.reservations.assumptionCount).toBe(0);
}

/** A change just before the first write to the path arrives. */
function beforeWrite(world: World, name: string, change: () => Promise<unknown>): void {
  let isDone = false;
  world.fault = (request, pass) => {
    if (isDone || request.method !== "PATCH" || !request.path.endsWith(`/${name}`)) return undefined;
    isDone = true;
    return change().then(pass);
  };
}

const touch = { metadata: { annotations: { touched: "yes" } } };
const unplanned =
  "node node1 cannot hold the volumes: node(s) didn't find available persistent volumes to bind (claim d/u9: noMatchingVolume)";

describe("VB 8.10: writes", () => {
  scenario(105, "binder", "no plan is an error; a plan with nothing to write writes the Binding alone", async () => {
    const none = await prepare();
    await none.pvc("u9", { request: "99Gi" });
    await expectFailed(await begin(none, "u9"), unplanned);
    expect(writesOf(none)).toEqual([]);
    const world = await prepare("u1");
    const { uid } = (await world.get("claim", "d/u1")).metadata;
    await world.patch("volume", "pv1a", { spec: { claimRef: { namespace: "d", name: "u1", uid } } });
    await world.controlVolumes();
    await expectBound(await begin(world, "u1"));
    expect(writesOf(world)).toEqual(["pod p 201"]);
  });
  scenario(106, "binder", "one volume: its claimRef is written", async () => {
    const begun = await begin(await prepare("u1"), "u1");
    const { uid } = (await begun.world.get("claim", "d/u1")).metadata;
    expect(writesOf(begun.world)).toEqual(["volume pv1a 200"]);
    expect(await refOf(begun.world, "pv1a")).toMatchObject({ namespace: "d", name: "u1", uid });
    const { annotations } = (await begun.world.get("volume", "pv1a")).metadata;
    expect(annotations["pv.kubernetes.io/bound-by-controller"]).toBe("yes");
    await expectPending(begun);
  });
  scenario(107, "binder", "two volumes: two writes", async () => {
    const { world } = await begin(await prepare("u1", "u2"), "u1", "u2");
    expect(writesOf(world).sort()).toEqual(["volume pv1a 200", "volume pv1b 200"]);
    expect([(await refOf(world, "pv1a")).name, (await refOf(world, "pv1b")).name]).toEqual(["u1", "u2"]);
  });
  scenario(
    108,
    "binder",
    "a volume that is as wanted already is right; upstream writes it again, we do not",
    async () => {
      const world = await prepare("u1");
      const { uid } = (await world.get("claim", "d/u1")).metadata;
      await world.patch("volume", "pv1a", { spec: { claimRef: { namespace: "d", name: "u1", uid } } });
      const begun = await begin(world, "u1");
      expect(writesOf(world)).toEqual([]);
      await expectPending(begun);
      await world.controlVolumes();
      await expectBound(begun);
    },
  );
  scenario(
    109,
    "departure",
    "D9: a newer version of the second volume fails upstream's bind half-way; ours writes it",
    async () => {
      const world = await prepare("u1", "u2");
      beforeWrite(world, "pv1b", () => world.patch("volume", "pv1b", touch));
      const begun = await begin(world, "u1", "u2");
      // Upstream: pv1a is claimed, pv1b is not, error.
      expect(writesOf(world).sort()).toEqual(["volume pv1a 200", "volume pv1b 200", "volume pv1b 409"]);
      await world.controlVolumes();
      await expectBound(begun);
    },
  );
  scenario(110, "binder", "a claim to provision: its selected-node is written, and nothing else", async () => {
    const { world } = await begin(await prepare("d1"), "d1");
    expect(writesOf(world)).toEqual(["claim d1 200"]);
    expect(Object.keys(world.writes[0]?.body.metadata.annotations)).toEqual([selectedNode]);
    expect(await selectedOf(world, "d1")).toBe("node1");
  });
  scenario(
    111,
    "departure",
    "D9: a newer version of the second claim fails upstream's bind half-way; ours writes it",
    async () => {
      const world = await prepare("d1", "d2");
      beforeWrite(world, "d2", () => world.patch("claim", "d/d2", touch));
      const begun = await begin(world, "d1", "d2");
      // Upstream: d1 is annotated, d2 is not, error.
      expect(writesOf(world).sort()).toEqual(["claim d1 200", "claim d2 200", "claim d2 409"]);
      expect([await selectedOf(world, "d1"), await selectedOf(world, "d2")]).toEqual(["node1", "node1"]);
      await world.provision();
      await expectBound(begun);
    },
  );
  scenario(
    112,
    "departure",
    "D9: the second claim is lost to another node. Upstream leaves all; we take the claimRef back",
    async () => {
      const world = await prepare("u1", "d1", "d2");
      const elsewhere = { metadata: { annotations: { [selectedNode]: "node2" } } };
      beforeWrite(world, "d2", () => world.patch("claim", "d/d2", elsewhere));
      const begun = await begin(world, "u1", "d1", "d2");
      expect(writesOf(world)[0]).toBe("volume pv1a 200");
      await expectFailed(
        begun,
        "claim d/d2 is being provisioned on node node2; claim d/d1 stays with node node1 for its provisioner",
      );
      expect(await refOf(world, "pv1a")).toBeUndefined();
      expect([await selectedOf(world, "d1"), await selectedOf(world, "d2")]).toEqual(["node1", "node2"]);
    },
  );
});

describe("VB 8.11: one look at the bindings", () => {
  /** u1 on pv1a, written and awaited. */
  const waiting = (number: number, name: string, check: (begun: Begun) => Promise<void>): void =>
    scenario(number, "wait", name, async () => {
      const begun = await begin(await prepare("u1"), "u1");
      expect(writesOf(begun.world)).toEqual(["volume pv1a 200"]);
      await check(begun);
    });
  const provisioning = (number: number, name: string, check: (begun: Begun) => Promise<void>): void =>
    scenario(number, "wait", name, async () => {
      const begun = await begin(await prepare("d1"), "d1");
      expect(writesOf(begun.world)).toEqual(["claim d1 200"]);
      await check(begun);
    });

  scenario(113, "wait", "no plan is an error; an empty one is bound at once", async () => {
    const none = await prepare();
    await none.pvc("u9", { request: "99Gi" });
    await expectFailed(await begin(none, "u9"), unplanned);
    await expectBound(await begin(await prepare()));
  });
  waiting(114, "volume claimed, claim bound: done", async (begun) => {
    await begun.world.controlVolumes();
    await expectBound(begun);
  });
  waiting(115, "volumeName without bind-completed: not yet", async (begun) => {
    await begun.world.patch("claim", "d/u1", { spec: { volumeName: "pv1a" } });
    await expectPending(begun);
    await begun.world.patch("claim", "d/u1", { metadata: { annotations: bindCompleted } });
    await expectBound(begun);
  });
  waiting(116, "an unbound claim: not yet", async (begun) => {
    await begun.world.patch("volume", "pv1a", { status: { phase: "Bound" } }, "/status");
    await expectPending(begun);
  });
  waiting(117, "the claim is deleted", async (begun) => {
    await begun.world.remove("claim", "d/u1");
    await expectFailed(begun, "claim d/u1 was deleted");
  });
  waiting(118, "the volume is deleted", async (begun) => {
    await begun.world.remove("volume", "pv1a");
    await expectFailed(begun, "volume pv1a was deleted");
  });
  waiting(119, "the claimRef is gone", async (begun) => {
    await begun.world.patch("volume", "pv1a", { spec: { claimRef: null } });
    await expectFailed(begun, "the claimRef of volume pv1a was reset");
  });
  waiting(120, "the claimRef has no uid", async (begun) => {
    await begun.world.patch("volume", "pv1a", { spec: { claimRef: { uid: null } } });
    await expectFailed(begun, "the claimRef of volume pv1a was reset");
  });
  scenario(121, "wait", "two claims, one bound: not yet", async () => {
    const begun = await begin(await prepare("u1", "u2"), "u1", "u2");
    await begun.world.patch("claim", "d/u1", {
      metadata: { annotations: bindCompleted },
      spec: { volumeName: "pv1a" },
    });
    await expectPending(begun);
    await begun.world.patch("claim", "d/u2", {
      metadata: { annotations: bindCompleted },
      spec: { volumeName: "pv1b" },
    });
    await expectBound(begun);
  });
  provisioning(122, "provisioned on the node and bound: done", async (begun) => {
    await begun.world.provision();
    await expectBound(begun);
  });
  provisioning(123, "selected-node is there, the volume is not: not yet", async (begun) => {
    await begun.world.runtime.advance(9_000);
    await expectPending(begun);
  });
  provisioning(124, "the claim to provision is deleted", async (begun) => {
    await begun.world.remove("claim", "d/d1");
    await expectFailed(begun, "claim d/d1 was deleted");
  });
  const refused = "provisioning of claim d/d1 on node node1 was refused";
  provisioning(125, "its annotations are gone", async (begun) => {
    await begun.world.patch("claim", "d/d1", { metadata: { annotations: null } });
    await expectFailed(begun, refused);
  });
  provisioning(126, "selected-node is taken off: the provisioner asks for another node", async (begun) => {
    await begun.world.patch("claim", "d/d1", { metadata: { annotations: { [selectedNode]: null } } });
    await expectFailed(begun, refused);
  });
  provisioning(127, "selected-node names another node", async (begun) => {
    await begun.world.patch("claim", "d/d1", { metadata: { annotations: { [selectedNode]: "wrong-node" } } });
    await expectFailed(begun, "selected-node of claim d/d1 was changed to wrong-node");
  });
  scenario(128, "wait", "the static claim is bound, the other is not: not yet", async () => {
    const begun = await begin(await prepare("u1", "d1"), "u1", "d1");
    expect(writesOf(begun.world).sort()).toEqual(["claim d1 200", "volume pv1a 200"]);
    await begun.world.controlVolumes();
    await expectPending(begun);
    await begun.world.provision();
    await expectBound(begun);
  });
  provisioning(129, "bound to a volume that the cache lacks: not yet", async (begun) => {
    const { world } = begun;
    world.berth.cluster.hold("volume");
    await world.provision();
    expect((await world.get("claim", "d/d1")).spec.volumeName).toBe("pvc-d1");
    await expectPending(begun);
    world.berth.cluster.release("volume");
    await world.runtime.settle();
    await expectBound(begun);
  });
});

describe("VB 8.12: bind end to end, 10 s at most, a change after 5 s", () => {
  scenario(131, "wait", "bound already", async () => {
    const world = await prepare("u1");
    const { uid } = (await world.get("claim", "d/u1")).metadata;
    await world.patch("volume", "pv1a", { spec: { claimRef: { namespace: "d", name: "u1", uid } } });
    await world.controlVolumes();
    const begun = await begin(world, "u1");
    await expectBound(begun);
    expect(begun.bind.at).toBe(0);
  });
  /** D10: the answer comes with the change, not with the next second. */
  const after5s = (number: number, name: string, mount: string, change: (begun: Begun) => Promise<void>): void =>
    scenario(number, "wait", name, async () => {
      const begun = await begin(await prepare(mount), mount);
      await begun.world.runtime.advance(5_000);
      await expectPending(begun);
      await change(begun);
    });
  after5s(132, "the PV controller binds the static claim", "u1", async (begun) => {
    await begun.world.controlVolumes();
    await expectBound(begun);
    expect(begun.bind.at).toBe(5_000);
  });
  after5s(133, "the volume is made and bound", "d1", async (begun) => {
    await begun.world.provision();
    await expectBound(begun);
    expect(begun.bind.at).toBe(5_000);
  });
  scenario(
    134,
    "departure",
    "D9: a newer version of the volume fails upstream's bind; ours looks at it and writes",
    async () => {
      const world = await prepare("u1");
      beforeWrite(world, "pv1a", () => world.patch("volume", "pv1a", touch));
      const begun = await begin(world, "u1");
      expect(writesOf(world)).toEqual(["volume pv1a 409", "volume pv1a 200"]);
      await world.controlVolumes();
      await expectBound(begun);
    },
  );
  after5s(135, "the Pod is deleted", "u1", async (begun) => {
    await begun.world.remove("pod", "d/p");
    await expectFailed(begun, "pod d/p does not exist any more");
    expect(await refOf(begun.world, "pv1a")).toBeUndefined();
  });
  after5s(136, "nothing happens: the time is up", "u1", async (begun) => {
    await begun.world.runtime.advance(4_999);
    await expectPending(begun);
    await expectFailed(
      begun,
      "not bound after 10 s: claim d/u1 is not bound to volume pv1a yet; what is written stays",
    );
    expect((await refOf(begun.world, "pv1a")).name).toBe("u1");
  });
  after5s(137, "the claim is deleted", "u1", async (begun) => {
    await begun.world.remove("claim", "d/u1");
    await expectFailed(begun, "claim d/u1 was deleted");
  });
  after5s(138, "the node loses the label of the volume's affinity", "u1", async (begun) => {
    await begun.world.patch("node", "node1", { metadata: { labels: { "kubernetes.io/hostname": null } } });
    await expectFailed(begun, "the node affinity of volume pv1a does not match node node1 any more");
  });
  after5s(139, "the claim is bound to a volume of another node", "d1", async (begun) => {
    await begun.world.provision("node2");
    await expectFailed(begun, "claim d/d1 was bound to volume pvc-d1, which node node1 cannot reach (node affinity)");
  });
});

describe("VB 8.17: binds that upstream gets wrong", () => {
  scenario(
    192,
    "departure",
    "D9: the second of two volumes is lost: upstream leaves the first claimed, we take it back",
    async () => {
      const world = await prepare("u1", "u2");
      const { uid } = (await world.pvc("other", { class: "else" })).metadata;
      const claimRef = { kind: "PersistentVolumeClaim", namespace: "d", name: "other", uid };
      beforeWrite(world, "pv1b", () => world.patch("volume", "pv1b", { spec: { claimRef } }));
      const begun = await begin(world, "u1", "u2");
      await expectFailed(
        begun,
        "node node1 cannot hold the volumes: node(s) didn't find available persistent volumes to bind (claim d/u2: noMatchingVolume)",
      );
      expect(await refOf(world, "pv1a")).toBeUndefined();
      expect((await refOf(world, "pv1b")).name).toBe("other");
    },
  );
  scenario(
    193,
    "departure",
    "D11: the claim is bound to another volume: upstream takes it for done, we do not",
    async () => {
      const begun = await begin(await prepare("u1"), "u1");
      const { world } = begun;
      const { uid } = (await world.get("claim", "d/u1")).metadata;
      await world.patch("volume", "pv1b", { spec: { claimRef: { namespace: "d", name: "u1", uid } } });
      await world.patch("claim", "d/u1", { metadata: { annotations: bindCompleted }, spec: { volumeName: "pv1b" } });
      await expectFailed(begun, "claim d/u1 was bound to volume pv1b instead of pv1a");
    },
  );
  scenario(194, "wait", "a Pod created anew under its name ends the wait; no Binding carries the old uid", async () => {
    const begun = await begin(await prepare("u1"), "u1");
    const before = begun.pod.metadata.uid;
    await begun.world.remove("pod", "d/p");
    const { uid } = (await begun.world.pod("p", ["u1"])).metadata;
    await expectFailed(begun, `pod d/p was deleted and created anew (uid ${uid}, asked for ${before})`);
    expect(await refOf(begun.world, "pv1a")).toBeUndefined();
  });
  scenario(
    197,
    "departure",
    "D12: a selected-node of a node that is gone stays upstream; we replace it where the Pod goes",
    async () => {
      const world = await prepare();
      await world.pvc("d1", { class: "csi", selectedNode: "gone" });
      const begun = await begin(world, "d1");
      expect(writesOf(world)).toEqual(["claim d1 200"]);
      expect(await selectedOf(world, "d1")).toBe("node1");
      await world.provision();
      await expectBound(begun);
    },
  );
  scenario(
    200,
    "binder",
    "bound again after its answer was lost: the Pod is on the node, and that is a success",
    async () => {
      const begun = await begin(await prepare("u1"), "u1");
      await begun.world.controlVolumes();
      await expectBound(begun);
      const before = writesOf(begun.world);
      const again = begun.world.bind(begun.pod, "node1");
      await begun.world.runtime.settle();
      const elsewhere = begun.world.bind(begun.pod, "node2");
      await begun.world.runtime.settle();
      expect(again.answer).toBe("ok");
      expect(elsewhere.answer).toBe("pod d/p is already assigned to node node1");
      expect(writesOf(begun.world)).toEqual(before);
    },
  );
});
