/**
 * All claims of a Pod onto one node's volumes at once, exactly (departure D1).
 *
 * A matching with weights on its vertices only, so greedy choice by augmenting paths is optimal on both sides:
 * claims, must-be-static and large ones first, give the most static claims and the least left to provision; volumes, small
 * ones first, give the least surplus; and one matching covers both choices at once (Mendelsohn and Dulmage). Among what is
 * then equal, claims in name order take the smallest volume by (capacity, name) that still leaves the others served.
 * Comparisons only, no sums: sizes beyond 2^53 need no special care. Cost: claims² × candidates.
 */

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
  const served = servedClaims(candidates, claimOrder, volumeCount);
  const chosen = cheapestVolumes(candidates, served, volumeCount);
  return tidy(candidates, chosen, volumeCount);
}

/** The best set of claims that can be served at once. */
function servedClaims(
  candidates: readonly (readonly number[])[],
  claimOrder: readonly number[],
  volumeCount: number,
): readonly boolean[] {
  const claimOf = new Array<number>(volumeCount).fill(-1);
  const served = new Array<boolean>(candidates.length).fill(false);
  for (const claim of claimOrder) {
    served[claim] = augment(claim, candidates, claimOf, new Uint8Array(volumeCount), undefined);
  }
  return served;
}

/**
 * Gives `claim` a volume, moving other claims along an augmenting path; they stay served.
 *
 * @param only  volumes that may be used at all; undefined means every one
 */
function augment(
  claim: number,
  candidates: readonly (readonly number[])[],
  claimOf: number[],
  visited: Uint8Array,
  only: readonly boolean[] | undefined,
): boolean {
  for (const volume of candidates[claim] ?? []) {
    if (visited[volume] === 1 || (only && !only[volume])) continue;
    visited[volume] = 1;
    const holder = claimOf[volume] ?? -1;
    if (holder === -1 || augment(holder, candidates, claimOf, visited, only)) {
      claimOf[volume] = claim;
      return true;
    }
  }
  return false;
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
  const volumeOf = new Array<number>(candidates.length).fill(-1);
  for (let volume = 0; volume < volumeCount; volume++) {
    augment(volume, takers, volumeOf, new Uint8Array(candidates.length), undefined);
  }
  return volumeOf;
}

/** The same volumes dealt anew: in name order, each claim the first that leaves all later claims served. */
function tidy(candidates: readonly (readonly number[])[], volumeOf: number[], volumeCount: number): number[] {
  const usable = new Array<boolean>(volumeCount).fill(false);
  const claimOf = new Array<number>(volumeCount).fill(-1);
  for (const [claim, volume] of volumeOf.entries()) {
    if (volume === -1) continue;
    usable[volume] = true;
    claimOf[volume] = claim;
  }
  for (const [claim, current] of volumeOf.entries()) {
    if (current === -1) continue;
    const mine = claimOf.indexOf(claim);
    for (const wish of candidates[claim] ?? []) {
      if (!usable[wish]) continue;
      if (wish === mine || exchange(claim, mine, wish, candidates, claimOf, usable)) break;
    }
    // Fixed: no later claim may move it.
    usable[claimOf.indexOf(claim)] = false;
  }
  const result = new Array<number>(candidates.length).fill(-1);
  for (const [volume, claim] of claimOf.entries()) if (claim !== -1) result[claim] = volume;
  return result;
}

/** Moves `claim` from one volume to another if whoever has that one can be served without them. */
function exchange(
  claim: number,
  from: number,
  to: number,
  candidates: readonly (readonly number[])[],
  claimOf: number[],
  usable: readonly boolean[],
): boolean {
  const displaced = claimOf[to] ?? -1;
  const visited = new Uint8Array(claimOf.length);
  visited[to] = 1;
  claimOf[from] = -1;
  claimOf[to] = claim;
  if (displaced === -1 || augment(displaced, candidates, claimOf, visited, usable)) return true;
  claimOf[from] = claim;
  claimOf[to] = displaced;
  return false;
}
