/** docs/field-reports.md and the tests say the same: every report is tested, or stands on the short list of what is to come. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const reportsCount = 110;
const laterMax = 15;

const page = readFileSync("docs/field-reports.md", "utf8");
const [toCome = "", tested = ""] = page.split("## Where each is tested");
const rowsOf = (section: string): string[][] =>
  [...section.matchAll(/^\| (FR-\d{3}) \|(.*)\|$/gm)].map(([, id = "", rest = ""]) => [
    id,
    ...rest.split(" | ").map((cell) => cell.trim()),
  ]);
const later = new Set(rowsOf(toCome).map(([id = ""]) => id));
const rows = rowsOf(tested).map((cells) => ({
  id: cells[0] ?? "",
  tests: [...(cells.at(-1) ?? "").matchAll(/`([^`]+)`/g)].map(([, path]) => `test/${path}`),
}));

test("the page has every report once, in order", () => {
  const ids = rows.map(({ id }) => id);
  expect(ids).toHaveLength(reportsCount);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect([...later].filter((id) => !ids.includes(id))).toEqual([]);
});

test(`at most ${laterMax} reports are still to come, in whole or in part`, () => {
  expect(later.size).toBeLessThanOrEqual(laterMax);
});

test.for(rows)("$id is tested where the page says, or listed as still to come", ({ id, tests }) => {
  expect(tests.length > 0 || later.has(id)).toBe(true);
  expect(tests.filter((path) => !existsSync(path) || !readFileSync(path, "utf8").includes(id))).toEqual([]);
});

test("a report that a test cites is on the page", () => {
  const known = new Set(rows.map(({ id }) => id));
  const cited = globSync("test/**/*.ts").flatMap((path) => readFileSync(path, "utf8").match(/\bFR-\d{3}\b/g) ?? []);
  expect([...new Set(cited)].filter((id) => !known.has(id))).toEqual([]);
});
