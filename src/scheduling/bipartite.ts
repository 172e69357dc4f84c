/**
 * A matching that grows by augmenting paths: what was matched on the left stays matched, though perhaps to another partner.
 * "Left" are claims and "right" volumes, or the other way round; both are numbered from 0.
 *
 * Searches that fail one after another share their marks: from a vertex that one of them could not lead to an end, none of them
 * can. So all failures between two successes cost one pass over the wishes, and no more searches succeed than there are pairs.
 */

/** Left vertex `v` wishes for `to[starts[v]]` up to, not including, `to[starts[v + 1]]`. */
export interface Wishes {
  starts: Int32Array;
  to: Int32Array;
}

const none = -1;
const fixed = 2 ** 31 - 1;

/** Kept for its space: `reset` begins another one. */
export class Matching {
  /** Per right vertex its partner, or -1. */
  partner = new Int32Array(0);
  #wishes: Wishes = { starts: new Int32Array(1), to: new Int32Array(0) };
  /** The search that last visited each right vertex. */
  #visited = new Int32Array(0);
  #search = 1;

  /** Nobody has a partner. The wishes are read, not copied. */
  reset(wishes: Wishes, rightCount: number): void {
    this.#wishes = wishes;
    if (this.partner.length < rightCount) {
      this.partner = new Int32Array(2 * rightCount);
      this.#visited = new Int32Array(2 * rightCount);
    }
    this.partner.fill(none, 0, rightCount);
    this.#visited.fill(0, 0, rightCount);
    this.#search = 1;
  }

  /** Gives `left` a partner, moving others along a path; false, with nothing changed, where that cannot be. */
  add(left: number): boolean {
    if (!this.#augment(left)) return false;
    this.#search++;
    return true;
  }

  /** Before the first `exchange` of another left vertex. */
  beginExchanges(): void {
    this.#search++;
  }

  /** Gives `left` this partner, and whoever had it another one; false, with nothing changed, where that cannot be. */
  exchange(left: number, from: number, to: number): boolean {
    if ((this.#visited[to] ?? 0) >= this.#search) return false;
    const displaced = this.partner[to] ?? none;
    this.#visited[to] = this.#search;
    this.partner[from] = none;
    this.partner[to] = left;
    if (displaced === none || this.#augment(displaced)) return true;
    this.partner[from] = left;
    this.partner[to] = displaced;
    return false;
  }

  /** No search passes through this right vertex any more, and nobody exchanges for it. */
  fix(right: number): void {
    this.#visited[right] = fixed;
  }

  #augment(left: number): boolean {
    const { starts, to } = this.#wishes;
    const end = starts[left + 1] ?? 0;
    for (let wish = starts[left] ?? 0; wish < end; wish++) {
      const right = to[wish] ?? 0;
      if ((this.#visited[right] ?? 0) >= this.#search) continue;
      this.#visited[right] = this.#search;
      const holder = this.partner[right] ?? none;
      if (holder === none || this.#augment(holder)) {
        this.partner[right] = left;
        return true;
      }
    }
    return false;
  }
}
