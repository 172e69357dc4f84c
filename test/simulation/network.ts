/** The wires between the parties. A call in calm weather takes no time; in a storm each way of it is an event of its own. */
import type { Exchange, HttpReply, HttpRequest, Milliseconds } from "../../src/runtime/runtime.ts";
import type { Clock, Life } from "./clock.ts";
import { Stream } from "./stream.ts";
import type { Trace } from "./trace.ts";
import type { Fate, Link, Weather } from "./weather.ts";

export interface Wire extends Link {
  /** The process that calls; its connections end with it. */
  readonly life: Life;
  readonly serve: Exchange;
  /** A watch whose server is silent is noticed dead by the client's system after this. */
  readonly deadAfterMs?: Milliseconds;
}

interface Call {
  readonly wire: Wire;
  readonly request: HttpRequest;
  readonly fate: Fate;
  /** The server's side: aborts when it learns that the caller has gone. */
  readonly hungUp: AbortController;
  readonly answer: (reply: HttpReply) => void;
  readonly fail: (why: string, told?: { readonly isHeard: boolean }) => void;
  isOver: boolean;
}

const never = new Promise<never>(() => {});

export class Network {
  readonly #clock: Clock;
  readonly #weather: Weather;
  readonly #trace: Trace;
  readonly #calls = new Set<Call>();
  /** Until when, by who asks and how the path ends. */
  readonly #lossy = new Map<string, Milliseconds>();
  readonly #streams = new Map<Stream, { wire: Wire; path: string }>();

  constructor({ clock, weather, trace }: { clock: Clock; weather: Weather; trace: Trace }) {
    this.#clock = clock;
    this.#weather = weather;
    this.#trace = trace;
  }

  connect(wire: Wire): Exchange {
    wire.life.over.addEventListener("abort", () => this.#hangUp(wire), { once: true });
    return (request, signal) => (wire.life.touch() ? this.#call(wire, request, signal) : never);
  }

  /** The weather turned: watches that are open are met by it too. */
  turn(): void {
    for (const [stream, { wire }] of this.#streams) stream.meet(this.#weather.watchFate(wire));
  }

  /** Rejects the writes that a party has out; those on their way may arrive all the same. */
  cutWrites(from: string): void {
    for (const call of [...this.#calls]) {
      if (call.wire.from === from && call.request.method !== "GET") call.fail("the writes were cut off");
    }
  }

  /** The parties so named see what happens to the collection so much later. */
  delay(from: string, path: string, ms: Milliseconds): void {
    for (const [stream, { wire, path: watched }] of this.#streams) {
      if (wire.from.startsWith(from) && watched.startsWith(`${path}?`)) stream.hold(ms);
    }
  }

  /** The party's calls end for it, as where something between drops connections, and whoever serves them does not hear of that. */
  cutUnheard(from: string): void {
    for (const call of [...this.#calls]) if (call.wire.from === from) call.fail("ECONNRESET", { isHeard: false });
  }

  /** For so long what the party asks so is lost on its way. */
  lose(from: string, ending: string, ms: Milliseconds): void {
    this.#lossy.set(`${from} ${ending}`, this.#clock.now + ms);
  }

  #isLost(from: string, path: string): boolean {
    for (const [lossy, until] of this.#lossy) {
      const [who, ending = ""] = lossy.split(" ");
      if (who === from && path.endsWith(ending) && this.#clock.now < until) return true;
    }
    return false;
  }

  /** Since when the party lacks something of the collection, by the watches that it has open; `now` where it has all. */
  behindSince(from: string, path: string): Milliseconds | undefined {
    let has = false;
    let since: Milliseconds | undefined;
    for (const [stream, watch] of this.#streams) {
      if (watch.wire.from !== from || !watch.path.startsWith(`${path}?`)) continue;
      has = true;
      if (stream.behindSince !== undefined) since = Math.min(since ?? stream.behindSince, stream.behindSince);
    }
    return has ? since : 0;
  }

  #call(wire: Wire, request: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const fate = this.#weather.callFate(wire, request);
      const { life } = wire;
      const close = (call: Call): boolean => {
        if (call.isOver) return false;
        call.isOver = true;
        this.#calls.delete(call);
        signal.removeEventListener("abort", abort);
        return life.touch();
      };
      const call: Call = {
        wire,
        request,
        fate,
        hungUp: new AbortController(),
        answer: (reply) => close(call) && resolve(reply),
        fail: (why, { isHeard } = { isHeard: true }) => {
          if (call.isOver) return;
          const isAlive = close(call);
          if (isHeard) call.hungUp.abort(why);
          if (isAlive) reject(new Error(why));
        },
        isOver: false,
      };
      const abort = (): void => call.fail("aborted");
      this.#calls.add(call);
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
      this.#send(call, signal);
    });
  }

  #send(call: Call, signal: AbortSignal): void {
    const { fate, wire, request } = call;
    const note = (what: string): void => {
      this.#trace.add("net", () => `${wire.from} ${request.method} ${request.path} ${what}`);
    };
    if (fate.fault) note(fate.fault);
    const later = (ms: Milliseconds, then: () => void): void => {
      if (ms === 0) then();
      else void this.#clock.timer(ms, then);
    };
    if (fate.fault === "lost request" || this.#isLost(wire.from, request.path)) {
      later(fate.outMs, () => call.fail("ECONNRESET"));
      return;
    }
    if (fate.fault === "silent request") return;
    // An aborted request that has left already may arrive all the same.
    later(fate.outMs, () => void this.#arrive(call, signal, note));
  }

  async #arrive(call: Call, signal: AbortSignal, note: (what: string) => void): Promise<void> {
    const { fate, wire, request, hungUp } = call;
    const made = madeUp(fate);
    if (made) return this.#back(call, made);
    if (call.isOver && wire.to === "extender") return;
    let reply = await wire.serve(request, hungUp.signal).catch((fault: unknown) => String(fault));
    if (fate.fault === "duplicate" && wire.to === "extender") {
      // The copy may come when the answer has long been acted upon.
      this.#clock.timer(fate.copyMs, () => void wire.serve(request, hungUp.signal).catch(() => {}));
    } else if (fate.fault === "duplicate") {
      reply = await wire.serve(request, hungUp.signal).catch((fault: unknown) => String(fault));
    }
    if (typeof reply === "string") return call.fail(reply);
    if (wire.to === "api" && request.method !== "GET") note(`${reply.status}`);
    if (isStream(reply)) return this.#open(call, reply, signal);
    switch (fate.fault) {
      case "lost answer":
        return call.fail("ECONNRESET");
      case "silent answer":
        return;
      case "500 after":
        return this.#back(call, failure(500));
      case "504 after":
        return this.#back(call, failure(504));
      case "truncated":
        return this.#back(call, { ...reply, body: bytes(reply.body).subarray(0, bytes(reply.body).length >> 1) });
      default:
        return this.#back(call, reply);
    }
  }

  #back(call: Call, reply: HttpReply): void {
    if (call.fate.backMs === 0) call.answer(reply);
    else this.#clock.timer(call.fate.backMs, () => call.answer(reply));
  }

  #open(call: Call, reply: HttpReply, signal: AbortSignal): void {
    const { wire, request, hungUp } = call;
    const source = (reply.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    if (call.isOver) return void source.return?.();
    const fate = this.#weather.watchFate(wire);
    if (fate.fault === "410") {
      void source.return?.();
      this.#trace.add("net", () => `${wire.from} ${request.path} 410`);
      this.#back(call, failure(410, "Expired"));
      return;
    }
    const stream = new Stream({
      clock: this.#clock,
      source,
      fate,
      signals: [signal, wire.life.over],
      deadAfterMs: wire.deadAfterMs,
      onEnd: (ended) => {
        this.#streams.delete(ended);
        hungUp.abort("the stream has ended");
      },
    });
    this.#streams.set(stream, { wire, path: request.path });
    if (fate.fault) this.#trace.add("net", () => `${wire.from} ${request.path.split("?")[0]} ${fate.fault}`);
    const opened = { ...reply, body: stream };
    if (fate.openMs === 0) call.answer(opened);
    else this.#clock.timer(fate.openMs, () => call.answer(opened));
  }

  /** The process is gone: its system resets what it had open, and nothing of it hears of that. */
  #hangUp(wire: Wire): void {
    for (const call of [...this.#calls]) if (call.wire === wire) call.fail("the process is gone");
  }
}

function isStream({ body }: HttpReply): boolean {
  return typeof body !== "string" && !(body instanceof Uint8Array);
}

function bytes(body: HttpReply["body"]): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : (body as Uint8Array);
}

/** What a server or something before it answers without having done anything. */
function madeUp({ fault }: Fate): HttpReply | undefined {
  switch (fault) {
    case "500 before":
      return failure(500);
    case "429":
      return { ...failure(429, "TooManyRequests"), headers: { "retry-after": "1" } };
    case "409":
      return failure(409, "Conflict");
    default:
      return undefined;
  }
}

function failure(code: number, reason = "InternalError"): HttpReply {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason, code, message: `made up ${code}` };
  return { status: code, headers: { "content-type": "application/json" }, body: JSON.stringify(status) };
}
