/**
 * The simulation in small: a fixed set of seeds and a few fresh ones, which are printed. `npm run simulation` is the long form; what
 * is simulated and what must hold is in docs/simulation.md.
 */
import { expect, test } from "vitest";
import { planOf } from "./plan.ts";
import { run } from "./run.ts";

const fixed = Array.from({ length: 20 }, (_, at) => at + 1);
const fresh = Array.from({ length: 4 }, (_, at) => (Date.now() % 1_000_000_000) + at);

test.for(fixed)("seed %i", async (seed) => {
  expect((await run(planOf(seed))).finding).toBeUndefined();
});

test.for(fresh)("fresh seed %i", async (seed) => {
  expect((await run(planOf(seed))).finding).toBeUndefined();
});

test("the same seed goes the same way", async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const [first, second] = [await run(planOf(seed)), await run(planOf(seed))];
    expect(second.hash).toBe(first.hash);
    expect(second.stats).toEqual(first.stats);
  }
});

test("without faults every Pod that has a place is placed", async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { actions, ...plan } = planOf(seed);
    const creations = actions.filter(({ act }) => act.do === "create pod");
    const { finding, stats } = await run({ ...plan, faults: [], actions: creations });
    expect(finding).toBeUndefined();
    expect(stats.podsPlaced).toBeGreaterThan(0);
  }
});
