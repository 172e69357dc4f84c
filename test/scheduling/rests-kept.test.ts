/** Which rests are kept, and which go (departure D18). */
import { expect, test } from "vitest";
import { claimUid, nodeName } from "../../src/scheduling/names.ts";
import { Rests } from "../../src/scheduling/rests.ts";

const [n1, n2] = [nodeName("n1"), nodeName("n2")];
const x = claimUid("x");

/** Rests of a process that has run for a long time. */
function make(): { rests: Rests; clock: { now: number } } {
  const clock = { now: 1e9 };
  return { rests: new Rests(() => clock.now), clock };
}

test("a second refusal in one place leaves the claim's rests elsewhere alone", () => {
  const { rests, clock } = make();
  rests.refused(x, n1, undefined);
  clock.now += 4_000;
  rests.refused(x, n2, undefined);
  clock.now += 1_000;
  rests.refused(x, n1, undefined);
  expect(rests.of(x).map(({ node, refusals, leftMs }) => [node, refusals, leftMs])).toEqual([
    [n2, 1, 4_000],
    [n1, 2, 10_000],
  ]);
});

test("refusals are in a row whenever the clock began, until ten minutes have passed after a pause", () => {
  const { rests, clock } = make();
  const refusedAfter = (ms: number): number | undefined => {
    clock.now += ms;
    rests.refused(x, n1, undefined);
    return rests.of(x)[0]?.refusals;
  };
  expect([
    refusedAfter(0),
    refusedAfter(5_000),
    refusedAfter(10_000 + 599_999),
    refusedAfter(20_000 + 600_000),
  ]).toEqual([1, 2, 3, 1]);
});

test("of more than ten thousand the one goes whose claim was refused longest ago", () => {
  const { rests } = make();
  const uid = (claim: number) => claimUid(`u${claim}`);
  for (let claim = 0; claim < 10_000; claim++) rests.refused(uid(claim), n1, undefined);
  rests.refused(uid(0), n2, undefined);
  expect([rests.of(uid(0)).length, rests.of(uid(1)).length, rests.of(uid(2)).length]).toEqual([2, 0, 1]);
});

test("whoever was forgotten does not count among ten thousand, and stands in nobody's way", () => {
  const { rests } = make();
  const uid = (claim: number) => claimUid(`u${claim}`);
  for (let claim = 0; claim < 3; claim++) rests.refused(uid(claim), n1, undefined);
  for (const claim of [0, 1, 2, 2, 20_000]) rests.forget(uid(claim));
  for (let claim = 3; claim < 10_004; claim++) rests.refused(uid(claim), n1, undefined);
  expect([rests.dump().length, rests.of(uid(3)).length, rests.of(uid(4)).length]).toEqual([10_000, 0, 1]);
});

test("to forget a claim that never rested changes nothing", () => {
  const { rests } = make();
  rests.refused(x, n1, undefined);
  const { generation } = rests;
  rests.forget(claimUid("other"));
  expect(rests.generation).toBe(generation);
});

test("of more than 256 of one claim its own oldest goes, and nobody else's", () => {
  const { rests } = make();
  rests.refused(claimUid("other"), n1, undefined);
  for (let node = 0; node < 10_001; node++) rests.refused(x, nodeName(`m${node}`), undefined);
  const kept = rests.of(x).map(({ node }) => node);
  expect([kept.length, kept.at(0), kept.at(-1)]).toEqual([256, "m9745", "m10000"]);
  expect(rests.of(claimUid("other"))).toHaveLength(1);
});

test("a claim whose rests are forgotten is no longer listed, and may rest anew", () => {
  const { rests } = make();
  rests.refused(x, n1, undefined);
  rests.refused(x, n2, undefined);
  rests.forget(x);
  rests.forget(x);
  expect([rests.of(x), rests.dump()]).toEqual([[], []]);
  rests.refused(x, n1, undefined);
  expect(rests.dump()).toEqual([{ claim: x, node: n1, pool: undefined, refusals: 1, sinceMs: 0, leftMs: 5_000 }]);
});
