/** `npm run bench -- NAME [options]`: prints a table; with --check, a budget that is not kept is a failure. */
import { parseArgs } from "node:util";
import { findExtenderClient } from "../test/control-plane/extender-client.ts";
import { benchAssignment } from "./assignment.ts";
import { benchCache } from "./cache/bench.ts";
import { smallSize, wholeSize } from "./cache/size.ts";
import * as cacheTable from "./cache/table.ts";
import { benchCore } from "./core.ts";
import { benchGreedy, greedyTable } from "./greedy.ts";
import { type Bench, type Budget, budgetLines, isWithin, tableOf } from "./measure.ts";
import { benchOverload } from "./overload.ts";
import { protocolsBudgets, protocolsTable, runProtocols } from "./protocols.ts";
import { benchSoak } from "./soak.ts";

const help = `Usage: npm run bench -- NAME [--smoke] [--check] [...]

  core         filter in process, and its scores
  assignment   the worst inputs for matching claims with volumes
  cache        Berth's cache at 15,000 nodes, 150,000 volumes and as many claims, in processes of their own; needs Linux
  greedy       how often matching claim by claim refuses a node that holds all claims
  overload     more filter calls than can be served, with binds and health beside them
  protocols    kube-scheduler's own client over HTTP/1.1, TLS and HTTP/2; Go builds it the first time
  soak         a million calls while the cluster changes without end: what grows

      --smoke           a small size
      --check           exit 1 where a budget is not kept
      --pages           cache: of an API server that streams no lists
      --node-args TEXT  cache: for the process of Berth, such as --node-args="--cpu-prof --cpu-prof-dir=/tmp/prof"
      --calls N         soak: so many
      --seed N          soak, greedy: told in the first line
`;

interface Told {
  readonly text: string;
  readonly budgets: readonly Budget[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    smoke: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    pages: { type: "boolean", default: false },
    "node-args": { type: "string", default: "" },
    calls: { type: "string" },
    seed: { type: "string", default: "1" },
    help: { type: "boolean", short: "h" },
  },
});
const isSmall = values.smoke;
const told = (bench: Bench): Told => ({ text: tableOf(bench), budgets: bench.budgets });

async function cache(): Promise<Told> {
  const bench = await benchCache({
    size: isSmall ? smallSize : wholeSize,
    streamsLists: !values.pages,
    nodeArgs: values["node-args"].split(" ").filter((arg) => arg !== ""),
    done: (step) => void process.stderr.write(`${(performance.now() / 1_000).toFixed(1)} s: ${step}\n`),
  });
  return { text: cacheTable.tableOf(bench), budgets: cacheTable.boundsOf(bench) };
}

function soak(): Promise<Told> {
  const calls = Number(values.calls ?? (isSmall ? 20_000 : 1_000_000));
  // Two megabytes more or less are the collector's own.
  const bytesMax = Math.max(4, 2 ** 21 / calls);
  const options = { calls, nodes: 100, disksPerNode: 3, seed: Number(values.seed), bytesMax, fillsMemory: true };
  return benchSoak(options, (text) => void process.stdout.write(text));
}

const overload = (): Promise<Told> =>
  benchOverload(
    isSmall
      ? { nodes: 500, connections: 100, binds: 20, paceMs: 20 }
      : { nodes: 5_000, connections: 200, binds: 200, paceMs: 50 },
  );

async function protocols(): Promise<Told> {
  const client = await findExtenderClient(process.env, (line) => void process.stderr.write(`${line}\n`));
  if (typeof client === "string") throw new Error(client);
  const shown = await runProtocols(client, isSmall ? { rounds: 1, share: 0.05 } : { rounds: 3, share: 1 });
  return { text: protocolsTable(shown), budgets: protocolsBudgets(shown) };
}

function greedy(): Told {
  const size = { nodes: isSmall ? 500 : 5_000, seed: Number(values.seed) };
  const rows = benchGreedy(size);
  const is = rows.reduce((sum, { missed }) => sum + missed, 0);
  return { text: greedyTable(rows, size), budgets: [{ name: "served claim by claim alone", is, max: 0, unit: "" }] };
}

const benches: Readonly<Record<string, () => Told | Promise<Told>>> = {
  core: () => told(benchCore(isSmall ? { nodes: 100, rounds: 20 } : { nodes: 5_000, rounds: 200 })),
  assignment: () => told(benchAssignment(isSmall ? { nodes: 5, rounds: 3 } : { nodes: 50, rounds: 20 })),
  cache,
  greedy,
  overload,
  protocols,
  soak,
};

const [name = ""] = positionals;
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (values.help) process.stdout.write(help);
else if (positionals.length !== 1 || !bench) {
  process.stderr.write(`bench: name one of: ${Object.keys(benches).join(", ")}\n`);
  process.exitCode = 2;
} else {
  const { text, budgets } = await bench();
  process.stdout.write(text + budgetLines(budgets));
  if (values.check && !budgets.every(isWithin)) process.exitCode = 1;
}
