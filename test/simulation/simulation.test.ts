/**
 * The simulation in small: a fixed set of seeds, those that found something once, a few fresh ones, which are printed, and some of
 * the planted bugs. `npm run simulation` is the long form; what is simulated and what must hold is in docs/simulation.md.
 */
import { expect, test } from "vitest";
import { planOf } from "./plan.ts";
import { findPlant } from "./plant-table.ts";
import { plants } from "./plants.ts";
import { run } from "./run.ts";
import { keptSeeds } from "./seeds.ts";
import { shrink } from "./shrink.ts";

const fixed = Array.from({ length: 12 }, (_, at) => at + 1);
const fresh = Array.from({ length: 4 }, (_, at) => (Date.now() % 1_000_000_000) + at);

test.for(fixed)("seed %i", async (seed) => {
  expect((await run(planOf(seed))).finding).toBeUndefined();
});

test.for(keptSeeds)("seed $seed, which once found: $found", async ({ seed }) => {
  expect((await run(planOf(seed))).finding).toBeUndefined();
});

test.for(fresh)("fresh seed %i", async (seed) => {
  expect((await run(planOf(seed))).finding).toBeUndefined();
});

test("the same seed goes the same way", { timeout: 60_000 }, async () => {
  for (const seed of [1, 2, 3]) {
    const [first, second] = [await run(planOf(seed)), await run(planOf(seed))];
    expect(second.hash).toBe(first.hash);
    expect(second.stats).toEqual(first.stats);
  }
});

test("without faults Pods are placed", async () => {
  for (const seed of [1, 2, 3]) {
    const { actions, ...plan } = planOf(seed);
    const creations = actions.filter(({ act }) => act.do === "create pod");
    const { finding, stats } = await run({ ...plan, faults: [], actions: creations });
    expect(finding).toBeUndefined();
    expect(stats.podsPlaced).toBeGreaterThan(0);
  }
});

/** Each is found in one of the first runs. */
const quick = [
  "assumes nothing",
  "keeps assuming a volume that the watch shows as claimed",
  "forgets an assumption as soon as its write is answered",
  "holds nothing after filter",
  "writes volumes under no version",
  "takes claims for bound once their volumes are claimed",
  "reads short lists",
];

test.for(quick)("a Berth that %s is found", async (name) => {
  const plant = plants.find((one) => one.name === name);
  expect((plant && (await findPlant(plant, 1, 8)))?.finding).toMatchObject({ invariant: expect.any(String) });
});

test("a run that fails is made smaller and breaks the same sentence", { timeout: 120_000 }, async () => {
  const plant = plants.find(({ name }) => name === "takes claims for bound once their volumes are claimed");
  const found = plant && (await findPlant(plant, 1, 20));
  if (!found?.finding) throw new Error("nothing was found");
  const failed = await run(planOf(found.seed), { plant });
  const { plan, outcome } = await shrink(failed, { plant }, 40);
  expect(outcome.finding?.invariant).toBe(failed.finding?.invariant);
  expect(plan.actions.length).toBeLessThan(failed.plan.actions.length);
});
