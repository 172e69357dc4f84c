/** Random draws from a seed: the same seed, the same cluster, on every machine. */
import { mulberry32 } from "../support/mulberry32.ts";

export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = mulberry32(seed ^ 0x9e3779b9);
    for (let warm = 0; warm < 4; warm++) this.#next();
  }

  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1));
  }

  /** True once in `every` draws. */
  once(every: number): boolean {
    return this.#next() * every < 1;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error("nothing to pick from");
    return from[this.int(0, from.length - 1)] as T;
  }

  /** Some of them, in their order. */
  some<T>(from: readonly T[], every = 2): T[] {
    return from.filter(() => this.once(every));
  }

  shuffled<T>(from: readonly T[]): T[] {
    const left = [...from];
    const out: T[] = [];
    while (left.length > 0) out.push(...left.splice(this.int(0, left.length - 1), 1));
    return out;
  }
}
