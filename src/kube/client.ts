/**
 * Calls to the Kubernetes API over an exchange that is handed in. Raw JSON on purpose: client-node's typed calls drop fields they do
 * not know, and open a connection a call. Nothing here throws for what a peer sends or the network does.
 */
import type { Exchange, HttpReply, Milliseconds, Runtime } from "../runtime/runtime.ts";
import { Turns } from "../runtime/turns.ts";
import { bytesOf, linesOf } from "./lines.ts";
import { type Failure, failureOf, noAnswer, type Outcome } from "./outcome.ts";
import { withoutBulk } from "./trim.ts";

/** Every patch names its type: the API refuses plain JSON (FR-080). */
const patchTypes = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

export interface ReadOptions {
  /** Tries in all. A read that no answer or a 5xx came to, or that was throttled, is asked again after a moment. Default 3. */
  readonly triesMax?: number;
}

export type WatchOutcome = { readonly ok: true; readonly events: AsyncIterable<WatchEvent> } | Failure;

export interface ApiClientDeps {
  readonly runtime: Runtime;
  readonly exchange: Exchange;
  readonly userAgent: string;
  /** A call without an answer by then has failed. Watches are bounded by their reader. */
  readonly timeoutMs: Milliseconds;
}

/** A page of 500 large objects is some 10 MB. */
const replyBytesMax = 256 << 20;
/** etcd holds objects of 1.5 MiB at most, some servers are set to more. */
const lineBytesMax = 16 << 20;

/** What is so large is a page. */
const pageBytesMin = 128 << 10;
const readTriesMax = 3;
/** Between tries: long enough for a connection to be opened anew, short beside what waits for the answer. */
const retryFirstMs = 100;
const retryLastMs = 2_000;

interface Deadline {
  readonly signal: AbortSignal;
  /** Set when it was the clock that aborted. */
  problem(): string | undefined;
  stopClock(): void;
  end(): void;
}

export class ApiClient {
  readonly #deps: ApiClientDeps;
  readonly #turns: Turns;

  constructor(deps: ApiClientDeps) {
    this.#deps = deps;
    this.#turns = new Turns(deps.runtime);
  }

  /** One object, or a page of a list. The reply may come compressed, which a page is worth. */
  async get(path: string, signal?: AbortSignal, { triesMax = readTriesMax }: ReadOptions = {}): Promise<Outcome> {
    const { runtime } = this.#deps;
    for (let tries = 1; ; tries++) {
      const outcome = await this.#call("GET", path, undefined, undefined, signal);
      if (outcome.ok || tries >= triesMax || !isTransient(outcome) || signal?.aborted) return outcome;
      const pauseMs = retryFirstMs * 3 ** (tries - 1) * (0.5 + runtime.random());
      // Whoever is told to stay away for longer is better told so than kept waiting.
      if ((outcome.retryAfterMs ?? 0) > retryLastMs) return outcome;
      await runtime.sleep(Math.max(pauseMs, outcome.retryAfterMs ?? 0), signal);
    }
  }

  delete(path: string, preconditions?: unknown, signal?: AbortSignal): Promise<Outcome> {
    const options =
      preconditions === undefined ? undefined : { apiVersion: "v1", kind: "DeleteOptions", preconditions };
    return this.#call("DELETE", path, "application/json", options, signal);
  }

  post(path: string, body: unknown, signal?: AbortSignal): Promise<Outcome> {
    return this.#call("POST", path, "application/json", body, signal);
  }

  put(path: string, body: unknown, signal?: AbortSignal): Promise<Outcome> {
    return this.#call("PUT", path, "application/json", body, signal);
  }

  patch(path: string, type: keyof typeof patchTypes, body: unknown, signal?: AbortSignal): Promise<Outcome> {
    return this.#call("PATCH", path, patchTypes[type], body, signal);
  }

  /**
   * Opens a watch. Its events end when the server ends it, `signal` aborts, or anything is wrong with the stream: a line that
   * cannot be read ends it too, for to skip it would lose an event.
   */
  async watch(path: string, signal: AbortSignal): Promise<WatchOutcome> {
    const opening = this.#deadline(signal);
    try {
      const reply = await this.#deps.exchange(
        { method: "GET", path, headers: this.#headers(undefined) },
        opening.signal,
      );
      if (reply.status === 200 && typeof reply.body === "object" && Symbol.asyncIterator in reply.body) {
        return { ok: true, events: eventsOf(reply.body) };
      }
      if (reply.status === 200) return { ok: true, events: eventsOf(one(await bytesOf(reply.body, replyBytesMax))) };
      const body = decode(await bytesOf(reply.body, replyBytesMax));
      return failureOf({ reply, body, isWrite: false, wallTime: this.#deps.runtime.wallTime() });
    } catch (problem) {
      return noAnswer(opening.problem() ?? problem, false);
    } finally {
      // The watch lives on past its opening, and must still end with its caller.
      opening.stopClock();
    }
  }

  async #call(
    method: string,
    path: string,
    contentType: string | undefined,
    body: unknown,
    caller: AbortSignal | undefined,
  ): Promise<Outcome> {
    const isWrite = method !== "GET";
    const deadline = this.#deadline(caller);
    try {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const headers = { ...this.#headers(contentType), ...(!isWrite && { "accept-encoding": "gzip" }) };
      const request = { method, path, headers, ...(text !== undefined && { body: text }) };
      const reply = await this.#deps.exchange(request, deadline.signal);
      return await this.#read(reply, isWrite);
    } catch (problem) {
      return noAnswer(deadline.problem() ?? problem, isWrite);
    } finally {
      deadline.end();
    }
  }

  async #read(reply: HttpReply, isWrite: boolean): Promise<Outcome> {
    const succeeded = reply.status >= 200 && reply.status < 300;
    let body: unknown;
    let length = 0;
    try {
      const bytes = await bytesOf(reply.body, replyBytesMax);
      length = bytes.length;
      // A page takes milliseconds to parse; those of several kinds are not to come in one turn.
      const isPage = bytes.length > pageBytesMin;
      if (isPage) await this.#turns.next();
      body = decode(bytes, isPage);
    } catch (problem) {
      // A read without its body is nothing; a write has happened, and the status says so (FR-079).
      if (succeeded && !isWrite) return noAnswer(problem, false);
    }
    if (!succeeded) return failureOf({ reply, body, isWrite, wallTime: this.#deps.runtime.wallTime() });
    if (body === undefined && !isWrite) return noAnswer("the answer is no JSON", false);
    return { ok: true, status: reply.status, body, bytes: length };
  }

  #headers(contentType: string | undefined): Record<string, string> {
    return {
      accept: "application/json",
      "user-agent": this.#deps.userAgent,
      ...(contentType !== undefined && { "content-type": contentType }),
    };
  }

  /** A signal that aborts with the caller's, or when the time is up. */
  #deadline(caller: AbortSignal | undefined): Deadline {
    const controller = new AbortController();
    let problem: string | undefined;
    const timer = this.#deps.runtime.timer(this.#deps.timeoutMs, () => {
      problem = `no answer within ${this.#deps.timeoutMs} ms`;
      controller.abort();
    });
    const follow = (): void => controller.abort();
    if (caller?.aborted) follow();
    caller?.addEventListener("abort", follow);
    return {
      signal: controller.signal,
      problem: () => problem,
      stopClock: () => timer.cancel(),
      end: () => {
        timer.cancel();
        caller?.removeEventListener("abort", follow);
      },
    };
  }
}

/** Reads only: for a write, no answer says nothing. */
function isTransient({ status }: Failure): boolean {
  return status === undefined || status === 429 || status >= 500;
}

function decode(bytes: Buffer, isPage = false): unknown {
  try {
    const text = bytes.toString("utf8");
    return JSON.parse(isPage ? withoutBulk(text) : text);
  } catch {
    return undefined;
  }
}

async function* one(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  for await (const line of linesOf(body, lineBytesMax)) {
    const event: unknown = JSON.parse(withoutBulk(line));
    if (typeof event !== "object" || event === null) throw new SyntaxError("a watch event that is no object");
    const { type, object } = event as Record<string, unknown>;
    if (typeof type !== "string") throw new SyntaxError("a watch event without a type");
    yield { type, object };
  }
}
