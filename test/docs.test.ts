/** The pages that say of kube-scheduler what was seen name the tests that show it; none of these names may be gone. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { pages, withoutBlocks } from "./support/doc-blocks.ts";
import { tableIn } from "./support/markdown.ts";
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

/** Cells of the rows of a block: "50 nodes: in-tree at 100 %   86/200   4.30 …". */
function pace(row: string): string | undefined {
  const line = readFileSync("docs/throughput.md", "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${row} `));
  return line?.slice(row.length).replace("without claims", "").trim().split(/\s+/)[1];
}

test("docs/comparison.md has the figures of docs/throughput.md, in its order", () => {
  const rows = tableIn(readFileSync("docs/comparison.md", "utf8"), "nodes");
  const expected = ["50", "100", "500", "2000"].map((nodes) => {
    const subjects = ["in-tree", "in-tree at 100 %", "null extender", "Berth"];
    return [nodes, ...subjects.map((subject) => pace(`${nodes} nodes: ${subject}`) ?? "")];
  });
  expect(rows).toEqual(expected);
});

test("the README's first screen says for whom Berth is, for whom it is not, and how far it is", () => {
  const screen = readFileSync("README.md", "utf8").split("\n").slice(0, 30).join("\n");
  for (const words of ["**Should I use it?**", "Berth is for you", "you do not need it", "**How far is it?**"]) {
    expect(screen).toContain(words);
  }
});
