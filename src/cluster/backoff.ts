/** Growing, jittered pauses between tries; forgotten only after real progress, so that a storm of errors stays slow. */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";

const firstMs = 800;
const lastMs = 30_000;
const factor = 3;

export class Backoff {
  readonly #runtime: Runtime;
  #nextMs: Milliseconds = firstMs;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** @param atLeastMs  what the server asked for, which is obeyed */
  async pause(signal: AbortSignal, atLeastMs: Milliseconds = 0): Promise<void> {
    const jittered = this.#nextMs * (0.75 + this.#runtime.random() / 2);
    this.#nextMs = Math.min(lastMs, this.#nextMs * factor);
    await this.#runtime.sleep(Math.max(jittered, atLeastMs), signal);
  }

  succeeded(): void {
    this.#nextMs = firstMs;
  }
}
