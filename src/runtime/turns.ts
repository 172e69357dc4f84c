/**
 * Long pieces of work, one a turn of the event loop: where several parts wait to go on, plain yields would let all of them go on
 * in the same turn, and whoever else waits would wait for their sum.
 */
import type { Runtime } from "./runtime.ts";

export class Turns {
  readonly #runtime: Pick<Runtime, "yield">;
  #last: Promise<void> = Promise.resolve();

  constructor(runtime: Pick<Runtime, "yield">) {
    this.#runtime = runtime;
  }

  /** Resolves in a turn of the caller's own. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => this.#runtime.yield());
    return this.#last;
  }
}
