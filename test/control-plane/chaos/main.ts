/**
 * `npm run test:chaos [-- --only TEXT] [--seed N] [--pods N] [--nodes N] [--small] [--keep]`: faults on a real control plane while Pods
 * arrive. Prints a table, row by row; exit 1 where anything was found.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { findPrograms } from "../programs.ts";
import { type Fault, faultsOf, small, whole } from "./faults.ts";
import { type FieldOptions, startField } from "./field.ts";
import { heading, lineOf, type Row, runFault } from "./run.ts";

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const help = `Usage: npm run test:chaos [-- --only TEXT] [--seed N] [--pods N] [--nodes N] [--small] [--keep]

      --only TEXT  only faults whose names contain this text, such as "kube-scheduler"
      --seed N     of the moments at which they come; printed by every run
      --pods N     Pods of one burst, two claims each, a multiple of --nodes (default 1000)
      --nodes N    nodes (default 200)
      --small      24 Pods on 3 nodes, and each fault shorter and less often
      --keep       leaves the logs, as a run that finds something does
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      seed: { type: "string" },
      pods: { type: "string" },
      nodes: { type: "string" },
      small: { type: "boolean" },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const [pods, nodes] = values.small ? [24, 3] : [1_000, 200];
  const size = { pods: Number(values.pods ?? pods), nodes: Number(values.nodes ?? nodes) };
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  const faults = faultsOf(values.small ? small : whole).filter(({ name }) => name.includes(values.only));
  if (faults.length === 0 || ![size.pods, size.nodes, seed].every(Number.isSafeInteger)) {
    say(help);
    return 2;
  }
  const found = await findPrograms(process.env, say);
  if (!found.ok) {
    say(found.why);
    return 2;
  }
  print(`${size.pods} Pods with two claims each a burst, ${size.nodes} nodes, seed ${seed}`);
  print(heading);
  let isWell = true;
  for (const fault of faults) {
    const row = await onItsOwnPlane({ ...found, size, seed, note: say }, fault, values.keep);
    print(lineOf(row));
    for (const finding of row.findings) say(finding);
    isWell &&= row.findings.length === 0;
  }
  return isWell ? 0 : 1;
}

async function onItsOwnPlane(options: FieldOptions, fault: Fault, isKept: boolean): Promise<Row> {
  const field = await startField(options);
  let isWell = false;
  try {
    const row = await runFault(field, fault);
    isWell = row.findings.length === 0;
    return row;
  } finally {
    const keep = isKept || !isWell;
    if (keep) say(`logs in ${field.plane.facts.folder}`);
    await field.stop({ keep });
  }
}

process.exit(await main());
