/**
 * Commands in the pages are those that there are: each of Berth's is read by its own parser with all its options, each npm script has the
 * options that are shown, and what needs no cluster is run.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { Command } from "../src/cli/io.ts";
import { runCommand } from "./cli/support.ts";
import { blocksIn, commandsIn, inlineCommands, pages, type Shown } from "./support/doc-blocks.ts";

/** What may stand in a block, and who looks at it. */
const languages: Readonly<Record<string, string>> = {
  sh: "here",
  yaml: "docs-yaml.test.ts",
  json: "docs-yaml.test.ts",
  "": "what is printed",
  text: "what is printed",
};
/** Programs of others', which blocks may call. */
const strangers = ["kubectl", "curl", "helm", "docker", "openssl", "git", "cd", "export", "cat", "sleep", "promtool"];
const kubectlVerbs = [
  "annotate",
  "apply",
  "create",
  "delete",
  "describe",
  "get",
  "kustomize",
  "label",
  "logs",
  "patch",
];
const moreVerbs = ["port-forward", "rollout", "scale", "uncordon", "drain", "wait", "exec", "run", "edit", "berth"];

const shown: readonly Shown[] = pages.flatMap((page) => [
  ...blocksIn(page)
    .filter(({ language }) => language === "sh")
    .flatMap(commandsIn),
  ...inlineCommands(page),
]);

/** After `berth`, `npx berth` or `node_modules/.bin/berth`. */
const ofBerth = shown.flatMap(({ at, words }) => {
  const rest = words[0] === "npx" ? words.slice(1) : words;
  return rest[0] === "berth" && rest[1] !== undefined ? [{ at, name: rest[1], argv: rest.slice(2) }] : [];
});

async function commandNamed(name: string): Promise<Command | undefined> {
  if (!existsSync(`src/cli/${name}.ts`)) return undefined;
  const module = (await import(`../src/cli/${name}.ts`)) as Readonly<Record<string, Command | undefined>>;
  return module[`${name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())}Command`];
}

test("every block is of a kind that somebody looks at", () => {
  const others = pages.flatMap(blocksIn).filter(({ language }) => !(language in languages));
  expect(others.map(({ page, line, language }) => `${page}:${line}: ${language}`)).toEqual([]);
});

test("every command of a block is Berth's, npm's, or one of a few others", () => {
  const known = new Set(["berth", "npx", "npm", "node", "node_modules/.bin/node", ...strangers]);
  const strange = shown.filter(({ words: [first = ""] }) => !known.has(first) && !/^[A-Z_]+=/.test(first));
  expect(strange.map(({ at, words }) => `${at}: ${words.join(" ")}`)).toEqual([]);
});

test("every command of kubectl's has a verb of kubectl's", () => {
  const verbs = new Set([...kubectlVerbs, ...moreVerbs]);
  const strange = shown.filter(({ words: [first, ...rest] }) => {
    if (first !== "kubectl") return false;
    const verb = rest.find((word, index) => !word.startsWith("-") && !/^(-n|--context)$/.test(rest[index - 1] ?? ""));
    return !verbs.has(verb ?? "");
  });
  expect(strange.map(({ at, words }) => `${at}: ${words.join(" ")}`)).toEqual([]);
});

test("every command of Berth's is one, and takes the options that it is shown with", async () => {
  expect(ofBerth.length).toBeGreaterThan(50);
  const wrong: string[] = [];
  for (const { at, name, argv } of ofBerth) {
    const command = await commandNamed(name);
    // "…" stands for options that a sentence leaves out, brackets for those that may be.
    const isValue = (index: number): boolean => argv[index - 1]?.startsWith("-") ?? false;
    const words = argv.filter((word, index) => !/^\[|\]$/.test(word) && (word !== "…" || isValue(index)));
    const outcome = command && (await runCommand(command, [...words, "--help"]));
    if (outcome?.code !== 0) wrong.push(`${at}: ${name} ${argv.join(" ")}: ${outcome?.stderr ?? "no such command\n"}`);
  }
  expect(wrong.join("")).toBe("");
});

describe("npm scripts", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
  const calls = shown.flatMap(({ at, words: [npm, verb, ...rest] }) => {
    if (npm !== "npm" || verb === "ci") return [];
    const [script = "", ...argv] = verb === "run" ? rest : [verb ?? "", ...rest];
    return [{ at, script, argv: argv.filter((word) => word !== "--" && !/^[[…]|\]$/.test(word)) }];
  });

  test("that the pages name are there", () => {
    expect(calls.filter(({ script }) => !(script in scripts))).toEqual([]);
  });

  const options = Map.groupBy(
    calls.filter(({ script, argv }) => argv.length > 0 && scripts[script]?.startsWith("node ")),
    ({ script }) => script,
  );
  test.for([...options])("npm run %s takes the options that it is shown with", { timeout: 30_000 }, ([script, all]) => {
    const file = (scripts[script] ?? "").replace("node ", "");
    const argv = [...new Set(all.flatMap(wordsOf))];
    const { status, stderr } = spawnSync(process.execPath, [file, ...argv, "--help"], { encoding: "utf8" });
    expect({ status, stderr, argv }).toMatchObject({ status: 0 });
  });
});

/** Options with their values, as one word each, and the words before them. */
function wordsOf({ argv }: { readonly argv: readonly string[] }): string[] {
  const words: string[] = [];
  for (const word of argv) {
    const last = words.at(-1);
    if (last?.startsWith("-") && !last.includes("=") && !word.startsWith("-")) words.splice(-1, 1, `${last}=${word}`);
    else words.push(word);
  }
  return words;
}

/** Blocks that need nothing but what lies here; `kubectl get` gives the examples. */
const runnable = [
  { page: "README.md", contains: "npx berth simulate", exit: 0 },
  { page: "docs/scheduler-config.md", contains: "berth check-config config.yaml", exit: 0 },
] as const;

test.for(runnable)("$page: the block with $contains runs", { timeout: 30_000 }, ({ page, contains, exit }) => {
  const block = blocksIn(page).find(({ text }) => text.includes(contains));
  const folder = mkdtempSync(join(tmpdir(), "berth-docs-"));
  const shim = (name: string, script: string): void => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  const berth = `exec "${process.execPath}" "${resolve("src/main.ts")}"`;
  shim("berth", `${berth} "$@"`);
  shim("npx", `shift; ${berth} "$@"`);
  shim(
    "kubectl",
    `case "$2" in nodes*) cat "${resolve("test/cli/docs-cluster.yaml")}";; *) cat "${resolve("test/cli/docs-namespaced.yaml")}";; esac`,
  );
  const run = spawnSync("sh", ["-e", "-c", block?.text ?? "false"], {
    cwd: folder,
    env: { ...process.env, PATH: `${folder}:${process.env["PATH"]}` },
    encoding: "utf8",
  });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: exit, stderr: "" });
});
