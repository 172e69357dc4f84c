/** The assignment against all that there are, one by one. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Assignment } from "../../src/scheduling/assignment.ts";
import { bestWay, none, type Wished } from "../support/every-way.ts";
import { runs } from "../support/runs.ts";

function assigned(assignment: Assignment, wished: Wished, order: readonly number[], volumeCount: number): number[] {
  const starts = new Int32Array(wished.length + 1);
  for (const [claim, ranks] of wished.entries()) starts[claim + 1] = (starts[claim] ?? 0) + ranks.length;
  return [...assignment.assign({ starts, to: Int32Array.from(wished.flat()) }, order, volumeCount)];
}

test("of any claims and volumes: the important ones served, by the smallest volumes, in name order", () => {
  const cases = fc.integer({ min: 1, max: 6 }).chain((volumeCount) =>
    fc.integer({ min: 1, max: 5 }).chain((claimCount) => {
      const own = fc.subarray(Array.from({ length: volumeCount }, (_, rank) => rank));
      const claims = Array.from({ length: claimCount }, (_, claim) => claim);
      const order = fc.shuffledSubarray(claims, { minLength: claimCount });
      return fc.record({ volumeCount: fc.constant(volumeCount), wished: fc.tuple(...claims.map(() => own)), order });
    }),
  );
  // One for all, for it keeps its space.
  const assignment = new Assignment();
  fc.assert(
    fc.property(cases, ({ wished, order, volumeCount }) => {
      expect(assigned(assignment, wished, order, volumeCount)).toEqual(bestWay(wished, order));
    }),
    { numRuns: runs(3_000) },
  );
});

const examples: Record<string, { wished: Wished; order: readonly number[]; ranks: readonly number[] }> = {
  "nobody wishes for anything": { wished: [[], []], order: [0, 1], ranks: [none, none] },
  "the important claim is served where one volume is wished for twice": {
    wished: [[0], [0]],
    order: [1, 0],
    ranks: [none, 0],
  },
  "who is served stays served and makes way": { wished: [[0], [0, 1]], order: [1, 0], ranks: [0, 1] },
  "a smaller volume is taken over a larger one that as many can have": {
    wished: [
      [1, 2],
      [0, 2],
    ],
    order: [0, 1],
    ranks: [1, 0],
  },
  "of the same volumes the first claim has the smallest": {
    wished: [
      [0, 1],
      [0, 1],
    ],
    order: [1, 0],
    ranks: [0, 1],
  },
  "the first claim leaves a smaller one to whom it alone serves": {
    wished: [[0, 1], [0]],
    order: [0, 1],
    ranks: [1, 0],
  },
  "a chain of three is dealt anew": {
    wished: [
      [0, 1],
      [1, 2],
      [0, 2],
    ],
    order: [2, 1, 0],
    ranks: [0, 1, 2],
  },
};

test.for(Object.entries(examples))("%s", ([, { wished, order, ranks }]) => {
  const volumeCount = 1 + Math.max(0, ...wished.flat());
  expect(assigned(new Assignment(), wished, order, volumeCount)).toEqual(ranks);
});

test("what was asked before leaves no trace, whether it was larger or smaller", () => {
  const assignment = new Assignment();
  const large: Wished = Array.from({ length: 12 }, (_, claim) =>
    Array.from({ length: 20 - claim }, (_, nth) => claim + nth),
  );
  const order = large.map((_, claim) => large.length - 1 - claim);
  const alone = assigned(new Assignment(), large, order, 20);
  for (let round = 0; round < 3; round++) {
    expect(assigned(assignment, [[0]], [0], 1)).toEqual([0]);
    expect(assigned(assignment, [[1], [0, 1]], [0, 1], 2)).toEqual([1, 0]);
    expect(assigned(assignment, large, order, 20)).toEqual(alone);
  }
  expect(alone).toEqual(Array.from({ length: 12 }, (_, claim) => claim));
});
