/** The search over file systems by itself: how far it goes, and what it takes for better. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Asker, DiskSearch } from "../../src/scheduling/disk-search.ts";
import type { Disk } from "../../src/scheduling/disks.ts";
import { provisioned } from "../../src/scheduling/outcome.ts";
import type { Bytes } from "../../src/scheduling/quantity.ts";
import { runs } from "../support/runs.ts";

interface Facts {
  /** By volume; each lies on a file system of its own. */
  readonly sizes: readonly number[];
  /** By claim. */
  readonly asks: readonly number[];
  readonly full?: readonly number[];
  readonly canBeProvisioned?: boolean;
  readonly stepsMax?: number;
  readonly accept?: (volumes: readonly number[]) => boolean;
}

function search({ sizes, asks, full = [], canBeProvisioned = false, stepsMax = 100_000, accept = () => true }: Facts) {
  const disks = sizes.map((): Disk => ({ kind: "sharedFilesystem", volumes: new Set() }));
  const volumes = asks.map(() => provisioned);
  const askers = asks.map(
    (ask, index): Asker => ({
      index,
      canBeProvisioned,
      candidates: [...sizes.keys()].filter((id) => (sizes[id] ?? 0) >= ask),
    }),
  );
  const run = new DiskSearch(askers, {
    asked: asks.map((ask) => ({ bytes: BigInt(ask) as Bytes })),
    volumes,
    used: new Map(),
    capacityOf: (id) => BigInt(sizes[id] ?? 0) as Bytes,
    diskOf: (id) => disks[id],
    hasRoom: (disk) => !full.includes(disks.indexOf(disk)),
    stepsMax,
    accept: () => accept(volumes),
  });
  return { found: run.run(), volumes, steps: run.steps };
}

test("a search takes one step a claim where the first choices do, and none beyond its bound", () => {
  const facts = { sizes: [4, 5, 6], asks: [1, 2, 3] };
  expect(search({ ...facts, stepsMax: 3 })).toMatchObject({ found: true, volumes: [2, 1, 0] });
  expect(search({ ...facts, stepsMax: 2 })).toMatchObject({ found: false, volumes: [-1, -1, -1] });
});

test("a search that has come to its bound ends at once", () => {
  const sizes = Array.from({ length: 12 }, (_, nth) => 10 + nth);
  const { found, steps } = search({ sizes, asks: sizes.map(() => 1), stepsMax: 50, accept: () => false });
  expect([found, steps]).toEqual([false, 51]);
});

test("once a choice is found, a better one is looked for in a thousand steps more", () => {
  const sizes = Array.from({ length: 12 }, (_, nth) => 10 + nth);
  const { found, steps } = search({ sizes, asks: sizes.map(() => 1) });
  expect(found).toBe(true);
  expect(steps).toBeGreaterThan(1_000);
  expect(steps).toBeLessThan(2_000);
});

test("a volume more is better than a smaller surplus, and of as many volumes the smaller surplus is better", () => {
  const facts = { sizes: [5, 9, 100], asks: [5, 4], canBeProvisioned: true };
  expect(search(facts)).toMatchObject({ found: true, volumes: [0, 1] });
  expect(search({ ...facts, full: [1] })).toMatchObject({ found: true, volumes: [0, 2] });
  expect(search({ ...facts, full: [1, 2] }).volumes.toSorted()).toEqual([-1, 0]);
  expect(search({ ...facts, full: [0, 1, 2] })).toMatchObject({ found: true, volumes: [-1, -1] });
});

test("a choice that is not accepted is searched on, and the best is accepted last", () => {
  const accepted: string[] = [];
  const accept = (volumes: readonly number[]): boolean => {
    accepted.push(volumes.join());
    return volumes[0] !== 0;
  };
  expect(search({ sizes: [1, 2, 3], asks: [1], accept })).toMatchObject({ found: true, volumes: [1] });
  expect(accepted).toEqual(["0", "1", "1"]);
});

interface Wish {
  readonly ask: number;
  readonly candidates: readonly number[];
  readonly isStatic: boolean;
}

/** @param rooms  bytes by file system */
function searchAmong(
  volumes: readonly { readonly size: number; readonly on: number | undefined }[],
  wishes: readonly Wish[],
  rooms: readonly number[],
) {
  const disks = rooms.map((): Disk => ({ kind: "sharedFilesystem", volumes: new Set() }));
  const chosen = wishes.map(() => provisioned);
  const run = new DiskSearch(
    wishes.map(({ candidates, isStatic }, index) => ({ index, candidates, canBeProvisioned: !isStatic })),
    {
      asked: wishes.map(({ ask }) => ({ bytes: BigInt(ask) as Bytes })),
      volumes: chosen,
      used: new Map(),
      capacityOf: (id) => BigInt(volumes[id]?.size ?? 0) as Bytes,
      diskOf: (id) => disks[volumes[id]?.on ?? -1],
      hasRoom: (one, bytes) => bytes <= (rooms[disks.indexOf(one)] ?? 0),
      stepsMax: 100_000,
      accept: () => true,
    },
  );
  return { found: run.run(), chosen };
}

test("a volume is never passed over for one that others may take, or of another file system", () => {
  const on = (size: number, disk: number) => ({ size, on: disk });
  const wish = (...candidates: number[]): Wish => ({ ask: 5, candidates, isStatic: true });
  // The second claim finds the first file system full.
  const two = searchAmong([on(5, 0), on(6, 0), on(9, 1)], [wish(0, 2), wish(1, 2)], [5, 9]);
  expect(two.chosen).toEqual([0, 2]);
  // The first can have neither the third's only volume nor what is full.
  const volumes = [on(5, 0), on(6, 1), on(7, 2), on(8, 3), on(9, 4)];
  const three = searchAmong(volumes, [wish(0, 1, 2, 3), wish(3, 4), wish(0)], [5, 0, 0, 5, 5]);
  expect(three.chosen).toEqual([3, 4, 0]);
  // The second's only volume is the smaller of two that the first and the last may take.
  const others = searchAmong([on(5, 0), on(6, 0), on(9, 1)], [wish(0, 1), wish(0), wish(0, 1, 2)], [20, 20]);
  expect(others.chosen).toEqual([1, 0, 2]);
});

const disk = fc.integer({ min: 1, max: 9 });
const volume = fc.record({ size: fc.integer({ min: 1, max: 6 }), on: fc.constantFrom(0, 1, 2, undefined) });
const claim = fc.record({
  ask: fc.integer({ min: 1, max: 5 }),
  not: fc.subarray([0, 1, 2, 3, 4, 5]),
  isStatic: fc.boolean(),
});

test("the best of all ways is found: as few are provisioned as can be, and then the least surplus", () => {
  let provisioning = 0;
  const few = fc.tuple(
    fc.tuple(disk, disk, disk),
    fc.array(volume, { maxLength: 6 }),
    fc.array(claim, { maxLength: 4 }),
  );
  fc.assert(
    fc.property(few, ([rooms, anyhow, claims]) => {
      const volumes = anyhow.toSorted((a, b) => a.size - b.size);
      const candidates = claims.map(({ ask, not }) =>
        [...volumes.keys()].filter((id) => (volumes[id]?.size ?? 0) >= ask && !not.includes(id)),
      );
      const hasRoom = (on: number, chosen: readonly number[]): boolean => {
        const asked = chosen.map((id, index) => (volumes[id]?.on === on ? (claims[index]?.ask ?? 0) : 0));
        return asked.reduce((a, b) => a + b, 0) <= (rooms[on] ?? 0);
      };
      /** Provisioned by the thousand, and what the volumes have beyond what is asked. */
      const costOf = (chosen: readonly number[]): number =>
        chosen.reduce(
          (sum, id, index) => sum + (volumes[id] ? volumes[id].size - (claims[index]?.ask ?? 0) : 1_000),
          0,
        );
      const least = (chosen: readonly number[]): number => {
        const index = chosen.length;
        if (![0, 1, 2].every((on) => hasRoom(on, chosen))) return Number.POSITIVE_INFINITY;
        if (index === claims.length) return costOf(chosen);
        const free = (candidates[index] ?? []).filter((id) => !chosen.includes(id));
        const ways = claims[index]?.isStatic ? free : [...free, provisioned];
        return Math.min(Number.POSITIVE_INFINITY, ...ways.map((id) => least([...chosen, id])));
      };
      const wishes = claims.map((one, index) => ({ ...one, candidates: candidates[index] ?? [] }));
      const { found, chosen } = searchAmong(volumes, wishes, rooms);
      const best = least([]);
      expect(found).toBe(best < Number.POSITIVE_INFINITY);
      if (!found) return;
      expect(least(chosen)).toBe(best);
      if (best >= 1_000) provisioning++;
    }),
    { numRuns: runs(1_500) },
  );
  expect(provisioning).toBeGreaterThan(runs(100));
});
