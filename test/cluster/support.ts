/** A scripted API for one reflector: each request is recorded, and answered by whatever the test says. */
import { keyOf } from "../../src/apis/kubernetes.ts";
import { Pace } from "../../src/cluster/pace.ts";
import { Reflector, type ReflectorDeps } from "../../src/cluster/reflector.ts";
import { ApiClient } from "../../src/kube/client.ts";
import { silentLog } from "../../src/runtime/log.ts";
import type { Exchange, HttpReply } from "../../src/runtime/runtime.ts";
import type { Kind } from "../../src/scheduling/objects.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";
import type { Raw } from "../support/make.ts";

export interface Asked {
  readonly at: number;
  readonly path: string;
  readonly isWatch: boolean;
  readonly query: URLSearchParams;
  /** How many of its sort came before it. */
  readonly nth: number;
}

export type Script = (asked: Asked, signal: AbortSignal) => HttpReply | Promise<HttpReply>;

/** The body of a watch, sent by hand. It breaks with its request, as a connection does. */
export class Stream implements AsyncIterable<Uint8Array> {
  readonly #chunks: (Uint8Array | Error | "end")[] = [];
  #wake: (() => void) | undefined;
  isClosed = false;

  send(type: string, object: unknown): void {
    this.write(`${JSON.stringify({ type, object })}\n`);
  }

  bookmark(version: string, annotations?: Record<string, string>): void {
    this.send("BOOKMARK", { metadata: { resourceVersion: version, ...(annotations && { annotations }) } });
  }

  write(text: string | Uint8Array): void {
    this.#push(typeof text === "string" ? Buffer.from(text) : text);
  }

  end(): void {
    this.#push("end");
  }

  reset(): void {
    this.#push(new Error("read ECONNRESET"));
  }

  follow(signal: AbortSignal): this {
    signal.addEventListener("abort", () => this.#push(new Error("aborted")));
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk === "end") return;
        if (chunk instanceof Error) throw chunk;
        if (chunk) yield chunk;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.isClosed = true;
    }
  }

  #push(chunk: Uint8Array | Error | "end"): void {
    this.#chunks.push(chunk);
    this.#wake?.();
  }
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): HttpReply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

export const listOf = (version: string, items: readonly unknown[], continueToken?: string): HttpReply =>
  json({ metadata: { resourceVersion: version, ...(continueToken && { continue: continueToken }) }, items });

export const failure = (code: number, reason = "", headers: Record<string, string> = {}): HttpReply =>
  json({ kind: "Status", status: "Failure", code, reason, message: `${reason || code}` }, code, headers);

export const gone = (): HttpReply => failure(410, "Expired");
export const refused = (): never => {
  throw new Error("connect ECONNREFUSED");
};
/** A watch that nobody says anything on, until it is given up. */
export const silent: Script = (_, signal) => watchOn(new Stream(), signal);
export const watchOn = (stream: Stream, signal: AbortSignal): HttpReply => ({
  status: 200,
  headers: {},
  body: stream.follow(signal),
});

/** An object as the reflector sees it. */
export const object = (name: string, version: string, more: Raw = {}): Raw => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: version },
  ...more,
});

export interface World {
  readonly runtime: VirtualRuntime;
  readonly asked: Asked[];
  readonly reflector: Reflector;
  /** "name@version" of all objects, and what happened to them in order. */
  readonly objects: ReadonlyMap<string, string>;
  readonly happened: string[];
  readonly ended: string[];
  script: Script;
  stop(): Promise<void>;
}

export function makeWorld(script: Script, options: Partial<ReflectorDeps> = {}): World {
  const runtime = virtualRuntime(7);
  const objects = new Map<string, string>();
  const asked: Asked[] = [];
  const happened: string[] = [];
  const ended: string[] = [];
  const exchange: Exchange = async ({ path }, signal) => {
    const query = new URLSearchParams(path.split("?")[1]);
    const isWatch = query.get("watch") === "true";
    const nth = asked.filter((other) => other.isWatch === isWatch).length;
    const request = { at: runtime.now(), path, isWatch, query, nth };
    asked.push(request);
    return world.script(request, signal);
  };
  const kind: Kind = options.kind ?? "volume";
  const client = new ApiClient({ runtime, exchange, userAgent: "test", timeoutMs: 30_000 });
  const stopping = new AbortController();
  const reflector = new Reflector({
    kind,
    runtime,
    client,
    log: silentLog,
    pace: new Pace(runtime),
    observer: { watchEnded: (_, how) => ended.push(how) },
    silenceMaxMs: 100_000,
    streams: false,
    mirror: {
      put: (raw) => {
        const named = keyOf(kind, raw);
        const key = named ?? "?";
        const version = (raw as { metadata?: { resourceVersion?: string } } | null)?.metadata?.resourceVersion ?? "?";
        objects.set(key, version);
        happened.push(`put ${key}@${version}`);
        return named;
      },
      remove: (key) => {
        objects.delete(key);
        happened.push(`remove ${key}`);
      },
      keys: () => objects.keys(),
    },
    ...options,
  });
  const world: World = {
    runtime,
    asked,
    reflector,
    objects,
    happened,
    ended,
    script,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
  const running = reflector.run(stopping.signal);
  return world;
}
