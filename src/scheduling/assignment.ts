/**
 * All claims of a Pod onto one node's volumes at once, exactly (departure D1).
 *
 * A matching with weights on its vertices only, so greedy choice by augmenting paths is optimal on both sides:
 * claims, must-be-static and large ones first, give the most static claims and the least left to provision; volumes, small
 * ones first, give the least surplus; and one matching covers both choices at once (Mendelsohn and Dulmage). Among what is
 * then equal, claims in name order take the smallest volume by (capacity, name) that still leaves the others served.
 * Comparisons only, no sums: sizes beyond 2^53 need no special care. Cost: claims² × candidates.
 */

const none = -1;

/**
 * @param candidates   per claim, the volumes it may take, as ranks in one common order of preference, ascending
 * @param claimOrder   claim indices, the most important first
 * @param volumeCount  ranks run from 0 to volumeCount - 1
 * @returns            per claim its volume's rank, or -1; every claim that can be served together with all more
 *                     important served ones is served
 */
export function assign(
  candidates: readonly (readonly number[])[],
  claimOrder: readonly number[],
  volumeCount: number,
): number[] {
  const byImportance = new Matching(candidates, volumeCount);
  const served = candidates.map(() => false);
  for (const claim of claimOrder) served[claim] = byImportance.add(claim);
  const chosen = cheapestVolumes(candidates, served, volumeCount);
  return dealInNameOrder(candidates, chosen, volumeCount);
}

/**
 * A matching that grows by augmenting paths: what was matched on the left stays matched, though perhaps to another partner.
 * "Left" are claims and "right" volumes, or the other way round.
 */
class Matching {
  /** Per right vertex its partner, or -1. */
  readonly partner: number[];
  readonly #wishes: readonly (readonly number[])[];
  /** The search in which each right vertex was last visited. */
  readonly #visited: number[];
  #search = 0;

  constructor(wishes: readonly (readonly number[])[], rightCount: number) {
    this.#wishes = wishes;
    this.partner = new Array<number>(rightCount).fill(none);
    this.#visited = new Array<number>(rightCount).fill(0);
  }

  /** Gives `left` a partner, moving others along a path; false, with nothing changed, where that cannot be. */
  add(left: number): boolean {
    this.#search++;
    return this.#augment(left);
  }

  /** Gives `left` this partner, and whoever had it another one; false, with nothing changed, where that cannot be. */
  exchange(left: number, from: number, to: number): boolean {
    const displaced = this.partner[to] ?? none;
    this.#search++;
    this.#visited[to] = this.#search;
    this.partner[from] = none;
    this.partner[to] = left;
    if (displaced === none || this.#augment(displaced)) return true;
    this.partner[from] = left;
    this.partner[to] = displaced;
    return false;
  }

  /** No search passes through this right vertex any more. */
  fix(right: number): void {
    this.#visited[right] = Number.POSITIVE_INFINITY;
  }

  isFixed(right: number): boolean {
    return this.#visited[right] === Number.POSITIVE_INFINITY;
  }

  #augment(left: number): boolean {
    for (const right of this.#wishes[left] ?? []) {
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

/** The served claims matched to the cheapest set of volumes: per claim its volume, -1 for a claim that is not served. */
function cheapestVolumes(
  candidates: readonly (readonly number[])[],
  served: readonly boolean[],
  volumeCount: number,
): number[] {
  const takers: number[][] = Array.from({ length: volumeCount }, () => []);
  for (const [claim, volumes] of candidates.entries()) {
    if (served[claim]) for (const volume of volumes) takers[volume]?.push(claim);
  }
  const byPrice = new Matching(takers, candidates.length);
  for (let volume = 0; volume < volumeCount; volume++) byPrice.add(volume);
  return byPrice.partner;
}

/** The same volumes dealt anew: in name order, each claim the first that leaves all later claims served. */
function dealInNameOrder(
  candidates: readonly (readonly number[])[],
  volumeOf: number[],
  volumeCount: number,
): number[] {
  const dealt = new Matching(candidates, volumeCount);
  for (let volume = 0; volume < volumeCount; volume++) {
    const claim = volumeOf.indexOf(volume);
    if (claim === none) dealt.fix(volume);
    else dealt.partner[volume] = claim;
  }
  const result = volumeOf.slice();
  for (const [claim, current] of volumeOf.entries()) {
    if (current === none) continue;
    const mine = dealt.partner.indexOf(claim);
    const wishes = (candidates[claim] ?? []).filter((volume) => !dealt.isFixed(volume));
    const granted = wishes.find((wish) => wish === mine || dealt.exchange(claim, mine, wish)) ?? mine;
    // No later claim may move it.
    dealt.fix(granted);
    result[claim] = granted;
  }
  return result;
}
