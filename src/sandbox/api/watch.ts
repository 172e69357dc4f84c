/** Watches: the log of a collection read from some version on, one JSON line a change. */
import type { Milliseconds, Runtime, Timer } from "../../runtime/runtime.ts";
import type { Change, Collection, Version } from "./collection.ts";
import type { Encoder } from "./encode.ts";
import type { JsonObject } from "./json.ts";
import type { Matches } from "./selectors.ts";
import { type ApiError, expired } from "./status.ts";

interface WatchOptions {
  readonly collection: Collection;
  readonly runtime: Runtime;
  readonly encoder: Encoder;
  readonly matches: Matches;
  /** Sent first, as ADDED: the state the client asked to begin with. */
  readonly initial: readonly Version[];
  /** Whether a bookmark marks the end of `initial`. */
  readonly marksInitialEnd: boolean;
  /** The version that `initial` shows. */
  readonly resourceVersion: number;
  /** The first change to send; `undefined` when it is forgotten already. */
  readonly sequence: number | undefined;
  readonly bookmarkIntervalMs: Milliseconds | undefined;
  readonly timeoutMs: Milliseconds;
  /** The newest version of the whole store: what a bookmark may promise once everything has been sent. */
  readonly currentVersion: () => number;
}

const text = new TextEncoder();
const lineEnd = text.encode("}\n");
const starts = new Map(
  ["ADDED", "MODIFIED", "DELETED"].map((type) => [type, text.encode(`{"type":"${type}","object":`)]),
);

/**
 * One watch. It holds a place in the log and no queue: a client that does not read costs nothing, and when the log has
 * moved past its place it is told 410 and cut off.
 *
 *     initial ──▶ following ──▶ ended   timeout, abort, return(), 410, closeNow
 *                 ▲     │ nothing left: wait for the collection, a bookmark or the end
 *                 └─────┘
 */
export class Watch implements AsyncIterableIterator<Uint8Array> {
  readonly #options: Omit<WatchOptions, "initial">;
  readonly #timers = new Map<"timeout" | "bookmark", Timer>();
  readonly #unlisten: () => void;
  readonly #signal: AbortSignal;
  readonly #onEnd: (watch: Watch) => void;
  readonly #end = (): void => this.close();
  #initial: readonly Version[];
  #initialSent = 0;
  #initialMarked: boolean;
  #sequence: number;
  #failure: ApiError | undefined;
  #bookmarkDue = false;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(options: WatchOptions, signal: AbortSignal, onEnd: (watch: Watch) => void) {
    const { collection, runtime, sequence } = options;
    const { initial, ...rest } = options;
    this.#options = rest;
    this.#signal = signal;
    this.#onEnd = onEnd;
    this.#initial = initial;
    this.#initialMarked = !options.marksInitialEnd;
    this.#sequence = sequence ?? collection.endSequence;
    if (sequence === undefined) this.#failure = tooOld(options.resourceVersion, options.currentVersion());
    this.#unlisten = collection.listen(() => this.#wake?.());
    signal.addEventListener("abort", this.#end, { once: true });
    this.#timers.set("timeout", runtime.timer(options.timeoutMs, this.#end));
    this.#armBookmark();
    if (signal.aborted) this.close();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      if (this.#ended) return { done: true, value: undefined };
      const line = this.#take();
      if (line) return { done: false, value: line };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.close();
    return { done: true, value: undefined };
  }

  /** Ends the stream as a server does that drops its watches. */
  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unlisten();
    this.#signal.removeEventListener("abort", this.#end);
    for (const timer of this.#timers.values()) timer.cancel();
    this.#onEnd(this);
    this.#wake?.();
  }

  /** The next line, if there is one to send now. */
  #take(): Uint8Array | undefined {
    const { encoder, collection, resourceVersion } = this.#options;
    if (this.#failure) {
      this.close();
      return lineOf("ERROR", this.#failure.status);
    }
    const first = this.#initial[this.#initialSent++];
    if (first) return line("ADDED", encoder.object(first));
    // Let go: a long watch must not keep alive what has been overwritten since.
    this.#initial = [];
    if (!this.#initialMarked) {
      this.#initialMarked = true;
      const annotations = { "k8s.io/initial-events-end": "true" };
      return this.#bookmark({ resourceVersion: String(resourceVersion), annotations });
    }
    if (collection.isForgotten(this.#sequence)) {
      this.#failure = tooOld(resourceVersion, this.#options.currentVersion());
      return this.#take();
    }
    for (let change = collection.changeAt(this.#sequence); change; change = collection.changeAt(this.#sequence)) {
      this.#sequence++;
      const sent = this.#lineOf(change);
      if (sent) return sent;
    }
    if (!this.#bookmarkDue) return undefined;
    this.#bookmarkDue = false;
    return this.#bookmark({ resourceVersion: String(this.#options.currentVersion()) });
  }

  /** A change as this watch's selectors show it: what enters them is added, what leaves them is deleted. */
  #lineOf({ type, version, previous }: Change): Uint8Array | undefined {
    const { matches, encoder } = this.#options;
    const was = previous !== undefined && matches(previous);
    const is = type !== "DELETED" && matches(version);
    if (is) return line(was ? "MODIFIED" : "ADDED", encoder.object(version));
    if (!was || !previous) return undefined;
    if (type === "DELETED") return line("DELETED", encoder.object(version));
    // The client last saw `previous`; it gets that state again, under the version at which it left.
    return line("DELETED", encoder.object(atVersion(previous, version.resourceVersion)));
  }

  #bookmark(metadata: JsonObject): Uint8Array {
    return lineOf("BOOKMARK", this.#options.encoder.bookmark({ ...metadata, creationTimestamp: null }));
  }

  #armBookmark(): void {
    const { bookmarkIntervalMs, runtime } = this.#options;
    if (bookmarkIntervalMs === undefined) return;
    const due = (): void => {
      this.#bookmarkDue = true;
      this.#armBookmark();
      this.#wake?.();
    };
    this.#timers.set("bookmark", runtime.timer(bookmarkIntervalMs, due));
  }
}

function tooOld(asked: number, current: number): ApiError {
  return expired(`too old resource version: ${asked} (${current})`);
}

function line(type: string, object: Uint8Array): Uint8Array {
  return Buffer.concat([starts.get(type) ?? text.encode(""), object, lineEnd]);
}

function lineOf(type: string, object: JsonObject): Uint8Array {
  return text.encode(`${JSON.stringify({ type, object })}\n`);
}

function atVersion(version: Version, resourceVersion: number): Version {
  const object = JSON.parse(new TextDecoder().decode(version.bytes)) as { metadata: { resourceVersion: string } };
  object.metadata.resourceVersion = String(resourceVersion);
  return { ...version, resourceVersion, bytes: text.encode(JSON.stringify(object)) };
}
