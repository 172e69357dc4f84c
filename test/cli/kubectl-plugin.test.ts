/** The same program under the name kubectl-berth: what it calls itself, and that the real kubectl finds it. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Listener, listen } from "../../src/http/listener.ts";
import { TestServer } from "../server/support.ts";
import { makeNode, makePod, makePV, makePVC } from "../support/make.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-plugin-"));
const path = [folder, dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
const isMissing = !path.split(delimiter).some((place) => existsSync(join(place, "kubectl")));
let listener: Listener;
let url = "";

beforeAll(async () => {
  const { bin } = JSON.parse(readFileSync("package.json", "utf8"));
  symlinkSync(resolve(bin["kubectl-berth"]), join(folder, "kubectl-berth"));
  const disks = [makePV("a", { on: "n1", capacity: "1Gi" })];
  const server = new TestServer().add(makeNode("n1"), ...disks, makePVC("x"), makePod("p", ["x"]));
  listener = await listen({ handler: server.debug, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
  url = `http://127.0.0.1:${listener.port}`;
});
afterAll(async () => {
  await listener.closeNow();
  rmSync(folder, { recursive: true });
});

function run(file: string, ...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    execFile(file, argv, { env: { ...process.env, PATH: path }, timeout: 20_000 }, (error, stdout, stderr) => {
      done({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}

test("it calls itself as it was called, in help and in errors", async () => {
  const plugin = join(folder, "kubectl-berth");
  const [all, one, wrong, mistyped] = await Promise.all([
    run(plugin),
    run(plugin, "explain", "--help"),
    run(plugin, "explain"),
    run(plugin, "explian"),
  ]);
  expect(all.stdout).toContain("Usage: kubectl berth COMMAND");
  expect(all.stdout).toContain('"kubectl berth COMMAND --help" tells more of each.');
  expect(one.stdout).toMatch(/^Usage: kubectl berth explain NAMESPACE\/POD/);
  expect([wrong.code, wrong.stderr]).toEqual([2, 'kubectl berth explain: name one Pod, as "NAMESPACE/POD"\n']);
  expect(mistyped.stderr).toBe('kubectl berth: there is no command "explian"; did you mean "explain"?\n');
});

test.skipIf(isMissing)(
  `kubectl berth explain is berth explain${isMissing ? " (skipped: no kubectl on the PATH)" : ""}`,
  async () => {
    const { code, stdout } = await run("kubectl", "berth", "explain", "d/p", "--url", url);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^Pod d\/p fits none of 1 node\n/)]);
    const named = await run("kubectl", "berth", "explain", "p", "-n", "d", "--url", url, "-o", "json");
    expect(JSON.parse(named.stdout)).toMatchObject({ pod: "d/p", schedulable: false });
  },
);
