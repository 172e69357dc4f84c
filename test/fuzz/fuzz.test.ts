/** The fuzz in small: fixed seeds, a fresh one that is named, and the planted faults. `npm run fuzz` is the long form. */
import { expect, test } from "vitest";
import { shrunk, tell } from "./cases.ts";
import { plants, uproot } from "./plants.ts";
import { failsAlone, run } from "./run.ts";

const nodes = 20;
const fresh = Date.now() % 1_000_000_000;

test.for([1, 2, fresh])("seed %i: whatever is sent, nothing breaks and nothing changes", async (seed) => {
  const { found, meanings } = await run({ seed, requests: 400, nodes });
  expect(found.map(({ nth, finding, case: one }) => ({ nth, finding, told: tell(one) }))).toEqual([]);
  expect([...meanings.keys()].sort()).toEqual(["faulty", "page", "refused", "sound"]);
});

const planted = plants.filter(({ breaks }) => breaks !== "memory");

test.for(planted)("a Berth that $name is found", async ({ breaks, within, plant }) => {
  const { found } = await run({ seed: 1, requests: within, nodes, plant, stopsAt: 1 });
  uproot();
  expect(found[0]?.finding.invariant).toBe(breaks);
});

test("a Berth that keeps every body that it refuses is found by what it holds", { timeout: 60_000 }, async () => {
  const plant = plants.find(({ breaks }) => breaks === "memory")?.plant;
  const grown = async (options: { readonly plant?: typeof plant }): Promise<number> => {
    const { growth } = await run({ seed: 1, requests: 900, nodes, samples: 6, onSample: () => {}, ...options });
    uproot();
    return growth?.bytes ?? Number.NaN;
  };
  const sound = await grown({});
  expect((await grown({ plant })) - sound).toBeGreaterThan(1 << 19);
});

test("a case that fails is made smaller, and replays alone", async () => {
  const plant = plants.find(({ name }) => name.startsWith("leaves a field out"))?.plant;
  const options = { nodes, plant };
  const { found } = await run({ ...options, seed: 3, requests: 400, stopsAt: 400 });
  const longest = found.toSorted((a, b) => b.case.steps.length - a.case.steps.length)[0];
  if (!longest) throw new Error("nothing was found");
  const { invariant } = longest.finding;
  const small = await shrunk(longest.case, (smaller) => failsAlone(smaller, invariant, options));
  expect(small.steps.length).toBeLessThan(longest.case.steps.length);
  expect(await failsAlone(small, invariant, options)).toBe(true);
});

test("the same seed and number are the same case", async () => {
  const first = await run({ seed: 5, requests: 300, nodes });
  const second = await run({ seed: 5, requests: 300, nodes });
  expect(second.statuses).toEqual(first.statuses);
  expect(second.meanings).toEqual(first.meanings);
});
