/** Claims into pools: exact where it is small, bounded where it is not, and never above what is free. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Item, pack } from "../../src/scheduling/packing.ts";
import type { Offer, Pool } from "../../src/scheduling/pools.ts";
import type { Room } from "../../src/scheduling/provisioning.ts";
import type { Bytes } from "../../src/scheduling/quantity.ts";
import { runs } from "../support/runs.ts";

const limitless = 2n ** 80n;

function rooms(frees: readonly (bigint | number)[], limit: bigint = limitless): Room[] {
  return frees.map((free, index) => {
    const pool = { key: `pool ${index}` } as Pool;
    return { offer: { pool } as Offer, pool, limit: limit as Bytes, free: BigInt(free) as Bytes };
  });
}

function items(sizes: readonly (bigint | number)[], into: readonly Room[]): Item[] {
  return sizes.map((bytes) => ({ bytes: BigInt(bytes) as Bytes, rooms: into }));
}

/** Whether what was answered fits. */
function fits(asked: readonly Item[], pools: readonly Pool[]): boolean {
  const left = new Map<Pool, bigint>(asked.flatMap(({ rooms: own }) => own.map(({ pool, free }) => [pool, free])));
  for (const [index, { bytes, rooms: own }] of asked.entries()) {
    const pool = pools[index];
    const room = own.find((other) => other.pool === pool);
    if (!pool || !room || bytes > room.limit) return false;
    left.set(pool, (left.get(pool) ?? 0n) - bytes);
  }
  return pools.length === asked.length && pools.every((pool) => (left.get(pool) ?? -1n) >= 0n);
}

const tables: Record<string, { sizes: (bigint | number)[]; frees: (bigint | number)[]; packs: boolean }> = {
  "one pool that has room for all": { sizes: [3, 4], frees: [7], packs: true },
  "one byte too many": { sizes: [3, 4], frees: [6], packs: false },
  "no pool at all": { sizes: [1], frees: [], packs: false },
  "two pools of which neither takes both": { sizes: [6, 5], frees: [6, 5], packs: true },
  "enough in all, and in no two halves": { sizes: [4, 4, 4], frees: [6, 6], packs: false },
  "greed fails and a packing exists": { sizes: [6, 5, 4, 3, 3, 3], frees: [12, 12], packs: true },
  "a pool with less than nothing is no room": { sizes: [4, 4], frees: [-9, 4, 4], packs: true },
  "bytes beyond 2^53": {
    sizes: [9_007_199_254_740_993n, 9_007_199_254_740_993n],
    frees: [9_007_199_254_740_993n, 9_007_199_254_740_992n],
    packs: false,
  },
};

test.for(Object.entries(tables))("%s", ([, { sizes, frees, packs }]) => {
  const asked = items(sizes, rooms(frees));
  const packed = pack(asked);
  expect(packed !== undefined).toBe(packs);
  if (packed) expect(fits(asked, packed)).toBe(true);
});

test("a class that cannot use a pool leaves it to the one that can", () => {
  const [a, b] = rooms([5, 5]) as [Room, Room];
  const asked = [
    { bytes: 5n as Bytes, rooms: [a, b] },
    { bytes: 5n as Bytes, rooms: [a] },
  ];
  expect(pack(asked)).toEqual([b.pool, a.pool]);
});

test("any few claims into any few pools are packed whenever that can be", () => {
  const claim = fc.record({ bytes: fc.bigInt(1n, 8n), pools: fc.subarray([0, 1, 2], { minLength: 1 }) });
  const limits = fc.array(fc.bigInt(3n, 9n), { minLength: 3, maxLength: 3 });
  const frees = fc.array(fc.bigInt(-1n, 14n), { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(claim, { minLength: 1, maxLength: 5 }), limits, frees, (claims, limit, free) => {
      const all = rooms(free).map((room, index) => ({ ...room, limit: (limit[index] ?? 0n) as Bytes }));
      const asked = claims.map(({ bytes, pools }) => ({
        bytes: bytes as Bytes,
        rooms: pools.flatMap((index) => all[index] ?? []),
      }));
      const tries = asked.reduce<Pool[][]>(
        (before, { rooms: own }) => before.flatMap((pools) => own.map(({ pool }) => [...pools, pool])),
        [[]],
      );
      const packed = pack(asked);
      expect(packed !== undefined).toBe(tries.some((pools) => fits(asked, pools)));
      if (packed) expect(fits(asked, packed)).toBe(true);
    }),
    { numRuns: runs(500), seed: 20_261_130 },
  );
});

test("beyond the bound the answer is no, and what greed can place is placed all the same", () => {
  // 40 claims over 5 pools, all sizes different: the sum fits by a hair, and trying all ways would take 5^40 steps.
  const sizes = Array.from({ length: 40 }, (_, index) => 1_001n + 2n * BigInt(index));
  const sum = sizes.reduce((a, b) => a + b);
  let looks = 0;
  const tight = rooms(Array.from({ length: 5 }, () => sum / 5n)).map((room) => ({
    ...room,
    get limit() {
      looks++;
      return room.limit;
    },
  }));
  expect(pack(items(sizes, tight))).toBeUndefined();
  expect(looks).toBeGreaterThan(10_000);
  expect(looks).toBeLessThan(100_000);

  const roomy = rooms(Array.from({ length: 5 }, () => sum / 5n + 1_200n));
  const asked = items(sizes, roomy);
  expect(fits(asked, pack(asked) ?? [])).toBe(true);
});

test("what the bound gives up: a packing that exists and is not found", () => {
  // Five pools, each filled to the byte by eight claims of its own, which greed mixes up.
  const sizes = Array.from({ length: 40 }, (_, index) => 1_001n + 7n * BigInt((index * index * 37) % 911));
  const groups = Array.from({ length: 5 }, (_, pool) => sizes.slice(8 * pool, 8 * pool + 8));
  const asked = items(sizes, rooms(groups.map((group) => group.reduce((a, b) => a + b))));
  const known = asked.flatMap(({ rooms: own }, index) => own[Math.floor(index / 8)]?.pool ?? []);
  expect(fits(asked, known)).toBe(true);
  expect(pack(asked)).toBeUndefined();
});
