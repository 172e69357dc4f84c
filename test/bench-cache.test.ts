/** `npm run bench -- cache` in its small size: the processes work together, and what holds at any speed holds. */
import { expect, test } from "vitest";
import { benchCache } from "../bench/cache/bench.ts";
import { smallSize, sparesOf } from "../bench/cache/size.ts";
import { boundsOf, tableOf } from "../bench/cache/table.ts";
import { budgetLines } from "../bench/measure.ts";

test.skipIf(process.platform !== "linux")(
  "a small cluster is listed, its events are all taken over while filter is called, and a relist does not double the memory",
  // Four processes and their timing, on a machine that others use too.
  { timeout: 90_000, retry: 1 },
  async () => {
    const bench = await benchCache({ size: smallSize, streamsLists: true });
    const { nodes, disksPerNode, pods, seconds, callsPerSecond } = smallSize;
    const volumes = nodes * disksPerNode;
    expect(Object.fromEntries(bench.synced.map(({ kind, objects }) => [kind, objects]))).toEqual({
      node: nodes,
      volume: volumes,
      claim: volumes,
      pod: pods,
      class: 1,
      driver: 0,
      csiNode: 0,
      capacity: 0,
    });
    expect(sparesOf(smallSize)).toBeGreaterThan(0);
    expect(bench.events.sent).toBeGreaterThan(0);
    expect(bench.events.takenOver).toBe(bench.events.sent);
    for (const name of ["quiet", "events"] as const) {
      expect(bench.phases[name].callsMs).toHaveLength(seconds * callsPerSecond);
    }
    const { peakMib, beforeMib } = bench.phases.relist;
    expect(peakMib / beforeMib).toBeLessThan(2);
    expect(bench.troubles).toEqual([]);
    expect(tableOf(bench)).toContain("300 nodes");
    expect(budgetLines(boundsOf(bench))).toContain("peak of the relist");
    expect(boundsOf(bench)).toHaveLength(8);
  },
);
