/**
 * Free volumes of one class in one topology by (capacity, name). In pieces: where all nodes reach one disk array, a slab has as many
 * volumes as the cluster, and to make room in one long list for each would take time with the square of their number.
 */
import type { VolumeId } from "./volume-table.ts";

/** Moving so many numbers along costs no more than finding the place. */
const pieceMax = 512;

export class Slab {
  /** None is empty. */
  readonly #pieces: VolumeId[][] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  *[Symbol.iterator](): Generator<VolumeId> {
    for (const piece of this.#pieces) yield* piece;
  }

  /** From the first on that is not `before`, which all are up to some place and none behind it. */
  *from(before: (id: VolumeId) => boolean): Generator<VolumeId> {
    const first = this.#pieceAt(before);
    for (let index = first; index < this.#pieces.length; index++) {
      const piece = this.#pieces[index] ?? [];
      for (let at = index === first ? placeIn(piece, before) : 0; at < piece.length; at++) yield piece[at] ?? 0;
    }
  }

  /** Not to be changed, nor kept across a change. */
  toArray(): readonly VolumeId[] {
    const [only] = this.#pieces;
    return only && this.#pieces.length === 1 ? only : this.#pieces.flat();
  }

  add(id: VolumeId, compare: (a: VolumeId, b: VolumeId) => number): void {
    const before = (other: VolumeId): boolean => compare(other, id) < 0;
    const index = Math.max(0, Math.min(this.#pieceAt(before), this.#pieces.length - 1));
    const piece = this.#pieces[index] ?? [];
    if (this.#pieces.length === 0) this.#pieces.push(piece);
    piece.splice(placeIn(piece, before), 0, id);
    this.#length++;
    if (piece.length > pieceMax) this.#pieces.splice(index + 1, 0, piece.splice(pieceMax >> 1));
  }

  /** Only what was added, and compares as it did then. */
  remove(id: VolumeId, compare: (a: VolumeId, b: VolumeId) => number): void {
    const before = (other: VolumeId): boolean => compare(other, id) < 0;
    const index = this.#pieceAt(before);
    const piece = this.#pieces[index] ?? [];
    piece.splice(placeIn(piece, before), 1);
    this.#length--;
    if (piece.length === 0) this.#pieces.splice(index, 1);
  }

  /** The first piece that does not lie before the place; their number where all do. */
  #pieceAt(before: (id: VolumeId) => boolean): number {
    return lowerBound(this.#pieces.length, (index) => before(this.#pieces[index]?.at(-1) ?? 0));
  }
}

function placeIn(piece: readonly VolumeId[], before: (id: VolumeId) => boolean): number {
  return lowerBound(piece.length, (at) => before(piece[at] ?? 0));
}

function lowerBound(length: number, isBefore: (at: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
