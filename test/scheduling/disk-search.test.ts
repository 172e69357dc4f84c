/** The search over file systems by itself: how far it goes, and what it takes for better. */
import { expect, test } from "vitest";
import { type Asker, DiskSearch } from "../../src/scheduling/disk-search.ts";
import type { Disk } from "../../src/scheduling/disks.ts";
import { provisioned } from "../../src/scheduling/outcome.ts";
import type { Bytes } from "../../src/scheduling/quantity.ts";

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
