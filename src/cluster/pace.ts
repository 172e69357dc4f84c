/** Breaks long work up, so that filter calls never wait for more than a slice of it. One for all that is done at the same time. */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { Turns } from "../runtime/turns.ts";

export interface Strides {
  readonly sliceMs: Milliseconds;
  /** Reading the clock costs as much as a small step. */
  readonly stepsPerLook: number;
  /** Whatever the clock says: it may stand still. */
  readonly stepsMax: number;
}

/** A step is one object. */
const ofObjects: Strides = { sliceMs: 5, stepsPerLook: 16, stepsMax: 256 };

export class Pace {
  readonly #runtime: Runtime;
  readonly #strides: Strides;
  readonly #turns: Turns;
  #startedAt: Milliseconds;
  #steps = 0;

  constructor(runtime: Runtime, strides: Strides = ofObjects) {
    this.#runtime = runtime;
    this.#strides = strides;
    this.#turns = new Turns(runtime);
    this.#startedAt = runtime.now();
  }

  /** To be called after each small step, and its result awaited where there is one. */
  step(): Promise<void> | undefined {
    const { sliceMs, stepsPerLook, stepsMax } = this.#strides;
    this.#steps++;
    if (this.#steps % stepsPerLook !== 0) return undefined;
    const isOver = this.#steps >= stepsMax || this.#runtime.now() - this.#startedAt >= sliceMs;
    return isOver ? this.rest() : undefined;
  }

  /** Lets everything else run now, others of this pace included. */
  async rest(): Promise<void> {
    await this.#turns.next();
    this.#steps = 0;
    this.#startedAt = this.#runtime.now();
  }
}
