/** The 200 scenarios of VB §8 in one process, so that the count at the end is of what really ran. */
import { expect, test } from "vitest";
import "./filter.ts";
import "./migration.ts";
import "./matching.ts";
import "./reserve.ts";
import "./scoring.ts";
import "./requeue.ts";
import "./beyond.ts";
import "./bind.ts";
import "./integration.ts";
import "./departures.ts";
import "./wire.ts";
import "./later.ts";
import { missingDepartures, missingScenarios, summary } from "./support.ts";

test("every departure has a test of its name", () => {
  expect(missingDepartures()).toEqual([]);
});

test("every scenario is there, run or to do, and the count is printed", () => {
  expect(missingScenarios()).toEqual([]);
  process.stdout.write(`upstream scenarios: ${summary()}\n`);
});
