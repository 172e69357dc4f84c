/**
 * Free volumes that one node alone reaches, node by node: what most decisions read, and all that they read of a node.
 *
 * One `Blocks` for each class. A node's first volumes by (capacity, name), as many as one cache line has room for, lie beside
 * those of the nodes next to it; what comes after them lies in one piece behind all of these, with slack:
 *
 *     lengths   2        7        0          │ by node
 *     slots     ■ ■ · ·  ■ ■ ■ ■  · · · ·    │ heads, by node
 *               ■ ■ ■ · …                    │ tails: here of the second node
 *               │
 *               └ 16 bytes: capacity (float64) │ volume (int32) │ offer (int32)
 *                 offer: access modes, mode, assumed, held, attributes class: `volume-table.ts` has the bits
 *
 * So a claim that the first disks of a node serve costs one cache line, the next node's follows it, and a call reads as much as
 * it would if no node had more volumes. The blocks are a copy of what the topologies' slabs say, and may be dropped at any
 * time: a change of what a node reaches strikes its block out (length -1: written anew when a decision next asks), a promise
 * changes an offer in place. A tail that outgrows its room moves to the end; once more than half of the tails lie waste all
 * blocks are struck out and written anew.
 */
import type { NodeId } from "./node-numbers.ts";
import type { VolumeId } from "./volume-table.ts";

/** Slots by (capacity, name), in one piece or two. */
export interface Run {
  /** Of slot `s` at `2 × s`. Capacity rounded to a double, as in the volume table. */
  readonly capacities: Float64Array;
  /** The same bytes. Of slot `s` its volume at `4 × s + 2`, its offer at `4 × s + 3`. */
  readonly words: Int32Array;
  /** The slot of position `p` is `head + p` among the first four, `tail + p` after them. */
  readonly head: number;
  readonly tail: number;
  readonly length: number;
}

/** Slots of a cache line. */
const headLength = 4;

export function makeRun(length: number): Run {
  const capacities = new Float64Array(2 * length);
  return { capacities, words: new Int32Array(capacities.buffer), head: 0, tail: 0, length };
}

export function slotOf({ head, tail }: Pick<Run, "head" | "tail">, position: number): number {
  return (position < headLength ? head : tail) + position;
}

/** What a slot says of a volume. */
export interface SlotSource {
  readonly size: Float64Array;
  offerOf(id: VolumeId): number;
}

export function writeSlot(
  { capacities, words }: Pick<Run, "capacities" | "words">,
  slot: number,
  id: VolumeId,
  from: SlotSource,
): void {
  capacities[2 * slot] = from.size[id] ?? 0;
  words[4 * slot + 2] = id;
  words[4 * slot + 3] = from.offerOf(id);
}

const struckOut = -1;
/** Slots below which nobody minds the waste. */
const wasteFrom = 1_024;

export class Blocks {
  capacities = new Float64Array(0);
  words = new Int32Array(this.capacities.buffer);
  /** By node, as in `Run`. */
  tails = new Int32Array(0);
  lengths = new Int32Array(0);
  /** Slots that each node has for its tail, used or not. */
  #rooms = new Int32Array(0);
  /** Of all tails. */
  #end = 0;
  #waste = 0;

  /** Volumes in the node's block; -1 where it must be written first. */
  lengthOf(node: NodeId): number {
    return this.lengths[node] ?? struckOut;
  }

  /** As in `Run`. */
  headOf(node: NodeId): number {
    return headLength * node;
  }

  strikeOut(node: NodeId): void {
    if (node < this.lengths.length) this.lengths[node] = struckOut;
  }

  /** @param ids  the node's volumes by (capacity, name) */
  write(node: NodeId, ids: readonly VolumeId[], from: SlotSource): void {
    if (node >= this.lengths.length) this.#growNodes(node);
    if (ids.length - headLength > (this.#rooms[node] ?? 0)) this.#move(node, ids.length - headLength);
    const place = this.#placeOf(node);
    for (let position = 0; position < ids.length; position++) {
      writeSlot(this, slotOf(place, position), ids[position] ?? 0, from);
    }
    this.lengths[node] = ids.length;
  }

  /** A promise was made or ended. */
  setOffer(node: NodeId, id: VolumeId, offer: number): void {
    const length = this.lengthOf(node);
    const place = this.#placeOf(node);
    for (let position = 0; position < length; position++) {
      const slot = slotOf(place, position);
      if (this.words[4 * slot + 2] !== id) continue;
      this.words[4 * slot + 3] = offer;
      return;
    }
  }

  #placeOf(node: NodeId): Pick<Run, "head" | "tail"> {
    return { head: this.headOf(node), tail: this.tails[node] ?? 0 };
  }

  #move(node: NodeId, length: number): void {
    this.#waste += this.#rooms[node] ?? 0;
    if (this.#waste > wasteFrom && this.#waste > (this.#end - this.#headsEnd) / 2) this.#strikeAllOut();
    // Whole cache lines.
    const room = (length + (length >> 2) + headLength) & -headLength;
    this.#growSlots(this.#end + room);
    this.tails[node] = this.#end - headLength;
    this.#rooms[node] = room;
    this.#end += room;
  }

  #strikeAllOut(): void {
    this.lengths.fill(struckOut);
    this.#rooms.fill(0);
    this.#end = this.#headsEnd;
    this.#waste = 0;
  }

  get #headsEnd(): number {
    return headLength * this.lengths.length;
  }

  /** The tails make way for more heads. */
  #growNodes(node: NodeId): void {
    const length = Math.max(64, 2 * this.lengths.length, node + 1);
    const grown = (from: Int32Array, fill: number): Int32Array<ArrayBuffer> => {
      const to = new Int32Array(length).fill(fill);
      to.set(from);
      return to;
    };
    const before = this.#headsEnd;
    this.tails = grown(this.tails, 0);
    this.lengths = grown(this.lengths, struckOut);
    this.#rooms = grown(this.#rooms, 0);
    const by = this.#headsEnd - before;
    this.#end += by;
    this.#growSlots(this.#end);
    this.words.copyWithin(4 * this.#headsEnd, 4 * before);
    this.tails = this.tails.map((tail) => tail + by);
  }

  #growSlots(atLeast: number): void {
    if (atLeast <= this.words.length / 4) return;
    const capacities = new Float64Array(2 * Math.max(atLeast, this.words.length / 2));
    capacities.set(this.capacities);
    this.capacities = capacities;
    this.words = new Int32Array(capacities.buffer);
  }
}
