/**
 * Free volumes that one node alone reaches, node by node: what most decisions read, and all that they read of a node.
 *
 * One `Blocks` for each class. A node's volumes lie side by side by (capacity, name), with slack behind them:
 *
 *     starts    0              7         │ by node
 *     lengths   5              3         │ -1: struck out, written anew when a decision next asks
 *     slots     ■ ■ ■ ■ ■ · ·  ■ ■ ■ ·   │
 *               │
 *               └ 16 bytes: capacity (float64) │ volume (int32) │ offer (int32)
 *                 offer: access modes, mode, assumed, held, attributes class: `volume-table.ts` has the bits
 *
 * So a claim that the first disk of a node serves costs one cache line, however many volumes the node has. The blocks are a
 * copy of what the topologies' slabs say, and may be dropped at any time: a change of what a node reaches strikes its block
 * out, a promise changes an offer in place. A block that outgrows its room moves to the end; once more than half of the slots
 * lie waste all blocks are struck out and written anew, side by side again.
 */
import type { NodeId } from "./node-numbers.ts";
import type { VolumeId } from "./volume-table.ts";

/** Slots side by side, by (capacity, name). */
export interface Run {
  /** Of slot `s` at `2 × s`. Capacity rounded to a double, as in the volume table. */
  readonly capacities: Float64Array;
  /** The same bytes. Of slot `s` its volume at `4 × s + 2`, its offer at `4 × s + 3`. */
  readonly words: Int32Array;
  readonly start: number;
  readonly length: number;
}

export function makeRun(length: number): Run {
  const capacities = new Float64Array(2 * length);
  return { capacities, words: new Int32Array(capacities.buffer), start: 0, length };
}

/** What a slot says of a volume. */
export interface SlotSource {
  readonly size: Float64Array;
  offerOf(id: VolumeId): number;
}

export function writeSlot(
  { capacities, words }: Omit<Run, "length">,
  slot: number,
  id: VolumeId,
  from: SlotSource,
): void {
  capacities[2 * slot] = from.size[id] ?? 0;
  words[4 * slot + 2] = id;
  words[4 * slot + 3] = from.offerOf(id);
}

const struckOut = -1;
const slotsPerLine = 4;
/** Slots below which nobody minds the waste. */
const wasteFrom = 1_024;

export class Blocks {
  capacities = new Float64Array(128);
  words = new Int32Array(this.capacities.buffer);
  starts = new Int32Array(0);
  lengths = new Int32Array(0);
  /** Slots that each node has, used or not. */
  #rooms = new Int32Array(0);
  #end = 0;
  #waste = 0;

  /** Volumes in the node's block; -1 where it must be written first. */
  lengthOf(node: NodeId): number {
    return this.lengths[node] ?? struckOut;
  }

  strikeOut(node: NodeId): void {
    if (node < this.lengths.length) this.lengths[node] = struckOut;
  }

  /** @param ids  the node's volumes by (capacity, name) */
  write(node: NodeId, ids: readonly VolumeId[], from: SlotSource): void {
    if (node >= this.lengths.length) this.#growNodes(node);
    if (ids.length > (this.#rooms[node] ?? 0)) this.#move(node, ids.length);
    const start = this.starts[node] ?? 0;
    const to = { capacities: this.capacities, words: this.words, start };
    for (let index = 0; index < ids.length; index++) writeSlot(to, start + index, ids[index] ?? 0, from);
    this.lengths[node] = ids.length;
  }

  /** A promise was made or ended. */
  setOffer(node: NodeId, id: VolumeId, offer: number): void {
    const start = this.starts[node] ?? 0;
    const end = start + this.lengthOf(node);
    for (let slot = start; slot < end; slot++) {
      if (this.words[4 * slot + 2] !== id) continue;
      this.words[4 * slot + 3] = offer;
      return;
    }
  }

  #move(node: NodeId, length: number): void {
    this.#waste += this.#rooms[node] ?? 0;
    if (this.#waste > wasteFrom && this.#waste > this.#end / 2) this.#strikeAllOut();
    // Whole cache lines, so that the first disks of a node are in one.
    const room = (length + (length >> 2) + slotsPerLine) & -slotsPerLine;
    if (this.#end + room > this.words.length / 4) this.#growSlots(this.#end + room);
    this.starts[node] = this.#end;
    this.#rooms[node] = room;
    this.#end += room;
  }

  #strikeAllOut(): void {
    this.lengths.fill(struckOut);
    this.#rooms.fill(0);
    this.#end = 0;
    this.#waste = 0;
  }

  #growNodes(node: NodeId): void {
    const length = Math.max(64, 2 * this.lengths.length, node + 1);
    const grown = (from: Int32Array, fill: number): Int32Array<ArrayBuffer> => {
      const to = new Int32Array(length).fill(fill);
      to.set(from);
      return to;
    };
    this.starts = grown(this.starts, 0);
    this.lengths = grown(this.lengths, struckOut);
    this.#rooms = grown(this.#rooms, 0);
  }

  #growSlots(atLeast: number): void {
    const capacities = new Float64Array(2 * Math.max(atLeast, this.words.length / 2));
    capacities.set(this.capacities);
    this.capacities = capacities;
    this.words = new Int32Array(capacities.buffer);
  }
}
