/** docs/operations.md has a section for each reason and each alert, and none for what there is not. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createMetrics } from "../src/metrics.ts";
import { nodeReasons, podReasons } from "../src/scheduling/reasons.ts";

const page = readFileSync("docs/operations.md", "utf8");

interface Section {
  readonly title: string;
  readonly text: string;
}

/** Sections of the lowest level below this heading, until one as high. */
function sectionsUnder(heading: string): Section[] {
  const level = heading.indexOf(" ");
  const [, below = ""] = page.split(`\n${heading}\n`);
  const [own = ""] = below.split(new RegExp(`\n#{1,${level}} `));
  const [, ...sections] = own.split(/\n#+ /);
  return sections.map((section) => {
    const [title = "", ...text] = section.split("\n");
    return { title, text: text.join("\n") };
  });
}

const titles = (sections: readonly Section[]): string[] => sections.map(({ title }) => title);

test.for([
  ["### Reasons of a node", Object.keys(nodeReasons)],
  ["### Reasons of the Pod", Object.keys(podReasons)],
] as const)("%s are all that Berth gives, in its order or another", ([heading, reasons]) => {
  expect(titles(sectionsUnder(heading)).sort()).toEqual([...reasons].sort());
});

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
}

const files = globSync("manifests/monitoring/*.rules.yaml");

test("the alerts are those of the rules", () => {
  const rules = files.flatMap((file) => (parse(readFileSync(file, "utf8")) as Rules).groups);
  const alerts = rules.flatMap((group) => group.rules.map(({ alert }) => alert));
  expect(titles(sectionsUnder("## Alerts")).sort()).toEqual(alerts.sort());
});

const all = ["### Reasons of a node", "### Reasons of the Pod", "## Alerts", "## Other troubles"].flatMap(
  sectionsUnder,
);

describe("each section", () => {
  test.for(all)("$title: symptom, check, fix, in this order", ({ text }) => {
    expect([...text.matchAll(/\*\*(\w+)\.\*\*/g)].map(([, word]) => word)).toEqual(["Symptom", "Check", "Fix"]);
  });

  test.for(all)("$title: what is checked can be looked at", ({ text }) => {
    const [, check = ""] = /\*\*Check\.\*\*([\s\S]*?)\*\*Fix\.\*\*/.exec(text) ?? [];
    expect(check).toMatch(/`|\bThe same list\b/);
  });
});

test.for(Object.entries({ ...nodeReasons }))("the words of %s stand in the page", ([, words]) => {
  expect(page).toContain(words);
});

test("metrics that the page names are there", async () => {
  const { registry } = createMetrics();
  const known = new Set((await registry.getMetricsAsJSON()).map(({ name }) => name));
  const named = [...page.matchAll(/\bberth_[a-z_]+\b/g)].map(([name]) => name.replace(/_(count|bucket|sum)$/, ""));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});
