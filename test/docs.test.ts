/** The pages that say of kube-scheduler what was seen name the tests that show it; none of these names may be gone. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { realCluster } from "./upstream/kinds.ts";

const sources = globSync("test/**/*.test.ts").map((file) => readFileSync(file, "utf8"));
const numbered = Object.entries(realCluster).map(([number, name]) => `${number}: ${name}`);

/** `([file](../test/file.test.ts) "name", "name")`, or the names alone. */
function namesIn(page: string): string[] {
  const groups = page.matchAll(/\((?:\[[^\]]+\]\(\.\.\/test\/[^)]+\) )?("[^"\n]+"(?:,\s+"[^"\n]+")*)\)/g);
  return [...groups].flatMap(([, names = ""]) => [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name));
}

test.for(["docs/verbs.md", "docs/limits.md", "docs/reliability.md", "docs/security.md", "docs/monitoring.md", "docs/page.md"])(
  "%s names tests that are there",
  (path) => {
    const names = namesIn(readFileSync(path, "utf8"));
    expect(names.length).toBeGreaterThan(0);
    const isThere = (name: string): boolean =>
      numbered.includes(name) || sources.some((source) => source.includes(JSON.stringify(name)));
    expect(names.filter((name) => !isThere(name))).toEqual([]);
  },
);

test.for(["README.md", ...globSync("docs/**/*.md")])("%s links to files that are there", (path) => {
  const links = [...readFileSync(path, "utf8").matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, to = ""]) => to);
  const files = links.filter((to) => !/^\w+:/.test(to));
  expect(files.filter((to) => !existsSync(join(dirname(path), to)))).toEqual([]);
});
