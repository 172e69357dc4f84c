/** Every bench in its small size, so that none rots; bounds are ratios within one run, wide enough for a noisy machine. */
import { expect, test } from "vitest";
import { benchCore } from "../bench/core.ts";

test("a filter call costs what its nodes reach, not what the cluster holds", { timeout: 60_000 }, () => {
  const { rows, volumesRatio, nodesRatio } = benchCore({ nodes: 500, rounds: 40 });
  expect(rows).toHaveLength(6);
  expect(volumesRatio).toBeLessThan(3);
  expect(nodesRatio).toBeLessThan(30);
});
