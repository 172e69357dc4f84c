/** The published schema is what the code says, is valid for others than ourselves, and refuses what Berth refuses. */
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { defaultsYaml } from "../../src/config/defaults-yaml.ts";
import { configurationSchema } from "../../src/config/json-schema.ts";
import { configuration } from "../../src/config/keys.ts";
import { checkConfig, parseConfig } from "../../src/config/load.ts";
import { reference } from "../../src/config/reference.ts";
import type { Section } from "../../src/config/sections.ts";
import type { Form } from "../../src/config/values.ts";
import { defaults } from "../../src/config.ts";

const schema = configurationSchema();
// As others would, with nothing of ours: unknown keywords and formats would throw.
const validate = new Ajv2020({ allowUnionTypes: true, strictTypes: false }).compile(schema);

test("docs/configuration.schema.json is what `berth config --schema` prints", () => {
  expect(JSON.parse(readFileSync("docs/configuration.schema.json", "utf8"))).toEqual(schema);
});

test("docs/configuration.md has the table that `berth config --reference` prints", () => {
  expect(readFileSync("docs/configuration.md", "utf8")).toContain(`\n${reference()}`);
});

function titlesOf(section: Section, before = ""): string[] {
  return Object.entries(section).flatMap(([key, entry]) => {
    const title = `${before}${key}`;
    if ("section" in entry) return [title, ...titlesOf(entry.section, `${title}.`)];
    return "listOf" in entry ? [title, ...titlesOf(entry.listOf, `${title}[].`)] : [title];
  });
}

test("the table has a row for each key, with nothing left open", () => {
  const rows = reference()
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  expect(rows.map((row) => /`([^`]+)`/.exec(row)?.[1])).toEqual(titlesOf(configuration.section));
  for (const row of rows) {
    const [title, form, fallback, says] = row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    expect(says, title).toMatch(/\.$/);
    expect(form, title).not.toBe("");
    if (form !== "mapping" && form !== "list of mappings") expect(fallback, title).not.toBe("");
  }
});

test("the defaults that are printed are the defaults", () => {
  expect(checkConfig(defaultsYaml())).toEqual([]);
  expect(parseConfig(defaultsYaml(), "printed")).toEqual(defaults);
  expect(validate(parse(defaultsYaml()))).toBe(true);
});

test("what is commented out in them is right too", () => {
  const whole = defaultsYaml({ isWhole: true }).replace("strategy: least-surplus", "strategy: upstream");
  expect(checkConfig(whole)).toEqual([]);
  const { tls, debugTls, classes, disks, scoring, kubeconfig } = parseConfig(whole, "printed");
  for (const found of [tls, debugTls, classes[0], disks[0], scoring.shape[0], kubeconfig]) expect(found).toBeDefined();
});

test("taking the marks of comments away puts a section in force", () => {
  const lines = defaultsYaml().split("\n");
  const start = lines.indexOf("# tls:");
  const end = lines.indexOf("", start);
  const open = lines.map((line, at) => (at >= start && at < end ? line.slice(2) : line)).join("\n");
  expect(parseConfig(open, "printed").tls).toMatchObject({ certFile: "/etc/berth/berth.crt" });
});

test("no line of what is printed is too long to read", () => {
  expect(
    defaultsYaml()
      .split("\n")
      .filter((line) => line.length > 125),
  ).toEqual([]);
});

/** Values of every kind for every key, most of them near to right ones. */
const scalar = fc.oneof(
  fc.constantFrom(...["10m", "1s", "64Mi", "a", "off", "upstream", "static", "127.0.0.1:1", "x/y", "", "__proto__"]),
  fc.constantFrom<unknown>(1, 0, -1, 50, Number.POSITIVE_INFINITY, 1.5, true, false, null),
);

/** Values that the form mostly reads. */
function likelyOf({ schema }: Form<unknown>): fc.Arbitrary<unknown> {
  const choices = schema["enum"] as readonly unknown[] | undefined;
  if (choices) return fc.constantFrom(...choices);
  return schema["type"] === "integer"
    ? fc.constantFrom(1, 2, 10)
    : fc.constantFrom("a", "x/y", "10m", "64Mi", "/a", true);
}

function sectionArbitrary(section: Section, depth = 0): fc.Arbitrary<Record<string, unknown>> {
  const inner = Object.entries(section).map(([key, entry]): [string, fc.Arbitrary<unknown>] => {
    const likely = "form" in entry ? likelyOf(entry.form) : scalar;
    const right: fc.Arbitrary<unknown> =
      "section" in entry
        ? sectionArbitrary(entry.section, depth + 1)
        : "listOf" in entry
          ? fc.array(sectionArbitrary(entry.listOf, depth + 1), { maxLength: 3 })
          : "each" in entry
            ? fc.array(scalar, { maxLength: 2 })
            : fc.oneof(likely, scalar);
    const odd = fc.oneof(scalar, fc.constant(null));
    return [key, fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: odd })];
  });
  const known: fc.Arbitrary<Record<string, unknown>> = fc.record(Object.fromEntries(inner), { requiredKeys: [] });
  const keep = fc.nat(7);
  return fc.tuple(known, keep).map(([all, kept]) => {
    const keys = Object.keys(all).filter((_, index) => (index * 5 + kept) % 8 === 0 || depth > 0);
    return Object.fromEntries(keys.map((key) => [key, all[key]]));
  });
}

test("whatever a file says, it is right or its mistakes are named, and the published schema never refuses what Berth takes", () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  const { apiVersion, kind, ...keys } = configuration.section;
  const head = { apiVersion: "berth.dev/v1alpha1", kind: "BerthConfiguration" };
  expect([apiVersion, kind]).not.toContain(undefined);
  let taken = 0;
  const run = fc.property(sectionArbitrary(keys), (said) => {
    const value = { ...head, ...said, insecure: true, debugAccess: {} };
    // JSON has no infinity, and YAML does.
    const text = JSON.stringify(value, (_, one) => (one === Number.POSITIVE_INFINITY ? "INFINITE" : one));
    const mistakes = checkConfig(text.replaceAll('"INFINITE"', ".inf"));
    for (const { line, key, problem } of mistakes) {
      expect(line).toBe(1);
      expect(key).not.toBe("");
      expect(problem).not.toMatch(/undefined|\[object/);
    }
    if (mistakes.length > 0) return;
    taken++;
    expect(validate(value)).toBe(true);
  });
  fc.assert(run, { seed, numRuns: 500 });
  expect(taken).toBeGreaterThan(10);
});
