/** A matching grows by augmenting paths, and a failed step leaves it as it was. */
import { expect, test } from "vitest";
import { Matching, type Wishes } from "../../src/scheduling/bipartite.ts";

function wishesOf(...lists: readonly (readonly number[])[]): Wishes {
  const starts = [0];
  for (const list of lists) starts.push((starts.at(-1) ?? 0) + list.length);
  return { starts: Int32Array.from(starts), to: Int32Array.from(lists.flat()) };
}

const grown: Record<
  string,
  { wishes: readonly (readonly number[])[]; served: readonly boolean[]; partners: readonly number[] }
> = {
  "each its first": { wishes: [[0, 1], [1]], served: [true, true], partners: [0, 1] },
  "one that makes way": { wishes: [[0, 1], [0]], served: [true, true], partners: [1, 0] },
  "two that make way, one after the other": {
    wishes: [[0, 1], [1, 2], [0]],
    served: [true, true, true],
    partners: [2, 0, 1],
  },
  "one that cannot be served": { wishes: [[0], [0], [1]], served: [true, false, true], partners: [0, 2] },
  "one without wishes": { wishes: [[], [0]], served: [false, true], partners: [1] },
  "the last of many failures": {
    wishes: [[0], [0], [0], [0, 1]],
    served: [true, false, false, true],
    partners: [0, 3],
  },
};

test.for(Object.entries(grown))("a matching of %s", ([, { wishes, served, partners }]) => {
  const matching = new Matching();
  for (const _ of ["new", "used again"]) {
    matching.reset(wishesOf(...wishes), partners.length);
    expect(wishes.map((_, left) => matching.add(left))).toEqual(served);
    expect([...matching.partner.subarray(0, partners.length)]).toEqual(partners);
    // Something larger in between leaves nothing behind.
    matching.reset(wishesOf([0, 1, 2, 3], [3], [2]), 4);
    expect([0, 1, 2].map((left) => matching.add(left))).toEqual([true, true, true]);
    matching.fix(0);
  }
});

test("an exchange moves whoever had the partner, or changes nothing", () => {
  const matching = new Matching();
  matching.reset(wishesOf([0, 1], [1, 2], [2]), 3);
  for (const left of [0, 1]) matching.add(left);
  matching.beginExchanges();
  expect(matching.exchange(0, 0, 1)).toBe(true);
  expect([...matching.partner.subarray(0, 3)]).toEqual([-1, 0, 1]);
  expect(matching.add(2)).toBe(false);
  matching.beginExchanges();
  // Claim 1 has 2 and wants 1: claim 0 goes back to 0.
  expect(matching.exchange(1, 2, 1)).toBe(true);
  expect([...matching.partner.subarray(0, 3)]).toEqual([0, 1, -1]);
  matching.add(2);
  matching.beginExchanges();
  expect(matching.exchange(1, 1, 2)).toBe(false);
  expect([...matching.partner.subarray(0, 3)]).toEqual([0, 1, 2]);
  expect(matching.exchange(0, 0, 2)).toBe(false);
});

test("what is fixed is neither passed through nor exchanged for", () => {
  const matching = new Matching();
  matching.reset(wishesOf([0, 1], [0, 2], [0]), 3);
  matching.add(0);
  matching.fix(0);
  matching.beginExchanges();
  expect(matching.exchange(1, 2, 0)).toBe(false);
  expect([matching.add(2), matching.add(1)]).toEqual([false, true]);
  expect([...matching.partner.subarray(0, 3)]).toEqual([0, -1, 1]);
});

test("an exchange for a partner that nobody has needs nobody to move", () => {
  const matching = new Matching();
  matching.reset(wishesOf([0, 1]), 2);
  matching.add(0);
  matching.beginExchanges();
  expect(matching.exchange(0, 0, 1)).toBe(true);
  expect([...matching.partner.subarray(0, 2)]).toEqual([-1, 0]);
});
