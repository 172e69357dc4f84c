/** How soon each planted bug is found, and by which sentence. */
import { share } from "./crew.ts";
import { carryOut, type Done } from "./job.ts";
import { stepsDefault } from "./plan.ts";
import type { Plant } from "./plants.ts";

export interface TableOptions {
  readonly seed: number;
  readonly runs: number;
  readonly workers: number;
  readonly say: (line: string) => void;
}

/** Runs the bug on one seed after the other, until one finds it. */
export function findPlant({ name: plant }: Plant, seed: number, runs: number): Promise<Done> {
  return carryOut({ plant, seed, runs, steps: stepsDefault });
}

/** Prints the table. Returns whether all were found. */
export async function reportPlants(
  plants: readonly Plant[],
  { seed, runs, workers, say }: TableOptions,
): Promise<boolean> {
  let missed = 0;
  say(`Each bug is run on seeds from ${seed} on, ${runs} at most.`);
  say("");
  say("| a Berth that | design.md § | found in run | because not |");
  say("| --- | --- | --- | --- |");
  const jobs = plants.map(({ name: plant }) => ({ plant, seed, runs, steps: stepsDefault }));
  for await (const { job, seed: last, finding } of share(jobs, workers)) {
    const of = plants.find(({ name }) => name === job.plant)?.of;
    if (!finding) missed++;
    const run = finding ? String(last - job.seed + 1) : "not found";
    say(`| ${job.plant} | ${of} | ${run} | ${finding?.invariant ?? ""} |`);
  }
  say("");
  say(`${plants.length - missed} of ${plants.length} planted bugs found`);
  return missed === 0;
}
