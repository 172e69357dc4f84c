/** `berth config`. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { configCommand } from "../../src/cli/config.ts";
import { serveCommand } from "../../src/cli/serve.ts";
import { runCommand } from "./support.ts";

const directory = mkdtempSync(join(tmpdir(), "berth-config-"));
afterAll(() => rmSync(directory, { recursive: true }));
const head = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n";

function file(content: string | Uint8Array): string {
  const path = join(directory, "berth.yaml");
  writeFileSync(path, content);
  return path;
}

test("the defaults that it prints pass its own check", async () => {
  const printed = await runCommand(configCommand, ["--defaults"]);
  expect([printed.code, printed.stderr]).toEqual([0, ""]);
  const path = file(printed.stdout);
  const want = { code: 0, stdout: `${path}: nothing is wrong\n`, stderr: "" };
  expect(await runCommand(configCommand, ["--check", path])).toEqual(want);
});

test("it prints the schema, byte by byte the published one, and the table", async () => {
  const { stdout } = await runCommand(configCommand, ["--schema"]);
  expect(stdout).toBe(readFileSync("docs/configuration.schema.json", "utf8"));
  expect((await runCommand(configCommand, ["--reference"])).stdout).toContain("| `binding.timeout` |");
  const help = await runCommand(configCommand, ["--help"]);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: berth config /) });
});

test("--check names each mistake on a line of its own; as JSON too", async () => {
  const path = file(`${head}binding:\n  timeot: 1m\nlogLevel: loud\n`);
  const text = await runCommand(configCommand, ["--check", path]);
  const mistakes = [
    'binding.timeot is not a known key; did you mean "timeout"?',
    'logLevel is not "debug" or "info" or "warn" or "error": it is "loud"',
  ];
  expect(text).toEqual({ code: 1, stdout: `${path}:4: ${mistakes[0]}\n${path}:5: ${mistakes[1]}\n`, stderr: "" });
  const { code, stdout } = await runCommand(configCommand, ["--check", path, "-o", "json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual([
    { file: path, line: 4, key: "binding.timeot", problem: 'is not a known key; did you mean "timeout"?' },
    { file: path, line: 5, key: "logLevel", problem: 'is not "debug" or "info" or "warn" or "error": it is "loud"' },
  ]);
  expect((await runCommand(configCommand, ["--check", file(head), "-o", "json"])).stdout).toBe("[]\n");
});

test("berth serve says the first mistake in one line, and where the others are told", async () => {
  const path = file(`${head}binding:\n  timeot: 1m\nlogLevel: loud\n`);
  const { code, stderr } = await runCommand(serveCommand, ["--config", path]);
  expect(code).toBe(2);
  const more = `(and 1 more: see "berth config --check ${path}")`;
  expect(stderr).toBe(`berth serve: ${path}:4: binding.timeot is not a known key; did you mean "timeout"? ${more}\n`);
});

test("--check sees the listeners as berth serve opens them, flags included", async () => {
  const path = file(`${head}listen: 0.0.0.0:10290\n`);
  const open = await runCommand(configCommand, ["--check", path]);
  expect([open.code, open.stdout]).toEqual([1, expect.stringContaining(":3: listen is 0.0.0.0, beyond loopback")]);
  const closed = await runCommand(configCommand, ["--check", path, "--listen", "127.0.0.1:10290"]);
  expect(closed.code).toBe(0);
});

const contents: Record<string, { content: string | Uint8Array; want: string }> = {
  "ten mebibytes": { content: "# padding\n".repeat(1 << 20), want: "larger than 256 KiB, and no configuration" },
  "UTF-16, as some shells redirect": {
    content: Buffer.from(`\ufeff${head}`, "utf16le"),
    want: "written as UTF-16; save it as UTF-8",
  },
  "bytes that are no text": { content: new Uint8Array([0x61, 0xff, 0x62]), want: "not a text in UTF-8" },
};

test.for(Object.entries(contents))("%s cannot be read: exit 2", async ([, { content, want }]) => {
  const path = file(content);
  const stderr = `berth config: --check ${path}: ${want}\n`;
  expect(await runCommand(configCommand, ["--check", path])).toEqual({ code: 2, stdout: "", stderr });
});

test("a mark of byte order, carriage returns and JSON are taken", async () => {
  const json = JSON.stringify({ apiVersion: "berth.dev/v1alpha1", kind: "BerthConfiguration", logLevel: "warn" });
  for (const content of [`\ufeff${head}logLevel: warn\n`, `${head}logLevel: warn\n`.replaceAll("\n", "\r\n"), json]) {
    expect(await runCommand(configCommand, ["--check", file(content)])).toMatchObject({ code: 0, stderr: "" });
  }
});

test.for([
  [[], "give one of --defaults, --schema, --reference and --check FILE"],
  [["--defaults", "--schema"], "give one of --defaults, --schema, --reference and --check FILE"],
  [["--check"], "Option '--check <value>' argument missing"],
  [["--check", "/nowhere"], "--check /nowhere: no such file"],
  [["--check", "/"], "--check /: a folder, and no file"],
  [["--default"], '--default is not an option; did you mean "--defaults"?'],
  [["--defaults", "-o", "yaml"], '-o yaml: use "text" or "json"'],
  [["berth.yaml"], "Unexpected argument 'berth.yaml'"],
] as const)("%j is one line and exit 2", async ([argv, line]) => {
  expect(await runCommand(configCommand, argv)).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(`berth config: ${line}`),
  });
});

test("a flag that cannot be read is named", async () => {
  const { code, stderr } = await runCommand(configCommand, ["--check", file(head), "--listen", "10290"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--listen "10290" is not HOST:PORT')]);
});
