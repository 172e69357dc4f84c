/** What nearly suits: each sentence names the one thing that is wrong, and putting it right makes the Pod fit. */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { hintsFor } from "../../src/scheduling/hints.ts";
import { makeClass, makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
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
