/**
 * `npm run bench -- core|assignment|cache [--smoke] [--check]`: prints a table; with --check, a bound that is not kept is a failure.
 */
import { parseArgs } from "node:util";
import { benchAssignment } from "./assignment.ts";
import { benchCache } from "./cache/bench.ts";
import { smallSize, wholeSize } from "./cache/size.ts";
import * as cacheTable from "./cache/table.ts";
import { benchCore } from "./core.ts";
import { type Bench, isWithin, tableOf } from "./measure.ts";

const help = `Usage: npm run bench -- core|assignment|cache [--smoke] [--check]

  core         filter in process, and its scores
  assignment   the worst inputs for matching claims with volumes
  cache        Berth's cache at 15,000 nodes, 150,000 volumes and as many claims, in processes of their own; needs Linux

      --smoke          a small size
      --check          exit 1 where a bound is not kept
      --pages          cache: of an API server that streams no lists
      --node-args TEXT cache: for Berth's process, such as "--cpu-prof --cpu-prof-dir=/tmp/prof"
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    smoke: { type: "boolean" },
    check: { type: "boolean" },
    pages: { type: "boolean" },
    "node-args": { type: "string" },
    help: { type: "boolean", short: "h" },
  },
});

interface Outcome {
  readonly table: string;
  readonly isKept: boolean;
}

const outcomeOf = (bench: Bench): Outcome => ({ table: tableOf(bench), isKept: bench.budgets.every(isWithin) });

async function cache(): Promise<Outcome> {
  const bench = await benchCache({
    size: values.smoke ? smallSize : wholeSize,
    streamsLists: !values.pages,
    nodeArgs: values["node-args"]?.split(" ") ?? [],
    done: (step) => void process.stderr.write(`${(performance.now() / 1_000).toFixed(1)} s: ${step}\n`),
  });
  return { table: cacheTable.tableOf(bench), isKept: cacheTable.boundsOf(bench).every(cacheTable.isKept) };
}

const benches: Readonly<Record<string, () => Outcome | Promise<Outcome>>> = {
  core: () => outcomeOf(benchCore(values.smoke ? { nodes: 100, rounds: 20 } : { nodes: 5_000, rounds: 200 })),
  assignment: () => outcomeOf(benchAssignment(values.smoke ? { nodes: 5, rounds: 3 } : { nodes: 50, rounds: 20 })),
  cache,
};

if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
const [name = ""] = positionals;
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (positionals.length !== 1 || !bench) {
  process.stderr.write(`bench: name one of: ${Object.keys(benches).join(", ")}\n`);
  process.exit(2);
}
const { table, isKept } = await bench();
process.stdout.write(table);
if (values.check && !isKept) process.exit(1);
