/** Events on Pods: best effort, few, bounded, never in the way of a bind. */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { setNewest } from "../scheduling/indexes.ts";
import type { KubeWriter, PodEvent } from "./ports.ts";

/** Events that wait to be written; more are dropped. */
const queuedMax = 200;
/** One write a pause, in order: the API server has better things to do. */
const pauseMs: Milliseconds = 100;
/** The same words on the same Pod are not said again for so long. */
const repeatAfterMs: Milliseconds = 300_000;
const rememberedMax = 2_000;

export class EventQueue {
  readonly #runtime: Runtime;
  readonly #writer: Pick<KubeWriter, "recordEvent">;
  readonly #queue: PodEvent[] = [];
  /** When each text was last queued, oldest first. */
  readonly #said = new Map<string, Milliseconds>();
  #isWriting = false;

  constructor(runtime: Runtime, writer: Pick<KubeWriter, "recordEvent">) {
    this.#runtime = runtime;
    this.#writer = writer;
  }

  record(event: PodEvent): void {
    const now = this.#runtime.now();
    const words = `${event.podUid} ${event.reason} ${event.note}`;
    const last = this.#said.get(words);
    if (last !== undefined && now - last < repeatAfterMs) return;
    if (this.#queue.length >= queuedMax) return;
    setNewest(this.#said, words, now, rememberedMax);
    this.#queue.push(event);
    if (!this.#isWriting) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    for (let event = this.#queue.shift(); event; event = this.#queue.shift()) {
      // Whatever comes of it: an event is no reason to try again.
      await this.#writer.recordEvent(event);
      if (this.#queue.length > 0) await this.#runtime.sleep(pauseMs);
    }
    this.#isWriting = false;
  }
}
