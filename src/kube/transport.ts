/**
 * The real exchange with an API server. client-node's own opens a connection a call, or leaks one; this keeps a few alive,
 * gives each watch its own, and can cut those that write (reference/node-and-typescript.md §1.4).
 */
import http from "node:http";
import https from "node:https";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Exchange, HttpReply, HttpRequest, Milliseconds, Runtime } from "../runtime/runtime.ts";
import { Authorization } from "./authorization.ts";
import type { Connection } from "./connection.ts";

export interface TransportOptions {
  readonly runtime: Runtime;
  readonly connection: Connection;
  /** Until the connection stands, TLS included. Default 10 s. */
  readonly connectTimeoutMs?: Milliseconds;
  /** A connection without a request for this long is closed. Default 60 s: well before an API server or a balancer does. */
  readonly idleTimeoutMs?: Milliseconds;
  /** Connections for reads, and as many for writes. Default 16. */
  readonly socketsMax?: number;
}

const defaults = { connectTimeoutMs: 10_000, idleTimeoutMs: 60_000, socketsMax: 16 };
/** Probes a silent peer, so that a watch on a dead connection ends even where nobody waits for its bookmarks. */
const keepAliveProbeMs = 30_000;

type Purpose = "read" | "write" | "watch";

export class Transport {
  readonly #options: Required<TransportOptions>;
  readonly #base: URL;
  readonly #authorization: Authorization;
  readonly #agents: Readonly<Record<Purpose, http.Agent>>;
  readonly #writes = new Set<http.ClientRequest>();

  constructor(options: TransportOptions) {
    this.#options = { ...defaults, ...options };
    const { connection, runtime } = options;
    this.#base = new URL(connection.server);
    this.#authorization = new Authorization(runtime, connection.credentials);
    this.#agents = { read: this.#agent(true), write: this.#agent(true), watch: this.#agent(false) };
  }

  /** Rejects when no reply came. A 401 is tried once more where the token has changed since: nothing was done by the first. */
  readonly exchange: Exchange = async (request, signal) => {
    const authorization = await orAborted(this.#authorization.header(), signal);
    const reply = await this.#send(request, authorization, signal);
    if (reply.status !== 401 || !(await orAborted(this.#authorization.renew(authorization), signal))) return reply;
    await discard(reply);
    return this.#send(request, await orAborted(this.#authorization.header(), signal), signal);
  };

  /** Cuts every write that is out: it may have arrived, but none arrives later. Writes from now on get new connections. */
  destroyWrites(): void {
    for (const request of this.#writes) request.destroy(new Error("the writes were cut off"));
    this.#agents.write.destroy();
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #agent(keepAlive: boolean): http.Agent {
    const { connection, idleTimeoutMs, socketsMax } = this.#options;
    const pooled = keepAlive
      ? { keepAlive, maxSockets: socketsMax, timeout: idleTimeoutMs, scheduling: "lifo" as const }
      : { keepAlive, maxSockets: Number.POSITIVE_INFINITY };
    if (this.#base.protocol !== "https:") return new http.Agent(pooled);
    const { ca, cert, key, serverName, insecure } = connection;
    return new https.Agent({
      ...pooled,
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(serverName !== undefined && { servername: serverName }),
      rejectUnauthorized: insecure !== true,
    });
  }

  async #send(request: HttpRequest, authorization: string | undefined, signal: AbortSignal): Promise<HttpReply> {
    if (signal.aborted) throw new Error("aborted");
    const purpose = purposeOf(request);
    const { body } = request;
    const outgoing = this.#open(purpose, request, {
      ...this.#options.connection.headers,
      ...request.headers,
      ...(authorization !== undefined && { authorization }),
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
    });
    if (purpose === "write") this.#writes.add(outgoing);
    const abort = (): void => void outgoing.destroy(new Error("aborted"));
    signal.addEventListener("abort", abort, { once: true });
    outgoing.once("close", () => {
      this.#writes.delete(outgoing);
      signal.removeEventListener("abort", abort);
    });
    const replied = this.#replyTo(outgoing);
    outgoing.end(body);
    return replied;
  }

  #open(purpose: Purpose, { method, path }: HttpRequest, headers: Record<string, string>): http.ClientRequest {
    const base = this.#base;
    const prefix = base.pathname.replace(/\/$/, "");
    const { request } = base.protocol === "https:" ? https : http;
    return request({
      // The brackets of an IPv6 address belong to URLs alone.
      host: base.hostname.replace(/^\[|\]$/g, ""),
      ...(base.port !== "" && { port: base.port }),
      method,
      path: `${prefix}${path}`,
      headers,
      agent: this.#agents[purpose],
    });
  }

  #replyTo(outgoing: http.ClientRequest): Promise<HttpReply> {
    const { runtime, connectTimeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      // Stays for good: a connection may break at any time, also long after the reply began.
      outgoing.on("error", reject);
      outgoing.once("response", (incoming) => resolve(toReply(incoming)));
      outgoing.once("socket", (socket) => {
        socket.setKeepAlive(true, keepAliveProbeMs);
        socket.setNoDelay(true);
        if (!socket.connecting) return;
        const late = new Error(`no connection to ${this.#base.host} within ${connectTimeoutMs} ms`);
        const timer = runtime.timer(connectTimeoutMs, () => outgoing.destroy(late));
        const stop = (): void => timer.cancel();
        socket.once(this.#base.protocol === "https:" ? "secureConnect" : "connect", stop);
        socket.once("close", stop);
      });
    });
  }
}

/** A file on a dead mount and a plugin that hangs are not to outlast the request. */
async function orAborted<T>(wanted: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(new Error("aborted"));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([wanted, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function purposeOf({ method, path }: HttpRequest): Purpose {
  if (method !== "GET" && method !== "HEAD") return "write";
  return /[?&]watch=(true|1)(&|$)/.test(path) ? "watch" : "read";
}

function toReply(incoming: http.IncomingMessage): HttpReply {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  // Whoever reads the body learns of an error there; nobody may be reading.
  incoming.on("error", () => undefined);
  if (headers["content-encoding"] !== "gzip") return { status: incoming.statusCode ?? 0, headers, body: incoming };
  const { "content-encoding": _, "content-length": __, ...rest } = headers;
  const body = pipeline(incoming, createGunzip(), () => undefined);
  body.on("error", () => undefined);
  return { status: incoming.statusCode ?? 0, headers: rest, body };
}

/** Reads a short body to its end, so that the connection can be used again. */
async function discard({ body }: HttpReply): Promise<void> {
  if (typeof body === "string" || body instanceof Uint8Array) return;
  try {
    for await (const _ of body);
  } catch {
    // Its connection is gone, which is as good.
  }
}
