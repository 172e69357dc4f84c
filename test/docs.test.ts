/** The pages that say of kube-scheduler what was seen name the tests that show it; none of these names may be gone. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { pages, withoutBlocks } from "./support/doc-blocks.ts";
import { realCluster } from "./upstream/kinds.ts";

const sources = globSync("test/**/*.test.ts").map((file) => readFileSync(file, "utf8"));
const numbered = Object.entries(realCluster).map(([number, name]) => `${number}: ${name}`);

/** `([file](../test/file.test.ts) "name", "name")`, or the names alone. */
function namesIn(page: string): string[] {
  const groups = page.matchAll(/\((?:\[[^\]]+\]\(\.\.\/test\/[^)]+\) )?("[^"\n]+"(?:,\s+"[^"\n]+")*)\)/g);
  return [...groups].flatMap(([, names = ""]) => [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name));
}

test.for([
  "docs/verbs.md",
  "docs/limits.md",
  "docs/reliability.md",
  "docs/security.md",
  "docs/monitoring.md",
  "docs/migration.md",
  "docs/page.md",
])("%s names tests that are there", (path) => {
  const names = namesIn(readFileSync(path, "utf8"));
  expect(names.length).toBeGreaterThan(0);
  const isThere = (name: string): boolean =>
    numbered.includes(name) || sources.some((source) => source.includes(JSON.stringify(name)));
  expect(names.filter((name) => !isThere(name))).toEqual([]);
});

/** As GitHub makes them of headings. */
function anchorsIn(path: string): Set<string> {
  const headings = withoutBlocks(readFileSync(path, "utf8")).matchAll(/^#+ (.+)$/gm);
  const slug = (heading: string): string =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
  return new Set([...headings].map(([, heading = ""]) => slug(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"))));
}

test.for(pages)("%s links to files that are there, and to headings in them", (path) => {
  const links = withoutBlocks(readFileSync(path, "utf8")).matchAll(/\]\(([^)#\s]*)(?:#([^)\s]*))?\)/g);
  const broken = [...links].flatMap(([, to = "", anchor]) => {
    if (/^\w+:/.test(to)) return [];
    const file = to === "" ? path : join(dirname(path), to);
    if (!existsSync(file)) return [to];
    return anchor === undefined || anchorsIn(file).has(anchor) ? [] : [`${to}#${anchor}`];
  });
  expect(broken).toEqual([]);
});
