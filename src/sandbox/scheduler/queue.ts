/**
 * The scheduling queue. Source: pkg/scheduler/backend/queue/{scheduling_queue,active_queue,backoff_queue}.go.
 *
 *     add ──▶ active ──pop──▶ in flight ──▶ placed
 *               ▲                 │ refused                  │ error
 *               │ backoff over    ▼                          ▼
 *            backoff ◀──event── unschedulable          error backoff
 *               │
 *               └──pop, while none is active──▶ in flight
 *
 * An event that concerns a refusal and comes while the pod is in flight sends it to backoff as well: it may have come
 * after the state on which the refusal was based. Backoff holds a refused pod back only while there is other work: an idle
 * scheduler takes it at once. After an error the backoff is always waited for.
 */
import type { Milliseconds, Runtime, Timer } from "../../runtime/runtime.ts";
import type { Pod } from "../objects.ts";
import { type BackoffLimits, endOf, windowOf } from "./backoff.ts";
import { priorityOf } from "./snapshot.ts";
import type { Rejector } from "./status.ts";
import { type ClusterEvent, concerns } from "./wake-up.ts";

export interface QueuedPod {
  readonly pod: Pod;
  /** Cycles begun. */
  readonly attempts: number;
}

interface Queued {
  pod: Pod;
  attempts: number;
  /** Among pods of one priority: when it was added, or failed last. */
  order: number;
  failedAt: Milliseconds;
  refusals: number;
  errors: number;
  /** Of the last cycle; none where it ended in an error. */
  rejectors: ReadonlySet<Rejector>;
}

export interface QueueOptions extends Partial<BackoffLimits> {
  readonly runtime: Runtime;
  /** How long a refused pod waits if nothing ever wakes it. */
  readonly flushMs?: Milliseconds;
}

const defaults = { backoffFirstMs: 1_000, backoffMaxMs: 10_000, flushMs: 300_000 };
/** How often kube-scheduler looks for pods that waited for `flushMs`. */
const flushTickMs: Milliseconds = 30_000;

export class SchedulingQueue {
  readonly #runtime: Runtime;
  readonly #limits: Required<Omit<QueueOptions, "runtime">>;
  readonly #startedAt: Milliseconds;
  readonly #active = new Map<string, Queued>();
  readonly #backoff = new Map<string, Queued>();
  readonly #errorBackoff = new Map<string, Queued>();
  readonly #unschedulable = new Map<string, Queued>();
  readonly #inFlight = new Map<string, { queued: Queued; readonly events: ClusterEvent[] }>();
  #order = 0;
  #timer: Timer | undefined;
  #wake: (() => void) | undefined;

  constructor({ runtime, ...limits }: QueueOptions) {
    this.#runtime = runtime;
    this.#startedAt = runtime.now();
    this.#limits = { ...defaults, ...limits };
  }

  /** No pod could be popped now. */
  get isEmpty(): boolean {
    return this.#active.size + this.#backoff.size === 0;
  }

  /** Pods that wait for their backoff or for an event. */
  get waiting(): readonly Pod[] {
    const all = [this.#backoff, this.#errorBackoff, this.#unschedulable];
    return all.flatMap((queue) => Array.from(queue.values(), ({ pod }) => pod));
  }

  isInFlight({ metadata: { uid } }: Pod): boolean {
    return this.#inFlight.has(uid);
  }

  /** A pod to be scheduled, new or changed. */
  put(pod: Pod): void {
    const { uid } = pod.metadata;
    const event: ClusterEvent = { resource: "self", action: "updated", object: pod };
    const flying = this.#inFlight.get(uid);
    if (flying) {
      flying.queued.pod = pod;
      flying.events.push(event);
      return;
    }
    const known = this.#active.get(uid) ?? this.#backoff.get(uid) ?? this.#errorBackoff.get(uid);
    if (known) {
      known.pod = pod;
      return;
    }
    const refused = this.#unschedulable.get(uid);
    if (!refused) {
      const order = this.#order++;
      this.#activate({ pod, attempts: 0, order, failedAt: 0, refusals: 0, errors: 0, rejectors: new Set() });
      return;
    }
    refused.pod = pod;
    if (concerns(event, refused.rejectors, pod)) this.#requeue(refused);
  }

  remove({ metadata: { uid } }: Pod): void {
    for (const queue of [this.#active, this.#backoff, this.#errorBackoff, this.#unschedulable]) queue.delete(uid);
    this.#inFlight.delete(uid);
  }

  /** Tells every refused pod that the event may have helped. */
  wake(event: ClusterEvent): void {
    for (const { events } of this.#inFlight.values()) events.push(event);
    for (const queued of [...this.#unschedulable.values()]) {
      if (concerns(event, queued.rejectors, queued.pod)) this.#requeue(queued);
    }
  }

  /** The next pod: highest priority first, then the one that waited longest. `undefined` once the signal aborts. */
  async pop(signal: AbortSignal): Promise<QueuedPod | undefined> {
    while (!signal.aborted) {
      const next = this.#next();
      if (next) {
        const { uid } = next.pod.metadata;
        this.#active.delete(uid);
        this.#backoff.delete(uid);
        next.attempts++;
        this.#inFlight.set(uid, { queued: next, events: [] });
        return { pod: next.pod, attempts: next.attempts };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    return undefined;
  }

  /** The pod's cycle and binding are over, for better or for good. */
  finish({ metadata: { uid } }: Pod): void {
    this.#inFlight.delete(uid);
  }

  /** The pod fits nowhere: it waits for an event that concerns those who refused it. */
  putRefused({ metadata: { uid } }: Pod, rejectors: ReadonlySet<Rejector>): void {
    const flying = this.#takeFlying(uid, rejectors);
    if (!flying) return;
    const { queued, events } = flying;
    if (events.some((event) => concerns(event, rejectors, queued.pod))) this.#requeue(queued);
    else this.#unschedulable.set(uid, queued);
    this.#arm();
  }

  /** Something broke, or nobody in particular refused: the pod is tried again after its backoff, whatever happens. */
  putFailed({ metadata: { uid } }: Pod): void {
    const flying = this.#takeFlying(uid, new Set());
    if (!flying) return;
    this.#errorBackoff.set(uid, flying.queued);
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** While none is active, the refused pod whose backoff ends in the earliest second. */
  #next(): Queued | undefined {
    const active = first(this.#active.values(), comesBefore);
    return active ?? first(this.#backoff.values(), (a, b) => this.#window(a) - this.#window(b) || comesBefore(a, b));
  }

  #takeFlying(
    uid: string,
    rejectors: ReadonlySet<Rejector>,
  ): { queued: Queued; readonly events: ClusterEvent[] } | undefined {
    const flying = this.#inFlight.get(uid);
    this.#inFlight.delete(uid);
    if (!flying) return undefined;
    const { queued } = flying;
    queued.failedAt = this.#runtime.now();
    queued.order = this.#order++;
    queued.rejectors = rejectors;
    queued.refusals += rejectors.size > 0 ? 1 : 0;
    queued.errors = rejectors.size > 0 ? 0 : queued.errors + 1;
    return flying;
  }

  #window(queued: Queued): number {
    return windowOf(queued, this.#limits) ?? Number.NEGATIVE_INFINITY;
  }

  #isBackingOff(queued: Queued): boolean {
    return endOf(this.#window(queued)) > this.#runtime.now();
  }

  /** From the unschedulable ones to backoff, or at once to the active ones when its backoff is over. */
  #requeue(queued: Queued): void {
    const { uid } = queued.pod.metadata;
    this.#unschedulable.delete(uid);
    if (this.#isBackingOff(queued)) {
      this.#backoff.set(uid, queued);
      this.#wake?.();
      this.#arm();
    } else this.#activate(queued);
  }

  #activate(queued: Queued): void {
    this.#active.set(queued.pod.metadata.uid, queued);
    this.#wake?.();
  }

  /** One timer for whatever is due next. */
  #arm(): void {
    this.#timer?.cancel();
    const due = [
      ...[...this.#backoff.values(), ...this.#errorBackoff.values()].map((queued) => endOf(this.#window(queued))),
      ...this.#unschedulable.values().map((queued) => this.#flushAt(queued)),
    ];
    if (due.length === 0) return;
    const ms = Math.max(0, Math.min(...due) - this.#runtime.now());
    this.#timer = this.#runtime.timer(ms, () => this.#release());
  }

  /** The first tick at which the pod has waited for longer than `flushMs`. */
  #flushAt({ failedAt }: Queued): Milliseconds {
    const waited = failedAt + this.#limits.flushMs - this.#startedAt;
    return this.#startedAt + (Math.floor(waited / flushTickMs) + 1) * flushTickMs;
  }

  #release(): void {
    for (const queue of [this.#backoff, this.#errorBackoff]) {
      for (const [uid, queued] of [...queue]) {
        if (this.#isBackingOff(queued)) continue;
        queue.delete(uid);
        this.#activate(queued);
      }
    }
    for (const queued of [...this.#unschedulable.values()]) {
      if (this.#flushAt(queued) <= this.#runtime.now()) this.#requeue(queued);
    }
    this.#arm();
  }
}

function first(all: Iterable<Queued>, compare: (a: Queued, b: Queued) => number): Queued | undefined {
  let best: Queued | undefined;
  for (const queued of all) if (!best || compare(queued, best) < 0) best = queued;
  return best;
}

/** Below zero where `a` comes first. */
function comesBefore(a: Queued, b: Queued): number {
  return priorityOf(b.pod) - priorityOf(a.pod) || a.order - b.order;
}
