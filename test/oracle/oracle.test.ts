/**
 * The core agrees with the naive oracle on random clusters: on a fixed set, which has all kinds of trouble, and on one that is new in
 * each run. `npm run oracle` draws a hundred thousand. ORACLE_RUNS sets the size of the fixed set and leaves the rest out.
 */
import { expect, test } from "vitest";
import { run } from "./compare.ts";
import { drawnTooSeldom } from "./expected.ts";
import { generate } from "./generate.ts";
import { PlantedCore, plants } from "./plants.ts";
import type { Script } from "./script.ts";
import { shrink } from "./shrink.ts";
import { type Survey, survey } from "./survey.ts";

const asked = process.env["ORACLE_RUNS"];
const whole = 600;
const runs = Number(asked ?? whole);
const freshSeed = (Date.now() % 1_000_000_000) + 1;

/** The smallest cluster that shows the difference, as a case file. */
function told({ differing }: Survey): string {
  return differing
    .map(({ seed, script }) => {
      const found = shrink(script);
      return `seed ${seed}:\n${found?.difference.text}\ncore: ${found?.difference.got}`;
    })
    .join("\n");
}

test(`core and oracle agree on ${runs} clusters that have every kind of trouble`, { timeout: 600_000 }, () => {
  const found = survey({ seed: 1, runs });
  expect(told(found)).toBe("");
  if (runs < whole) return;
  expect(drawnTooSeldom(found.counts, runs)).toEqual([]);
  expect(found.abandoned).toBeLessThan(runs / 100);
  const lacking = new Map(found.counts);
  lacking.delete("matchFields");
  expect(drawnTooSeldom(lacking, runs)).toEqual([expect.stringMatching(/^matchFields: 0, wanted /)]);
});

test.skipIf(asked !== undefined)(`core and oracle agree on 200 clusters from seed ${freshSeed}`, () => {
  expect(told(survey({ seed: freshSeed, runs: 200 }))).toBe("");
});

test("one seed gives one cluster", () => {
  expect(generate(42)).toEqual(generate(42));
  expect(generate(42)).not.toEqual(generate(43));
});

test.skipIf(asked !== undefined)("a fault is found, and shrinks to the lines that show it", () => {
  const plant = plants.find(({ name }) => name === "ignores the phase of volumes");
  const ask = (script: Script) => run(script, new PlantedCore(plant ?? { name: "" }));
  const [first] = survey({ seed: 1, runs: 200, ask }).differing;
  const shrunk = first && shrink(first.script, ask);
  expect(shrunk?.script.map(({ verb }) => verb).sort()).toEqual(
    expect.arrayContaining(["filter", "node", "pv", "pvc"]),
  );
  expect(shrunk?.script.length).toBeLessThanOrEqual(6);
});
