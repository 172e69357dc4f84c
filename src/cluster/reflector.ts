/**
 * Keeps one kind in step with the API: list in pages, then watch from there, for ever.
 *
 *     ┌─▶ list ──────────▶ watch ──── ended by the server ──┐
 *     │    │ failed          │ ▲                            │
 *     │    ▼                 │ └────────────────────────────┘  from the last version seen, bookmarks included
 *     └─ pause ◀── expired (410), failed, silent, unreadable
 *
 * What cannot be read of a stream ends it: no event is skipped. Where the server offers it, a watch that begins with all objects
 * stands in for the list; where such a one fails, the next list comes in pages.
 *
 * @see client-go tools/cache/reflector.go
 */
import { keyOf, versionOf } from "../apis/kubernetes.ts";
import type { ApiClient, WatchEvent } from "../kube/client.ts";
import { type Failure, fieldsOf } from "../kube/outcome.ts";
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { Kind } from "../scheduling/objects.ts";
import { Backoff } from "./backoff.ts";
import { list, Marks, type Mirror, sweep } from "./listing.ts";
import type { Pace } from "./pace.ts";
import { Silence } from "./silence.ts";
import { type EventType, isEventType, isInitialEnd, watchPath } from "./watch-path.ts";

export interface ReflectorObserver {
  readonly listed?: (kind: Kind, objects: number, durationMs: Milliseconds) => void;
  readonly watchEnded?: (kind: Kind, how: WatchEnd) => void;
  readonly event?: (kind: Kind, type: EventType) => void;
}

export type WatchEnd = "closed" | "expired" | "failed" | "silent" | "unreadable" | "relist";

export interface ReflectorDeps {
  readonly kind: Kind;
  readonly runtime: Runtime;
  readonly client: ApiClient;
  readonly mirror: Mirror;
  readonly pace: Pace;
  readonly log: Log;
  readonly observer: ReflectorObserver;
  /** A watch silent for so long is given up; bookmarks come about once a minute. */
  readonly silenceMaxMs: Milliseconds;
  /** Whether to ask for lists as watches that begin with all objects (sendInitialEvents). */
  readonly streams: boolean;
}

/** A watch that the server closes sooner, again and again, is a storm like any other. */
const livedMs = 5_000;
/** So often in a row at one place, and that place is passed by listing anew. */
const unreadableMax = 3;

export class Reflector {
  readonly #deps: ReflectorDeps;
  readonly #backoff: Backoff;
  readonly #pace: Pace;
  #version: string | undefined;
  #lists = 0;
  #heardAt: Milliseconds | undefined;
  #problem = "";
  #wasSilent = false;
  #unreadable = 0;
  #hasExpired = false;
  /** Until the server says that it knows none. */
  #streams: boolean;
  /** A stream failed: pages, until a list has come to its end. */
  #wantsPages = false;
  #watching: Silence | undefined;
  #relists = false;
  #listsBegun = 0;
  #lastListed = 0;

  constructor(deps: ReflectorDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(deps.runtime);
    this.#pace = deps.pace;
    this.#streams = deps.streams;
  }

  /** How often everything was listed; at least once means synced. */
  get lists(): number {
    return this.#lists;
  }

  /** Lists begun so far, which number them. */
  get listsBegun(): number {
    return this.#listsBegun;
  }

  /** The number of the list that came to its end last. */
  get lastListed(): number {
    return this.#lastListed;
  }

  /** The last failure since something was heard; "" where there was none. */
  get problem(): string {
    return this.#problem;
  }

  /** Since the API was last heard of this kind; undefined before the first list. */
  ageMs(): Milliseconds | undefined {
    return this.#heardAt === undefined ? undefined : this.#deps.runtime.now() - this.#heardAt;
  }

  /** Lists anew, for whoever found that what we have cannot be right. */
  relist(): void {
    if (!this.#watching) return;
    this.#relists = true;
    this.#watching.end();
  }

  /** Runs until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { kind, log } = this.#deps;
    while (!signal.aborted) {
      const failure = await this.#guardedStep(signal);
      if (signal.aborted) return;
      if (!failure) continue;
      this.#problem = failure.message;
      log.warn({ kind, error: failure.message, status: failure.status }, "Reflector pauses");
      await this.#backoff.pause(signal, failure.retryAfterMs);
    }
  }

  async #guardedStep(signal: AbortSignal): Promise<Failure | undefined> {
    try {
      return await this.#step(signal);
    } catch (err) {
      this.#deps.log.error({ kind: this.#deps.kind, err }, "Reflector met a fault");
      return failed(`a fault of our own: ${err}`);
    }
  }

  async #step(signal: AbortSignal): Promise<Failure | undefined> {
    const streams = this.#streams && !this.#wantsPages;
    if (this.#version !== undefined || streams) return this.#watch(this.#version, signal);
    const { runtime, kind, client, mirror } = this.#deps;
    const startedAt = runtime.now();
    this.#listsBegun++;
    const listed = await list({ kind, client, mirror, pace: this.#pace, backoff: this.#backoff }, signal);
    if (!listed.ok) return listed;
    this.#version = listed.version;
    this.#listed(listed.objects, startedAt);
    return undefined;
  }

  #listed(objects: number, startedAt: Milliseconds): void {
    const { kind, log, observer, runtime } = this.#deps;
    const durationMs = runtime.now() - startedAt;
    this.#lists++;
    this.#lastListed = this.#listsBegun;
    this.#wasSilent = false;
    this.#wantsPages = false;
    this.#hear();
    observer.listed?.(kind, objects, durationMs);
    log.info({ kind, objects, durationMs }, "Listed");
  }

  /** Watches from `version` on, or from the beginning. What it answers calls for a pause. */
  async #watch(version: string | undefined, signal: AbortSignal): Promise<Failure | undefined> {
    const { client, runtime, silenceMaxMs } = this.#deps;
    const silence = new Silence(runtime, silenceMaxMs, signal);
    this.#watching = silence;
    try {
      const openedAt = runtime.now();
      const outcome = await client.watch(watchPath(this.#deps.kind, version, runtime.random()), silence.signal);
      if (!outcome.ok) return this.#refused(outcome, version);
      // A server that opens watches and then says nothing is not heard of by opening them.
      if (version !== undefined && !this.#wasSilent) this.#hear();
      const how = await this.#follow(outcome.events, silence, version === undefined);
      return this.#ended(how, openedAt);
    } finally {
      this.#watching = undefined;
      silence.end();
    }
  }

  #refused(failure: Failure, version: string | undefined): Failure | undefined {
    const { status = 0 } = failure;
    const isExpired = status === 410;
    this.#deps.observer.watchEnded?.(this.#deps.kind, isExpired ? "expired" : "failed");
    if (isExpired) this.#expire();
    if (this.#relists) this.#version = undefined;
    this.#relists = false;
    if (version !== undefined) return failure;
    this.#wantsPages = true;
    // Without the WatchList gate (on by default in 1.32 and from 1.34) servers say so: once is enough, and there is nothing to wait for.
    // @see apimachinery pkg/apis/meta/internalversion/validation/validation.go, ValidateListOptions
    this.#streams = status !== 400 && status !== 403 && status !== 422;
    return this.#streams ? failure : undefined;
  }

  #ended(how: WatchEnd, openedAt: Milliseconds): Failure | undefined {
    const { kind, observer, runtime } = this.#deps;
    observer.watchEnded?.(kind, how);
    this.#wasSilent = how === "silent";
    this.#unreadable = how === "unreadable" ? this.#unreadable + 1 : 0;
    const isStuck = this.#unreadable >= unreadableMax;
    // A stream of initial events that does not come to its end is no list.
    if (this.#version === undefined && how !== "relist") this.#wantsPages = true;
    if (how === "expired") this.#expire();
    else if (how === "relist" || isStuck) this.#version = undefined;
    if (isStuck) this.#unreadable = 0;
    const hasLived = runtime.now() - openedAt >= livedMs;
    return how === "relist" || (how === "closed" && hasLived) ? undefined : failed(`watch ${how}`);
  }

  /**
   * A server that says so is back: the pauses that grew while it was away are not the new list's to wait for. Once only, until an
   * event comes: a storm of these stays slow (FR-108).
   */
  #expire(): void {
    this.#version = undefined;
    if (!this.#hasExpired) this.#backoff.succeeded();
    this.#hasExpired = true;
  }

  async #follow(events: AsyncIterable<WatchEvent>, silence: Silence, isInitial: boolean): Promise<WatchEnd> {
    const { mirror, runtime } = this.#deps;
    const startedAt = runtime.now();
    let marks = isInitial ? new Marks(mirror) : undefined;
    if (isInitial) this.#listsBegun++;
    try {
      for await (const { type, object } of events) {
        silence.broken();
        if (this.#relists) break;
        if (type === "ERROR") return fieldsOf(object)["code"] === 410 ? "expired" : "failed";
        const version = versionOf(object);
        if (version === undefined || !isEventType(type)) return "unreadable";
        this.#take(type, object, marks);
        if (marks && type === "BOOKMARK") {
          // A server that knows no end of initial events takes no notice that they were asked for.
          if (!isInitialEnd(object)) return "failed";
          await sweep({ mirror, marks, pace: this.#pace }, silence.signal);
          if (silence.signal.aborted) break;
          this.#listed(marks.objects, startedAt);
          marks = undefined;
        }
        if (!marks) this.#version = version;
        await this.#pace.step();
      }
    } catch (problem) {
      const isOurs = problem instanceof SyntaxError || problem instanceof RangeError;
      if (!silence.fell && !this.#relists) return isOurs ? "unreadable" : "failed";
    }
    if (!this.#relists) return silence.fell ? "silent" : "closed";
    this.#relists = false;
    return "relist";
  }

  #take(type: EventType, object: unknown, marks: Marks | undefined): void {
    const { kind, mirror, observer } = this.#deps;
    if (type === "ADDED" || type === "MODIFIED") {
      const key = mirror.put(object);
      marks?.add(key);
    } else if (type === "DELETED") {
      const key = keyOf(kind, object);
      if (key !== undefined) mirror.remove(key);
    }
    observer.event?.(kind, type);
    this.#unreadable = 0;
    this.#wasSilent = false;
    // Initial events are no progress: a stream may break off among them each time.
    if (marks) return;
    this.#hear();
    this.#hasExpired = false;
    this.#backoff.succeeded();
  }

  #hear(): void {
    this.#heardAt = this.#deps.runtime.now();
    this.#problem = "";
  }
}

function failed(message: string): Failure {
  return { ok: false, message, ambiguous: false };
}
