/** The scenarios of VB §8 that need no real kube-scheduler. */
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
import { realCluster } from "./kinds.ts";
import { missingDepartures, missingScenarios } from "./support.ts";

test("every departure has a test of its name", () => {
  expect(missingDepartures()).toEqual([]);
});

test("every scenario is here, but for those that need a real kube-scheduler", () => {
  expect(missingScenarios()).toEqual(Object.keys(realCluster).map(Number));
});
