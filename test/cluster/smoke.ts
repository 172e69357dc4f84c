/**
 * `node test/cluster/smoke.ts [a part of file names]`: the scenario files on the sandbox and on one real control plane, one
 * after the other, and a table of what came of each.
 */
import { globSync } from "node:fs";
import { basename } from "node:path";
import { audit } from "../support/auditor.ts";
import { sandboxStage } from "../support/sandbox-stage.ts";
import { readScenario, runScenario, type Scenario } from "../support/scenario.ts";
import { type ControlPlane, ensureBuilt, startControlPlane, version } from "./control-plane.ts";
import { realStage } from "./real-stage.ts";

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const missing = ensureBuilt();
if (missing !== undefined) {
  process.stderr.write(`smoke: ${missing}\n`);
  process.exit(2);
}

type Result = { readonly ok: true; readonly seconds: number } | { readonly ok: false; readonly why: string };

async function timed(run: () => Promise<void>): Promise<Result> {
  const begun = performance.now();
  try {
    await run();
    return { ok: true, seconds: (performance.now() - begun) / 1000 };
  } catch (error) {
    return { ok: false, why: (error as Error).message };
  }
}

function refuse(findings: readonly string[]): void {
  if (findings.length > 0) throw new Error(`the auditor: ${findings.join("; ")}`);
}

async function onSandbox(scenario: Scenario): Promise<void> {
  const stage = await sandboxStage();
  try {
    await runScenario(scenario, stage);
    refuse(await audit({ call: (method, path) => stage.ask(stage.sandbox.api.exchange, method, path) }));
  } finally {
    await stage.stop();
  }
}

async function onReal(scenario: Scenario, plane: ControlPlane): Promise<void> {
  const stage = realStage(plane);
  try {
    await runScenario(scenario, stage);
    refuse(await audit(stage));
  } finally {
    await stage.cleanUp();
  }
}

const word = (result: Result): string => (result.ok ? `ok ${result.seconds.toFixed(1)} s` : "FAILED");

const wanted = process.argv[2] ?? "";
const files = globSync("test/scenarios/*.yaml").filter((file) => file.includes(wanted));
const plane = await startControlPlane();
const faults: string[] = [];
try {
  say(`scenario | sandbox | real, Kubernetes ${version}`);
  say("--- | --- | ---");
  for (const file of files.sort()) {
    const scenario = readScenario(file);
    const name = basename(file, ".yaml");
    if (scenario.awaits) {
      say(`${name}: ${scenario.name} | awaits ${scenario.awaits} | not run`);
      continue;
    }
    const sandbox = await timed(() => onSandbox(scenario));
    const real = await timed(() => onReal(scenario, plane));
    say(`${name}: ${scenario.name} | ${word(sandbox)} | ${word(real)}`);
    if (!sandbox.ok) faults.push(`${name} on the sandbox: ${sandbox.why}`);
    if (!real.ok) faults.push(`${name} on the real control plane: ${real.why}`);
  }
} finally {
  await plane.stop();
}
for (const fault of faults) say(`FAILED ${fault}`);
if (faults.length > 0) say(`logs in ${plane.folder}`);
process.exit(faults.length === 0 ? 0 : 1);
