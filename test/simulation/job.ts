/** What one of the crew is given to do, and what comes of it: plain data, so that it passes between threads. */
import { planOf } from "./plan.ts";
import { plants } from "./plants.ts";
import { type Outcome, run } from "./run.ts";
import { Stats } from "./stats.ts";

/** Runs one seed after the other until one finds something. */
export interface Job {
  readonly seed: number;
  readonly runs: number;
  readonly steps: number;
  /** Name of the bug that is planted. */
  readonly plant?: string;
}

export interface Done extends Pick<Outcome, "finding" | "stats"> {
  readonly job: Job;
  /** The seed of the last run. */
  readonly seed: number;
}

export async function carryOut(job: Job): Promise<Done> {
  const plant = plants.find(({ name }) => name === job.plant);
  for (let { seed } = job; ; seed++) {
    const { finding, stats } = await run(planOf(seed, job.steps), { plant, trace: "nothing" }).catch(broken);
    if (finding || seed === job.seed + job.runs - 1) return { job, seed, finding, stats };
  }
}

/** A fault of the world's own ends no more than its run. */
function broken(fault: unknown): Pick<Outcome, "finding" | "stats"> {
  const text = fault instanceof Error ? String(fault.stack) : String(fault);
  return { finding: { invariant: "a run comes to its end", text, atMs: 0 }, stats: new Stats() };
}
