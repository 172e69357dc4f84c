/** Whole percent: never more than full, never rounded up, and the quick way says what the exact one says, or nothing. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { percentOf, quickPercentOf } from "../../src/scheduling/percent.ts";

const tooLarge = 2 ** 46;

const rows: Record<string, { part: bigint; whole: bigint; is: number }> = {
  "nothing of something is 0": { part: 0n, whole: 5n, is: 0 },
  "a third is 33": { part: 1n, whole: 3n, is: 33 },
  "all but one of many is 99": { part: 999_999n, whole: 1_000_000n, is: 99 },
  "all is 100": { part: 7n, whole: 7n, is: 100 },
  "more than all is 100": { part: 8n, whole: 7n, is: 100 },
  "what has no size is full": { part: 0n, whole: 0n, is: 100 },
  "what has no size is full, though less than nothing lies in it": { part: -1n, whole: 0n, is: 100 },
  "what has less than no size is full": { part: -5n, whole: -3n, is: 100 },
};

test.for(Object.entries(rows))("%s", ([, { part, whole, is }]) => {
  expect(percentOf(part, whole)).toBe(is);
  expect(quickPercentOf(Number(part), Number(whole))).toBe(whole > 0n ? is : undefined);
});

test("the quick way leaves to the exact one what it cannot hold, and nothing else", () => {
  for (const [part, whole, is] of [
    [1, tooLarge - 1, 0],
    [tooLarge - 1, tooLarge - 1, 100],
    [tooLarge - 2, tooLarge - 1, 99],
    [1, tooLarge, undefined],
    [tooLarge, 1, undefined],
    [tooLarge, tooLarge, undefined],
  ] as const) {
    expect([part, whole, quickPercentOf(part, whole)]).toEqual([part, whole, is]);
  }
});

test("the quick way says what the exact one says, beside every whole number of percent too", () => {
  const wholes = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: tooLarge - 1 }));
  const near = fc.tuple(wholes, fc.integer({ min: 0, max: 100 }), fc.integer({ min: -1, max: 1 }));
  fc.assert(
    fc.property(near, ([whole, percent, by]) => {
      const part = Math.max(0, Math.floor((whole / 100) * percent) + by);
      expect(quickPercentOf(part, whole)).toBe(percentOf(BigInt(part), BigInt(whole)));
    }),
  );
});
