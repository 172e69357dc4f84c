/** A limit on binds in progress: first come, first served, and no more waiting than can be served. */
export class BindQueue {
  readonly #inProgressMax: number;
  readonly #queuedMax: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(inProgressMax: number, queuedMax: number) {
    this.#inProgressMax = inProgressMax;
    this.#queuedMax = queuedMax;
  }

  get queued(): number {
    return this.#waiting.size;
  }

  /** A place, to be given back by calling it once; undefined at once when too many wait, or when `signal` aborts. */
  async enter(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#taken < this.#inProgressMax) {
      this.#taken++;
      return this.#leave;
    }
    if (this.#waiting.size >= this.#queuedMax) return undefined;
    return new Promise((resolve) => {
      const take = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve(this.#leave);
      };
      const giveUp = (): void => {
        this.#waiting.delete(take);
        resolve(undefined);
      };
      this.#waiting.add(take);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** The place goes straight to whoever waits longest. */
  readonly #leave = (): void => {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
    } else this.#taken--;
  };
}
