/** `npm run bench -- core|assignment [--smoke] [--check]`: prints a table; with --check, a budget that is not kept is a failure. */
import { parseArgs } from "node:util";
import { benchAssignment } from "./assignment.ts";
import { benchCore } from "./core.ts";
import { isWithin, tableOf } from "./measure.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { smoke: { type: "boolean" }, check: { type: "boolean" } },
});
const benches = {
  core: () => benchCore(values.smoke ? { nodes: 100, rounds: 20 } : { nodes: 5_000, rounds: 200 }),
  assignment: () => benchAssignment(values.smoke ? { nodes: 5, rounds: 3 } : { nodes: 50, rounds: 20 }),
};
const [name = ""] = positionals;
if (positionals.length !== 1 || !(name in benches)) {
  process.stderr.write(`bench: name one of: ${Object.keys(benches).join(", ")}\n`);
  process.exit(2);
}
const bench = benches[name as keyof typeof benches]();
process.stdout.write(tableOf(bench));
if (values.check && !bench.budgets.every(isWithin)) process.exit(1);
