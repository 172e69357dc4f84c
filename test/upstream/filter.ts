/** VB §8.1 to §8.4: which claims a node can serve. @see volumebinding/{binder,volume_binding}_test.go */
import { describe, expect, test } from "vitest";
import { makeCapacity, makeClass, makeDriver, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";
import { claims, pvAt, upstreamWorld, volumes } from "./fixtures.ts";
import { ask, askOn, type NodeAnswer, scenario, texts } from "./support.ts";

const { u1, u2, pre, b, iu, ib, d1, ds, np, tx } = claims;
const { pv1a, pv1b, pv2, pvBound, pvImm } = volumes;

const messageClasses = [makeClass("wait-sc"), makeClass("immediate-sc", { mode: "Immediate" })];

interface Static {
  readonly mounts: readonly string[];
  readonly objects: readonly Raw[];
  readonly want: NodeAnswer;
}

describe("VB 8.1: filter, claims that volumes serve", () => {
  /** On node1; the driver's capacity must make no difference. */
  const table = (number: number, name: string, { mounts, objects, want }: Static): void =>
    scenario(number, "core", name, () => {
      for (const driver of [[], [makeDriver("test-provisioner", true)], [makeDriver("test-provisioner", false)]]) {
        const world = upstreamWorld(...objects, ...driver);
        expect(askOn(world, world.pod("test-pod", ...mounts), "node1")).toEqual(want);
      }
    });

  table(1, "a Pod without volumes fits", { mounts: [], objects: [], want: [] });
  scenario(2, "core", "a Pod whose only volume is an emptyDir fits", () => {
    const world = upstreamWorld();
    const pod = world.read(makePod("test-pod", [], { volumes: [{ name: "scratch", emptyDir: {} }] }));
    expect(pod.claims).toEqual([]);
    expect(askOn(world, pod, "node1")).toEqual([]);
  });
  table(3, "a claim that does not exist refuses the Pod", {
    mounts: ["b"],
    objects: [pvBound],
    want: 'persistentvolumeclaim "b" not found',
  });
  table(4, "a bound claim fits where its volume is", { mounts: ["b"], objects: [b, pvBound], want: ["b==pvbound"] });
  table(5, "a bound claim without its volume fits nowhere", { mounts: ["b"], objects: [b], want: texts.missing });
  table(6, "a claim that names its volume but is not bound yet is the PV controller's", {
    mounts: ["pre"],
    objects: [pre, pvAt("pv1a", "node1", { capacity: "5G", claim: "pre", claimUid: "upre" })],
    want: texts.immediate,
  });
  table(7, "the smallest volume on the node is taken, not the smaller one on another node", {
    mounts: ["u1"],
    objects: [u1, pv2, pv1a, pv1b],
    want: ["u1=pv1a"],
  });
  table(8, "a volume on another node serves nobody here", { mounts: ["u1"], objects: [u1, pv2], want: texts.bind });
  table(9, "two claims take two volumes", {
    mounts: ["u1", "u2"],
    objects: [u1, u2, pv1a, pv1b],
    want: ["u1=pv1a", "u2=pv1b"],
  });
  table(10, "the order in the Pod makes no difference", {
    mounts: ["u2", "u1"],
    objects: [u1, u2, pv1a, pv1b],
    want: ["u1=pv1a", "u2=pv1b"],
  });
  table(11, "one of two claims served is not enough", {
    mounts: ["u1", "u2"],
    objects: [u1, u2, pv1a],
    want: texts.bind,
  });
  table(12, "an unbound claim is served beside a bound one", {
    mounts: ["u1", "b"],
    objects: [u1, b, pvBound, pv1a],
    want: ["b==pvbound", "u1=pv1a"],
  });
  table(13, "a bound claim does not help an unbound one", {
    mounts: ["u1", "b"],
    objects: [u1, b, pvBound, pv2],
    want: texts.bind,
  });
  table(14, "one claim in the PV controller's hands refuses the Pod", {
    mounts: ["u1", "pre"],
    objects: [u1, pre, pv1a, pv1b],
    want: texts.immediate,
  });
  table(15, "a bound claim of an Immediate class fits", {
    mounts: ["ib"],
    objects: [ib, pvImm],
    want: ["ib==pvimm"],
  });
  table(16, "a bound claim whose volume is on another node does not", {
    mounts: ["ib"],
    objects: [ib, pvAt("pvimm", "node2", { capacity: "1G", class: "imm", claim: "ib", claimUid: "uib" })],
    want: texts.node,
  });
  table(17, "an unbound claim of an Immediate class refuses the Pod", {
    mounts: ["iu"],
    objects: [iu],
    want: texts.immediate,
  });
  table(18, "also beside a bound claim", { mounts: ["iu", "b"], objects: [iu, b, pvBound], want: texts.immediate });
  table(19, "also beside a claim that waits for its Pod", {
    mounts: ["iu", "u1"],
    objects: [iu, u1, pv1a],
    want: texts.immediate,
  });
  table(20, "an ephemeral volume waits for its claim to be created", {
    mounts: ["~scratch"],
    objects: [],
    want: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "test-pod-scratch"',
  });
  table(21, "an ephemeral volume's claim that the Pod owns fits", {
    mounts: ["~scratch"],
    objects: [
      makePVC("test-pod-scratch", { class: "wait", request: "1G", owner: "utest-pod", volume: "pve" }),
      pvAt("pve", "node1", { capacity: "1G", claim: "test-pod-scratch", claimUid: "utest-pod-scratch" }),
    ],
    want: ["test-pod-scratch==pve"],
  });
  table(22, "an ephemeral volume's claim that somebody else owns refuses the Pod", {
    mounts: ["~scratch"],
    objects: [makePVC("test-pod-scratch", { class: "wait", request: "1G" })],
    want: "PVC d/test-pod-scratch was not created for pod d/test-pod (pod is not owner)",
  });
});

describe("VB 8.2: filter, claims to provision", () => {
  /** On node1, without the driver object, then with a driver that publishes no capacity at all. */
  const table = (number: number, name: string, { mounts, objects, want, full }: Static & { full: NodeAnswer }): void =>
    scenario(number, "core", name, () => {
      const world = upstreamWorld(...objects);
      expect(askOn(world, world.pod("test-pod", ...mounts), "node1")).toEqual(want);
      world.add(makeDriver("test-provisioner", true));
      expect(askOn(world, world.pod("test-pod", ...mounts), "node1")).toEqual(full);
    });

  table(23, "one claim", { mounts: ["d1"], objects: [d1], want: ["d1=+waitp"], full: texts.space });
  table(24, "beside one that a volume serves", {
    mounts: ["u1", "d1"],
    objects: [u1, d1, pv1a],
    want: ["d1=+waitp", "u1=pv1a"],
    full: texts.space,
  });
  table(25, "beside a bound one", {
    mounts: ["b", "d1"],
    objects: [b, d1, pvBound],
    want: ["b==pvbound", "d1=+waitp"],
    full: texts.space,
  });
  scenario(26, "core", "with this node selected, beside a bound one; on another node the claim is refused", () => {
    const world = upstreamWorld(b, ds, pvBound);
    const [pod, alone] = [world.pod("test-pod", "b", "ds"), world.pod("test-pod", "ds")];
    expect(ask(world, pod)).toEqual({ node1: ["b==pvbound", "ds=+waitp"], node2: `${texts.node}, ${texts.bind}` });
    expect(ask(world, alone)).toEqual({ node1: ["ds=+waitp"], node2: texts.bind });
    world.add(makeDriver("test-provisioner", true));
    expect(ask(world, pod)).toEqual({ node1: texts.space, node2: `${texts.node}, ${texts.bind}` });
    expect(ask(world, alone)).toEqual({ node1: texts.space, node2: texts.bind });
  });
  table(27, "beside a bound one of an Immediate class", {
    mounts: ["ib", "d1"],
    objects: [ib, d1, pvImm],
    want: ["d1=+waitp", "ib==pvimm"],
    full: texts.space,
  });
  table(28, "a class without a provisioner provisions nothing", {
    mounts: ["np"],
    objects: [np],
    want: texts.bind,
    full: texts.bind,
  });
  table(29, "allowedTopologies leave the node out", {
    mounts: ["tx"],
    objects: [tx],
    want: texts.bind,
    full: texts.bind,
  });
});

describe("VB 8.3: published capacity, for a claim of 1Gi on node1", () => {
  const here = { nodeKey: "node1" };
  const there = { nodeKey: "node2" };
  const capacity = (name: string, facts: { topology?: Record<string, string> | null; size?: string; max?: string }) =>
    makeCapacity(name, {
      class: "waitp",
      on: facts.topology === null ? null : "*",
      ...(facts.topology && { topology: facts.topology }),
      ...(facts.size !== undefined && { capacity: facts.size }),
      ...(facts.max !== undefined && { max: facts.max }),
    });
  const anywhere = capacity("net", { size: "1Gi" });
  const onNode1 = capacity("n1", { topology: here, size: "1Gi" });
  const onNode2 = capacity("n2", { topology: there, size: "1Gi" });

  /** With the driver opted in; without it, and opted out, the objects are not looked at. */
  const table = (number: number, name: string, objects: readonly Raw[], want: NodeAnswer): void =>
    scenario(number, "core", name, () => {
      const world = upstreamWorld(d1, ...objects, makeDriver("test-provisioner", true));
      const pod = world.pod("test-pod", "d1");
      expect(askOn(world, pod, "node1")).toEqual(want);
      world.add(makeDriver("test-provisioner", false));
      expect(askOn(world, pod, "node1")).toEqual(["d1=+waitp"]);
      world.state.delete("driver", "test-provisioner");
      expect(askOn(world, pod, "node1")).toEqual(["d1=+waitp"]);
    });

  const fits = ["d1=+waitp"];
  table(30, "an empty topology is every node's", [anywhere], fits);
  table(31, "a topology that names the node", [onNode1], fits);
  table(32, "among objects of other topologies", [anywhere, onNode2, onNode1], fits);
  table(33, "none published is none there", [], texts.space);
  table(34, "another node's is of no use", [onNode2], texts.space);
  table(
    35,
    "another class's is of no use",
    [makeCapacity("n1", { class: "wait", on: "*", capacity: "1Gi" })],
    texts.space,
  );
  table(36, "too little", [capacity("n1", { topology: here, size: "1Mi" })], texts.space);
  table(
    37,
    "maximumVolumeSize goes before capacity",
    [capacity("n1", { topology: here, size: "1Gi", max: "1Mi" })],
    texts.space,
  );
  table(38, "nothing left", [capacity("n1", { topology: here, size: "0" })], texts.space);
  table(39, "maximumVolumeSize of zero", [capacity("n1", { topology: here, max: "0" })], texts.space);
  table(40, "an object without numbers", [capacity("n1", { topology: here })], texts.space);
  table(41, "an object without topology is no node's", [capacity("n1", { topology: null, size: "1Gi" })], texts.space);
  table(42, "maximumVolumeSize alone is enough", [capacity("n1", { topology: here, max: "1Gi" })], fits);
});

describe("VB 8.4: messages", () => {
  const node = makeNode("node-a", { foo: "barbar" });
  const unbound = (name: string): Raw => makePVC(name, { class: "wait-sc" });
  const boundTo = (name: string, volume: string): Raw => makePVC(name, { class: "wait-sc", volume });
  const table = (
    number: number,
    name: string,
    { mounts, objects, want, scores = {} }: Static & { scores?: Record<string, number> },
  ): void =>
    scenario(number, "core", name, () => {
      const world = new World().add(...messageClasses, node, ...objects);
      const pod = world.pod("pod-a", ...mounts);
      expect(ask(world, pod)).toEqual({ "node-a": want });
      expect(world.scores(pod)).toEqual(scores);
    });

  table(43, "no claims, nothing to say", { mounts: [], objects: [], want: [] });
  table(44, "all claims bound to volumes that every node reaches; no score", {
    mounts: ["pvc-a"],
    objects: [boundTo("pvc-a", "pv-a"), makePV("pv-a", { class: "wait-sc", claim: "pvc-a", claimUid: "upvc-a" })],
    want: ["pvc-a==pv-a"],
  });
  table(45, "a claim that does not exist is named", {
    mounts: ["pvc-a"],
    objects: [],
    want: 'persistentvolumeclaim "pvc-a" not found',
  });
  table(46, "also beside one that is bound", {
    mounts: ["pvc-a", "pvc-b"],
    objects: [boundTo("pvc-a", "pv-a"), makePV("pv-a", { class: "wait-sc", claim: "pvc-a", claimUid: "upvc-a" })],
    want: 'persistentvolumeclaim "pvc-b" not found',
  });
  table(47, "an unbound claim of an Immediate class", {
    mounts: ["pvc-a"],
    objects: [makePVC("pvc-a", { class: "immediate-sc" })],
    want: texts.immediate,
  });
  table(48, "an unbound claim that no volume serves", {
    mounts: ["pvc-a"],
    objects: [unbound("pvc-a")],
    want: texts.bind,
  });
  table(49, "a bound claim elsewhere and an unbound one: two reasons, in this order", {
    mounts: ["pvc-a", "pvc-b"],
    objects: [
      boundTo("pvc-a", "pv-a"),
      unbound("pvc-b"),
      makePV("pv-a", {
        class: "wait-sc",
        claim: "pvc-a",
        claimUid: "upvc-a",
        terms: [{ matchExpressions: [{ key: "foo", operator: "In", values: ["bar"] }] }],
      }),
    ],
    want: `${texts.node}, ${texts.bind}`,
  });
  table(50, "a bound claim whose volume does not exist", {
    mounts: ["pvc-a"],
    objects: [boundTo("pvc-a", "pv-a")],
    want: texts.missing,
  });
  table(51, "a lost claim names its volume", {
    mounts: ["pvc-a"],
    objects: [makePVC("pvc-a", { class: "wait-sc", volume: "pv-a", phase: "Lost" })],
    want: 'persistentvolumeclaim "pvc-a" bound to non-existent persistentvolume "pv-a"',
  });

  test("VB 2.2, F1: of several bound claims the first that is out decides, in the Pod's order, and it alone", () => {
    const world = upstreamWorld(
      makePVC("here", { class: "wait", volume: "pv-here" }),
      makePVC("there", { class: "wait", volume: "pv-there" }),
      makePVC("gone", { class: "wait", volume: "pv-gone" }),
      pvAt("pv-here", "node1", { claim: "here", claimUid: "uhere" }),
      pvAt("pv-there", "node2", { claim: "there", claimUid: "uthere" }),
    );
    const answers = [
      ["here", "there", "gone"],
      ["here", "gone", "there"],
      ["gone", "here"],
      ["there", "np"],
    ].map((mounts) => {
      if (mounts.includes("np")) world.add(np);
      return askOn(world, world.pod("test-pod", ...mounts), "node1");
    });
    expect(answers).toEqual([texts.node, texts.missing, texts.missing, `${texts.node}, ${texts.bind}`]);
  });
});
