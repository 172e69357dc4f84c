/** Breaks long work up, so that filter calls never wait for more than a slice of it. One for all reflectors. */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { Turns } from "../runtime/turns.ts";

const sliceMs = 5;
/** Reading the clock costs as much as a small object. */
const stepsPerLook = 16;
/** Whatever the clock says: it may stand still. */
const stepsMax = 256;

export class Pace {
  readonly #runtime: Runtime;
  readonly #turns: Turns;
  #startedAt: Milliseconds;
  #steps = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#turns = new Turns(runtime);
    this.#startedAt = runtime.now();
  }

  /** To be called after each small step, and its result awaited where there is one. */
  step(): Promise<void> | undefined {
    this.#steps++;
    if (this.#steps % stepsPerLook !== 0) return undefined;
    const isOver = this.#steps >= stepsMax || this.#runtime.now() - this.#startedAt >= sliceMs;
    return isOver ? this.rest() : undefined;
  }

  /** Lets everything else run now, the other reflectors included. */
  async rest(): Promise<void> {
    await this.#turns.next();
    this.#steps = 0;
    this.#startedAt = this.#runtime.now();
  }
}
