/** `berth check-permissions` over real sockets, against the sandbox's API server and one that grants less. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkPermissionsCommand } from "../../src/cli/check-permissions.ts";
import { type Listener, listen } from "../../src/http/listener.ts";
import { rightsFor } from "../../src/permissions/rights.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { kubeconfigFor } from "../../src/sandbox/kubeconfig.ts";
import { runCommand } from "./support.ts";

const rights = rightsFor({ binds: true, elects: true, reviews: false });
const directory = mkdtempSync(join(tmpdir(), "berth-permissions-"));
const kubeconfig = join(directory, "kubeconfig");
let api: Listener;
/** Resources whose patches are not granted. */
let withheld: readonly string[] = [];

beforeAll(async () => {
  const { exchange } = new ApiServer({ runtime });
  const handler: Exchange = async (request, signal) => {
    const { spec = {} } = JSON.parse(String(request.body ?? "{}"));
    const { verb, resource } = spec.resourceAttributes ?? {};
    if (verb !== "patch" || !withheld.includes(resource)) return exchange(request, signal);
    const body = JSON.stringify({ kind: "SelfSubjectAccessReview", status: { allowed: false } });
    return { status: 201, headers: { "content-type": "application/json" }, body };
  };
  api = await listen({ handler, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
  writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${api.port}`));
});

afterAll(async () => {
  await api.closeNow();
  rmSync(directory, { recursive: true });
});

const check = (...argv: string[]) => runCommand(checkPermissionsCommand, argv, { runtime });

test("with every right it prints them all and exits 0", async () => {
  const { code, stdout, stderr } = await check("--kubeconfig", kubeconfig);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^RIGHT +GRANTED +FOR, OR WHAT FAILS WITHOUT IT\n/);
  expect(stdout).toMatch(/^patch persistentvolumes +yes +claimRef/m);
  expect(stdout).toContain(`\n${rights.length} of ${rights.length} rights are granted\n`);
});

test("a missing right is named with what fails without it, and the exit is 1", async () => {
  withheld = ["persistentvolumes"];
  const table = await check("--kubeconfig", kubeconfig);
  expect(table.code).toBe(1);
  expect(table.stdout.match(/^.* NO .*$/gm)).toEqual([
    expect.stringMatching(/^patch persistentvolumes +NO +no Pod that needs an existing volume is bound$/),
  ]);
  expect(table.stdout).toContain('"berth rbac" prints the roles');
  const json = await check("--kubeconfig", kubeconfig, "-o", "json");
  const rows = JSON.parse(json.stdout) as { right: string; granted: boolean }[];
  expect(rows.filter(({ granted }) => !granted).map(({ right }) => right)).toEqual(["patch persistentvolumes"]);
  const filtering = await check("--kubeconfig", kubeconfig, "--mode", "filter-only");
  expect(filtering.code).toBe(0);
});

test("what the debug listener needs is asked where the configuration has it take tokens", async () => {
  const config = join(directory, "config.yaml");
  const head = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n";
  writeFileSync(config, `${head}debugTls: { certFile: /tls.crt, keyFile: /tls.key }\n`);
  const { stdout } = await check("--kubeconfig", kubeconfig, "--config", config, "-o", "json");
  const asked = (JSON.parse(stdout) as { right: string }[]).map(({ right }) => right);
  expect(asked).toContain("create tokenreviews.authentication.k8s.io");
  expect(asked).toHaveLength(rights.length + 2);
});

test("a cluster that cannot be asked is one line and exit 2", async () => {
  const nowhere = join(directory, "nowhere");
  writeFileSync(nowhere, kubeconfigFor("http://127.0.0.1:1"));
  const { code, stdout, stderr } = await check("--kubeconfig", nowhere);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^berth check-permissions: http:\/\/127\.0\.0\.1:1 could not be asked: .*\n$/);
  const wrong = await check("-o", "yaml");
  expect(wrong.stderr).toBe('berth check-permissions: -o yaml: use "table" or "json"\n');
});
