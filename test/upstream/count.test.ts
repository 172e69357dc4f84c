import { expect, test } from "vitest";
import { countScenarios, type Shown } from "./count.ts";
import { realCluster } from "./kinds.ts";

const real = Object.keys(realCluster).map(Number);
const own = Array.from({ length: 200 }, (_, index) => index + 1).filter((number) => !real.includes(number));
const all = (became: Shown["became"], numbers: readonly number[], kind: Shown["kind"]): Shown[] =>
  numbers.map((number) => ({ number, kind, became }));

test.for([
  {
    name: "all that passed is counted by kind",
    tests: [...all("passed", own, "core"), ...all("passed", real, "real cluster")],
    want: { line: "upstream scenarios: 200 of 200 (core 186 of 186, real cluster 14 of 14)", enough: true },
  },
  {
    name: "one that failed is not counted, and too few fail a whole run",
    tests: [
      ...all("passed", own.slice(1), "core"),
      ...all("failed", own.slice(0, 1), "core"),
      ...all("passed", real, "real cluster"),
    ],
    want: { line: "upstream scenarios: 199 of 200 (core 185 of 186, real cluster 14 of 14)", enough: false },
  },
  {
    name: "a number is counted once however often it passed",
    tests: [...all("passed", [...own, 1, 1], "wait"), ...all("failed", real, "real cluster")],
    want: { line: "upstream scenarios: 186 of 200 (wait 186 of 186, real cluster 0 of 14)", enough: false },
  },
])("$name", ({ tests, want }) => {
  expect(countScenarios(tests, { complete: true })).toEqual(want);
});

test("without the real control plane the rest is enough, unless all was asked for", () => {
  const tests = [...all("passed", own, "core"), ...all("skipped", real, "real cluster")];
  const line = "upstream scenarios: 186 of 200: 14 need the real control plane (core 186 of 186, real cluster 0 of 14)";
  expect(countScenarios(tests, { complete: false })).toEqual({ line, enough: true });
  expect(countScenarios(tests, { complete: true })?.enough).toBe(false);
});

test("a run without any of them says nothing of them", () => {
  expect(countScenarios([], { complete: true })).toBeUndefined();
});
