/** Every scenario file on the real control plane, one after the other; then nothing of it is left. */
import { globSync } from "node:fs";
import { basename } from "node:path";
import { afterAll, expect } from "vitest";
import { audit } from "../support/auditor.ts";
import { readScenario, runScenario } from "../support/scenario.ts";
import { Configured } from "./configured.ts";
import { onPlane } from "./on-plane.ts";
import { realStage } from "./real-stage.ts";

let configured: Configured | undefined;
afterAll(() => configured?.stop());

for (const file of globSync("test/scenarios/*.yaml").sort()) {
  const scenario = readScenario(file);
  const { config } = scenario;
  const name = basename(file, ".yaml");
  const meta = { scenario: { name, says: scenario.name, stage: "real" } } as const;
  onPlane(`${name}: ${scenario.name}`, { meta, awaits: scenario.awaits }, async (plane) => {
    const stage = realStage(plane);
    try {
      if (config) configured ??= await Configured.start(plane.facts);
      const set = config && configured ? await configured.stage(stage, name, config) : stage;
      await runScenario(scenario, { ...set, version: plane.facts.version });
      expect(await audit(stage)).toEqual([]);
    } finally {
      await stage.cleanUp();
    }
  });
}
