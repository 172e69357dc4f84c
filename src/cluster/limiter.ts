/** At most so many at one time; the others wait their turn. */
export class Limiter {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#max) this.#running++;
    // Whoever ends hands its place over, so nobody slips in between.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
