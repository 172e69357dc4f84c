/** YAML and JSON of the pages: each block is of a kind, and what is of that kind takes it. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { checkConfigCommand } from "../src/cli/check-config.ts";
import { configuration } from "../src/config/keys.ts";
import { parseConfig } from "../src/config/load.ts";
import { schedulerConfiguration } from "../src/scheduler-config/generate.ts";
import { runCommand } from "./cli/support.ts";
import { type Block, blocksIn, pages } from "./support/doc-blocks.ts";
import type { Raw } from "./support/make.ts";

const head = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n";
const folder = mkdtempSync(join(tmpdir(), "berth-docs-yaml-"));

async function problemsOf(config: string): Promise<string> {
  const file = join(folder, "config.yaml");
  writeFileSync(file, config);
  const { code, stdout, stderr } = await runCommand(checkConfigCommand, [file]);
  return code === 0 ? "" : stdout + stderr;
}

interface Kind {
  readonly name: string;
  readonly is: (value: unknown, text: string) => boolean;
  /** What is wrong with it; "" where nothing is. May throw instead. */
  readonly wrong: (text: string) => Promise<string> | string;
}

const isObject = (value: unknown): value is Raw => typeof value === "object" && value !== null && !Array.isArray(value);
const isOfKind = (kind: string) => (value: unknown) => isObject(value) && value["kind"] === kind;
const hasKeys = (keys: readonly string[]) => (value: unknown) =>
  isObject(value) && Object.keys(value).length > 0 && Object.keys(value).every((key) => keys.includes(key));
const isListOf = (key: string) => (value: unknown) =>
  Array.isArray(value) && value.every((one) => isObject(one) && key in one);

/** In this order. A block that none of them is fails: say here what it is, and who takes it. */
const kinds: readonly Kind[] = [
  { name: "BerthConfiguration", is: isOfKind("BerthConfiguration"), wrong: (text) => taken(text) },
  {
    name: "a part of a BerthConfiguration",
    is: hasKeys(Object.keys(configuration.section)),
    wrong: (text) => taken(head + text),
  },
  { name: "KubeSchedulerConfiguration", is: isOfKind("KubeSchedulerConfiguration"), wrong: problemsOf },
  { name: "an extender's entry", is: isListOf("urlPrefix"), wrong: (text) => problemsOf(withEntry(text)) },
  {
    name: "rules of a role",
    is: isListOf("verbs"),
    wrong: (text) => strangeKeys(text, ["apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs"]),
  },
  {
    name: "Prometheus' configuration",
    is: hasKeys(["global", "scrape_configs", "rule_files"]),
    wrong: () => "",
  },
  {
    name: "manifests",
    is: (_, text) => parseAllDocuments(text).every((one) => isManifest(one.toJS())),
    wrong: (text) =>
      parseAllDocuments(text)
        .flatMap(({ errors }) => errors.map(({ message }) => message))
        .join(),
  },
];

function isManifest(value: unknown): boolean {
  return isObject(value) && typeof value["apiVersion"] === "string" && typeof value["kind"] === "string";
}

function taken(text: string): string {
  parseConfig(text, "a page");
  return "";
}

/** The entry's way to Berth and its TLS, in both entries of a whole configuration. */
function withEntry(text: string): string {
  const [entry] = parse(text) as [Raw];
  const options = { mode: "control-plane", schedulerName: "default-scheduler", bindTimeoutMs: 600_000 } as const;
  const made = schedulerConfiguration({ ...options, urlPrefix: "http://127.0.0.1:10290/v1" });
  const extenders = made["extenders"] as readonly Raw[];
  return stringify({ ...made, extenders: extenders.map((one) => ({ ...one, ...entry })) });
}

function strangeKeys(text: string, known: readonly string[]): string {
  const keys = (parse(text) as Raw[]).flatMap((one) => Object.keys(one));
  return keys.filter((key) => !known.includes(key)).join();
}

function kindOf({ text }: Block): Kind | undefined {
  const [first] = parseAllDocuments(text);
  return kinds.find(({ is }) => is(first?.toJS(), text));
}

const blocks = pages.flatMap(blocksIn).filter(({ language }) => language === "yaml");

describe("YAML", () => {
  test.for(blocks)("$page:$line is of a kind, and is taken", async (block) => {
    const kind = kindOf(block);
    expect(kind?.name).toEqual(expect.any(String));
    expect(await kind?.wrong(block.text)).toBe("");
  });

  test.for([
    ["a key that there is not", "bindings: { timeout: 10m }", undefined],
    ["a value that cannot be", "binding: { timeout: soon }", "a part of a BerthConfiguration"],
  ] as const)("%s is found", async ([, text, expected]) => {
    const kind = kindOf({ page: "", line: 0, language: "yaml", text });
    expect(kind?.name).toBe(expected);
    if (kind) expect(() => kind.wrong(text)).toThrow("timeout");
  });

  test("a KubeSchedulerConfiguration with a mistake is found", async () => {
    const made = parse(withEntry("- { ignorable: true }")) as Raw;
    expect(await problemsOf(stringify(made))).toContain("ignorable");
  });
});

test.for(pages.flatMap(blocksIn).filter(({ language }) => language === "json"))("$page:$line is JSON", ({ text }) => {
  expect(() => JSON.parse(text) as unknown).not.toThrow();
});
