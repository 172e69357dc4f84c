/** The real control plane's harness, where no part of Kubernetes has to run: what it needs, what it says without, what it leaves behind. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startControlPlane } from "./control-plane/control-plane.ts";
import { findPrograms, programNames } from "./control-plane/programs.ts";
import { until } from "./control-plane/reach.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-harness-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Where no Go is found, nor anything else. */
const nowhere = join(folder, "nowhere");
mkdirSync(nowhere);

/** Runs a script of ours to its end. */
async function run(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, args, { env: { ...env, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const vitest = resolve("node_modules/vitest/vitest.mjs");
/** No such version is built anywhere. */
const noGo = { PATH: nowhere, HOME: nowhere, KUBE_VERSION: "1.99.0" };
const cluster = [vitest, "run", "test/control-plane/kwok.test.ts"];

test("without Go and without binaries the tests are skipped by name, and it is said why", {
  timeout: 60_000,
}, async () => {
  const { code, output } = await run(cluster, noGo);
  expect(output).toMatch(
    /skipped, for there is no Go to build Kubernetes 1\.99\.0 with, .*KUBEBUILDER_ASSETS.*:\n {2}Pods run on kwok's nodes/,
  );
  expect(output).toContain("0 passed, 0 failed, 1 skipped");
  expect(code).toBe(0);
});

test("in CI they fail instead", { timeout: 60_000 }, async () => {
  const { code, output } = await run(cluster, { ...noGo, CI: "true" });
  expect(output).toContain("there is no Go to build Kubernetes 1.99.0 with");
  // What failed is told again at the end, for of a long log the end is kept.
  expect(output).toMatch(/\nFAILED: .*kwok\.test\.ts.*\n.*there is no Go[\s\S]*\n0 passed, \d+ failed\n$/);
  expect(code).toBe(1);
});

test("without Go the control plane for a developer says so, and ends", async () => {
  const { code, output } = await run(["test/control-plane/main.ts"], noGo);
  expect(output).toContain("there is no Go to build Kubernetes 1.99.0 with");
  expect(code).toBe(2);
});

/** Programs that a shell stands in for, by name. */
function assets(name: string, scripts: Readonly<Record<string, string>>): string {
  const made = join(folder, name);
  mkdirSync(made);
  for (const [program, script] of Object.entries(scripts)) {
    writeFileSync(join(made, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return made;
}

test("programs in the folder that KUBEBUILDER_ASSETS names are taken as they are", async () => {
  const all = assets("all", Object.fromEntries(programNames.map((name) => [name, "exit 0"])));
  const said: string[] = [];
  const found = await findPrograms({ KUBEBUILDER_ASSETS: all, KUBE_VERSION: "1.99.0" }, (line) => said.push(line));
  expect(found).toMatchObject({
    ok: true,
    version: "1.99.0",
    programs: Object.fromEntries(programNames.map((name) => [name, [join(all, name)]])),
  });
  expect(said).toEqual([]);
});

test("where a part does not come up it is said which and why, and nothing of the others is left", {
  timeout: 60_000,
}, async () => {
  const pids = join(folder, "pids");
  const waits = `echo $$ >> ${pids}; exec sleep 600`;
  const broken = assets("broken", {
    etcd: waits,
    "kube-apiserver": "echo no such flag; exit 1",
    "kube-controller-manager": waits,
    "kube-scheduler": waits,
  });
  const found = await findPrograms({ KUBEBUILDER_ASSETS: broken }, () => {});
  if (!found.ok) throw new Error(found.why);
  const started = startControlPlane(found);
  await expect(started).rejects.toThrow(/kube-apiserver ended: no such flag; logs in /);
  const left = (await started.catch((error: Error) => error.message)).toString();
  rmSync(left.slice(left.indexOf("logs in ") + 8), { recursive: true });
  const noted = readFileSync(pids, "utf8").trim().split("\n").map(Number);
  expect(noted.length).toBeGreaterThan(0);
  expect(noted.filter(runs)).toEqual([]);
});

test("what was started ends with who started it, though that was killed", async () => {
  const script = `
    import { Processes } from "${resolve("test/control-plane/processes.ts")}";
    const processes = new Processes(${JSON.stringify(folder)});
    for (const name of ["one", "two", "ended"]) processes.start(name, ["sleep", "600"]);
    console.log(JSON.stringify(processes.pids()));
    await processes.end("ended");
    console.log("killable");
    setInterval(() => {}, 1_000);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  await until("it has started all", async () => output.includes("killable"), 10_000);
  const { one, two, ended } = JSON.parse(output.split("\n")[0] ?? "") as Record<string, number>;
  expect([one, two, ended].map((pid = 0) => runs(pid))).toEqual([true, true, false]);
  child.kill("SIGKILL");
  await until("nothing of it runs", async () => ![one, two].some((pid = 0) => runs(pid)), 5_000);
});
