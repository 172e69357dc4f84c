/**
 * Claims that differ in size alone: whatever volume serves one of them serves every smaller one. Then no search is needed. The
 * largest claim takes its smallest volume, the next its smallest that is left, and so on: an assignment is found whenever one
 * exists, over the least volumes. It remains to deal those out as every assignment is: claims in name order, each the smallest
 * volume that leaves the others served.
 */
import type { Want } from "./matching.ts";

/** Whether the wants, of one class, differ in size alone. */
export function areAlike(wants: readonly Want[]): boolean {
  const [first] = wants;
  return wants.every(
    ({ bits, mask, selector }) =>
      bits === first?.bits && mask === first.mask && selector?.identity === first.selector?.identity,
  );
}

/** Deals volumes out; kept for its scratch space. */
export class Dealer {
  /** What is left to deal; a volume that is dealt makes way for the next larger one. */
  readonly #left: Int32Array;

  /** @param count  of claims */
  constructor(count: number) {
    this.#left = new Int32Array(count);
  }

  /**
   * The smallest that is large enough never leaves another claim unserved: whoever was to have it can have instead what this
   * claim was to have, which is larger.
   *
   * @param froms    per claim, in name order: the position from which volumes are large enough
   * @param volumes  per claim a different volume that serves it, by position; dealt anew in place
   */
  deal(froms: Int32Array, volumes: Int32Array): void {
    if (isAscending(volumes)) return;
    const left = this.#left;
    let count = 0;
    for (const volume of volumes) {
      let nth = count++;
      for (; nth > 0 && (left[nth - 1] ?? 0) > volume; nth--) left[nth] = left[nth - 1] ?? 0;
      left[nth] = volume;
    }
    for (let claim = 0; claim < volumes.length; claim++) {
      const from = froms[claim] ?? 0;
      let nth = 0;
      while (nth < count - 1 && (left[nth] ?? 0) < from) nth++;
      volumes[claim] = left[nth] ?? 0;
      count--;
      for (; nth < count; nth++) left[nth] = left[nth + 1] ?? 0;
    }
  }
}

/** Then nobody can have a smaller one without serving a claim before it worse. */
function isAscending(volumes: Int32Array): boolean {
  for (let claim = 1; claim < volumes.length; claim++) {
    if ((volumes[claim] ?? 0) < (volumes[claim - 1] ?? 0)) return false;
  }
  return true;
}
