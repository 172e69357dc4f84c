/** Serves an `Exchange` over real HTTP. The only file that knows fastify; what it serves knows no sockets. */
import type { IncomingMessage, Server } from "node:http";
import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import type { Admission, Departure, Exchange, Milliseconds, RequestHead } from "../runtime/runtime.ts";
import { Turns } from "../runtime/turns.ts";
import { Bodies, Refused } from "./bodies.ts";
import { Connections } from "./connections.ts";
import { asBuffer, boundReply, failureBody, pour } from "./replies.ts";
import { headOf, toHttpRequest } from "./requests.ts";
import type { TlsMaterial } from "./tls-files.ts";

/** One more is closed at once: whoever opens connections without end must not take the last file from our own. */
const connectionsMaxDefault = 16_384;
/** Of a request's head; kube-scheduler sends six headers of 200 bytes together. */
const headBytesMax = 16 << 10;
const headersMax = 100;

export interface Timeouts {
  /** For a TLS connection to stand. */
  readonly handshakeMs: Milliseconds;
  readonly headersMs: Milliseconds;
  /** For the whole request to arrive; a reply may take as long as it needs. */
  readonly requestMs: Milliseconds;
  /** For a whole reply, once it is there, to be taken by the caller. */
  readonly replyMs: Milliseconds;
  /** Between requests. */
  readonly idleMs: Milliseconds;
  /** How often connections are looked at. */
  readonly checkMs: Milliseconds;
}

const timeoutsDefault: Timeouts = {
  handshakeMs: 10_000,
  headersMs: 30_000,
  requestMs: 60_000,
  replyMs: 60_000,
  // Go's clients keep idle connections 90 s and never repeat a POST that met our closing one, so ours stay longer.
  idleMs: 120_000,
  checkMs: 30_000,
};

export interface ListenOptions {
  readonly handler: Exchange;
  /** Asked about each request before its body is read; all come in where it is left out. */
  readonly admit?: (head: RequestHead) => Admission | Promise<Admission>;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly bodyLimitBytes: number;
  /** Of all bodies that are on their way or being answered; four times the limit of one where it is left out. */
  readonly bodiesLimitBytes?: number;
  readonly connectionsMax?: number;
  readonly timeouts?: Partial<Timeouts>;
  /** Plain HTTP without. HTTP/1.1 in any case (docs/security.md). */
  readonly tls?: TlsMaterial;
  /** Told of every rejection of `handler`, which the client sees as a 500. */
  readonly onFault?: (fault: unknown) => void;
  /** Told of every body that was turned away for its size, which `handler` never sees. */
  readonly onTooLarge?: (path: string) => void;
  /** Told of every connection that ended before a request: there were too many, or TLS did not come about. */
  readonly onTurnedAway?: (cause: "tooMany" | "handshake") => void;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /**
   * TLS of new connections from now on; those that stand stay. Where the authorities are others, those end with their next reply:
   * their callers were believed by the old ones.
   */
  renewTls(material: TlsMaterial): void;
  /** Takes no more connections and waits for all replies in progress, open streams included. */
  close(): Promise<void>;
  /** As `close`, but aborts every request and ends every stream instead of waiting; may follow a `close` that waits. */
  closeNow(): Promise<void>;
}

/** @throws when the address cannot be had */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { handler, host, port, bodyLimitBytes, bodiesLimitBytes = 4 * bodyLimitBytes, tls, onTurnedAway } = options;
  const timeouts = { ...timeoutsDefault, ...options.timeouts };
  const { app, server } = application(options, timeouts);
  const bodies = new Bodies({ bodyBytesMax: bodyLimitBytes, bodiesBytesMax: bodiesLimitBytes });
  const connections = new Connections(server, options.connectionsMax ?? connectionsMaxDefault, tls, onTurnedAway);
  const state: Serving = {
    open: new Set(),
    visits: new WeakMap(),
    bodies,
    connections,
    replyMs: timeouts.replyMs,
    isDraining: false,
    turns: new Turns(eventLoop),
  };
  app.addContentTypeParser("*", (request: FastifyRequest, payload: IncomingMessage) =>
    bodies.read(request.raw, payload, state.visits.has(request.raw)),
  );
  app.setErrorHandler((fault: Error & { statusCode?: number }, request, reply) =>
    answerFault(fault, { request, reply, state, options }),
  );
  app.addHook("onRequest", (request, reply, done) => receive(request, reply, options.admit, state, done));
  app.all("*", (request, reply) => serve(request, reply, handler, state));

  await app.listen({ host, port });
  const address = server.address();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    state.isDraining = true;
    closing ??= Promise.resolve(app.close()).then(() => undefined);
    return closing;
  };
  return {
    host,
    port: typeof address === "object" && address ? address.port : port,
    renewTls: (material) => connections.renew(material),
    close,
    closeNow: async () => {
      const closed = close();
      for (const controller of state.open) controller.abort();
      connections.destroyAll();
      await closed;
    },
  };
}

/** Fastify with our limits. */
function application({ bodyLimitBytes, tls }: ListenOptions, timeouts: Timeouts) {
  const ofServer = {
    headersTimeout: timeouts.headersMs,
    connectionsCheckingInterval: timeouts.checkMs,
    maxHeaderSize: headBytesMax,
  };
  const app = fastify({
    logger: false,
    bodyLimit: bodyLimitBytes,
    keepAliveTimeout: timeouts.idleMs,
    requestTimeout: timeouts.requestMs,
    exposeHeadRoutes: false,
    https: tls ? { ...Connections.optionsOf(tls), handshakeTimeout: timeouts.handshakeMs, ...ofServer } : null,
    ...(tls ? {} : { http: ofServer }),
  });
  app.removeAllContentTypeParsers();
  return { app, server: app.server as Server };
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
  const visit = state.visits.get(request.raw);
  // Fastify turns away what names no content type that could be one, before anybody reads it.
  if (visit && visit.departure !== "served") {
    visit.departure = fault instanceof Refused ? fault.departure : "undecodable";
  }
  if (fault instanceof Refused) {
    // What is left of a body that nobody reads is not to be taken for the next request.
    reply.header("connection", "close");
  } else if (status >= 500) options.onFault?.(fault);
  reply.code(status).header("content-type", "application/json").send(failureBody(status, fault.message));
}

interface Serving {
  readonly bodies: Bodies;
  readonly connections: Connections;
  readonly replyMs: Milliseconds;
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

/** A request whose head has arrived. `done` lets its body be read. */
function receive(
  request: FastifyRequest,
  reply: FastifyReply,
  admit: ListenOptions["admit"],
  state: Serving,
  done: (fault?: Error) => void,
): void {
  let isGone = false;
  reply.raw.once("close", () => {
    isGone = true;
    state.bodies.release(request.raw);
  });
  if (request.raw.rawHeaders.length > 2 * headersMax) {
    done(new Refused(431, "tooLarge", `more than ${headersMax} headers`));
    return;
  }
  if (!admit) {
    done();
    return;
  }
  const decided = (admission: Admission): void => {
    if (isGone) {
      if (admission.kind === "admitted") admission.leave("callerGone");
    } else if (enter(request, reply, admission, state)) done();
  };
  const admission = admit(headOf(request.raw, state.connections));
  if (admission instanceof Promise) admission.then(decided, done);
  else decided(admission);
}

/** Returns whether it may come in. Whoever may not is answered: Node throws the rest of the request away and keeps the connection. */
function enter(request: FastifyRequest, reply: FastifyReply, admission: Admission, state: Serving): boolean {
  if (admission.kind === "refused") {
    const { status, headers, body } = admission.reply;
    if (isLast(request, state)) reply.header("connection", "close");
    reply.code(status).headers(headers).send(body);
    return false;
  }
  if (admission.kind === "passed") return true;
  const visit: Visit = { isLong: admission.isLong, departure: "callerGone" };
  state.visits.set(request.raw, visit);
  reply.raw.once("close", () => admission.leave(visit.departure));
  return true;
}

/** Whether its connection ends with its reply. */
function isLast({ raw }: FastifyRequest, { isDraining, connections }: Serving): boolean {
  return isDraining || connections.isOutdated(raw.socket);
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
  const { status, headers, body } = await handler(toHttpRequest(request.raw, request.body), controller.signal);
  if (raw.destroyed) return reply.hijack();
  if (isLast(request, state)) reply.header("connection", "close");
  if (typeof body === "string" || body instanceof Uint8Array) {
    // A content length on every whole reply: Go drops the connection after a large chunked one.
    reply
      .code(status)
      .headers(headers)
      .send(typeof body === "string" ? body : asBuffer(body));
    boundReply(raw, state.replyMs);
    return reply;
  }
  reply.hijack();
  raw.writeHead(status, headers);
  raw.flushHeaders();
  await pour(body, raw, controller.signal);
  return reply;
}
