/** Departure D18: where a provisioner refused a claim, the claim is not sent again at once (FR-040, FR-073). */
import { beforeEach, describe, expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { claimUid, nodeName } from "../../src/scheduling/names.ts";
import { Rests } from "../../src/scheduling/rests.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

const claim = (facts: Parameters<typeof makePVC>[1] = {}): Raw =>
  makePVC("x", { class: "csi", request: "40Gi", ...facts });
const capacity = (on: string, size: string): Raw => makeCapacity(`of-${on}`, { class: "csi", on, capacity: size });

let world: World;

/** Nodes n1 and n2, and a claim that either could provision. */
beforeEach(() => {
  world = new World().add(makeNode("n1"), makeNode("n2"), makeClass("csi", { provisioner: "csi.example" }), claim());
});

const publishing = (): World =>
  world.add(makeDriver("csi.example", true), capacity("n1", "100Gi"), capacity("n2", "50Gi"));
const fitting = (): string[] => world.fitting(world.pod("p", "x"));
const seconds = (count: number): void => {
  world.now += count * 1000;
};

function refuse(node = "n1"): void {
  world.add(claim({ selectedNode: node }), claim());
}

describe("a node whose provisioner refused a claim", () => {
  test("rests for five seconds, while the other node passes", () => {
    refuse();
    seconds(4.999);
    expect([fitting(), world.reasons(world.pod("p", "x"), "n1")]).toEqual([["n2"], ["provisioningBackoff"]]);
    seconds(0.001);
    expect(fitting()).toEqual(["n1", "n2"]);
  });

  test("FR-040: is not chosen again though it publishes more than the other", () => {
    publishing();
    expect(fitting()).toEqual(["n1", "n2"]);
    refuse();
    expect(fitting()).toEqual(["n2"]);
    const [first] = explainPod(world.state, world.pod("p", "x")).nodes;
    const why = "the provisioner refused this node 0 s ago; tried again in 5 s";
    expect(first).toMatchObject({ fits: false, claims: [{ refused: [{ volume: "(new)", why }] }] });
  });

  test("is explained with the times in a row, once there are several", () => {
    refuse();
    seconds(5);
    refuse();
    seconds(3);
    const [first] = explainPod(world.state, world.pod("p", "x")).nodes;
    const why = "the provisioner refused this node 3 s ago, 2 times in a row; tried again in 7 s";
    expect(first).toMatchObject({ claims: [{ refused: [{ why }] }] });
  });

  test("rests with the others of its segment, where the driver publishes by segment", () => {
    for (const [node, zone] of [
      ["n1", "z1"],
      ["n2", "z1"],
      ["n3", "z2"],
    ] as const)
      world.add(makeNode(node, { zone }));
    world.add(makeDriver("csi.example", true));
    for (const zone of ["z1", "z2"]) {
      world.add(makeCapacity(zone, { class: "csi", on: null, topology: { zone }, capacity: "100Gi" }));
    }
    refuse("n1");
    expect(fitting()).toEqual(["n3"]);
    const why = expect.stringMatching(/^the provisioner refused node n1, which draws on the same capacity, 0 s ago/);
    expect(explainPod(world.state, world.pod("p", "x")).nodes[1]).toMatchObject({ claims: [{ refused: [{ why }] }] });
    seconds(5);
    refuse("n2");
    seconds(9);
    expect(fitting()).toEqual(["n3"]);
  });

  test("gives the claim a volume that is there already", () => {
    refuse();
    world.add(makePV("a", { class: "csi", on: "n1", capacity: "50Gi" }));
    expect(world.planned(world.pod("p", "x"), "n1")).toEqual(["x=a"]);
  });

  test("provisions another claim, of whatever Pod", () => {
    refuse();
    world.add(makePVC("y", { class: "csi", request: "80Gi" }));
    expect(world.fitting(world.pod("q", "y"))).toEqual(["n1", "n2"]);
    expect(world.fitting(world.pod("r", "x", "y"))).toEqual(["n2"]);
  });

  test("goes on with the claim once somebody has told the provisioner again", () => {
    refuse();
    world.add(claim({ selectedNode: "n1" }));
    expect(fitting()).toEqual(["n1"]);
  });
});

describe("the pause", () => {
  /** The publications after a refusal at 100Gi, and the nodes that pass then. */
  const publications: Record<string, { values: string[]; rests: boolean }> = {
    "the same value again": { values: ["100Gi"], rests: true },
    "less, which is still enough": { values: ["60Gi"], rests: true },
    "less, and the same again": { values: ["60Gi", "60Gi"], rests: true },
    more: { values: ["101Gi"], rests: false },
    "less, and then more than that": { values: ["5Gi", "60Gi"], rests: false },
  };
  test.for(Object.entries(publications))(
    "ends early only by a rise: the driver publishes %s",
    ([, { values, rests }]) => {
      publishing();
      refuse();
      for (const value of values) world.add(capacity("n1", value));
      expect(fitting()).toEqual(rests ? ["n2"] : ["n1", "n2"]);
    },
  );

  test("outlives objects that vanish for a moment (FR-039)", () => {
    publishing();
    refuse();
    world.state.delete("capacity", "kube-system/of-n1");
    world.add(capacity("n1", "100Gi"));
    expect(fitting()).toEqual(["n2"]);
  });

  test("grows on after it was ended early", () => {
    publishing();
    refuse();
    world.add(capacity("n1", "200Gi"));
    refuse();
    seconds(9);
    expect(fitting()).toEqual(["n2"]);
    seconds(1);
    expect(fitting()).toEqual(["n1", "n2"]);
  });

  test("is short again for a refusal long after the last", () => {
    refuse();
    seconds(5);
    refuse();
    seconds(10 + 600);
    refuse();
    seconds(5);
    expect(fitting()).toEqual(["n1", "n2"]);
  });

  const forgotten: Record<string, () => void> = {
    "is bound": () => world.add(claim({ volume: "v" }), claim()),
    "is deleted and created anew": () => {
      world.state.delete("claim", "d/x");
      world.add(claim());
    },
    "is another of its name": () => world.add(claim({ uid: "another" })),
  };
  test.for(Object.entries(forgotten))("is forgotten when the claim %s", ([, end]) => {
    refuse();
    end();
    expect([fitting(), world.state.rests.dump()]).toEqual([["n1", "n2"], []]);
  });
});

const noRefusals: Record<string, () => void> = {
  "of a node that is gone": () => {
    world.add(claim({ selectedNode: "n1" }));
    world.state.delete("node", "n1");
    world.add(claim());
  },
  "of a claim that is being deleted": () => world.add(claim({ selectedNode: "n1" }), claim({ deleting: true })),
  "that is replaced by another": () => world.add(claim({ selectedNode: "n1" }), claim({ selectedNode: "n2" })),
  "of a claim that got its volume": () => world.add(claim({ selectedNode: "n1" }), claim({ volume: "v" })),
};
test.for(Object.entries(noRefusals))("a selected-node %s is no refusal", ([, story]) => {
  story();
  expect(world.state.rests.dump()).toEqual([]);
});

describe("the table", () => {
  let now = 0;
  let rests: Rests;
  beforeEach(() => {
    now = 0;
    rests = new Rests(() => now);
  });

  test("counts a refusal once that the watch shows and the bind reports", () => {
    rests.refused(claimUid("x"), nodeName("n1"), undefined);
    now = 1;
    rests.refused(claimUid("x"), nodeName("n1"), undefined);
    expect(rests.of(claimUid("x"))).toMatchObject([{ refusals: 1, leftMs: 4_999 }]);
  });

  test("forgets the claim that was refused the longest ago when it is full", () => {
    for (let index = 0; index < 10_000; index++) rests.refused(claimUid(`c${index}`), nodeName("n1"), undefined);
    now = 5_000;
    rests.refused(claimUid("c0"), nodeName("n1"), undefined);
    rests.refused(claimUid("new"), nodeName("n1"), undefined);
    now = 0;
    expect(["c0", "c1", "c2", "new"].map((name) => rests.of(claimUid(name)).length)).toEqual([1, 0, 1, 1]);
  });

  test("has another generation whenever a pause began or ended, and the same while nothing did", () => {
    const seen = [rests.generation];
    const look = (at: number): void => {
      now = at;
      seen.push(rests.generation);
    };
    rests.refused(claimUid("x"), nodeName("n1"), undefined);
    look(0);
    look(2_000);
    rests.refused(claimUid("x"), nodeName("n2"), undefined);
    look(2_000);
    look(5_000);
    look(6_999);
    look(7_000);
    look(1e6);
    const changed = seen.slice(1).map((generation, index) => generation !== seen[index]);
    expect(changed).toEqual([true, false, true, true, false, true, false]);
  });
});
