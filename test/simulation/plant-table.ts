/** How soon each planted bug is found, and by which sentence. */
import { planOf } from "./plan.ts";
import type { Plant } from "./plants.ts";
import { run } from "./run.ts";

export interface Found {
  readonly runs: number;
  readonly seed: number;
  readonly invariant: string;
}

/** Runs the bug on one seed after the other; undefined where none of them finds it. */
export async function findPlant(plant: Plant, seed: number, runs: number): Promise<Found | undefined> {
  for (let nth = 0; nth < runs; nth++) {
    const { finding } = await run(planOf(seed + nth), { plant });
    if (finding) return { runs: nth + 1, seed: seed + nth, invariant: finding.invariant };
  }
  return undefined;
}

/** Prints the table. Returns whether all were found. */
export async function reportPlants(
  plants: readonly Plant[],
  { seed, runs, say }: { seed: number; runs: number; say: (line: string) => void },
): Promise<boolean> {
  let missed = 0;
  say(`of ${runs} runs from seed ${seed}: found in run, by`);
  for (const plant of plants) {
    const found = await findPlant(plant, seed, runs);
    if (!found) missed++;
    say(
      `${found ? String(found.runs) : "not found"}`
        .padStart(9)
        .concat(`  a Berth that ${plant.name}: ${found?.invariant ?? ""}`),
    );
  }
  say(`${plants.length - missed} of ${plants.length} planted bugs found`);
  return missed === 0;
}
