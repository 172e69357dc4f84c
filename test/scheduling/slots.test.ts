/** A node's slots say what was written last, however the blocks of other nodes grow, move and are struck out. */
import { expect, test } from "vitest";
import { Blocks, slotOf } from "../../src/scheduling/blocks.ts";

const size = Float64Array.from({ length: 3_000 }, (_, id) => id * 1.5);
const from = { size, offerOf: (id: number): number => id + 7 };

/** "volume capacity offer" of each slot of the node; undefined where it must be written first. */
function read(blocks: Blocks, node: number): string[] | undefined {
  const length = blocks.lengthOf(node);
  if (length < 0) return undefined;
  return Array.from({ length }, (_, nth) => {
    const slot = slotOf({ head: blocks.headOf(node), tail: blocks.tails[node] ?? 0 }, nth);
    return `${blocks.words[4 * slot + 2]} ${blocks.capacities[2 * slot]} ${blocks.words[4 * slot + 3]}`;
  });
}

const written = (ids: readonly number[]): string[] => ids.map((id) => `${id} ${size[id]} ${id + 7}`);
const range = (first: number, length: number): number[] => Array.from({ length }, (_, nth) => first + nth);

test("a node that was never written, or is struck out, must be written", () => {
  const blocks = new Blocks();
  expect(read(blocks, 0)).toBeUndefined();
  blocks.strikeOut(3);
  blocks.write(0, [4, 2], from);
  expect([read(blocks, 0), read(blocks, 1), read(blocks, 500)]).toEqual([written([4, 2]), undefined, undefined]);
  blocks.write(1, [], from);
  expect(read(blocks, 1)).toEqual([]);
  blocks.strikeOut(0);
  blocks.strikeOut(64);
  expect([read(blocks, 0), read(blocks, 1)]).toEqual([undefined, []]);
});

test("nodes keep what is theirs as others come, by whatever numbers", () => {
  const blocks = new Blocks();
  const nodes = [0, 63, 64, 1, 200, 129, 1_000, 65];
  for (const [nth, node] of nodes.entries()) {
    blocks.write(node, range(20 * nth, 9 + nth), from);
    for (const [before, known] of nodes.slice(0, nth + 1).entries())
      expect(read(blocks, known)).toEqual(written(range(20 * before, 9 + before)));
  }
  expect(blocks.lengthOf(66)).toBe(-1);
});

test("heads lie side by side, and a tail stays in its place while it has room", () => {
  const blocks = new Blocks();
  const rooms = [
    [0, 4],
    [4, 4],
    [5, 8],
    [8, 12],
    [10, 12],
    [12, 16],
  ] as const;
  // Room for 64 nodes is made at once, and a tail's first position is the fifth.
  let tail = 4 * 64 - 4;
  for (const [node, [length, room]] of rooms.entries()) {
    blocks.write(node, range(0, length), from);
    expect(blocks.headOf(node)).toBe(4 * node);
    if (length <= 4) continue;
    expect(blocks.tails[node]).toBe(tail);
    blocks.write(node, range(100, room), from);
    expect(blocks.tails[node]).toBe(tail);
    tail += room - 4;
  }
  blocks.write(1, range(0, 5), from);
  expect(blocks.tails[1]).toBe(tail);
  expect(read(blocks, 2)).toEqual(written(range(100, 8)));
});

test("an offer changes in its own slot only", () => {
  const blocks = new Blocks();
  for (const node of [0, 1]) blocks.write(node, [1, 2, 3], from);
  blocks.setOffer(1, 2, 99);
  blocks.setOffer(1, 5, 99);
  expect([read(blocks, 0), read(blocks, 1)]).toEqual([written([1, 2, 3]), ["1 1.5 8", "2 3 99", "3 4.5 10"]]);
  blocks.strikeOut(0);
  blocks.setOffer(0, 1, 99);
  blocks.setOffer(70, 1, 99);
  expect([read(blocks, 0), read(blocks, 1)?.[0]]).toEqual([undefined, "1 1.5 8"]);
});

test("once more than half of many slots lie waste all are written anew, from the start", () => {
  const blocks = new Blocks();
  blocks.write(1, range(0, 3), from);
  for (let length = 10; length <= 800; length += 10) {
    blocks.write(0, range(0, length), from);
    expect(read(blocks, 0)).toEqual(written(range(0, length)));
  }
  expect(read(blocks, 1)).toBeUndefined();
  expect(blocks.tails[0]).toBeLessThan(2_400);
  expect(blocks.words.length / 4).toBeLessThan(8_192);
  blocks.write(1, range(9, 3), from);
  expect([read(blocks, 0), read(blocks, 1)]).toEqual([written(range(0, 800)), written(range(9, 3))]);
});

test("little waste is left alone", () => {
  const blocks = new Blocks();
  blocks.write(1, range(0, 3), from);
  for (let length = 10; length <= 200; length += 10) blocks.write(0, range(0, length), from);
  expect(read(blocks, 1)).toEqual(written(range(0, 3)));
});
