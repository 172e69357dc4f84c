/** `npm run bench -- core [--smoke]`: one question a bench; prints a table. */
import { parseArgs } from "node:util";
import { benchCore } from "./core.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { smoke: { type: "boolean" } } });
if (positionals.join() !== "core") {
  process.stderr.write("bench: name one of: core\n");
  process.exit(2);
}
const { rows, volumesRatio, nodesRatio } = benchCore(
  values.smoke ? { nodes: 100, rounds: 20 } : { nodes: 5_000, rounds: 200 },
);
for (const { name, p50Ms, p99Ms } of rows) {
  process.stdout.write(
    `${name.padEnd(46)} p50 ${p50Ms.toFixed(2).padStart(7)} ms   p99 ${p99Ms.toFixed(2).padStart(7)} ms\n`,
  );
}
process.stdout.write(
  `ten times the volumes: ${volumesRatio.toFixed(2)} ×   ten times the nodes: ${nodesRatio.toFixed(2)} ×\n`,
);
