/** The indexes stay true: a state that lived through any history answers as one built at once from what is left. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { filterNodes } from "../../src/scheduling/filter.ts";
import { defaultScoring } from "../../src/scheduling/scoring.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";
import { runs } from "../support/runs.ts";
import { describePlan, World } from "../support/world.ts";

const names = ["a", "b", "c"] as const;
const name = fc.constantFrom(...names);
const zone = fc.constantFrom("z1", "z2");
const size = fc.constantFrom("1Gi", "2Gi", "3Gi");
const className = fc.constantFrom("local", "csi");

const terms = fc.oneof(
  fc.constant(undefined),
  name.map((on) => [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [on] }] }]),
  fc
    .tuple(name, name)
    .map((ons) => [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ons }] }]),
  zone.map((one) => [{ matchExpressions: [{ key: "zone", operator: "In", values: [one] }] }]),
  zone.map((one) => [{ matchExpressions: [{ key: "zone", operator: "NotIn", values: [one] }] }]),
  name.map((on) => [{ matchFields: [{ key: "metadata.name", operator: "In", values: [on] }] }]),
  fc.constant([{}]),
  fc.constant([
    { matchExpressions: [{ key: "zone", operator: "Exists" }] },
    { matchFields: [{ key: "metadata.name", operator: "In", values: ["a"] }] },
  ]),
);

type Step =
  | { readonly put: Raw }
  | { readonly remove: readonly ["node" | "volume" | "claim" | "capacity" | "class" | "csiNode", string] };

const put = (raw: Raw): Step => ({ put: raw });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(name, zone, fc.boolean()).map(([node, where, zoned]) => put(makeNode(node, zoned ? { zone: where } : {}))),
  fc
    .record({
      on: terms,
      capacity: size,
      class: className,
      uid: fc.constantFrom("1", "2"),
      phase: fc.constantFrom("Available", "Available", "Released"),
      claim: fc.constantFrom(undefined, undefined, "x", "y"),
      deleting: fc.constantFrom(false, false, true),
    })
    .chain(({ on, claim, ...facts }) =>
      name.map((volume) =>
        put(makePV(volume, { ...facts, ...(on && { terms: on }), ...(claim !== undefined && { claim }) })),
      ),
    ),
  fc
    .record({
      request: size,
      class: className,
      selectedNode: fc.constantFrom(undefined, undefined, "a", "b"),
      volume: fc.constantFrom(undefined, undefined, "a", "b"),
      halfBound: fc.boolean(),
      uid: fc.constantFrom("1", "2"),
    })
    .chain(({ selectedNode, volume, uid, ...facts }) =>
      fc.constantFrom("x", "y", "z").map((claim) =>
        put(
          makePVC(claim, {
            ...facts,
            uid: `${claim}${uid}`,
            ...(selectedNode && { selectedNode }),
            ...(volume && { volume }),
          }),
        ),
      ),
    ),
  fc
    .tuple(name, fc.constantFrom<string | null>("a", "b", "*", null), fc.constantFrom("1Gi", "4Gi", "9Gi"))
    .map(([one, on, capacity]) => put(makeCapacity(one, { class: "csi", on, capacity }))),
  name.map((node) => put(makeCsiNode(node, "csi.example"))),
  fc
    .tuple(
      fc.constantFrom("node", "volume", "claim", "capacity", "class", "csiNode"),
      name,
      fc.constantFrom("x", "y", "z"),
    )
    .map(
      ([kind, one, claim]): Step => ({
        remove: [
          kind,
          kind === "claim" ? `d/${claim}` : kind === "capacity" ? `kube-system/${one}` : kind === "class" ? "csi" : one,
        ],
      }),
    ),
);

const base = [makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true)];

function keyOf(raw: Raw): string {
  const { name: own, namespace } = raw["metadata"] as { name: string; namespace?: string };
  return `${String(raw["kind"])} ${namespace === undefined ? "" : `${namespace}/`}${own}`;
}

const kindNames = {
  node: "Node",
  volume: "PersistentVolume",
  claim: "PersistentVolumeClaim",
  capacity: "CSIStorageCapacity",
  class: "StorageClass",
  csiNode: "CSINode",
};

function answers(world: World): unknown {
  return [["x"], ["y", "z"], ["x", "y", "z"]].map((claims) => {
    const verdict = filterNodes(world.state, world.pod("p", ...claims), names as never);
    if (verdict.kind !== "judged") return verdict;
    return verdict.nodes.names.map((_, index) => {
      const one = verdict.nodes.verdict(index);
      // What the call said in its flat form is what the full verdict says.
      expect(one.fits).toBe(verdict.nodes.fits(index));
      expect(one.fits ? "" : one.text).toBe(verdict.nodes.text(index));
      return one.fits ? [describePlan(one.plan), verdict.nodes.percent(index)] : one;
    });
  });
}

/** Claims that draw on capacity: one more would be a promise that never ends, one less capacity that is given twice. */
function inFlight({ state }: World): string[] {
  return [...state.pools.demands()].map(({ claim }) => claim as string).sort();
}

/** Which pool each claim in flight draws on, and how much. */
function demands({ state }: World): unknown {
  return [...state.pools.demands()].map(({ claim, pool, bytes }) => [claim, pool?.key ?? "", String(bytes)]).sort();
}

test("any history of additions, changes and deletions answers like a fresh state of what is left", {
  timeout: 120_000,
}, () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      // What this strategy measures is counted as volumes come and go.
      const scoring = { ...defaultScoring, strategy: "spread" } as const;
      const lived = new World({ scoring }).add(...base);
      const left = new Map(base.map((raw) => [keyOf(raw), raw]));
      for (const one of steps) {
        if ("put" in one) {
          lived.add(one.put);
          left.set(keyOf(one.put), one.put);
        } else {
          lived.state.delete(one.remove[0], one.remove[1]);
          left.delete(`${kindNames[one.remove[0]]} ${one.remove[1]}`);
        }
      }
      // Promises to claims that are gone end by the clock.
      lived.now += 10 * 60_000;
      const fresh = new World({ scoring });
      // Claims last, as a demand finds its pool among those that are there.
      const ordered = [...left.values()].sort(
        (a, b) => Number(a["kind"] === "PersistentVolumeClaim") - Number(b["kind"] === "PersistentVolumeClaim"),
      );
      fresh.add(...ordered);
      fresh.now = lived.now;
      const [told, toldFresh] = [answers(lived), answers(fresh)];
      // Where the Pods are refused as a whole, no decision has looked at the promises.
      for (const { state } of [lived, fresh]) state.pools.update();
      expect(inFlight(lived)).toEqual(inFlight(fresh));
      // Where a node has several pools, a demand stays in the one that was there first; and what a claim in flight asks for
      // does not change, which the API forbids and the steps do not.
      fc.pre(JSON.stringify(demands(lived)) === JSON.stringify(demands(fresh)));
      expect(told).toEqual(toldFresh);
    }),
    { numRuns: runs(1_500) },
  );
});
