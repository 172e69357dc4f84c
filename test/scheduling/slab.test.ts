/** A slab is a sorted list, however long, and whatever was added and removed in between. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Slab } from "../../src/scheduling/slab.ts";
import { runs } from "../support/runs.ts";

/** Many of one size, so that the order of numbers decides among them. */
const sizeOf = (id: number): number => id % 7;
const compare = (a: number, b: number): number => sizeOf(a) - sizeOf(b) || a - b;

function check(slab: Slab, ids: ReadonlySet<number>): void {
  const sorted = [...ids].sort(compare);
  expect(slab.length).toBe(sorted.length);
  expect([...slab]).toEqual(sorted);
  expect(slab.toArray()).toEqual(sorted);
  for (const size of [0, 3, 6, 7]) {
    expect([...slab.from((id) => sizeOf(id) < size)]).toEqual(sorted.filter((id) => sizeOf(id) >= size));
  }
}

test("few ids, added and removed in any order, are those that are left, in order", () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 40 })), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (all) => {
      const slab = new Slab();
      const ids = new Set<number>();
      for (const [isAdded, id] of all) {
        if (isAdded && !ids.has(id)) slab.add(id, compare);
        if (isAdded) ids.add(id);
        else if (ids.delete(id)) slab.remove(id, compare);
      }
      check(slab, ids);
    }),
    { numRuns: runs(300), seed: 20_261_130 },
  );
});

test.for(["ascending", "descending", "shuffled"])("so are thousands, %s", (order) => {
  const count = 5_000;
  const all = Array.from({ length: count }, (_, at) => (order === "shuffled" ? (at * 2_741) % count : at));
  if (order === "descending") all.reverse();
  const slab = new Slab();
  const ids = new Set(all);
  for (const id of all) slab.add(id, compare);
  check(slab, ids);
  for (const id of all) {
    if (id % 3 === 0) continue;
    slab.remove(id, compare);
    ids.delete(id);
  }
  check(slab, ids);
  for (const id of [...ids]) {
    slab.remove(id, compare);
    ids.delete(id);
  }
  check(slab, ids);
  slab.add(1, compare);
  expect([...slab]).toEqual([1]);
});
