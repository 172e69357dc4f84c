/** What is said of a node that refuses. */
import { expect, test } from "vitest";
import { refusal } from "../../src/scheduling/outcome.ts";

test("a node that refuses promises nothing, and contends for nothing", () => {
  const refusals = [{ reason: "notEnoughVolumes" }] as const;
  const outcome = refusal(refusals);
  expect(outcome).toEqual({ refusals, contended: false, volumes: [], pools: [], sizes: new Float64Array(0) });
});
