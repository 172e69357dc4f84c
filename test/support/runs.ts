/**
 * How many random inputs a property meets: all of them in `npm test`, the share that RANDOM_SHARE names where each of thousands of
 * mutants meets them.
 */
export function runs(count: number): number {
  return Math.max(1, Math.floor(count * Number(process.env["RANDOM_SHARE"] ?? 1)));
}
