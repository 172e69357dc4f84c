/** What nearly suits: each sentence names the one thing that is wrong, and putting it right makes the Pod fit. */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { hintsFor } from "../../src/scheduling/hints.ts";
import { modesText } from "../../src/scheduling/near-misses.ts";
import { accessModeBits } from "../../src/scheduling/objects.ts";
import { makeClass, makeNode, makePV, makePVC, type Raw, type VolumeFacts } from "../support/make.ts";
import { World } from "../support/world.ts";

type Facts = NonNullable<Parameters<typeof makePVC>[1]>;

interface NearMiss {
  readonly claim: Facts;
  readonly volumes: readonly Raw[];
  readonly says: readonly string[];
  /** The claim put right, or the volume. */
  readonly mended: Facts | Raw;
}

const ssd = { matchLabels: { disk: "ssd" } };

const misses: Record<string, NearMiss> = {
  "a class that is misspelt": {
    claim: { class: "lcoal" },
    volumes: [makePV("a", { on: "n1" }), makePV("b", { on: "n1" }), makePV("small", { on: "n1", capacity: "1Gi" })],
    says: ['class "lcoal" of claim d/x has no volumes; "local" has 2 that would fit'],
    mended: {},
  },
  "no class, where volumes have one": {
    claim: { class: "" },
    volumes: [makePV("a", { on: "n1" })],
    says: ['1 free volume with enough space has class "local" while claim d/x asks for ""'],
    mended: {},
  },
  "a volumeMode": {
    claim: { volumeMode: "Block" },
    volumes: [makePV("a", { on: "n1" }), makePV("b", { on: "n1" })],
    says: [
      "2 free volumes of class local would do for claim d/x, but for the volumeMode: offered is Filesystem, the claim asks for Block",
    ],
    mended: {},
  },
  "an access mode": {
    claim: { modes: ["ReadWriteOnce", "ReadWriteMany"] },
    volumes: [makePV("a", { on: "n1" })],
    says: [
      "1 free volume of class local would do for claim d/x, but for the access modes: offered is ReadWriteOnce, the claim asks for ReadWriteOnce+ReadWriteMany",
    ],
    mended: { modes: ["ReadWriteOnce"] },
  },
  "ReadWriteOncePod, which no other mode implies": {
    claim: { modes: ["ReadWriteOncePod"] },
    volumes: [makePV("a", { on: "n1" })],
    says: [
      "1 free volume of class local would do for claim d/x, but for the access modes: offered is ReadWriteOnce, the claim asks for ReadWriteOncePod",
    ],
    mended: makePV("a", { on: "n1", modes: ["ReadWriteOnce", "ReadWriteOncePod"] }),
  },
  "an attributes class": {
    claim: { attributesClass: "gold" },
    volumes: [makePV("a", { on: "n1" })],
    says: [
      '1 free volume of class local would do for claim d/x, but for the volumeAttributesClass: offered is "", the claim asks for "gold"',
    ],
    mended: makePV("a", { on: "n1", attributesClass: "gold" }),
  },
  labels: {
    claim: { selector: ssd },
    volumes: [makePV("a", { on: "n1" })],
    says: [
      "1 free volume of class local would do for claim d/x, but none carries the labels that it selects: disk In [ssd]",
    ],
    mended: makePV("a", { on: "n1", labels: { disk: "ssd" } }),
  },
  "a little space": {
    claim: { request: "10Gi" },
    volumes: [makePV("a", { on: "n1", capacity: "9Gi" }), makePV("b", { on: "n1", capacity: "9984Mi" })],
    says: ["volume b of class local would do for claim d/x, but is 256Mi too small"],
    mended: { request: "9984Mi" },
  },
  "what is left of an earlier claim": {
    claim: {},
    volumes: ["b", "a"].map((name) => makePV(name, { on: "n1", claim: "old", claimUid: "dead", phase: "Released" })),
    says: [
      "volume a (one of 2) of class local would do for claim d/x, but is Released: remove its claimRef once its old data may go",
    ],
    mended: makePV("a", { on: "n1" }),
  },
};

test.for(Object.entries(misses))("all that is wrong is %s", ([, { claim, volumes, says, mended }]) => {
  const world = new World().add(makeNode("n1"), makePVC("x", claim), ...volumes);
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual([]);
  expect(hintsFor(world.state, pod, true)).toEqual(says);
  world.add("kind" in mended ? (mended as Raw) : makePVC("x", mended));
  expect(world.fitting(pod)).toEqual(["n1"]);
});

test.for(["b", "a"])("volumes that miss alike are named in one order, though %s came first", (first) => {
  const volumes = (facts: VolumeFacts): Raw[] =>
    [first, "a", "b", "c"].map((name) => makePV(name, { on: "n1", class: "local", ...facts }));
  const hints = (claim: Facts, ...objects: readonly Raw[]): readonly string[] => {
    const world = new World().add(makeNode("n1"), makePVC("x", claim), ...objects);
    return hintsFor(world.state, world.pod("p", "x"), true);
  };
  expect(hints({ request: "10Gi" }, ...volumes({ capacity: "9984Mi" }))).toEqual([
    "volume a of class local would do for claim d/x, but is 256Mi too small",
  ]);
  expect(hints({}, ...volumes({ claim: "old", claimUid: "dead", phase: "Released" }))).toEqual([
    "volume a (one of 3) of class local would do for claim d/x, but is Released: remove its claimRef once its old data may go",
  ]);
  const classes = [first, "a", "b"].map((name) => makePV(`v${name}`, { on: "n1", class: `loca${name}` }));
  expect(hints({ class: "locax" }, ...classes)).toEqual([
    'class "locax" of claim d/x has no volumes; "locaa" has 1 that would fit',
  ]);
});

test("every label that is asked for is named", () => {
  const labels = { disk: "ssd", tier: "1" };
  const world = new World().add(makeNode("n1"), makePVC("x", { selector: { matchLabels: labels } }));
  world.add(makePV("a", { on: "n1", labels: { disk: "ssd" } }));
  const says = (): readonly string[] => hintsFor(world.state, world.pod("p", "x"), true);
  expect(says()).toEqual([
    "1 free volume of class local would do for claim d/x, but none carries the labels that it selects: disk In [ssd] and tier In [1]",
  ]);
  world.add(makePV("b", { on: "n2", labels }));
  expect(says()).toEqual([]);
});

test("what is not misspelt is told as it is", () => {
  const hints = (claim: Facts, ...objects: readonly Raw[]): readonly string[] => {
    const world = new World().add(makeNode("n1"), makePVC("x", claim), ...objects);
    return hintsFor(world.state, world.pod("p", "x"), true);
  };
  // No class is no name.
  expect(hints({ class: "" }, makePV("a", { on: "n1", class: "hd" }))).toEqual([
    '1 free volume with enough space has class "hd" while claim d/x asks for ""',
  ]);
  // A class of which a provisioner makes volumes needs none beforehand.
  const provisioner = "csi.example";
  const made = makePV("v", {
    class: "else",
    claim: "w",
    claimUid: "uw",
    annotations: { "pv.kubernetes.io/provisioned-by": provisioner },
  });
  expect(
    hints({ class: "csi-a" }, makeClass("csi-a", { provisioner }), made, makePV("a", { on: "n1", class: "csi-b" })),
  ).toEqual(['1 free volume with enough space has class "csi-b" while claim d/x asks for "csi-a"']);
});

test("access modes by their names, and none at all", () => {
  expect([modesText(0), modesText(accessModeBits.ReadOnlyMany | accessModeBits.ReadWriteOnce)]).toEqual([
    "any access mode",
    "ReadWriteOnce+ReadOnlyMany",
  ]);
});

const farMisses: Record<string, Pick<NearMiss, "claim" | "volumes">> = {
  "two things are wrong": {
    claim: { volumeMode: "Block", attributesClass: "gold" },
    volumes: [makePV("a", { on: "n1" })],
  },
  "the volume is far too small": { claim: { request: "10Gi" }, volumes: [makePV("a", { on: "n1", capacity: "8Gi" })] },
  "the volume is another claim's": { claim: {}, volumes: [makePV("a", { on: "n1", claim: "w", claimUid: "uw" })] },
  "the volume is being deleted": {
    claim: {},
    volumes: [makePV("a", { on: "n1", claim: "w", claimUid: "dead", phase: "Released", deleting: true })],
  },
};

test.for(Object.entries(farMisses))("nothing is near where %s", ([, { claim, volumes }]) => {
  const world = new World().add(makeNode("n1"), makePVC("x", claim), ...volumes);
  expect(hintsFor(world.state, world.pod("p", "x"), true)).toEqual([]);
});

test("what would help names the class that was meant, where it exists", () => {
  const suggestion = (name: string): string => {
    const world = new World().add(makeNode("n1"), makeClass("fast"), makePVC("x", { class: name }));
    return explainPod(world.state, world.pod("p", "x")).suggestion ?? "";
  };
  expect(suggestion("fsat")).toBe(
    "StorageClass fsat does not exist: create it, make claim d/x anew with class fast, or bind claim d/x by hand",
  );
  expect(suggestion("manual")).toBe("StorageClass manual does not exist: create it, or bind claim d/x by hand");
});
