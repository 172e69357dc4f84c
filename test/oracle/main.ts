/**
 * `npm run oracle -- --runs 100000 --seed N`: random clusters, each answered by the core and by the naive oracle. Exit 1 where
 * they differ, with the smallest cluster that shows it as a case file, or where something was hardly drawn.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { run } from "./compare.ts";
import { drawnTooSeldom } from "./expected.ts";
import { PlantedCore, plants } from "./plants.ts";
import { shrink } from "./shrink.ts";
import { type Survey, survey } from "./survey.ts";

const usage = `Usage: npm run oracle [-- --runs N] [--seed N] [--write] [--plants]

  --runs N   clusters to draw (100000)
  --seed N   seed of the first; the next ones follow (the time)
  --write    write a difference to test/cases/found-SEED.case
  --plants   instead, how many clusters each planted fault takes to be found
`;

const say = (line = ""): void => void process.stdout.write(`${line}\n`);

process.exitCode = main();

function main(): number {
  const { runs, seed, write, isPlanted, help } = readOptions();
  if (help) {
    process.stdout.write(usage);
    return 0;
  }
  if (isPlanted) return findPlants(seed, runs);
  const begun = performance.now();
  const seconds = (): string => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
  say(`seeds ${seed} to ${seed + runs - 1}`);
  const found = survey({
    seed,
    runs,
    progress: (done) => {
      if (done % 10_000 === 0) say(`${done} clusters, ${seconds()}`);
    },
  });
  report(found);
  const [first] = found.differing;
  if (first) {
    tell(first, write);
    return 1;
  }
  const seldom = drawnTooSeldom(found.counts, found.clusters);
  for (const line of seldom) say(`hardly drawn  ${line}`);
  if (seldom.length > 0) return 1;
  say(`${found.clusters - found.abandoned} clusters agree, ${seconds()}`);
  return 0;
}

/** 1 where one was not found. */
function findPlants(seed: number, runs: number): number {
  let missed = 0;
  for (const plant of plants) {
    const { differing, clusters } = survey({ seed, runs, ask: (script) => run(script, new PlantedCore(plant)) });
    if (differing.length === 0) missed++;
    say(
      `${differing.length === 0 ? "not found in" : ""} ${clusters}`.padStart(10).concat(`  a core that ${plant.name}`),
    );
  }
  return missed === 0 ? 0 : 1;
}

function report({ counts, clusters, abandoned }: Survey): void {
  say(`clusters, of ${clusters}, that have`);
  for (const [name, count] of counts) say(`${String(count).padStart(8)}  ${name}`);
  if (abandoned > 0) say(`${abandoned} not compared to the end: no telling which pool a demand is in`);
}

function tell({ seed, script }: Survey["differing"][number], write: boolean): void {
  say(`seed ${seed}: core and oracle differ`);
  const shrunk = shrink(script);
  if (!shrunk) throw new Error("a difference that does not come again");
  const { text, want, got } = shrunk.difference;
  const file = `test/cases/found-${seed}.case`;
  const content = `# Core and oracle differ: the answers are the oracle's. Found by seed ${seed}.\n${text}\n`;
  if (write) writeFileSync(file, content);
  say(`${write ? `written to ${file}` : file}\n\n${content}\noracle: ${want}\n\ncore: ${got}`);
}

function readOptions(): { runs: number; seed: number; write: boolean; isPlanted: boolean; help: boolean } {
  const options = { runs: "string", seed: "string", write: "boolean", plants: "boolean", help: "boolean" } as const;
  const types = Object.fromEntries(Object.entries(options).map(([name, type]) => [name, { type }]));
  try {
    const { values } = parseArgs({ options: types });
    const number = (name: "runs" | "seed", otherwise: number): number => {
      const value = Number(values[name] ?? otherwise);
      if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} is no whole number above 0`);
      return value;
    };
    return {
      runs: number("runs", 100_000),
      seed: number("seed", (Date.now() % 1_000_000_000) + 1),
      write: values["write"] === true,
      isPlanted: values["plants"] === true,
      help: values["help"] === true,
    };
  } catch (error) {
    process.stderr.write(`oracle: ${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
