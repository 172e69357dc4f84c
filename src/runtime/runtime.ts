/**
 * The outside world as Berth's long-lived parts see it: time, randomness and the network, all handed in.
 *
 * Only `main.ts` and the commands choose the real ones (`node-runtime.ts`, `kube/transport.ts`); tests and the
 * simulation hand in a virtual clock. One runtime serves one incarnation of the process: a crash is simulated by a
 * runtime whose promises never resolve again.
 */

/** Milliseconds. Where a name ends in `Ms` it holds such a number. */
export type Milliseconds = number;

export interface Timer {
  /** Forgets the timer; harmless when it has already fired. */
  cancel(): void;
}

export interface Runtime {
  /** A clock that never runs backwards, for every duration, deadline and age. */
  now(): Milliseconds;
  /** Milliseconds since 1970, for timestamps that people or the API read. May jump; decides nothing. */
  wallTime(): Milliseconds;
  /** Resolves after `ms`, or at once when `signal` aborts: the caller looks at the signal. Never rejects. */
  sleep(ms: Milliseconds, signal?: AbortSignal): Promise<void>;
  /** Calls `then` once after `ms`. */
  timer(ms: Milliseconds, then: () => void): Timer;
  /** Lets everything else that is ready run first: between the slices of long work. */
  yield(): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
  uuid(): string;
}

/** One request on the wire, as the client makes it and as the server gets it. Header names are lower case. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, e.g. "/api/v1/pods?limit=500". */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** Who is at the other end of a TLS connection, as far as its certificate says. */
export interface Peer {
  /** What keeps its certificate from being believed. */
  readonly problem?: "none" | "expired" | "untrusted";
  /** Of the certificate, for messages; "" without one. */
  readonly subject: string;
  /** Milliseconds since 1970 from which the certificate is no good any more. */
  readonly expiresAtMs: Milliseconds;
  /** Whether the certificate is of this name: its common name, or one of its DNS names, no wildcards. */
  isNamed(name: string): boolean;
}

/** One reply. A stream is read to its end or broken off by the request's signal. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | AsyncIterable<Uint8Array>;
}

/**
 * A request and its reply: the client's transport and the server's handler have this one shape, so that the simulation can
 * put one in place of the other. Aborting `signal` means that the caller has gone; a transport then rejects.
 * A transport rejects with an Error when there was no reply (refused, reset, timed out): the request may have taken effect.
 */
export type Exchange = (request: HttpRequest, signal: AbortSignal) => Promise<HttpReply>;

/** What is known of a request before its body is read. */
export interface RequestHead {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Undefined where the length is not told beforehand. */
  readonly bodyBytes: number | undefined;
  /** Of the Authorization header. A secret: it is compared, hashed and sent to the API server, and nothing else. */
  readonly authorization?: string;
  /** Of a connection whose listener asks for certificates. */
  readonly peer?: Peer;
}

/** How a request that was let in came to its end: served, or nothing was done for it. */
export type Departure = "served" | "callerGone" | "tooLarge" | "tooManyBytes" | "undecodable";

/** What becomes of a request whose body has not been read. */
export type Admission =
  /** It takes no place; its body is bounded as those of strangers are. */
  | { readonly kind: "passed" }
  /** It is answered so, and its body is thrown away as it comes. */
  | { readonly kind: "refused"; readonly reply: HttpReply }
  | {
      readonly kind: "admitted";
      /** It is long work: one of them a turn of the event loop, and none for a caller who has gone. */
      readonly isLong: boolean;
      /** Called once, when its reply is out or its connection has broken. */
      readonly leave: (departure: Departure) => void;
    };
