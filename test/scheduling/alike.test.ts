/** When claims are alike, and how the volumes of such claims are dealt out: against every way to deal them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { areAlike, Dealer } from "../../src/scheduling/alike.ts";
import { wantOf } from "../../src/scheduling/matching.ts";
import { claimKey } from "../../src/scheduling/names.ts";
import { runs } from "../support/runs.ts";
import { World } from "../support/world.ts";

const pairs: Record<string, { readonly claims: readonly string[]; readonly alike: boolean }> = {
  "one claim is like itself": { claims: ["a 1Gi"], alike: true },
  "claims of two sizes are alike": { claims: ["a 1Gi", "b 2Gi"], alike: true },
  "one access mode or two": { claims: ["a 1Gi", "b 1Gi modes=RWO,ROX"], alike: false },
  "another access mode": { claims: ["a 1Gi", "b 1Gi modes=ROX"], alike: false },
  "a raw block": { claims: ["a 1Gi", "b 1Gi block"], alike: false },
  "a class of attributes": { claims: ["a 1Gi", "b 1Gi vac=gold"], alike: false },
  "two classes of attributes": { claims: ["a 1Gi vac=silver", "b 1Gi vac=gold"], alike: false },
  "the same selector": { claims: ["a 1Gi selector=t:f", "b 2Gi selector=t:f"], alike: true },
  "two selectors": { claims: ["a 1Gi selector=t:f", "b 1Gi selector=t:g"], alike: false },
  "one selector and none": { claims: ["a 1Gi selector=t:f", "b 1Gi"], alike: false },
  "the third alone differs": { claims: ["a 1Gi", "b 1Gi", "c 1Gi block"], alike: false },
};

test.for(Object.entries(pairs))("%s", ([, { claims, alike }]) => {
  const world = new World();
  // So that both classes of attributes are known.
  for (const line of ["node n", "pv gold 1Gi on=n vac=gold", "pv silver 1Gi on=n vac=silver"]) world.apply(line);
  for (const line of claims) world.apply(`pvc ${line}`);
  const wants = claims.map((line) => {
    const claim = world.state.get("claim", claimKey("d", line.slice(0, 1)));
    if (!claim) throw new Error(`no claim of ${line}`);
    return wantOf(claim, world.state.volumes);
  });
  expect(areAlike(wants)).toBe(alike);
  expect(areAlike(wants.toReversed())).toBe(alike);
});

/** Every order that serves each claim, the first in name order best served coming first. */
function best(froms: readonly number[], left: readonly number[]): readonly number[] | undefined {
  const [from, ...others] = froms;
  if (from === undefined) return [];
  for (const volume of left.toSorted((a, b) => a - b)) {
    if (volume < from) continue;
    const rest = best(others, left.toSpliced(left.indexOf(volume), 1));
    if (rest) return [volume, ...rest];
  }
  return undefined;
}

test("however the volumes were dealt, each claim in name order gets the smallest that leaves the others served", () => {
  const volume = fc.record({ below: fc.nat(4), at: fc.nat(12) });
  const dealt = fc.uniqueArray(volume, { selector: ({ at }) => at, minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(dealt, (given) => {
      const froms = given.map(({ below, at }) => Math.max(0, at - below));
      const positions = Int32Array.from(given, ({ at }) => at);
      const expected = best(froms, [...positions]);
      new Dealer(given.length).deal(Int32Array.from(froms), positions);
      expect([...positions]).toEqual(expected);
    }),
    { numRuns: runs(3_000) },
  );
});

test("a dealer deals again and again", () => {
  const dealer = new Dealer(3);
  for (const given of [
    [5, 3, 1],
    [1, 3, 5],
    [7, 8, 2],
  ]) {
    const positions = Int32Array.from(given);
    dealer.deal(new Int32Array(3), positions);
    expect([...positions]).toEqual(given.toSorted((a, b) => a - b));
  }
});
