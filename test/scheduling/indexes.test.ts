import { expect, test } from "vitest";
import { count, deleteIn, mapIn, setIn, setNewest } from "../../src/scheduling/indexes.ts";

test("what is under a key is made once", () => {
  const sets = new Map<string, Set<number>>();
  setIn(sets, "a").add(1);
  setIn(sets, "a").add(2);
  const maps = new Map<string, Map<string, number>>();
  mapIn(maps, "a").set("x", 1);
  mapIn(maps, "a").set("y", 2);
  expect(sets).toEqual(new Map([["a", new Set([1, 2])]]));
  expect(maps).toEqual(new Map([["a", new Map(Object.entries({ x: 1, y: 2 }))]]));
});

test("a set that loses its last value is dropped, and only then", () => {
  const sets = new Map([
    ["a", new Set([1, 2])],
    ["empty", new Set<number>()],
  ]);
  deleteIn(sets, "a", 3);
  deleteIn(sets, "empty", 3);
  deleteIn(sets, "none", 3);
  deleteIn(sets, "a", 1);
  expect(sets.get("a")).toEqual(new Set([2]));
  deleteIn(sets, "a", 2);
  expect([...sets.keys()]).toEqual(["empty"]);
});

test("a count that reaches zero is dropped", () => {
  const counts = new Map<string, number>();
  count(counts, "a", 1);
  count(counts, "a", 2);
  expect(counts).toEqual(new Map([["a", 3]]));
  count(counts, "a", -3);
  expect(counts.size).toBe(0);
});

test("of more than the most the one that was set longest ago goes, and one that is set again is the newest", () => {
  const map = new Map<string | undefined, number>();
  for (const [value, key] of ["a", undefined, "a", "b", "c"].entries()) setNewest(map, key, value, 2);
  expect([...map]).toEqual([
    ["b", 3],
    ["c", 4],
  ]);
  setNewest(map, "b", 5, 2);
  setNewest(map, undefined, 6, 2);
  expect([...map]).toEqual([
    ["b", 5],
    [undefined, 6],
  ]);
});
