/**
 * `npm run bench:cluster [-- --smoke] [--check] [--rows TEXT,...]`: Berth beside what kube-scheduler does by itself, on a real
 * control plane. Prints a table; with --check, a budget that is not kept, and a row that is void, is a failure.
 */
import { parseArgs } from "node:util";
import { findPrograms } from "../../test/control-plane/programs.ts";
import { benchCluster } from "./bench.ts";
import { nameOf, smokePlan, wholePlan } from "./plan.ts";
import { budgetLineOf, budgetsOf, callsLineOf, heading, isKept, lineOf } from "./table.ts";

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const help = `Usage: npm run bench:cluster [-- --smoke] [--check] [--rows TEXT,...]

      --rows TEXT,...  only rows whose names begin with one of these texts, such as "100 nodes" or "2000 nodes: Berth"
      --smoke          all rows in a small size
      --check          exit 1 where a budget is not kept or a row is void
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rows: { type: "string" },
      smoke: { type: "boolean" },
      check: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const programs = await findPrograms(process.env, say);
  if (!programs.ok) {
    say(programs.why);
    return 2;
  }
  const begun = performance.now();
  const plan = values.smoke ? smokePlan : wholePlan;
  const wanted = values.rows?.split(",").map((text) => text.trim()) ?? [""];
  print(`Kubernetes ${programs.version}; CPU in seconds while the Pods arrived; ${plan.volumesPerNode} disks a node`);
  print(heading);
  const rows = await benchCluster({
    programs,
    plan,
    isWanted: (task) => wanted.some((text) => nameOf(task).startsWith(text)),
    told: (row) => print(lineOf(row)),
  });
  print("\nBerth's answers, p50/p99 in ms (calls)");
  for (const row of rows) {
    const told = callsLineOf(row);
    if (told !== undefined) print(told);
  }
  print("");
  const budgets = budgetsOf(plan, rows);
  for (const budget of budgets) print(budgetLineOf(budget));
  say(`${Math.round((performance.now() - begun) / 1000)} s in all`);
  const isGood = budgets.every(isKept) && rows.every(({ findings }) => findings.length === 0);
  return values.check && !isGood ? 1 : 0;
}

process.exit(await main());
