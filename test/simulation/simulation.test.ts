/**
 * The simulation in small: a fixed set of seeds, those that found something once, a few fresh ones, which are printed, and some of
 * the planted bugs. `npm run simulation` is the long form; what is simulated and what must hold is in docs/simulation.md.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { share } from "./crew.ts";
import { carryOut } from "./job.ts";
import { planOf, stepsDefault } from "./plan.ts";
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
  expect((await run({ ...planOf(seed), restsInFull: true })).finding).toBeUndefined();
});

test.for(fresh)("fresh seed %i", async (seed) => {
  expect((await run(planOf(seed))).finding).toBeUndefined();
});

test("the page names every planted bug, and every run that found something", () => {
  const page = readFileSync("docs/simulation.md", "utf8");
  expect(plants.filter(({ name }) => !page.includes(`| ${name} |`))).toEqual([]);
  expect(keptSeeds.filter(({ seed, found }) => !page.includes(`| ${seed} | ${found} |`))).toEqual([]);
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

test("runs that are shared among threads find the same, told in the order of their seeds", {
  timeout: 60_000,
}, async () => {
  const name = "takes claims for bound once their volumes are claimed";
  const jobs = [1, 2, 3, 4].map((seed) => ({ seed, runs: 1, steps: stepsDefault, plant: name }));
  const alone: unknown[] = [];
  for (const job of jobs) alone.push(await carryOut(job));
  const shared: unknown[] = [];
  for await (const done of share(jobs, 2)) shared.push(done);
  expect(shared).toEqual(alone);
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
