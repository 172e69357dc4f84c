/** docs/monitoring.md has every metric and every alert, in their own words, and no other. */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { allMetrics } from "./metrics.ts";
import { alertRules } from "./rules.ts";
import { alertRows, metricRows } from "./tables.ts";

const lines = readFileSync("docs/monitoring.md", "utf8").split("\n");

test("every metric is in the table of metrics, as it tells of itself", () => {
  expect(lines.filter((line) => /^\| `berth_/.test(line))).toEqual(metricRows(allMetrics()));
});

test("every alert is in the table of alerts", () => {
  expect(lines.filter((line) => /^\| `Berth/.test(line))).toEqual(alertRows(alertRules()));
});

const runbook = "docs/operations.md";

test.skipIf(!existsSync(runbook))("every alert has its section in the runbook", () => {
  const headings = readFileSync(runbook, "utf8").matchAll(/^#+ `?(\w+)`?$/gm);
  const anchors = new Set([...headings].map(([, title = ""]) => `${runbook}#${title.toLowerCase()}`));
  expect(alertRules().filter(({ annotations }) => !anchors.has(annotations.runbook_url))).toEqual([]);
});
