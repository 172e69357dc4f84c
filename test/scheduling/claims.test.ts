/** What holds for a Pod before any node is looked at (VB §2.1). */
import { expect, test } from "vitest";
import { planNode } from "../../src/scheduling/filter.ts";
import { nodeName } from "../../src/scheduling/names.ts";
import type { Kind } from "../../src/scheduling/objects.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

interface Case {
  readonly objects: readonly Raw[];
  readonly mounts: readonly string[];
  /** An object that cannot be read. */
  readonly broken?: readonly [kind: Kind, key: string];
  readonly want: unknown;
}

const noClass = { class: null, betaClass: "" };
const missing = (claim: string): unknown => ({ reason: "claimNotFound", doubts: [{ kind: "claim", key: claim }] });
const broken = (kind: Kind, key: string, problem: string): unknown => ({
  kind: "fault",
  object: { kind, key },
  problem,
});

/** With the annotation that a bound claim has, but without a volume. */
function onlyAnnotated(name: string): Raw {
  const raw = makePVC(name);
  const annotations = { "pv.kubernetes.io/bind-completed": "yes" };
  return { ...raw, metadata: { ...(raw["metadata"] as Raw), annotations } };
}

const cases: Record<string, Case> = {
  "no claim: every node passes": { objects: [], mounts: [], want: { kind: "free" } },
  "a claim that is not there: the cache may lack it": { objects: [], mounts: ["x"], want: missing("d/x") },
  "an ephemeral claim that is not there yet": {
    objects: [],
    mounts: ["~x"],
    want: { reason: "claimAwaited", claim: "d/p-x", doubts: [{ kind: "claim", key: "d/p-x" }] },
  },
  "a claim that cannot be read": {
    objects: [],
    mounts: ["x"],
    broken: ["claim", "d/x"],
    want: broken("claim", "d/x", "odd"),
  },
  "a claim without a class": {
    objects: [makePVC("x", noClass)],
    mounts: ["x"],
    want: { reason: "unboundImmediate", doubts: [] },
  },
  "a claim without a class, where something nameless is broken": {
    objects: [makePVC("x", noClass)],
    mounts: ["x"],
    broken: ["class", ""],
    want: { reason: "unboundImmediate", doubts: [] },
  },
  "a class that is not there: the cache may lack it": {
    objects: [makePVC("x", { class: "none" })],
    mounts: ["x"],
    want: { reason: "unboundImmediate", doubts: [{ kind: "class", key: "none" }] },
  },
  "a class that cannot be read": {
    objects: [makePVC("x", { class: "bad" })],
    mounts: ["x"],
    broken: ["class", "bad"],
    want: broken("class", "bad", "odd"),
  },
  "a class without a binding mode": {
    objects: [makePVC("x", { class: "modeless" }), makeClass("modeless", { mode: null })],
    mounts: ["x"],
    want: broken("class", "modeless", "volumeBindingMode: not set"),
  },
  "a class that binds at once": {
    objects: [makePVC("x", { class: "now" }), makeClass("now", { mode: "Immediate" })],
    mounts: ["x"],
    want: { reason: "unboundImmediate", claim: "d/x", doubts: [] },
  },
  "of two, the first is named": {
    objects: [
      makePVC("x", { class: "now" }),
      makePVC("w", { volume: "v", halfBound: true }),
      makeClass("now", { mode: "Immediate" }),
    ],
    mounts: ["x", "w"],
    want: { reason: "unboundImmediate", claim: "d/x" },
  },
  "a broken class comes before a claim that must be bound, wherever it stands": {
    objects: [makePVC("x", noClass), makePVC("y", { class: "bad" })],
    mounts: ["x", "y"],
    broken: ["class", "bad"],
    want: broken("class", "bad", "odd"),
  },
  "a claim that names its volume and is not bound": {
    objects: [makePVC("x", { volume: "v", halfBound: true })],
    mounts: ["x"],
    want: { reason: "bindInProgress", claim: "d/x" },
  },
  "a claim with the annotation of a bound one and no volume is not bound": {
    objects: [onlyAnnotated("x"), makePV("v", { on: "n" })],
    mounts: ["x"],
    want: { kind: "judged", nodes: { fits: true, plan: { claims: [{ kind: "static" }] } } },
  },
  "a claim that has lost its volume": {
    objects: [makePVC("x", { volume: "v", phase: "Lost" })],
    mounts: ["x"],
    want: { text: 'persistentvolumeclaim "x" bound to non-existent persistentvolume "v"' },
  },
  "a claim that is being deleted": {
    objects: [makePVC("x", { deleting: true })],
    mounts: ["x"],
    want: { text: 'persistentvolumeclaim "x" is being deleted' },
  },
  "an ephemeral claim of somebody else": {
    objects: [makePVC("p-x", { owner: "another" })],
    mounts: ["~x"],
    want: { text: "PVC d/p-x was not created for pod d/p (pod is not owner)" },
  },
  "an ephemeral claim of the Pod's own": {
    objects: [makePVC("p-x", { owner: "up" }), makePV("v", { on: "n" })],
    mounts: ["~x"],
    want: { kind: "judged", nodes: { fits: true } },
  },
};

test.for(Object.entries(cases))("%s", ([, { objects, mounts, broken: set, want }]) => {
  const world = new World().add(makeNode("n"), ...objects);
  if (set) world.state.setAside(...set, "odd");
  expect(planNode(world.state, world.read(makePod("p", mounts)), nodeName("n"))).toMatchObject(want as object);
});

test("claims are planned in the order of their names, whatever the Pod's is", () => {
  const world = new World().add(makeNode("n"), ...["v", "w"].map((name) => makePV(name, { on: "n" })));
  world.add(makePVC("x"), makePVC("y"));
  expect(world.planned(world.pod("p", "y", "x"), "n").map((text) => text[0])).toEqual(["x", "y"]);
});
