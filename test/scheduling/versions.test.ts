import { expect, test } from "vitest";
import { isLaterVersion } from "../../src/scheduling/versions.ts";

test.for([
  ["10", "9", true],
  ["9", "10", false],
  ["9", "9", false],
  ["123456789012345678901234567891", "123456789012345678901234567890", true],
  ["x9", "10", undefined],
  ["9x", "10", undefined],
  ["9", "x", undefined],
  ["", "1", undefined],
  ["1", "1".repeat(31), undefined],
] as const)("%s was written after %s: %s", ([a, b, want]) => {
  expect(isLaterVersion(a, b)).toBe(want);
});
