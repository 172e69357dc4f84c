/** Events on Pods: best effort, few, bounded, never in the way of a bind. */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { setNewest } from "../scheduling/indexes.ts";
import type { KubeWriter, PodEvent } from "./ports.ts";

/** Events that wait to be written; more are dropped. */
const queuedMax = 1_000;
/** One write a pause: the API server has better things to do. */
const pauseMs: Milliseconds = 100;
/** Pauses between two where many binds are in progress, and only good news is to be told. */
const busyPauses = 10;
/** The same words on the same Pod are not said again for so long. */
const repeatAfterMs: Milliseconds = 300_000;
const rememberedMax = 2_000;

export interface EventQueueDeps {
  readonly runtime: Runtime;
  readonly writer: Pick<KubeWriter, "recordEvent">;
  /** Whether many binds are in progress, whose writes come first. */
  readonly isBusy: () => boolean;
}

export class EventQueue {
  readonly #deps: EventQueueDeps;
  /** Warnings go first: somebody may be waiting for one. */
  readonly #waiting: Readonly<Record<PodEvent["type"], PodEvent[]>> = { Warning: [], Normal: [] };
  /** When each text was last queued, oldest first. */
  readonly #said = new Map<string, Milliseconds>();
  #isWriting = false;

  constructor(deps: EventQueueDeps) {
    this.#deps = deps;
  }

  record(event: PodEvent): void {
    const now = this.#deps.runtime.now();
    const words = `${event.podUid} ${event.reason} ${event.note}`;
    const last = this.#said.get(words);
    if (last !== undefined && now - last < repeatAfterMs) return;
    const { Warning, Normal } = this.#waiting;
    if (Warning.length + Normal.length >= queuedMax) return;
    setNewest(this.#said, words, now, rememberedMax);
    this.#waiting[event.type].push(event);
    if (!this.#isWriting) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    const { writer } = this.#deps;
    const { Warning, Normal } = this.#waiting;
    const next = (): PodEvent | undefined => Warning.shift() ?? Normal.shift();
    this.#isWriting = true;
    for (let event = next(); event; event = next()) {
      // Whatever comes of it: an event is no reason to try again.
      const outcome = await writer.recordEvent(event);
      const awayMs = outcome.ok ? 0 : (outcome.retryAfterMs ?? 0);
      if (awayMs > 0) await this.#deps.runtime.sleep(awayMs);
      else if (Warning.length + Normal.length > 0) await this.#pause();
    }
    this.#isWriting = false;
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
