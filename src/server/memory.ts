/**
 * What the last filter call of each Pod found. A cache, never a truth: prioritize computes anew what is not here, for it may
 * be asked without a filter before it, and explain says that it does not know.
 */
import { LRUCache } from "lru-cache";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { NodeName, PodUid } from "../scheduling/names.ts";
import type { NodeVerdicts } from "../scheduling/plan.ts";
import { cacheClock } from "./cache-clock.ts";

/** How a Pod fared with filter so far. Small: kept for many Pods. */
export interface Asked {
  readonly tries: number;
  readonly firstAtMs: Milliseconds;
  /** Since 1970, as all times here. */
  readonly lastAtMs: Milliseconds;
  readonly outcome: string;
  readonly offeredCount: number;
  readonly feasibleCount: number;
  /** What kube-scheduler was told, where it was told one thing for all nodes. */
  readonly text?: string;
}

/** The verdicts of the last call. Large: kept for few Pods. */
export interface Remembered {
  readonly offered: readonly NodeName[];
  /** Absent where no node was looked at. */
  readonly verdicts?: NodeVerdicts;
  readonly generation: number;
}

/** Node names over all remembered calls: some 20 MB at most. */
const namesMax = 250_000;
const podsMax = 10_000;
/** kube-scheduler prioritizes at once; after this long only explain could still ask, and a Pod is retried every 5 minutes. */
const verdictsTtlMs: Milliseconds = 600_000;

export class CycleMemory {
  readonly startedAtMs: Milliseconds;
  readonly #runtime: Runtime;
  readonly #asked = new LRUCache<PodUid, Asked>({ max: podsMax });
  readonly #remembered: LRUCache<PodUid, Remembered>;
  #lastFilter: Milliseconds;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.startedAtMs = runtime.wallTime();
    this.#lastFilter = runtime.now();
    this.#remembered = new LRUCache({
      maxSize: namesMax,
      sizeCalculation: ({ offered }) => offered.length + 1,
      ttl: verdictsTtlMs,
      ...cacheClock(runtime),
    });
  }

  /** A filter call came in, of whatever Pod. */
  filterSeen(): void {
    this.#lastFilter = this.#runtime.now();
  }

  /** Milliseconds since the last filter call, or since start. */
  sinceLastFilter(): Milliseconds {
    return this.#runtime.now() - this.#lastFilter;
  }

  remember(pod: PodUid, told: Pick<Asked, "outcome" | "feasibleCount" | "text">, remembered: Remembered): void {
    const before = this.#asked.get(pod);
    const now = this.#runtime.wallTime();
    this.#asked.set(pod, {
      ...told,
      tries: (before?.tries ?? 0) + 1,
      firstAtMs: before?.firstAtMs ?? now,
      lastAtMs: now,
      offeredCount: remembered.offered.length,
    });
    this.#remembered.set(pod, remembered);
  }

  /** Whoever looks keeps nothing from being forgotten: nor does `remembered`. */
  asked(pod: PodUid): Asked | undefined {
    return this.#asked.peek(pod);
  }

  remembered(pod: PodUid): Remembered | undefined {
    return this.#remembered.peek(pod);
  }

  get size(): number {
    return this.#asked.size;
  }
}
