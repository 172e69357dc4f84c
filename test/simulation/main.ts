/** `npm run simulation`: many runs, one run again, or how soon planted bugs are found. Exit 1 where something did not hold. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { planOf, stepsDefault, tellAct } from "./plan.ts";
import { reportPlants } from "./plant-table.ts";
import { plants } from "./plants.ts";
import { type Outcome, run } from "./run.ts";
import { shrink } from "./shrink.ts";
import { type SurveyOptions, survey } from "./survey.ts";

const plantRunsDefault = 300;

const usage = `Usage: npm run simulation [-- --runs N] [--seed N] [--steps N] [--workers N] [--trace] [--plants] [--plant NAME]

  --seed N      replays one run, and says what happened where something did not hold
  --runs N      so many runs, from --seed on (100; the seed of the first is the time)
  --steps N     events of the storm in each run (${stepsDefault})
  --workers N   threads that share the runs (one a core)
  --trace       prints what happened in the run, found or not
  --plants      instead, in how many runs each planted bug is found, of ${plantRunsDefault} unless --runs says otherwise
  --plant TEXT  plants the bugs whose names hold TEXT (may be given several times): the first in one run, or with --runs the table
`;

const say = (line = ""): void => void process.stdout.write(`${line}\n`);

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions();
  if (!options) return 2;
  const { seed, runs, steps, workers, isTraced, plant, help, isPlanted } = options;
  if (help) {
    process.stdout.write(usage);
    return 0;
  }
  const chosen = plants.filter(({ name }) => (plant ?? [""]).some((text) => name.includes(text)));
  if (isPlanted || (plant !== undefined && runs > 1))
    return (await reportPlants(chosen, { seed, runs, workers, say })) ? 0 : 1;
  if (runs === 1) return replay(seed, steps, isTraced, plant === undefined ? undefined : chosen[0]);
  return surveyed({ seed, runs, steps, workers, say });
}

async function replay(
  seed: number,
  steps: number,
  isTraced: boolean,
  plant: (typeof plants)[number] | undefined,
): Promise<number> {
  const outcome = await run(planOf(seed, steps), { trace: "lines", plant });
  if (isTraced) for (const line of outcome.trace) say(line);
  say(`seed ${seed}, ${outcome.stats.steps} steps, hash ${outcome.hash}${plant ? `, a Berth that ${plant.name}` : ""}`);
  if (!outcome.finding) {
    say("everything held");
    return 0;
  }
  await tell(outcome, plant);
  return 1;
}

async function surveyed(options: SurveyOptions): Promise<number> {
  const [first] = await survey(options);
  if (!first) return 0;
  await tell(await run(planOf(first.seed, options.steps)));
  return 1;
}

/** The smallest run that breaks the same sentence. */
async function tell(failed: Outcome, plant?: (typeof plants)[number]): Promise<void> {
  const { plan, outcome, runs } = await shrink(failed, { plant });
  say();
  say(
    `seed ${plan.seed}, made smaller in ${runs} runs: ${plan.steps} steps, ${plan.nodes} nodes, ${plan.berths} Berths`,
  );
  say(
    `disks ${JSON.stringify(plan.disks)}, pools ${JSON.stringify(plan.pools)}, faults ${plan.faults.join(", ") || "none"}`,
  );
  for (const { at, act } of plan.actions) say(`  ${JSON.stringify(at)}  ${tellAct(act)}`);
  say();
  for (const line of outcome.trace) if (isOfInterest(line)) say(line);
  say();
  say(`${outcome.finding?.invariant}: ${outcome.finding?.text}`);
}

/** What controllers read and list is a matter of course. */
function isOfInterest(line: string): boolean {
  return !/ net {4}(?!berth)\S+ GET | lease PUT |\/lease /.test(line);
}

function readOptions() {
  const options = {
    runs: { type: "string" },
    seed: { type: "string" },
    steps: { type: "string" },
    workers: { type: "string" },
    plant: { type: "string", multiple: true },
    trace: { type: "boolean" },
    plants: { type: "boolean" },
    help: { type: "boolean" },
  } as const;
  try {
    const { values } = parseArgs({ options });
    const number = (name: "runs" | "seed" | "steps" | "workers", otherwise: number): number => {
      const value = Number(values[name] ?? otherwise);
      if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} is no whole number above 0`);
      return value;
    };
    const isPlanted = values.plants === true;
    const runs = number("runs", isPlanted ? plantRunsDefault : values.seed === undefined ? 100 : 1);
    return {
      runs,
      seed: number("seed", isPlanted ? 1 : (Date.now() % 1_000_000_000) + 1),
      steps: number("steps", stepsDefault),
      workers: number("workers", availableParallelism()),
      isTraced: values.trace === true,
      isPlanted,
      plant: values.plant,
      help: values.help === true,
    };
  } catch (error) {
    process.stderr.write(`simulation: ${(error as Error).message}\n\n${usage}`);
    return undefined;
  }
}
