/** Whole percent, rounded down. What is more than full, or has no size, is full. */

/** Numbers below it, a hundredfold, are exact, and no quotient of two is so near to a whole number that it rounds to it. */
const exactBelow = 2 ** 46;

export function percentOf(part: bigint, whole: bigint): number {
  return whole <= 0n || part >= whole ? 100 : Number((part * 100n) / whole);
}

/** The same of whole numbers, at a tenth of the cost; undefined where these may be too large for it. */
export function quickPercentOf(part: number, whole: number): number | undefined {
  if (whole <= 0 || part >= exactBelow || whole >= exactBelow) return undefined;
  return part >= whole ? 100 : Math.floor((part * 100) / whole);
}
