/** `npm run fuzz`: hostile requests and objects, by the seed. Exit 1 where something did not hold. */
import { parseArgs } from "node:util";
import { kinds } from "../../src/scheduling/objects.ts";
import { shrunk, tell } from "./cases.ts";
import { damagesOf, victims } from "./damage.ts";
import { sampled } from "./memory.ts";
import { HostileWorld, judgeDamage } from "./objects.ts";
import { plants, uproot } from "./plants.ts";
import { type Found, failsAlone, type Outcome, run } from "./run.ts";
import { attack, attacks, idle } from "./sockets.ts";
import { FuzzWorld } from "./world.ts";

const usage = `Usage: npm run fuzz [-- --seed N] [--requests N] [--from N] [--plants] [--objects] [--sockets]

  --seed N      of all cases (1)
  --requests N  how many (1000000)
  --from N      the number of the first case (0): "--seed 7 --from 1234 --requests 1" replays one
  --objects     instead, every field of the API's objects damaged in every way
  --sockets     instead, attacks on the listener, 10,000 idle connections among them
  --plants      instead, after how many requests each planted fault is found
`;

/** What heap and buffers may rise by over a run, caches once filled: less than one request in a thousand leaves a body behind. */
const growthMaxBytes = 8 << 20;
/** What a planted leak must show. */
const leakMinBytes = 1 << 20;
/** A shorter run is for its findings: its growth is that of caches. */
const fillFrom = 20_000;
const nodesOfObjects = 10;
const idleConnections = 10_000;
const say = (line = ""): void => void process.stdout.write(`${line}\n`);

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions();
  if (!options) return 2;
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  if (options.isPlanted) return reportPlants(options.seed);
  if (options.isOfObjects) return reportObjects();
  return options.isOfSockets ? reportSockets() : fuzz(options);
}

async function reportObjects(): Promise<number> {
  let found = 0;
  for (const kind of kinds) {
    const world = await HostileWorld.open(nodesOfObjects);
    const key = victims[kind];
    const sound = { answers: await world.answers(), objects: world.objects() };
    const damages = damagesOf(kind, world.api.get(kind, key));
    for (const damage of damages) {
      const problem = await judgeDamage(world, damage, key, sound);
      if (problem === undefined) continue;
      found++;
      say(`${kind} ${key}: ${damage.field}, ${damage.how}: ${problem}`);
    }
    say(`${kind}: ${damages.length} damages`);
  }
  say(`${found} found`);
  return found === 0 ? 0 : 1;
}

async function reportSockets(): Promise<number> {
  let found = 0;
  const world = await FuzzWorld.open({ nodes: nodesOfObjects });
  const handles = sampled(0).handles;
  for (const one of attacks) {
    const problem = await attack(one, world);
    if (problem !== undefined) found++;
    say(problem ?? `${one.name}: held`);
  }
  const { open, bytesEach, problem } = await idle(world, idleConnections);
  say(
    `${open} idle connections, ${(bytesEach / 1024).toFixed(1)} KiB each${problem === undefined ? "" : `: ${problem}`}`,
  );
  if (problem !== undefined || open < idleConnections) found++;
  let left = sampled(0).handles - handles;
  // Connections that were cut end in turns of their own.
  for (let look = 0; left > 0 && look < 50; look++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    left = sampled(0).handles - handles;
  }
  say(`${found} found, ${left} handles more than before`);
  return found === 0 && left <= 0 ? 0 : 1;
}

async function fuzz({ seed, requests, from }: { seed: number; requests: number; from: number }): Promise<number> {
  say(`seed ${seed}, requests ${from} to ${from + requests - 1}`);
  const onSample = (sample: { requests: number; heapBytes: number; handles: number }): void =>
    say(`${sample.requests} requests, heap ${mebibytes(sample.heapBytes)} MiB, ${sample.handles} handles`);
  const outcome = await run({ seed, requests, from, onSample, fillsMemory: requests >= fillFrom });
  for (const one of outcome.found) await tellFound(one, seed);
  const isGrown = report(outcome, requests);
  say(rowOf(outcome, { seed, requests, from }));
  return outcome.found.length === 0 && !isGrown ? 0 : 1;
}

/** One line a run, for a table of many: a long run may be made in pieces. */
function rowOf(
  { statuses, seconds, growth, worlds, found }: Outcome,
  { seed, requests, from }: { seed: number; requests: number; from: number },
): string {
  const [faulty, refused] = [5, 4].map((hundred) =>
    [...statuses].reduce(
      (sum, [name, count]) => (Math.floor(Number(name.split(" ").at(-1)) / 100) === hundred ? sum + count : sum),
      0,
    ),
  );
  const grown = growth
    ? `${mebibytes(growth.bytes)} MiB, ${growth.bytesPerRequest.toFixed(2)} bytes a request, ${growth.handles} handles`
    : "not measured";
  return `| seed ${seed} | ${from} to ${from + requests - 1} | ${refused} 4xx | ${faulty} 5xx | ${found.length} found | grown ${grown} | ${worlds} worlds | ${seconds.toFixed(0)} s |`;
}

async function tellFound({ nth, case: one, finding }: Found, seed: number): Promise<void> {
  const fails = (smaller: typeof one): Promise<boolean> => failsAlone(smaller, finding.invariant, {});
  const alone = await fails(one);
  say(`${finding.invariant}: ${finding.text}`);
  say(
    `  replay: npm run fuzz -- --seed ${seed} --from ${nth} --requests 1${alone ? "" : " (not alone: start --from earlier)"}`,
  );
  say(tell(alone ? await shrunk(one, fails) : one));
  say();
}

/** @returns whether memory grew */
function report({ statuses, meanings, seconds, growth, worlds, found }: Outcome, requests: number): boolean {
  for (const counts of [meanings, statuses]) {
    say(
      [...counts]
        .sort(([, a], [, b]) => b - a)
        .map(([name, count]) => `${name}: ${count}`)
        .join(", "),
    );
  }
  say(
    `${requests} requests in ${seconds.toFixed(1)} s, ${(requests / seconds).toFixed(0)} requests/s, ${worlds} worlds, ${found.length} found`,
  );
  if (!growth) return false;
  const { bytes, bytesPerRequest, handles } = growth;
  const isGrown = requests >= fillFrom && (bytes > growthMaxBytes || handles > 0);
  say(
    `heap and buffers: ${bytesPerRequest.toFixed(2)} bytes a request, ${mebibytes(bytes)} MiB over the last two thirds (at most ${mebibytes(growthMaxBytes)}); handles: ${handles}`,
  );
  if (isGrown) say("memory grew");
  return isGrown;
}

async function reportPlants(first: number): Promise<number> {
  let missed = 0;
  for (const { name, breaks, within, plant } of plants) {
    const found: string[] = [];
    for (const seed of [first, first + 1, first + 2]) {
      const isOfMemory = breaks === "memory";
      const outcome = await run({
        seed,
        requests: within,
        plant,
        stopsAt: 1,
        nodes: 20,
        ...(isOfMemory && { fillsMemory: true, onSample: () => {} }),
      });
      uproot();
      const [one] = outcome.found;
      const isFound = isOfMemory
        ? (outcome.growth?.bytes ?? 0) > leakMinBytes && !one
        : one?.finding.invariant === breaks;
      if (!isFound) missed++;
      found.push(
        isOfMemory
          ? `${mebibytes(outcome.growth?.bytes ?? 0)} MiB`
          : isFound
            ? String((one?.nth ?? 0) + 1)
            : `missed ${one?.finding.invariant ?? ""}`,
      );
    }
    say(`a Berth that ${name}: ${found.join(", ")} (within ${within}): ${breaks}`);
  }
  return missed === 0 ? 0 : 1;
}

function mebibytes(bytes: number): string {
  return (bytes / (1 << 20)).toFixed(1);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: "string" },
        requests: { type: "string" },
        from: { type: "string" },
        plants: { type: "boolean" },
        objects: { type: "boolean" },
        sockets: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
    const number = (name: "seed" | "requests" | "from", otherwise: number): number => {
      const value = Number(values[name] ?? otherwise);
      if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} is no whole number`);
      return value;
    };
    return {
      seed: number("seed", 1),
      requests: number("requests", 1_000_000),
      from: number("from", 0),
      isPlanted: values.plants === true,
      isOfObjects: values.objects === true,
      isOfSockets: values.sockets === true,
      help: values.help === true,
    };
  } catch (error) {
    process.stderr.write(`fuzz: ${(error as Error).message}\n\n${usage}`);
    return undefined;
  }
}
