/** Every scenario file on the real control plane, one after the other; then nothing of it is left. */
import { globSync } from "node:fs";
import { basename } from "node:path";
import { expect } from "vitest";
import { audit } from "../support/auditor.ts";
import { readScenario, runScenario } from "../support/scenario.ts";
import { onPlane } from "./on-plane.ts";
import { realStage } from "./real-stage.ts";

for (const file of globSync("test/scenarios/*.yaml").sort()) {
  const scenario = readScenario(file);
  const name = basename(file, ".yaml");
  const meta = { scenario: { name, says: scenario.name, stage: "real" } } as const;
  onPlane(`${name}: ${scenario.name}`, { meta, awaits: scenario.awaits }, async (plane) => {
    const stage = realStage(plane);
    try {
      await runScenario(scenario, stage);
      expect(await audit(stage)).toEqual([]);
    } finally {
      await stage.cleanUp();
    }
  });
}
