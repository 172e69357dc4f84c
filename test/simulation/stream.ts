/** A watch on its way: lines arrive late, in order, some together, and the connection may fail in every way that connections do. */
import type { Milliseconds, Timer } from "../../src/runtime/runtime.ts";
import type { Clock } from "./clock.ts";
import type { WatchFate } from "./weather.ts";

export interface StreamOptions {
  readonly clock: Clock;
  readonly source: AsyncIterator<Uint8Array>;
  readonly fate: WatchFate;
  /** One of them aborts when the client has gone. (AbortSignal.any keeps what it made for as long as nothing aborts.) */
  readonly signals: readonly AbortSignal[];
  /** A connection that is dead is noticed by the client's own system after this; undefined: never. */
  readonly deadAfterMs: Milliseconds | undefined;
  readonly onEnd: (stream: Stream) => void;
}

type End = "closed" | "reset";

const bookmark = '{"type":"BOOKMARK"';

export class Stream implements AsyncIterableIterator<Uint8Array> {
  readonly #options: StreamOptions;
  #fate: WatchFate;
  readonly #ready: Uint8Array[] = [];
  #underway: Uint8Array[] = [];
  #delivery: Timer | undefined;
  #end: End | undefined;
  #wake: (() => void) | undefined;
  #lines = 0;
  #isSilent = false;
  /** Until then lines are late, whatever the weather. */
  #heldUntil = 0;
  /** Since when something that was sent has not arrived; undefined where the client has all there is. */
  #behindSince: Milliseconds | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#fate = options.fate;
    for (const signal of options.signals) signal.addEventListener("abort", this.#gone, { once: true });
    if (options.signals.some(({ aborted }) => aborted)) this.#finish("reset");
    void this.#pump();
  }

  get behindSince(): Milliseconds | undefined {
    return this.#behindSince;
  }

  /** The weather turned: what is open is met by it too. */
  meet(fate: WatchFate): void {
    this.#fate = fate;
    this.#lines = 0;
  }

  /** What is sent from now on arrives so much later. */
  hold(ms: Milliseconds): void {
    this.#heldUntil = this.#options.clock.now + ms;
  }

  break(how: End): void {
    this.#finish(how);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const line = this.#ready.shift();
      if (line) return { done: false, value: line };
      if (this.#end === "closed") return { done: true, value: undefined };
      if (this.#end === "reset") throw new Error("ECONNRESET");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#finish("closed");
    return { done: true, value: undefined };
  }

  async #pump(): Promise<void> {
    const { source } = this.#options;
    for (;;) {
      const { done, value } = await source.next();
      if (this.#end) return;
      if (done) return this.#finish("closed");
      this.#take(value);
      if (this.#end) return;
    }
  }

  #take(line: Uint8Array): void {
    const { fault, after } = this.#fate;
    const isStruck = fault !== undefined && this.#lines++ >= after;
    if (this.#isSilent) {
      this.#fallBehind();
      return;
    }
    if (fault === "no bookmarks" && Buffer.from(line.subarray(0, 24)).toString("latin1").startsWith(bookmark)) return;
    if (!isStruck || fault === "no bookmarks" || fault === "watch late") {
      this.#send(line);
      return;
    }
    this.#fallBehind();
    if (fault === "watch silent") {
      this.#isSilent = true;
      const { deadAfterMs, clock } = this.#options;
      if (deadAfterMs !== undefined) clock.timer(deadAfterMs, () => this.#finish("reset"));
    } else if (fault === "watch torn") {
      this.#ready.push(line.subarray(0, line.length >> 1));
      this.#finish("closed", true);
    } else this.#finish(fault === "watch cut" ? "reset" : "closed");
  }

  #fallBehind(): void {
    this.#behindSince ??= this.#options.clock.now;
  }

  #send(line: Uint8Array): void {
    const lagMs = Math.max(this.#fate.lagMs, this.#heldUntil - this.#options.clock.now);
    if (lagMs === 0 && this.#underway.length === 0) {
      this.#ready.push(line);
      this.#wakeReader();
      return;
    }
    this.#fallBehind();
    this.#underway.push(line);
    // What is sent meanwhile arrives with it.
    this.#delivery ??= this.#options.clock.timer(lagMs, () => this.#deliver());
  }

  #deliver(): void {
    this.#delivery = undefined;
    if (this.#end) return;
    if (!this.#isSilent) this.#behindSince = undefined;
    this.#ready.push(...this.#underway);
    this.#underway = [];
    this.#wakeReader();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  readonly #gone = (): void => this.#finish("reset");

  #finish(how: End, keepsReady = false): void {
    if (this.#end) return;
    this.#end = how;
    for (const signal of this.#options.signals) signal.removeEventListener("abort", this.#gone);
    this.#delivery?.cancel();
    if (!keepsReady && how === "reset") this.#ready.length = 0;
    void this.#options.source.return?.();
    this.#options.onEnd(this);
    this.#wakeReader();
  }
}
