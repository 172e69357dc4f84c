/** `npm run simulation`: many runs, one run again, or how soon planted bugs are found. Exit 1 where something did not hold. */
import { parseArgs } from "node:util";
import { planOf, stepsDefault, tellAct } from "./plan.ts";
import { reportPlants } from "./plant-table.ts";
import { plants } from "./plants.ts";
import { type Outcome, run } from "./run.ts";
import { shrink } from "./shrink.ts";
import { Stats } from "./stats.ts";

const usage = `Usage: npm run simulation [-- --runs N] [--seed N] [--steps N] [--trace] [--plants] [--plant NAME]

  --seed N      replays one run, and says what happened where something did not hold
  --runs N      so many runs, from --seed on (100; the seed of the first is the time)
  --steps N     events of the storm in each run (${stepsDefault})
  --trace       prints what happened in the run, found or not
  --plants      instead, in how many runs each planted bug is found
  --plant TEXT  plants the bugs whose names hold TEXT, one run each or with --runs the table of them
`;

const say = (line = ""): void => void process.stdout.write(`${line}\n`);

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions();
  if (!options) return 2;
  const { seed, runs, steps, isTraced, plant, help, isPlanted } = options;
  if (help) {
    process.stdout.write(usage);
    return 0;
  }
  const chosen = plants.filter(({ name }) => name.includes(plant ?? ""));
  if (isPlanted || (plant !== undefined && runs > 1)) return (await reportPlants(chosen, { seed, runs, say })) ? 0 : 1;
  if (runs === 1) return replay(seed, steps, isTraced, plant === undefined ? undefined : chosen[0]);
  return survey(seed, runs, steps);
}

async function replay(
  seed: number,
  steps: number,
  isTraced: boolean,
  plant: (typeof plants)[number] | undefined,
): Promise<number> {
  const outcome = await run(planOf(seed, steps), { keepsTrace: true, plant });
  if (isTraced) for (const line of outcome.trace) say(line);
  say(`seed ${seed}, ${outcome.stats.steps} steps, hash ${outcome.hash}${plant ? `, a Berth that ${plant.name}` : ""}`);
  if (!outcome.finding) {
    say("everything held");
    return 0;
  }
  await tell(outcome, plant);
  return 1;
}

async function survey(seed: number, runs: number, steps: number): Promise<number> {
  const total = new Stats();
  const found: Outcome[] = [];
  const begun = performance.now();
  say(`seeds ${seed} to ${seed + runs - 1}`);
  for (let nth = 0; nth < runs; nth++) {
    const outcome = await run(planOf(seed + nth, steps));
    total.add(outcome.stats);
    if (outcome.finding) {
      found.push(outcome);
      say(`seed ${seed + nth}: ${outcome.finding.invariant}: ${outcome.finding.text}`);
    }
    if ((nth + 1) % 1_000 === 0)
      say(`${nth + 1} runs, ${((performance.now() - begun) / 1000).toFixed(0)} s, ${found.length} found`);
  }
  report(total, (performance.now() - begun) / 1000);
  say(`${found.length} of ${runs} runs found something`);
  const [first] = found;
  if (first) await tell(first);
  return found.length === 0 ? 0 : 1;
}

function report(total: Stats, seconds: number): void {
  const rate = (count: number): string => (count / seconds).toFixed(count / seconds < 100 ? 1 : 0);
  say(`${total.runs} runs in ${seconds.toFixed(1)} s: ${rate(total.runs)} runs/s, ${rate(total.steps)} steps/s`);
  const { steps, virtualMs, bound, podsPlaced, podsWaiting, crashes, createFaults } = total;
  say(`${steps} steps, ${(virtualMs / 3_600_000).toFixed(1)} hours of virtual time`);
  say(`who could be placed was within ${total.waitMaxMs / 1000} s after the storm`);
  say(
    `${bound} binds, ${podsPlaced} Pods placed at the end and ${podsWaiting} waiting, ${crashes} restarts of Berth, ${createFaults} failed creations of volumes`,
  );
  for (const [title, counts] of [
    ["writes of Berth", total.writes],
    ["faults", total.faults],
    ["deeds", total.actions],
  ] as const) {
    const all = [...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`);
    say(`${title}: ${all.join(", ")}`);
  }
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
    plant: { type: "string" },
    trace: { type: "boolean" },
    plants: { type: "boolean" },
    help: { type: "boolean" },
  } as const;
  try {
    const { values } = parseArgs({ options });
    const number = (name: "runs" | "seed" | "steps", otherwise: number): number => {
      const value = Number(values[name] ?? otherwise);
      if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} is no whole number above 0`);
      return value;
    };
    const runs = number("runs", values.seed === undefined || values.plants ? 100 : 1);
    return {
      runs,
      seed: number("seed", values.plants ? 1 : (Date.now() % 1_000_000_000) + 1),
      steps: number("steps", stepsDefault),
      isTraced: values.trace === true,
      isPlanted: values.plants === true,
      plant: values.plant,
      help: values.help === true,
    };
  } catch (error) {
    process.stderr.write(`simulation: ${(error as Error).message}\n\n${usage}`);
    return undefined;
  }
}
