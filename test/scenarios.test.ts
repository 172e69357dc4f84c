/**
 * Every scenario file on the sandbox (Berth's real code, the sandbox's controllers and scheduler, a virtual clock), and on the pure
 * core where that alone can play it.
 */
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { parseConfig } from "../src/config/load.ts";
import { type Config, defaults } from "../src/config.ts";
import { audit } from "./support/auditor.ts";
import { BeyondCore } from "./support/core-pools.ts";
import { CoreStage } from "./support/core-stage.ts";
import "./support/meta.ts";
import { sandboxStage } from "./support/sandbox-stage.ts";
import { configurationOf, readScenario, runScenario, type Scenario } from "./support/scenario.ts";
import { rows, scenarioPage } from "./support/scenario-rows.ts";

const scenarios = globSync("test/scenarios/*.yaml")
  .sort()
  .map((file) => ({ file, name: basename(file, ".yaml"), scenario: readScenario(file) }));

const configOf = ({ config }: Scenario, file: string): Config =>
  config ? parseConfig(configurationOf(config), file) : defaults;

for (const { file, name, scenario } of scenarios) {
  const meta = { scenario: { name, says: scenario.name, stage: "sandbox" } } as const;
  test(`${name}: ${scenario.name}`, { timeout: 60_000, meta }, async ({ skip }) => {
    if (scenario.awaits) skip(scenario.awaits);
    const stage = await sandboxStage({}, undefined, configOf(scenario, file));
    try {
      await runScenario(scenario, stage);
      const call = (method: string, path: string) => stage.ask(stage.sandbox.api.exchange, method, path);
      expect(await audit({ call })).toEqual([]);
    } finally {
      await stage.stop();
    }
  });
}

for (const { file, name, scenario } of scenarios.filter(({ scenario }) => scenario.beyondCore === undefined)) {
  const meta = { scenario: { name, says: scenario.name, stage: "core" } } as const;
  test(`${name}, on the pure core: ${scenario.name}`, { meta }, async ({ skip }) => {
    if (scenario.awaits) skip(scenario.awaits);
    await runScenario(scenario, new CoreStage(configOf(scenario, file)));
  });
}

test.for(scenarios.filter(({ scenario }) => scenario.beyondCore !== undefined))(
  "$name is beyond the pure core, for the reason that it gives",
  async ({ file, scenario }) => {
    const thrown = await runScenario(scenario, new CoreStage(configOf(scenario, file))).catch((error) => error);
    const reason = thrown instanceof Error && thrown.cause instanceof BeyondCore ? thrown.cause : thrown;
    expect(reason).toBeInstanceOf(BeyondCore);
    expect(reason).toHaveProperty("message", scenario.beyondCore);
  },
);

test("there are forty scenarios at least", () => {
  expect(scenarios.length).toBeGreaterThanOrEqual(40);
});

test("every row is covered, and every scenario covers rows that there are", () => {
  const covered = scenarios.flatMap(({ scenario }) => scenario.covers);
  const known = rows.flatMap(({ all }) => all);
  expect({ strange: covered.filter((row) => !known.includes(row)) }).toEqual({ strange: [] });
  expect({ uncovered: known.filter((row) => !covered.includes(row)) }).toEqual({ uncovered: [] });
});

test("docs/scenarios.md says which file covers what", () => {
  expect(readFileSync("docs/scenarios.md", "utf8")).toBe(scenarioPage(scenarios));
});

const configured = scenarios.filter(({ scenario }) => Object.keys(scenario.config ?? {}).length > 0);

test.for(configured)("$name does not come out without its configuration", { timeout: 60_000 }, async ({ scenario }) => {
  const stage = await sandboxStage();
  try {
    await expect(runScenario(scenario, stage)).rejects.toThrow("not within");
  } finally {
    await stage.stop();
  }
});
