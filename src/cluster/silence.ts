/** Ends a watch that says nothing for too long: a connection may be dead without anybody having closed it. */
import type { Milliseconds, Runtime, Timer } from "../runtime/runtime.ts";

export class Silence {
  readonly #controller = new AbortController();
  readonly #runtime: Runtime;
  readonly #maxMs: Milliseconds;
  readonly #parent: AbortSignal;
  readonly #abort = (): void => this.#controller.abort();
  #brokenAt: Milliseconds;
  #timer: Timer;
  #fell = false;

  constructor(runtime: Runtime, maxMs: Milliseconds, parent: AbortSignal) {
    this.#runtime = runtime;
    this.#maxMs = maxMs;
    this.#parent = parent;
    this.#brokenAt = runtime.now();
    this.#timer = runtime.timer(maxMs, () => this.#look());
    parent.addEventListener("abort", this.#abort);
    if (parent.aborted) this.#abort();
  }

  /** Aborts when silence fell, with the parent, and at the end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get fell(): boolean {
    return this.#fell;
  }

  broken(): void {
    this.#brokenAt = this.#runtime.now();
  }

  /** Whatever is still open ends here. */
  end(): void {
    this.#timer.cancel();
    this.#parent.removeEventListener("abort", this.#abort);
    this.#abort();
  }

  /** One timer for many events: a new one each would cost more than the event. */
  #look(): void {
    const restMs = this.#brokenAt + this.#maxMs - this.#runtime.now();
    if (restMs > 0) {
      this.#timer = this.#runtime.timer(restMs, () => this.#look());
      return;
    }
    this.#fell = true;
    this.#abort();
  }
}
