/**
 * All claims of a Pod for one class onto one node's volumes at once, exactly (departure D1).
 *
 * A matching with weights on its vertices only, so greedy choice by augmenting paths is optimal on both sides:
 * claims, must-be-static and large ones first, give the most static claims and the least left to provision; volumes, small
 * ones first, give the least surplus; and one matching covers both choices at once (Mendelsohn and Dulmage). Among what is
 * then equal, claims in name order take the smallest volume by (capacity, name) that still leaves the others served.
 * Comparisons only, no sums: sizes beyond 2^53 need no special care. Cost: claims × wishes.
 */
import { Matching, type Wishes } from "./bipartite.ts";

const none = -1;

/** Kept for its space. */
export class Assignment {
  readonly #byImportance = new Matching();
  readonly #byPrice = new Matching();
  readonly #dealt = new Matching();
  readonly #takers: Wishes = { starts: new Int32Array(1), to: new Int32Array(0) };

  /**
   * @param wishes       per claim, in name order, the volumes it may take, as ranks in one order of preference, ascending
   * @param order        claims, the most important first
   * @param volumeCount  ranks run from 0 to volumeCount - 1
   * @returns            per claim its volume's rank, or -1; every claim that can be served together with all more important
   *                     served ones is served
   */
  assign(wishes: Wishes, order: readonly number[], volumeCount: number): Int32Array {
    const ranks = new Int32Array(order.length).fill(none);
    this.#byImportance.reset(wishes, volumeCount);
    let servedCount = 0;
    for (const claim of order) {
      if (!this.#byImportance.add(claim)) continue;
      ranks[claim] = 0;
      servedCount++;
    }
    this.#takeCheapest(wishes, ranks, servedCount, volumeCount);
    this.#dealInNameOrder(wishes, ranks, volumeCount);
    return ranks;
  }

  /** Matches the served claims to the cheapest set of volumes. @param ranks  -1 for who is not served; filled in */
  #takeCheapest(wishes: Wishes, ranks: Int32Array, servedCount: number, volumeCount: number): void {
    this.#turnAround(wishes, ranks, volumeCount);
    this.#byPrice.reset(this.#takers, ranks.length);
    let left = servedCount;
    for (let volume = 0; volume < volumeCount && left > 0; volume++) if (this.#byPrice.add(volume)) left--;
    for (let claim = 0; claim < ranks.length; claim++) ranks[claim] = this.#byPrice.partner[claim] ?? none;
  }

  /** The same volumes dealt anew: in name order, each claim the first that leaves all later claims served. */
  #dealInNameOrder(wishes: Wishes, ranks: Int32Array, volumeCount: number): void {
    const dealt = this.#dealt;
    dealt.reset(wishes, volumeCount);
    for (let claim = 0; claim < ranks.length; claim++) {
      const volume = ranks[claim] ?? none;
      if (volume !== none) dealt.partner[volume] = claim;
    }
    for (let volume = 0; volume < volumeCount; volume++) if (dealt.partner[volume] === none) dealt.fix(volume);
    for (let claim = 0; claim < ranks.length; claim++) {
      if (ranks[claim] === none) continue;
      const mine = dealt.partner.indexOf(claim);
      dealt.beginExchanges();
      const end = wishes.starts[claim + 1] ?? 0;
      let granted = mine;
      for (let wish = wishes.starts[claim] ?? 0; wish < end; wish++) {
        const volume = wishes.to[wish] ?? 0;
        if (volume !== mine && !dealt.exchange(claim, mine, volume)) continue;
        granted = volume;
        break;
      }
      // No later claim may move it.
      dealt.fix(granted);
      ranks[claim] = granted;
    }
  }

  /** Per volume, the served claims that wish for it. */
  #turnAround({ starts, to }: Wishes, ranks: Int32Array, volumeCount: number): void {
    const takers = this.#takers;
    if (takers.starts.length < volumeCount + 2) takers.starts = new Int32Array(2 * volumeCount + 2);
    if (takers.to.length < to.length) takers.to = new Int32Array(to.length);
    // One place further than where they belong: filling moves each start to where its volume's takers end.
    takers.starts.fill(0, 0, volumeCount + 2);
    for (let claim = 0; claim < ranks.length; claim++) {
      if (ranks[claim] === none) continue;
      for (let wish = starts[claim] ?? 0; wish < (starts[claim + 1] ?? 0); wish++) {
        const place = (to[wish] ?? 0) + 2;
        takers.starts[place] = (takers.starts[place] ?? 0) + 1;
      }
    }
    for (let place = 2; place < volumeCount + 2; place++) {
      takers.starts[place] = (takers.starts[place] ?? 0) + (takers.starts[place - 1] ?? 0);
    }
    for (let claim = 0; claim < ranks.length; claim++) {
      if (ranks[claim] === none) continue;
      for (let wish = starts[claim] ?? 0; wish < (starts[claim + 1] ?? 0); wish++) {
        const place = (to[wish] ?? 0) + 1;
        takers.to[takers.starts[place] ?? 0] = claim;
        takers.starts[place] = (takers.starts[place] ?? 0) + 1;
      }
    }
  }
}
