/** Every scenario file on the sandbox: Berth's real code, the sandbox's controllers and scheduler, a virtual clock. */
import { globSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { audit } from "./support/auditor.ts";
import "./support/meta.ts";
import { sandboxStage } from "./support/sandbox-stage.ts";
import { readScenario, runScenario } from "./support/scenario.ts";

for (const file of globSync("test/scenarios/*.yaml").sort()) {
  const scenario = readScenario(file);
  const name = basename(file, ".yaml");
  const meta = { scenario: { name, says: scenario.name, stage: "sandbox" } } as const;
  test(`${name}: ${scenario.name}`, { timeout: 60_000, meta }, async ({ skip }) => {
    if (scenario.awaits) skip(scenario.awaits);
    const stage = await sandboxStage();
    try {
      await runScenario(scenario, stage);
      const call = (method: string, path: string) => stage.ask(stage.sandbox.api.exchange, method, path);
      expect(await audit({ call })).toEqual([]);
    } finally {
      await stage.stop();
    }
  });
}
