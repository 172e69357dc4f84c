/**
 * The scheduling queue. Source: pkg/scheduler/backend/queue/scheduling_queue.go.
 *
 *     add ──▶ active ──pop──▶ in flight ──▶ placed
 *               ▲                 │ refused                  │ error
 *               │ backoff over    ▼                          ▼
 *            backoff ◀──event── unschedulable             backoff
 *
 * An event that concerns a refusal and comes while the pod is in flight sends it to backoff as well: it may have come
 * after the state on which the refusal was based.
 */
import type { Milliseconds, Runtime, Timer } from "../../runtime/runtime.ts";
import type { Pod } from "../objects.ts";
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
  activeSince: number;
  failedAt: Milliseconds;
  rejectors: ReadonlySet<Rejector>;
}

export interface QueueOptions {
  readonly runtime: Runtime;
  readonly backoffFirstMs?: Milliseconds;
  readonly backoffMaxMs?: Milliseconds;
  /** How long a refused pod waits if nothing ever wakes it. */
  readonly flushMs?: Milliseconds;
}

const defaults = { backoffFirstMs: 1_000, backoffMaxMs: 10_000, flushMs: 300_000 };

export class SchedulingQueue {
  readonly #runtime: Runtime;
  readonly #limits: Required<Omit<QueueOptions, "runtime">>;
  readonly #active = new Map<string, Queued>();
  readonly #backoff = new Map<string, Queued>();
  readonly #unschedulable = new Map<string, Queued>();
  readonly #inFlight = new Map<string, { queued: Queued; readonly events: ClusterEvent[] }>();
  #order = 0;
  #timer: Timer | undefined;
  #wake: (() => void) | undefined;

  constructor({ runtime, ...limits }: QueueOptions) {
    this.#runtime = runtime;
    this.#limits = { ...defaults, ...limits };
  }

  /** No pod could be popped now. */
  get isEmpty(): boolean {
    return this.#active.size === 0;
  }

  /** Pods that wait for their backoff or for an event. */
  get waiting(): readonly Pod[] {
    return [...this.#backoff.values(), ...this.#unschedulable.values()].map(({ pod }) => pod);
  }

  isInFlight({ metadata: { uid } }: Pod): boolean {
    return this.#inFlight.has(uid);
  }

  /** A pod to be scheduled, new or changed. */
  put(pod: Pod): void {
    const { uid } = pod.metadata;
    const flying = this.#inFlight.get(uid);
    if (flying) {
      flying.queued.pod = pod;
      flying.events.push("Self");
      return;
    }
    const known = this.#active.get(uid) ?? this.#backoff.get(uid);
    if (known) {
      known.pod = pod;
      return;
    }
    const refused = this.#unschedulable.get(uid);
    if (!refused) {
      this.#activate({ pod, attempts: 0, activeSince: 0, failedAt: 0, rejectors: new Set() });
      return;
    }
    refused.pod = pod;
    if (concerns("Self", refused.rejectors)) this.#move(refused);
  }

  remove({ metadata: { uid } }: Pod): void {
    this.#active.delete(uid);
    this.#backoff.delete(uid);
    this.#unschedulable.delete(uid);
    this.#inFlight.delete(uid);
  }

  /** Tells every refused pod that the event may have helped. */
  wake(event: ClusterEvent): void {
    for (const { events } of this.#inFlight.values()) events.push(event);
    for (const queued of [...this.#unschedulable.values()]) {
      if (concerns(event, queued.rejectors)) this.#move(queued);
    }
  }

  /** The next pod: highest priority first, then the one that waited longest. `undefined` once the signal aborts. */
  async pop(signal: AbortSignal): Promise<QueuedPod | undefined> {
    while (!signal.aborted) {
      const next = [...this.#active.values()].reduce<Queued | undefined>((best, other) => {
        return best && comesBefore(best, other) ? best : other;
      }, undefined);
      if (next) {
        const { uid } = next.pod.metadata;
        this.#active.delete(uid);
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
    const flying = this.#takeFlying(uid);
    if (!flying) return;
    flying.queued.rejectors = rejectors;
    if (flying.events.some((event) => concerns(event, rejectors))) this.#move(flying.queued);
    else this.#unschedulable.set(uid, flying.queued);
    this.#arm();
  }

  /** Something broke: the pod is tried again after its backoff, whatever happens. */
  putFailed({ metadata: { uid } }: Pod): void {
    const flying = this.#takeFlying(uid);
    if (!flying) return;
    this.#backoff.set(uid, flying.queued);
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #takeFlying(uid: string): { queued: Queued; readonly events: ClusterEvent[] } | undefined {
    const flying = this.#inFlight.get(uid);
    this.#inFlight.delete(uid);
    if (flying) flying.queued.failedAt = this.#runtime.now();
    return flying;
  }

  #backoffEnd({ attempts, failedAt }: Queued): Milliseconds {
    const { backoffFirstMs, backoffMaxMs } = this.#limits;
    return failedAt + Math.min(backoffMaxMs, backoffFirstMs * 2 ** (attempts - 1));
  }

  /** From the unschedulable ones to backoff, or at once to the active ones when its backoff is over. */
  #move(queued: Queued): void {
    const { uid } = queued.pod.metadata;
    this.#unschedulable.delete(uid);
    if (this.#backoffEnd(queued) <= this.#runtime.now()) this.#activate(queued);
    else {
      this.#backoff.set(uid, queued);
      this.#arm();
    }
  }

  #activate(queued: Queued): void {
    queued.activeSince = this.#order++;
    this.#active.set(queued.pod.metadata.uid, queued);
    this.#wake?.();
  }

  /** One timer for whatever is due next. */
  #arm(): void {
    this.#timer?.cancel();
    const due = [
      ...this.#backoff.values().map((queued) => this.#backoffEnd(queued)),
      ...this.#unschedulable.values().map(({ failedAt }) => failedAt + this.#limits.flushMs),
    ];
    if (due.length === 0) return;
    const ms = Math.max(0, Math.min(...due) - this.#runtime.now());
    this.#timer = this.#runtime.timer(ms, () => this.#release());
  }

  #release(): void {
    const now = this.#runtime.now();
    for (const [uid, queued] of [...this.#backoff]) {
      if (this.#backoffEnd(queued) > now) continue;
      this.#backoff.delete(uid);
      this.#activate(queued);
    }
    for (const queued of [...this.#unschedulable.values()]) {
      if (queued.failedAt + this.#limits.flushMs <= now) this.#move(queued);
    }
    this.#arm();
  }
}

function comesBefore(a: Queued, b: Queued): boolean {
  const more = priorityOf(a.pod) - priorityOf(b.pod);
  return more > 0 || (more === 0 && a.activeSince < b.activeSince);
}
