/** Ends every run with the one line that people and CI look for. */
import type { Reporter, TestModule } from "vitest/node";

export default class Tally implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 };
    for (const module of modules) {
      if (module.errors().length > 0) counts.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed" || state === "failed" || state === "skipped") counts[state]++;
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    // After the summary of the reporter beside it, which prints in the same turn.
    process.once("exit", () => process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`));
  }
}
