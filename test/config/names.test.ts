/** Wherever a key of the configuration is named, in messages and on pages, there is such a key. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configuration } from "../../src/config/keys.ts";
import { checkConfig, mistakeLine } from "../../src/config/load.ts";
import { entryAt } from "../../src/config/sections.ts";

const sections = Object.entries(configuration.section).flatMap(([key, entry]) => ("section" in entry ? [key] : []));
const named = new RegExp(`(?<![\\w.}/])(${sections.join("|")})\\.([a-zA-Z]+)(?![\\w(/])`, "g");
/** Of other things: a claim's status, and code. */
const others = ["capacity.storage", "holds.count"];

function strangersIn(text: string): string[] {
  const titles = [...text.matchAll(named)].map(([title]) => title);
  return titles.filter(
    (title) => !others.includes(title) && !/\.(md|ts|yaml|go|crt|key|test)$/.test(title) && !isKey(title),
  );
}

function isKey(title: string): boolean {
  return entryAt(configuration, title.split(".")) !== undefined;
}

test.for(globSync("src/**/*.ts"))("%s names keys that there are", (path) => {
  const texts = readFileSync(path, "utf8").match(/"[^"\n]*"|`[^`]*`/g) ?? [];
  // What stands in the braces of a template is code.
  const told = texts.map((text) => (text.startsWith("`") ? text.replaceAll(/\$\{[^}]*\}/g, "") : text));
  expect(told.flatMap(strangersIn)).toEqual([]);
});

test.for(["README.md", ...globSync("docs/**/*.md")])("%s names keys that there are", (path) => {
  const code =
    readFileSync(path, "utf8")
      .replaceAll(/```[\s\S]*?```/g, "")
      .match(/`[^`\n]+`/g) ?? [];
  expect(code.flatMap(strangersIn)).toEqual([]);
});

const wrong = /is not a known key|beyond loopback/;

test.for(["README.md", ...globSync("docs/**/*.md")])("%s shows configurations that are right", (path) => {
  const blocks = readFileSync(path, "utf8").matchAll(/```yaml\n([\s\S]*?)```/g);
  for (const [, text = ""] of blocks) {
    const isWhole = text.includes("kind: BerthConfiguration");
    const isPart = new RegExp(`^(${Object.keys(configuration.section).join("|")}):`).test(text);
    if (!isWhole && (!isPart || /^(apiVersion|kind):/.test(text))) continue;
    const file = isWhole ? text : `apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n${text}`;
    const mistakes = checkConfig(file).map((mistake) => mistakeLine(mistake, path));
    expect(mistakes.filter((line) => !wrong.test(line) || !isWhole)).toEqual([]);
  }
});
