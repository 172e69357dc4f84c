/**
 * Events on Pods: best effort, few, bounded, never in the way of a bind. What is said again of the same Pod makes the event that is
 * there a series, as client-go's recorder does; it is no event more.
 *
 * @see kubernetes staging/src/k8s.io/client-go/tools/events/event_broadcaster.go, recordToSink
 */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { setNewest } from "../scheduling/indexes.ts";
import type { PodUid } from "../scheduling/names.ts";
import type { KubeWriter, PodEvent, WriteOutcome } from "./ports.ts";

/** Events that wait to be written; more are dropped. */
const queuedMax = 1_000;
/** One write a pause: the API server has better things to do. */
const pauseMs: Milliseconds = 100;
/** Pauses between two where many binds are in progress, and only good news is to be told. */
const busyPauses = 10;
/** A series is written at its second event, and then no sooner than this after its last write. */
const repeatAfterMs: Milliseconds = 300_000;
const rememberedMax = 2_000;
/** Texts about one Pod, at once; then one in five minutes, as client-go's own filter against floods lets through. */
const burst = 10;
const refillMs: Milliseconds = 300_000;

export interface EventQueueDeps {
  readonly runtime: Runtime;
  readonly writer: Pick<KubeWriter, "recordEvent" | "repeatEvent">;
  /** Whether many binds are in progress, whose writes come first. */
  readonly isBusy: () => boolean;
}

/** An event that was told, or waits for it. */
interface Said {
  readonly event: PodEvent;
  name: string;
  /** How often it was said, and of that how often the API knows. */
  count: number;
  told: number;
  toldAt: Milliseconds;
  isQueued: boolean;
}

interface Allowance {
  readonly texts: number;
  readonly at: Milliseconds;
}

export class EventQueue {
  readonly #deps: EventQueueDeps;
  /** Warnings go first: somebody may be waiting for one. */
  readonly #waiting: Readonly<Record<PodEvent["type"], Said[]>> = { Warning: [], Normal: [] };
  /** By Pod, reason and words, oldest first. */
  readonly #said = new Map<string, Said>();
  readonly #allowances = new Map<PodUid, Allowance>();
  #isWriting = false;

  constructor(deps: EventQueueDeps) {
    this.#deps = deps;
  }

  record(event: PodEvent): void {
    const { runtime } = this.#deps;
    const words = `${event.podUid} ${event.reason} ${event.note}`;
    const said = this.#said.get(words) ?? this.#first(event);
    if (!said) return;
    setNewest(this.#said, words, said, rememberedMax);
    said.count++;
    const isRecent = said.told > 1 && runtime.now() - said.toldAt < repeatAfterMs;
    const { Warning, Normal } = this.#waiting;
    if (said.isQueued || isRecent || Warning.length + Normal.length >= queuedMax) return;
    said.isQueued = true;
    this.#waiting[event.type].push(said);
    if (!this.#isWriting) void this.#writeAll();
  }

  /** Undefined where so much has been said of the Pod that no new text is told. A Pod is placed but once. */
  #first(event: PodEvent): Said | undefined {
    const isTold = event.type === "Normal" || this.#takeAllowance(event.podUid);
    if (!isTold) return undefined;
    return { event, name: eventName(event, this.#deps.runtime), count: 0, told: 0, toldAt: 0, isQueued: false };
  }

  #takeAllowance(pod: PodUid): boolean {
    const now = this.#deps.runtime.now();
    const before = this.#allowances.get(pod) ?? { texts: burst, at: now };
    const refilled = Math.floor((now - before.at) / refillMs);
    const texts = Math.min(burst, before.texts + refilled);
    if (texts === 0) return false;
    const at = texts === burst ? now : before.at + refilled * refillMs;
    setNewest(this.#allowances, pod, { texts: texts - 1, at }, rememberedMax);
    return true;
  }

  async #writeAll(): Promise<void> {
    const { Warning, Normal } = this.#waiting;
    const next = (): Said | undefined => Warning.shift() ?? Normal.shift();
    this.#isWriting = true;
    for (let said = next(); said; said = next()) {
      // Whatever comes of it: an event is no reason to try again.
      const outcome = await this.#write(said);
      const awayMs = outcome.ok ? 0 : (outcome.retryAfterMs ?? 0);
      if (awayMs > 0) await this.#deps.runtime.sleep(awayMs);
      else if (Warning.length + Normal.length > 0) await this.#pause();
    }
    this.#isWriting = false;
  }

  async #write(said: Said): Promise<WriteOutcome> {
    const { writer, runtime } = this.#deps;
    const { event, count } = said;
    const isNew = said.told === 0;
    said.isQueued = false;
    said.told = count;
    said.toldAt = runtime.now();
    if (isNew) return writer.recordEvent({ ...event, name: said.name, count });
    const outcome = await writer.repeatEvent({ namespace: event.namespace, name: said.name, count });
    if (outcome.ok || outcome.status !== 404) return outcome;
    // The API keeps events for an hour by default: this one begins anew.
    said.name = eventName(event, runtime);
    said.count = said.told = 1;
    return writer.recordEvent({ ...event, name: said.name, count: 1 });
  }

  /** A warning never waits for the long pause. */
  async #pause(): Promise<void> {
    const { runtime, isBusy } = this.#deps;
    for (let pauses = 0; pauses < busyPauses; pauses++) {
      await runtime.sleep(pauseMs);
      if (this.#waiting.Warning.length > 0 || !isBusy()) return;
    }
  }
}

function eventName({ pod }: PodEvent, runtime: Runtime): string {
  return `${pod.slice(0, 200)}.${runtime.uuid()}`;
}
