/**
 * The end of every run: why tests were skipped, what came of the scenarios on each stage, how many of the upstream scenarios were
 * shown, and the one line that people and CI look for.
 */
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";
import { countScenarios } from "../upstream/count.ts";
import "./meta.ts";

/** Lines: enough for whoever broke one thing, and not a second log for whoever broke everything. */
const failuresMax = 60;

export default class Tally implements Reporter {
  #byName = false;

  onInit({ config }: Vitest): void {
    this.#byName = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 };
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    counts.failed += modules.filter((module) => module.errors().length > 0).length;
    for (const test of tests) {
      const { state } = test.result();
      if (state === "passed" || state === "failed" || state === "skipped") counts[state]++;
    }
    const lines = [...skips(tests), ...table(tests), ...unsteady(tests).slice(0, failuresMax)];
    const troubles = [
      ...failures(tests),
      ...modules.flatMap(faults),
      ...errors.map((error) => `FAILED: ${firstLine(error)}`),
    ];
    const count = countScenarios(shown(tests), { complete: !this.#byName && hadToBeComplete(tests) });
    if (count) {
      lines.push(count.line);
      if (!count.enough) {
        lines.push("FAILED: fewer upstream scenarios than there are");
        counts.failed++;
        process.exitCode = 1;
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    lines.push(...troubles.slice(0, failuresMax));
    if (troubles.length > failuresMax) lines.push(`and ${troubles.length - failuresMax} more`);
    lines.push(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
    // After the summary of the reporter beside it, which prints in the same turn.
    process.once("exit", () => process.stdout.write(`${lines.join("\n")}\n`));
  }
}

/** Told again at the very end, for the end is what is kept of a long log. */
function failures(tests: readonly TestCase[]): string[] {
  return tests.flatMap((test) => {
    const result = test.result();
    if (result.state !== "failed") return [];
    const where = `${test.module.relativeModuleId} > ${test.fullName}`;
    return [`FAILED: ${where}`, ...result.errors.slice(0, 3).map((error) => `  ${firstLine(error)}`)];
  });
}

/** What needed a second try, where one is given: to be looked into, though the run is good. */
function unsteady(tests: readonly TestCase[]): string[] {
  return tests.flatMap((test) => {
    if (!test.diagnostic()?.flaky) return [];
    const { errors = [] } = test.result();
    return [`only at the second try: ${test.fullName}`, ...errors.slice(0, 1).map((error) => `  ${firstLine(error)}`)];
  });
}

function faults(module: TestModule): string[] {
  return module.errors().map((error) => `FAILED: ${module.relativeModuleId}: ${firstLine(error)}`);
}

function firstLine(error: unknown): string {
  const { message = String(error) } = (error ?? {}) as { message?: string };
  return message.split("\n", 6).join(" / ").slice(0, 600);
}

function skips(tests: readonly TestCase[]): string[] {
  const noted = tests.flatMap((test) => {
    const result = test.result();
    return result.state === "skipped" && result.note ? [{ name: test.name, why: result.note }] : [];
  });
  const byReason = Map.groupBy(noted, ({ why }) => why);
  return [...byReason].flatMap(([why, all]) => [`skipped, for ${why}:`, ...all.map(({ name }) => `  ${name}`)]);
}

const shown = (tests: readonly TestCase[]) =>
  tests.flatMap((test) => {
    const { upstream } = test.meta();
    return upstream ? [{ ...upstream, became: test.result().state }] : [];
  });

/** In CI always; elsewhere where both halves were in the run and there was a control plane. */
function hadToBeComplete(tests: readonly TestCase[]): boolean {
  if (process.env["CI"] === "true") return true;
  const halves = tests.flatMap((test) => {
    const { upstream } = test.meta();
    if (!upstream || test.result().state === "skipped") return [];
    return [upstream.kind === "real cluster" ? "real" : "own"];
  });
  return new Set(halves).size === 2;
}

/** Each scenario file on the pure core, the sandbox and the real control plane, where the latter was in the run. */
function table(tests: readonly TestCase[]): string[] {
  const rows = new Map<string, { says: string; core: string; sandbox: string; real: string }>();
  let ran = false;
  for (const test of tests) {
    const { scenario } = test.meta();
    if (!scenario) continue;
    const { name, says, stage } = scenario;
    const row = rows.get(name) ?? { says, core: "-", sandbox: "-", real: "-" };
    const { state } = test.result();
    const seconds = ((test.diagnostic()?.duration ?? 0) / 1000).toFixed(1);
    row[stage] = state === "passed" ? `ok ${seconds} s` : state;
    if (stage === "real" && state !== "skipped") ran = true;
    rows.set(name, row);
  }
  if (!ran) return [];
  const lines = [...rows].map(
    ([name, { says, core, sandbox, real }]) => `${name}: ${says} | ${core} | ${sandbox} | ${real}`,
  );
  return ["scenario | core | sandbox | real", "--- | --- | --- | ---", ...lines];
}
