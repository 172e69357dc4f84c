import { expect, test } from "vitest";
import { claimKey, compareText, splitKey } from "../../src/scheduling/names.ts";

test("a key is split at its only slash", () => {
  expect(splitKey(claimKey("team-a", "data-db-0"))).toEqual({ namespace: "team-a", name: "data-db-0" });
});

test.for([
  ["a", "b", -1],
  ["b", "a", 1],
  ["a", "a", 0],
  ["a", "aa", -1],
  ["Z", "a", -1],
  ["node-10", "node-9", -1],
] as const)("%s and %s are in byte order: %d", ([a, b, want]) => {
  expect(compareText(a, b)).toBe(want);
});
