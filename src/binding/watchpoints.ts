/** Wakes runs when an object they stand on changes: one subscription for all of them, and a change touches only its own. */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { Kind, ObjectKey } from "../scheduling/objects.ts";
import type { BindingCluster } from "./ports.ts";

export interface Watchpoint {
  readonly kind: Kind;
  readonly key: ObjectKey;
}

export class Watchpoints {
  readonly #byObject = new Map<string, Set<() => void>>();
  readonly #unsubscribe: () => void;

  constructor(cluster: Pick<BindingCluster, "subscribe">) {
    this.#unsubscribe = cluster.subscribe(({ kind, key }) => {
      if (this.#byObject.size === 0) return;
      const wakers = this.#byObject.get(`${kind} ${key}`);
      // A copy: a waker may take itself off.
      if (wakers) for (const wake of [...wakers]) wake();
    });
  }

  /** Calls `wake` in the turn of every change of these objects, until the returned function is called. */
  watch(points: readonly Watchpoint[], wake: () => void): () => void {
    const names = points.map(({ kind, key }) => `${kind} ${key}`);
    for (const name of names) {
      const wakers = this.#byObject.get(name);
      if (wakers) wakers.add(wake);
      else this.#byObject.set(name, new Set([wake]));
    }
    return () => {
      for (const name of names) {
        const wakers = this.#byObject.get(name);
        wakers?.delete(wake);
        if (wakers?.size === 0) this.#byObject.delete(name);
      }
    };
  }

  /** Resolves to true as soon as `holds` says so of the state, to false after `ms` or when `signal` aborts. */
  until(
    { runtime, signal }: { readonly runtime: Runtime; readonly signal: AbortSignal },
    points: readonly Watchpoint[],
    ms: Milliseconds,
    holds: () => boolean,
  ): Promise<boolean> {
    if (holds()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const finish = (held: boolean): void => {
        stop();
        timer.cancel();
        signal.removeEventListener("abort", giveUp);
        resolve(held);
      };
      const giveUp = (): void => finish(false);
      const stop = this.watch(points, () => {
        if (holds()) finish(true);
      });
      const timer = runtime.timer(ms, giveUp);
      if (signal.aborted) giveUp();
      else signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Objects watched for: zero when no run waits. */
  get size(): number {
    return this.#byObject.size;
  }

  close(): void {
    this.#unsubscribe();
  }
}
