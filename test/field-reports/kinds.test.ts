/** Reports whose fault is of a kind: every case of the kind, where the example is one of them. */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

const modes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
const subsets = Array.from({ length: 15 }, (_, bits) => modes.filter((_, mode) => ((bits + 1) >> mode) & 1));

test.for(["free", "reserved", "attributes differ"])(
  "FR-007: every set of access modes against every other (%s)",
  (how) => {
    for (const asked of subsets) {
      for (const has of subsets) {
        const world = new World().add(makeNode("n1"), makePVC("x", { modes: asked }));
        const facts = how === "reserved" ? { claim: "x" } : how === "free" ? {} : { attributesClass: "gold" };
        world.add(makePV("a", { on: "n1", modes: has, ...facts }));
        const pod = world.pod("p", "x");
        const suits = how !== "attributes differ" && asked.every((mode) => has.includes(mode));
        expect(world.fitting(pod), `${has} for ${asked}`).toEqual(suits ? ["n1"] : []);
        const said = JSON.stringify(explainPod(world.state, pod).nodes);
        expect(said.includes("lacks an access mode"), `${has} for ${asked}`).toBe(
          !asked.every((mode) => has.includes(mode)),
        );
      }
    }
  },
);

test("FR-006: volumeMode set, unset or Block, on either side, free or reserved", () => {
  const written: Record<string, { volumeMode?: string }> = {
    unset: {},
    Filesystem: { volumeMode: "Filesystem" },
    Block: { volumeMode: "Block" },
  };
  for (const [asked, claim] of Object.entries(written)) {
    for (const [has, volume] of Object.entries(written)) {
      for (const reserved of [{}, { claim: "x" }]) {
        const world = new World().add(
          makeNode("n1"),
          makePVC("x", claim),
          makePV("a", { on: "n1", ...volume, ...reserved }),
        );
        const isSame = (asked === "Block") === (has === "Block");
        expect(world.fitting(world.pod("p", "x")), `${has} for ${asked}`).toEqual(isSame ? ["n1"] : []);
      }
    }
  }
});

const mends: Record<string, { before: Raw[]; mended: Raw[] }> = {
  "the node gets the label": { before: [makeNode("n1")], mended: [makeNode("n1", { rack: "r1" })] },
  "the label's value is put right": {
    before: [makeNode("n1", { rack: "R1" })],
    mended: [makeNode("n1", { rack: "r1" })],
  },
  "the node is made anew under its name": {
    before: [makeNode("n1")],
    mended: [
      {
        ...makeNode("n1", { rack: "r1" }),
        metadata: { ...(makeNode("n1", { rack: "r1" })["metadata"] as Raw), uid: "new" },
      },
    ],
  },
  "another node with the label comes": { before: [makeNode("n1")], mended: [makeNode("n2", { rack: "r1" })] },
  "the volume's affinity is put right": {
    before: [makeNode("n1", { rack: "r2" })],
    mended: [
      makePV("a", { terms: [{ matchExpressions: [{ key: "rack", operator: "In", values: ["r2"] }] }], version: "2" }),
    ],
  },
};

test.for(Object.entries(mends))(
  "FR-024: counts at the next call: %s; and its undoing too",
  ([, { before, mended }]) => {
    const terms = [{ matchExpressions: [{ key: "rack", operator: "In", values: ["r1"] }] }];
    for (const bound of [{}, { claim: "x", claimUid: "ux" }]) {
      const claim = "claim" in bound ? { volume: "a" } : {};
      const world = new World().add(...before, makePV("a", { terms, ...bound }), makePVC("x", claim));
      const pod = world.pod("p", "x");
      expect(world.fitting(pod)).toEqual([]);
      const again = mended.map((raw) =>
        raw["kind"] === "PersistentVolume"
          ? {
              ...raw,
              spec: {
                ...(raw["spec"] as Raw),
                ...(claim.volume && { claimRef: { namespace: "d", name: "x", uid: "ux" } }),
              },
            }
          : raw,
      );
      world.add(...again);
      expect(world.fitting(pod)).toHaveLength(1);
      world.state.delete("node", "n2");
      world.add(...before, makePV("a", { terms, ...bound }));
      expect(world.fitting(pod)).toEqual([]);
    }
  },
);

test("FR-002: of disks of any sizes the smallest that is large enough goes first, then the next", () => {
  const sizes = [100, 7, 1_000, 10, 11, 8];
  for (let ask = 1; ask <= 1_000; ask += 37) {
    const world = new World().add(makeNode("n1"), makePVC("x", { request: `${ask}Gi` }));
    world.add(...sizes.map((size) => makePV(`v${size}`, { on: "n1", capacity: `${size}Gi` })));
    const pod = world.pod("p", "x");
    for (const size of sizes.filter((one) => one >= ask).sort((a, b) => a - b)) {
      expect(world.planned(pod, "n1")).toEqual([`x=v${size}`]);
      world.state.delete("volume", `v${size}`);
    }
    expect(world.fitting(pod)).toEqual([]);
  }
});
