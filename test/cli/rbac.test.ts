/** `berth rbac`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { rbacCommand } from "../../src/cli/rbac.ts";
import { runCommand } from "./support.ts";

const directory = mkdtempSync(join(tmpdir(), "berth-rbac-"));
afterAll(() => rmSync(directory, { recursive: true }));

function configFile(section: string): string {
  const path = join(directory, "config.yaml");
  writeFileSync(path, `apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n${section}\n`);
  return path;
}

test("it prints the account and the roles; --help says how", async () => {
  const { code, stdout, stderr } = await runCommand(rbacCommand, []);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("kind: ServiceAccount\nmetadata:\n  name: berth\n  namespace: kube-system\n");
  expect(stdout).toContain("kind: ClusterRole\n");
  expect(stdout).toContain("resourceNames: [ berth ]");
  const help = await runCommand(rbacCommand, ["--help"]);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: berth rbac /) });
});

test("the configuration says where the Lease is, the flags whose the rights are", async () => {
  const config = configFile("leaderElection: { resourceNamespace: storage, resourceName: own }");
  const argv = ["--config", config, "--namespace", "apps", "--service-account", "placer"];
  const { stdout } = await runCommand(rbacCommand, argv);
  expect(stdout).toContain("  name: berth\n  namespace: storage\n");
  expect(stdout).toContain("resourceNames: [ own ]");
  expect(stdout).toContain("    namespace: apps\n    name: placer\n");
  expect(stdout).toContain("kind: ServiceAccount\nmetadata:\n  name: placer\n  namespace: apps\n");
});

test("without a Lease there is no Role, and filter-only grants no binding", async () => {
  const { stdout } = await runCommand(rbacCommand, ["--config", configFile("leaderElection: { mode: off }")]);
  expect(stdout).not.toContain("kind: Role\n");
  expect(stdout).toContain("pods/binding");
  const filtering = await runCommand(rbacCommand, ["--mode", "filter-only"]);
  expect(filtering.stdout).not.toContain("pods/binding");
});

test.for([
  [["--mode", "both"], 'berth rbac: --mode both: use "second-scheduler" or "control-plane" or "filter-only"\n'],
  [
    ["--namespace", "a: b"],
    'berth rbac: --namespace "a: b" can be no name: use lower case letters, digits, "-" and "."\n',
  ],
  [["--config", "/nowhere"], "berth rbac: --config /nowhere: no such file\n"],
  [["--bindings"], 'berth rbac: --bindings is not an option; see "--help"\n'],
] as const)("%j is one line and exit 2", async ([argv, line]) => {
  expect(await runCommand(rbacCommand, argv)).toEqual({ code: 2, stdout: "", stderr: line });
});
