/** `berth scheduler-config` and `berth check-config`. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { checkConfigCommand } from "../../src/cli/check-config.ts";
import { schedulerConfigCommand } from "../../src/cli/scheduler-config.ts";
import { deployments } from "../../src/scheduler-config/deployments.ts";
import { schedulerConfiguration, schedulerConfigYaml } from "../../src/scheduler-config/generate.ts";
import { optionsOf } from "../scheduler-config/cases.ts";
import { runCommand } from "./support.ts";

const directory = mkdtempSync(join(tmpdir(), "berth-config-"));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const print = (...argv: string[]) => runCommand(schedulerConfigCommand, argv);
const check = (...argv: string[]) => runCommand(checkConfigCommand, argv);

test.for(deployments)("what is printed for %s is what is tested elsewhere", async (mode) => {
  const { code, stdout, stderr } = await print("--mode", mode);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toBe(schedulerConfigYaml(optionsOf(mode)));
});

test("options change what they name, and Berth's configuration the time for bind", async () => {
  const head = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n";
  const config = file("berth.yaml", `${head}binding: { timeout: 20m }\n`);
  const { stdout } = await print(
    ...[
      "--mode",
      "control-plane",
      "--url",
      "https://berth.example:7/v1/",
      "--config",
      config,
      "--server-name",
      "berth",
    ],
    ...["--ca-file", "/a", "--cert-file", "/b", "--key-file", "/c", "--kubeconfig", "/d", "--scheduler-name", "own"],
  );
  const tlsConfig = { caFile: "/a", certFile: "/b", keyFile: "/c", serverName: "berth" };
  expect(parse(stdout)).toMatchObject({
    clientConnection: { kubeconfig: "/d" },
    leaderElection: { resourceName: "own" },
    profiles: [{ schedulerName: "own" }],
    extenders: [
      { urlPrefix: "https://berth.example:7/v1", enableHTTPS: true, tlsConfig },
      { bindVerb: "bind", httpTimeout: "1210s", tlsConfig },
    ],
  });
  const path = file("printed.yaml", stdout);
  expect((await check(path, "--url", "https://berth.example:7", "--berth-config", config)).stdout).toContain(
    "scheduler-name",
  );
  expect((await check(path)).stdout).toBe("Nothing found\n");
});

test.for([
  [["--mode", "both"], '--mode both: use "second-scheduler" or "control-plane" or "filter-only"'],
  [["--url", "berth:10290"], '--url "berth:10290" is not a URL such as "https://berth.example:10290"'],
  [["--ca-file", "/a"], "--ca-file is for a URL of https://, and this one is http://127.0.0.1:10290/v1"],
] as const)("scheduler-config %j is one line and exit 2", async ([argv, line]) => {
  expect(await print(...argv)).toEqual({ code: 2, stdout: "", stderr: `berth scheduler-config: ${line}\n` });
});

const good = schedulerConfigYaml(optionsOf("second-scheduler"));

test("a mistake is told with its file, line, reason and remedy, and an error is exit 1", async () => {
  const path = file("bad.yaml", good.replace("httpTimeout: 610s", "httpTimeout: 5s"));
  const line = readFileSync(path, "utf8").split("\n").lastIndexOf("    httpTimeout: 5s") + 1;
  const { code, stdout, stderr } = await check(path);
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).toBe(
    `${path}:${line}: error: extenders[1].httpTimeout is 5s; binding.timeout is 600s [bind-timeout]\n` +
      "    why: kube-scheduler gives up while Berth still waits for the claims, and says nothing of why; the default of httpTimeout is 5s\n" +
      "    fix: set httpTimeout: 610s, ten seconds more than binding.timeout\n" +
      "1 error, 0 warnings\n",
  );
  const json = JSON.parse((await check(path, "-o", "json")).stdout);
  expect(json).toMatchObject([{ file: path, line, id: "bind-timeout", severity: "error" }]);
});

test("warnings alone are exit 0, and several files are looked at together", async () => {
  const warned = file("warned.yaml", good.replace("httpTimeout: 5s", "httpTimeout: 1m"));
  const fine = file("fine.yaml", good);
  const { code, stdout } = await check(warned, fine);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /: warning: extenders\[0\]\.httpTimeout is 1m \[slow-filter\]\n.*\n.*\n0 errors, 1 warning\n$/,
  );
});

test("VolumeBinding's scores are no matter before Kubernetes 1.37", async () => {
  const filtering = schedulerConfigYaml(optionsOf("filter-only")).replace(/ {4}plugins:\n(?: {6}.*\n)+/, "");
  const path = file("filtering.yaml", filtering);
  expect((await check(path)).stdout).toContain("[storage-scoring]");
  expect((await check(path, "--kube-version", "1.37.2")).stdout).toContain("[storage-scoring]");
  expect((await check(path, "--kube-version", "v1.36")).stdout).toBe("Nothing found\n");
});

test.for([
  [[], 'name a file; see "berth check-config --help"'],
  [["/nowhere"], "/nowhere: no such file"],
  [["--kube-version", "two", "x"], '--kube-version two is not a version such as "1.36"'],
  [["-o", "yaml", "x"], '-o yaml: use "text" or "json"'],
  [["--berth", "x", "y"], '--berth is not an option; see "--help"'],
] as const)("check-config %j is one line and exit 2", async ([argv, line]) => {
  expect(await check(...argv)).toEqual({ code: 2, stdout: "", stderr: `berth check-config: ${line}\n` });
});

test("both say how they are used", async () => {
  expect((await print("--help")).stdout).toMatch(/^Usage: berth scheduler-config /);
  expect((await check("--help")).stdout).toMatch(/^Usage: berth check-config FILE/);
});

test("the README's configuration is what is printed", () => {
  const blocks = [...readFileSync("README.md", "utf8").matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, text = ""]) => text,
  );
  const shown = blocks.filter((text) => text.includes("kind: KubeSchedulerConfiguration"));
  expect(shown.map((text) => parse(text))).toEqual([schedulerConfiguration(optionsOf("second-scheduler"))]);
});
