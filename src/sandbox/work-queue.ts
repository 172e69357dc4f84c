/** Keys to work on, each at most once at a time: the heart of a Kubernetes controller. */
import type { Milliseconds, Runtime, Timer } from "../runtime/runtime.ts";

/** What became of a key: finished until something changes, failed (asked again with backoff), or to be seen later. */
export type Worked = "done" | "retry" | { readonly againInMs: Milliseconds };

export interface WorkQueueOptions {
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  readonly work: (key: string) => Promise<Worked>;
  /** Keys worked on at the same time. */
  readonly workers: number;
  readonly retryFirstMs: Milliseconds;
  readonly retryMaxMs: Milliseconds;
}

/**
 *     add ──▶ ready ──▶ working ──▶ done
 *               ▲           │ added meanwhile, or its time has come
 *               └───────────┘
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #ready = new Set<string>();
  readonly #working = new Set<string>();
  readonly #later = new Map<string, Timer>();
  readonly #failures = new Map<string, number>();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => this.#stop(), { once: true });
  }

  /** Nothing is ready or being worked on; keys whose time has not come do not count. */
  get isIdle(): boolean {
    return this.#ready.size === 0 && this.#working.size === 0;
  }

  add(key: string): void {
    if (this.#options.signal.aborted) return;
    this.#ready.add(key);
    // In a turn of its own, so that the listeners of one change all see it before anybody acts on it.
    queueMicrotask(() => this.#next());
  }

  #next(): void {
    const { workers, signal } = this.#options;
    for (const key of this.#ready) {
      if (signal.aborted || this.#working.size >= workers) return;
      if (this.#working.has(key)) continue;
      this.#ready.delete(key);
      this.#later.get(key)?.cancel();
      this.#later.delete(key);
      this.#working.add(key);
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    const worked = await this.#options.work(key);
    this.#working.delete(key);
    if (worked === "retry") this.#addLater(key, this.#backoffOf(key));
    else {
      this.#failures.delete(key);
      if (worked !== "done") this.#addLater(key, worked.againInMs);
    }
    this.#next();
  }

  #backoffOf(key: string): Milliseconds {
    const { retryFirstMs, retryMaxMs } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(retryMaxMs, retryFirstMs * 2 ** failures);
  }

  #addLater(key: string, ms: Milliseconds): void {
    if (this.#options.signal.aborted || this.#ready.has(key)) return;
    this.#later.get(key)?.cancel();
    this.#later.set(
      key,
      this.#options.runtime.timer(ms, () => {
        this.#later.delete(key);
        this.add(key);
      }),
    );
  }

  #stop(): void {
    for (const timer of this.#later.values()) timer.cancel();
    this.#later.clear();
    this.#ready.clear();
  }
}
