/** Serves an `Exchange` over real HTTP. The only file that knows fastify; what it serves knows no sockets. */
import type { IncomingMessage } from "node:http";
import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import type {
  Admission,
  Departure,
  Exchange,
  HttpReply,
  HttpRequest,
  Milliseconds,
  RequestHead,
} from "../runtime/runtime.ts";
import { Turns } from "../runtime/turns.ts";
import { Bodies, Refused } from "./bodies.ts";

/** Go's clients keep idle connections 90 s and never repeat a POST that met our closing one, so ours stay longer. */
const keepAliveTimeoutMs: Milliseconds = 120_000;
/** One more is closed at once: whoever opens connections without end must not take the last file from our own. */
const connectionsDefault = 16_384;

export interface Timeouts {
  readonly headersMs: Milliseconds;
  /** For the whole request to arrive; a reply may take as long as it needs. */
  readonly requestMs: Milliseconds;
  /** How often connections are looked at. */
  readonly checkMs: Milliseconds;
}

const timeoutsDefault: Timeouts = { headersMs: 30_000, requestMs: 60_000, checkMs: 30_000 };

export interface ListenOptions {
  readonly handler: Exchange;
  /** Asked about each request before its body is read; all come in where it is left out. */
  readonly admit?: (head: RequestHead) => Admission;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly bodyLimitBytes: number;
  /** Of all bodies that are on their way or being answered; four times the limit of one where it is left out. */
  readonly bodiesLimitBytes?: number;
  readonly timeouts?: Timeouts;
  readonly connectionsMax?: number;
  /** PEM texts; plain HTTP without them. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Told of every rejection of `handler`, which the client sees as a 500. */
  readonly onFault?: (fault: unknown) => void;
  /** Told of every body that was turned away for its size, which `handler` never sees. */
  readonly onTooLarge?: (path: string) => void;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Takes no more connections and waits for all replies in progress, open streams included. */
  close(): Promise<void>;
  /** As `close`, but aborts every request and ends every stream instead of waiting; may follow a `close` that waits. */
  closeNow(): Promise<void>;
}

/** @throws when the address cannot be had */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { handler, admit, host, port, bodyLimitBytes, tls, timeouts = timeoutsDefault } = options;
  const { bodiesLimitBytes = 4 * bodyLimitBytes, connectionsMax = connectionsDefault } = options;
  const bodies = new Bodies({ bodyBytesMax: bodyLimitBytes, bodiesBytesMax: bodiesLimitBytes });
  const state: Serving = {
    open: new Set(),
    visits: new WeakMap(),
    isDraining: false,
    turns: new Turns(eventLoop),
  };
  const times = { headersTimeout: timeouts.headersMs, connectionsCheckingInterval: timeouts.checkMs };
  const app = fastify({
    logger: false,
    bodyLimit: bodyLimitBytes,
    keepAliveTimeout: keepAliveTimeoutMs,
    requestTimeout: timeouts.requestMs,
    exposeHeadRoutes: false,
    https: tls ? { ...tls, ...times } : null,
    ...(tls ? {} : { http: times }),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (request: FastifyRequest, payload: IncomingMessage) =>
    bodies.read(request.raw, payload, state.visits.has(request.raw)),
  );
  app.server.maxConnections = connectionsMax;
  app.setErrorHandler((fault: Error & { statusCode?: number }, request, reply) =>
    answerFault(fault, { request, reply, state, options }),
  );
  app.addHook("onRequest", (request, reply, done) => {
    reply.raw.once("close", () => bodies.release(request.raw));
    if (!admit || enter(request, reply, admit(headOf(request)), state)) done();
  });
  app.all("*", (request, reply) => serve(request, reply, handler, state));

  await app.listen({ host, port });
  const address = app.server.address();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    state.isDraining = true;
    closing ??= Promise.resolve(app.close()).then(() => undefined);
    return closing;
  };
  return {
    host,
    port: typeof address === "object" && address ? address.port : port,
    close,
    closeNow: async () => {
      const closed = close();
      for (const controller of state.open) controller.abort();
      app.server.closeAllConnections();
      await closed;
    },
  };
}

function answerFault(
  fault: Error & { readonly statusCode?: number },
  {
    request,
    reply,
    state,
    options,
  }: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly state: Serving;
    readonly options: ListenOptions;
  },
): void {
  const status = fault.statusCode ?? 500;
  if (status === 413) options.onTooLarge?.(request.url);
  if (fault instanceof Refused) {
    const visit = state.visits.get(request.raw);
    if (visit) visit.departure = fault.departure;
    // What is left of a body that nobody reads is not to be taken for the next request.
    reply.header("connection", "close");
  } else if (status >= 500) options.onFault?.(fault);
  reply.code(status).header("content-type", "application/json").send(failureBody(status, fault.message));
}

interface Serving {
  /** One for each request whose reply has not gone out. */
  readonly open: Set<AbortController>;
  /** Of the requests that were let in by name. */
  readonly visits: WeakMap<FastifyRequest["raw"], Visit>;
  readonly turns: Turns;
  isDraining: boolean;
}

interface Visit {
  readonly isLong: boolean;
  departure: Departure;
}

/** Of Node itself: whoever serves sockets waits for them. */
const eventLoop = { yield: (): Promise<void> => new Promise((resolve) => setImmediate(resolve)) };

function headOf({ raw }: FastifyRequest): RequestHead {
  const { "content-length": length, "transfer-encoding": encoding } = raw.headers;
  const bodyBytes = encoding !== undefined ? undefined : Number(length ?? 0);
  return { method: raw.method ?? "GET", path: raw.url ?? "/", bodyBytes };
}

/** Returns whether it may come in. Whoever may not is answered: Node throws the rest of the request away and keeps the connection. */
function enter(request: FastifyRequest, reply: FastifyReply, admission: Admission, state: Serving): boolean {
  if (admission.kind === "refused") {
    const { status, headers, body } = admission.reply;
    if (state.isDraining) reply.header("connection", "close");
    reply.code(status).headers(headers).send(body);
    return false;
  }
  if (admission.kind === "passed") return true;
  const visit: Visit = { isLong: admission.isLong, departure: "callerGone" };
  state.visits.set(request.raw, visit);
  reply.raw.once("close", () => admission.leave(visit.departure));
  return true;
}

async function serve(
  request: FastifyRequest,
  reply: FastifyReply,
  handler: Exchange,
  state: Serving,
): Promise<FastifyReply> {
  const { raw } = reply;
  const { socket } = request.raw;
  const controller = new AbortController();
  state.open.add(controller);
  // Not request.signal nor the request's 'close': both fire as soon as the body is read, with the client still there.
  raw.once("close", () => {
    state.open.delete(controller);
    if (!raw.writableEnded) controller.abort();
    // Node keeps a connection that was busy when the server closed for its next request, which would never be taken.
    if (state.isDraining) socket.end();
  });

  const visit = state.visits.get(request.raw);
  if (visit?.isLong) {
    await state.turns.next();
    if (controller.signal.aborted) return reply.hijack();
  }
  if (visit) visit.departure = "served";
  const { status, headers, body } = await handler(toHttpRequest(request), controller.signal);
  if (raw.destroyed) return reply.hijack();
  if (state.isDraining) reply.header("connection", "close");
  if (typeof body === "string" || body instanceof Uint8Array) {
    // A content length on every whole reply: Go drops the connection after a large chunked one.
    return reply
      .code(status)
      .headers(headers)
      .send(typeof body === "string" ? body : asBuffer(body));
  }
  reply.hijack();
  raw.writeHead(status, headers);
  raw.flushHeaders();
  await pour(body, raw, controller.signal);
  return reply;
}

function toHttpRequest({ raw, body }: FastifyRequest): HttpRequest {
  return {
    method: raw.method ?? "GET",
    path: raw.url ?? "/",
    // Node joins repeated headers to one string, all but set-cookie, which no request carries.
    headers: raw.headers as Record<string, string>,
    ...(body instanceof Uint8Array && body.length > 0 ? { body } : {}),
  };
}

/** Writes chunk by chunk at the pace of the reader: nothing is gathered for a client that does not read. */
async function pour(
  body: Exclude<HttpReply["body"], string | Uint8Array>,
  raw: FastifyReply["raw"],
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const chunk of body) {
      if (signal.aborted) break;
      if (!raw.write(chunk)) await drained(raw);
    }
    raw.end();
  } catch {
    // The status line has gone out: breaking the connection is the only way left to say that the stream is not whole.
    raw.destroy();
  }
}

function drained(raw: FastifyReply["raw"]): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      raw.off("drain", done);
      raw.off("close", done);
      resolve();
    };
    raw.on("drain", done);
    raw.on("close", done);
  });
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const reasons: Record<number, string> = {
  400: "BadRequest",
  413: "RequestEntityTooLarge",
  500: "InternalError",
  503: "ServiceUnavailable",
};

/** The error form of the Kubernetes API, which the clients of both our servers can print. */
function failureBody(code: number, message: string): string {
  const reason = reasons[code] ?? "Unknown";
  return JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code });
}
