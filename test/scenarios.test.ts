/** Every scenario file on the sandbox: Berth's real code, the sandbox's controllers and scheduler, a virtual clock. */
import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { audit } from "./support/auditor.ts";
import { sandboxStage } from "./support/sandbox-stage.ts";
import { readScenario, runScenario } from "./support/scenario.ts";

const files = globSync("test/scenarios/*.yaml").sort();

test.for(files)("%s on the sandbox", { timeout: 60_000 }, async (file, { skip }) => {
  const scenario = readScenario(file);
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
