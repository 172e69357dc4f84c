/** Names become numbers, each once, in the order of their first mention, whatever was asked before. */
import { expect, test } from "vitest";
import { type NodeName, nodeName } from "../../src/scheduling/names.ts";
import { NodeNumbers } from "../../src/scheduling/node-numbers.ts";

interface Entry {
  readonly id: number;
}

function numbered(...names: string[]): { numbers: NodeNumbers<Entry>; byName: Map<NodeName, Entry> } {
  const byName = new Map<NodeName, Entry>();
  const numbers = new NodeNumbers(byName);
  for (const name of names.map(nodeName))
    byName.set(
      name,
      numbers.add(name, (id) => ({ id })),
    );
  return { numbers, byName };
}

function asked(numbers: NodeNumbers<Entry>, ...names: string[]): string[] {
  const found = numbers.ask(names.map(nodeName));
  return found.names.map((name, index) => `${name}=${found.ids[index]}`);
}

const lists: Record<string, { names: readonly string[]; gives: readonly string[] }> = {
  none: { names: [], gives: [] },
  "all in the order of their numbers": { names: ["a", "b", "c"], gives: ["a=0", "b=1", "c=2"] },
  "all the other way round": { names: ["c", "b", "a"], gives: ["c=2", "b=1", "a=0"] },
  "one twice, side by side": { names: ["a", "a", "b"], gives: ["a=0", "b=1"] },
  "some twice, far apart": { names: ["a", "b", "a", "c", "b"], gives: ["a=0", "b=1", "c=2"] },
  "unknown ones": { names: ["x", "a", "y"], gives: ["x=-1", "a=0", "y=-1"] },
  "unknown ones twice": { names: ["x", "a", "x", "y", "y", "b"], gives: ["x=-1", "a=0", "y=-1", "b=1"] },
};

test.for(Object.entries(lists))("of a list with %s", ([, { names, gives }]) => {
  const { numbers } = numbered("a", "b", "c");
  expect(asked(numbers, ...names)).toEqual(gives);
  asked(numbers, "c", "a", "b", "x");
  expect(asked(numbers, ...names)).toEqual(gives);
  expect(asked(numbers, ...names)).toEqual(gives);
});

test("a list without repeats is given back as it is", () => {
  const names = ["b", "x", "a"].map(nodeName);
  expect(numbered("a", "b").numbers.ask(names).names).toBe(names);
});

test("the number of a node that is gone serves the next one, and no old guess is believed", () => {
  const { numbers, byName } = numbered("a", "b", "c");
  asked(numbers, "a", "b", "c");
  numbers.delete(1);
  byName.delete(nodeName("b"));
  expect(() => numbers.at(1)).toThrow("no node under number 1");
  expect(asked(numbers, "a", "b", "c")).toEqual(["a=0", "b=-1", "c=2"]);
  const entry = numbers.add(nodeName("d"), (id) => ({ id }));
  byName.set(nodeName("d"), entry);
  expect([entry.id, numbers.at(1)]).toEqual([1, entry]);
  expect(asked(numbers, "a", "d", "b", "c")).toEqual(["a=0", "d=1", "b=-1", "c=2"]);
  expect(numbers.add(nodeName("e"), (id) => ({ id })).id).toBe(3);
});

test("hundreds of nodes are asked about in any order, repeats or none", () => {
  // Room is made for 64 at first, and for twice as many as there are.
  for (const count of [63, 64, 65, 66, 300]) {
    const names = Array.from({ length: count }, (_, nth) => `n${nth}`);
    const { numbers } = numbered(...names);
    const all = names.map((name, nth) => `${name}=${nth}`);
    for (const _ of [1, 2]) {
      expect(asked(numbers, ...names)).toEqual(all);
      expect(asked(numbers, ...names, ...names)).toEqual(all);
      expect(asked(numbers, ...names.toReversed())).toEqual(all.toReversed());
    }
  }
});

test("numbers are written where those of the call before were, as long as there is room", () => {
  const { numbers } = numbered("a", "b");
  const ask = (count: number): Int32Array => numbers.ask(Array.from({ length: count }, () => nodeName("a"))).ids;
  const first = ask(1);
  expect([ask(2), ask(64), ask(1)].map((ids) => ids === first)).toEqual([true, true, true]);
  const longer = ask(65);
  expect([ask(65), ask(66), ask(1)].map((ids) => ids === longer)).toEqual([true, true, true]);
});

test("nobody is under a number that was never given", () => {
  expect(() => numbered().numbers.at(0)).toThrow("no node under number 0");
});
