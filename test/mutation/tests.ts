/** The tests that say what the core must do and answer fast, the cheap ones first: a mutant's first failure ends its run. */
import { globSync } from "node:fs";
import { resolve } from "node:path";
import { describe } from "vitest";

const rules = [
  "test/scheduling/*.test.ts",
  "test/cases.test.ts",
  "test/field-reports/{claims,explain,matching,near-misses,would-help}.test.ts",
  "test/upstream/{filter,matching,migration,reserve,scoring,requeue,departures}.ts",
  "test/mutation/clusters.ts",
];

for (const pattern of rules) {
  for (const file of globSync(pattern).sort()) {
    describe(file, async () => {
      await import(resolve(file));
    });
  }
}
