/** Labels under numbers: equal ones share a number, and a number that is used again answers for its new labels. */
import { expect, test } from "vitest";
import { LabelSets } from "../../src/scheduling/label-sets.ts";
import { labelSelector, requirement } from "../../src/scheduling/selectors.ts";

const labels = (...pairs: [string, string][]): Map<string, string> => new Map(pairs);
const where = (key: string, ...values: string[]) => {
  const one = requirement(key, "In", values);
  return labelSelector(one ? [one] : []);
};

test("the order of labels makes no difference, a value does, and a key is never taken for a value", () => {
  const sets = new LabelSets();
  const id = sets.use(labels(["a", "1"], ["b", "2"]));
  expect(sets.use(labels(["b", "2"], ["a", "1"]))).toBe(id);
  const others = [labels(["a", "1"]), labels(["a", "2"], ["b", "1"]), labels(["a", "1,b"]), labels()];
  expect(new Set([id, ...others.map((one) => sets.use(one))]).size).toBe(5);
});

test("labels stay until their last use ends; then their number serves others, and no old answer does", () => {
  const sets = new LabelSets();
  const red = where("color", "red");
  const id = sets.use(labels(["color", "red"]));
  sets.use(labels(["color", "red"]));
  expect(sets.matchesOf(red).has(id)).toBe(true);
  sets.release(id);
  expect(sets.at(id)).toEqual(labels(["color", "red"]));
  sets.release(id);
  expect(() => sets.at(id)).toThrow(`no labels under number ${id}`);
  expect(sets.use(labels(["color", "blue"]))).toBe(id);
  expect(sets.matchesOf(red).has(id)).toBe(false);
  expect(sets.use(labels(["color", "red"]))).not.toBe(id);
});

test("what one claim has learnt of its selector serves the next that asks the same", () => {
  const sets = new LabelSets();
  const known = sets.matchesOf(where("color", "red"));
  expect(sets.matchesOf(where("color", "red"))).toBe(known);
  expect(sets.matchesOf(where("color", "blue"))).not.toBe(known);
});

test("answers of many selectors, over more sets than there were when they were first asked", () => {
  const sets = new LabelSets();
  const selectors = Array.from({ length: 40 }, (_, number) => where("n", `${number}`, `${number + 1}`));
  const ids: number[] = [];
  for (let number = 0; number < 200; number++) {
    ids.push(sets.use(labels(["n", `${number}`])));
    const at = number % selectors.length;
    const found = ids.flatMap((id, index) => (sets.matchesOf(selectors[at] ?? where("n")).has(id) ? [index] : []));
    expect(found).toEqual([at, at + 1].filter((one) => one <= number));
  }
});
