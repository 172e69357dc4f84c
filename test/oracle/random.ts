/** Random draws from a seed: the same seed, the same cluster, on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0;
    for (let warm = 0; warm < 4; warm++) this.#next();
  }

  /** 0 <= result < 1. @see "mulberry32", Tommy Ettinger's 32-bit generator */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
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
