/**
 * Keeps one kind in step with the API: list in pages, then watch from there, for ever.
 *
 *     ┌─▶ list ──────────▶ watch ──── ended by the server ──┐
 *     │    │ failed          │ ▲                            │
 *     │    ▼                 │ └────────────────────────────┘  from the last version seen, bookmarks included
 *     └─ pause ◀── expired (410), failed, silent, unreadable
 *
 * A list replaces what was known by mark and sweep, in slices: nothing is swapped at once, so the loop never blocks and memory
 * never doubles. What cannot be read of a stream ends it; no event is skipped.
 *
 * @see client-go tools/cache/reflector.go
 */
import { keyOf, kindInfo } from "../apis/kubernetes.ts";
import type { ApiClient } from "../kube/client.ts";
import type { Failure } from "../kube/outcome.ts";
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { Kind, ObjectKey } from "../scheduling/objects.ts";
import { Backoff } from "./backoff.ts";

/** What a reflector keeps in step. None may throw. */
export interface Mirror {
  put(raw: unknown): void;
  remove(key: ObjectKey): void;
  keys(): Iterable<ObjectKey>;
}

export interface ReflectorObserver {
  readonly listed?: (kind: Kind, objects: number) => void;
  readonly watchEnded?: (kind: Kind, how: WatchEnd) => void;
}

export type WatchEnd = "closed" | "expired" | "failed" | "silent" | "unreadable";

export interface ReflectorDeps {
  readonly kind: Kind;
  readonly runtime: Runtime;
  readonly client: ApiClient;
  readonly mirror: Mirror;
  readonly log: Log;
  readonly observer: ReflectorObserver;
  /** A watch silent for so long is given up; bookmarks come about once a minute. */
  readonly silenceMaxMs: Milliseconds;
}

/** Work on a list is broken up after so long: filter calls wait no longer than this. */
const sliceMs = 5;
const checkEvery = 16;
/** The server ends watches after this, spread so that not all kinds reconnect at once. */
const watchSecondsMin = 300;
const watchSecondsMax = 600;

export class Reflector {
  readonly #deps: ReflectorDeps;
  readonly #backoff: Backoff;
  #version: string | undefined;
  #lists = 0;
  #heardAt: Milliseconds | undefined;

  constructor(deps: ReflectorDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps.runtime);
  }

  /** How often everything was listed; at least once means synced. */
  get lists(): number {
    return this.#lists;
  }

  /** Since the API was last heard of this kind; undefined before the first list. */
  ageMs(): Milliseconds | undefined {
    return this.#heardAt === undefined ? undefined : this.#deps.runtime.now() - this.#heardAt;
  }

  /** Runs until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const failure = this.#version === undefined ? await this.#list(signal) : await this.#watch(this.#version, signal);
      if (signal.aborted) return;
      if (failure) {
        this.#deps.log.debug({ kind: this.#deps.kind, error: failure.message }, "Reflector pauses");
        await this.#backoff.pause(signal, failure.retryAfterMs);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<Failure | undefined> {
    const { kind, client, log, observer } = this.#deps;
    const { path, pageSize, fieldSelector } = kindInfo[kind];
    const seen = new Set<ObjectKey>();
    let continueToken = "";
    let version: string | undefined;
    do {
      const query = new URLSearchParams({ limit: String(pageSize) });
      if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);
      if (continueToken !== "") query.set("continue", continueToken);
      const outcome = await client.get(`${path}?${query}`, signal);
      if (!outcome.ok) {
        log.warn({ kind, error: outcome.message, status: outcome.status }, "Failed to list");
        return outcome;
      }
      const page = readPage(outcome.body);
      if (!page) return { ok: false, message: "the list is no list", ambiguous: false };
      await this.#mark(page.items, seen, signal);
      if (signal.aborted) return undefined;
      continueToken = page.continueToken;
      version ??= page.version;
    } while (continueToken !== "");
    await this.#sweep(seen, signal);
    if (signal.aborted) return undefined;
    this.#version = version;
    this.#lists++;
    this.#hear();
    observer.listed?.(kind, seen.size);
    log.info({ kind, objects: seen.size }, "Listed");
    return undefined;
  }

  async #mark(items: readonly unknown[], seen: Set<ObjectKey>, signal: AbortSignal): Promise<void> {
    const { kind, mirror } = this.#deps;
    await this.#inSlices(items, signal, (raw) => {
      const key = keyOf(kind, raw);
      if (key !== undefined) seen.add(key);
      mirror.put(raw);
    });
  }

  async #sweep(seen: ReadonlySet<ObjectKey>, signal: AbortSignal): Promise<void> {
    const { mirror } = this.#deps;
    const gone = [...mirror.keys()].filter((key) => !seen.has(key));
    await this.#inSlices(gone, signal, (key) => mirror.remove(key));
  }

  async #inSlices<T>(items: readonly T[], signal: AbortSignal, work: (item: T) => void): Promise<void> {
    const { runtime } = this.#deps;
    let started = runtime.now();
    for (const [index, item] of items.entries()) {
      work(item);
      if (index % checkEvery !== 0 || runtime.now() - started < sliceMs) continue;
      await runtime.yield();
      if (signal.aborted) return;
      started = runtime.now();
    }
    await runtime.yield();
  }

  async #watch(version: string, signal: AbortSignal): Promise<Failure | undefined> {
    const { kind, client, runtime, observer } = this.#deps;
    const { path, fieldSelector } = kindInfo[kind];
    const seconds = Math.round(watchSecondsMin + runtime.random() * (watchSecondsMax - watchSecondsMin));
    const query = new URLSearchParams({ watch: "true", allowWatchBookmarks: "true", resourceVersion: version });
    query.set("timeoutSeconds", String(seconds));
    if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);

    const silence = new Silence(runtime, this.#deps.silenceMaxMs, signal);
    try {
      const outcome = await client.watch(`${path}?${query}`, silence.signal);
      if (!outcome.ok) {
        const expired = outcome.status === 410;
        if (expired) this.#version = undefined;
        observer.watchEnded?.(kind, expired ? "expired" : "failed");
        return outcome;
      }
      this.#hear();
      const openedAt = runtime.now();
      const ending = await this.#follow(outcome.events, silence);
      observer.watchEnded?.(kind, ending.how);
      // A watch that the server closes at once, again and again, is a storm like any other.
      const lived = runtime.now() - openedAt >= 1_000 || ending.events > 0;
      return ending.how === "closed" && lived
        ? undefined
        : { ok: false, message: `watch ${ending.how}`, ambiguous: false };
    } finally {
      silence.end();
    }
  }

  async #follow(
    events: AsyncIterable<{ type: string; object: unknown }>,
    silence: Silence,
  ): Promise<{ how: WatchEnd; events: number }> {
    let count = 0;
    try {
      for await (const { type, object } of events) {
        silence.broken();
        if (type === "ERROR") {
          const expired = codeOf(object) === 410;
          if (expired) this.#version = undefined;
          return { how: expired ? "expired" : "failed", events: count };
        }
        if (!this.#take(type, object)) return { how: "unreadable", events: count };
        count++;
        this.#hear();
        this.#backoff.succeeded();
      }
      return { how: silence.fell ? "silent" : "closed", events: count };
    } catch (problem) {
      if (silence.fell) return { how: "silent", events: count };
      return {
        how: problem instanceof SyntaxError || problem instanceof RangeError ? "unreadable" : "failed",
        events: count,
      };
    }
  }

  /** False for an event that says nothing we can follow. */
  #take(type: string, object: unknown): boolean {
    const version = versionOf(object);
    if (version === undefined) return false;
    if (type === "ADDED" || type === "MODIFIED") this.#deps.mirror.put(object);
    else if (type === "DELETED") {
      const key = keyOf(this.#deps.kind, object);
      if (key !== undefined) this.#deps.mirror.remove(key);
    } else if (type !== "BOOKMARK") return false;
    this.#version = version;
    return true;
  }

  #hear(): void {
    this.#heardAt = this.#deps.runtime.now();
  }
}

/** Aborts when nothing was heard for too long, or with its parent. */
class Silence {
  fell = false;
  readonly #controller = new AbortController();
  readonly #runtime: Runtime;
  readonly #maxMs: Milliseconds;
  readonly #parent: AbortSignal;
  readonly #follow = (): void => this.#controller.abort();
  #timer: { cancel(): void };

  constructor(runtime: Runtime, maxMs: Milliseconds, parent: AbortSignal) {
    this.#runtime = runtime;
    this.#maxMs = maxMs;
    this.#parent = parent;
    parent.addEventListener("abort", this.#follow);
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  broken(): void {
    this.#timer.cancel();
    this.#timer = this.#start();
  }

  end(): void {
    this.#timer.cancel();
    this.#parent.removeEventListener("abort", this.#follow);
    // Whatever of the stream is still open ends here.
    this.#controller.abort();
  }

  #start(): { cancel(): void } {
    return this.#runtime.timer(this.#maxMs, () => {
      this.fell = true;
      this.#controller.abort();
    });
  }
}

interface Page {
  readonly items: readonly unknown[];
  readonly continueToken: string;
  readonly version: string;
}

function readPage(body: unknown): Page | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { items, metadata } = body as Record<string, unknown>;
  const { continue: token, resourceVersion } = (metadata ?? {}) as Record<string, unknown>;
  if ((items !== null && items !== undefined && !Array.isArray(items)) || typeof resourceVersion !== "string")
    return undefined;
  return { items: items ?? [], continueToken: typeof token === "string" ? token : "", version: resourceVersion };
}

function versionOf(object: unknown): string | undefined {
  const metadata = (object as { metadata?: { resourceVersion?: unknown } } | null)?.metadata;
  return typeof metadata?.resourceVersion === "string" ? metadata.resourceVersion : undefined;
}

function codeOf(object: unknown): unknown {
  return (object as { code?: unknown } | null)?.code;
}
