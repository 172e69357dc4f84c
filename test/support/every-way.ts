/** The best assignment by looking at every one there is: obviously right, and slow. */

/** Per claim, in name order, the volumes that it may take, as numbers in the order of preference, ascending. */
export type Wished = readonly (readonly number[])[];

export const none = -1;

/**
 * Per claim its volume, or `none`: who comes first by importance is served before all, then the smallest volumes are taken, then
 * each claim in name order has the smallest of these.
 */
export function bestWay(wished: Wished, order: readonly number[]): readonly number[] {
  const keyOf = (ranks: readonly number[]): number[] => [
    ...order.map((claim) => (ranks[claim] === none ? 1 : 0)),
    ...ranks.filter((rank) => rank !== none).sort((a, b) => a - b),
    ...ranks,
  ];
  return [...ways(wished)].reduce((one, other) => (isLess(keyOf(other), keyOf(one)) ? other : one));
}

/** Every way to give each claim one of its volumes or none, and no volume twice. */
function* ways(wished: Wished, ranks: readonly number[] = []): Generator<readonly number[]> {
  const own = wished[ranks.length];
  if (own === undefined) {
    yield ranks;
    return;
  }
  for (const rank of [...own, none]) {
    if (rank === none || !ranks.includes(rank)) yield* ways(wished, [...ranks, rank]);
  }
}

/** Where two lists first differ. Of two that serve the same claims, both are as long. */
function isLess(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}
