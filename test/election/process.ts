/**
 * A process among others: its clock, timers and calls go through here, so that it can be cut off from the API, stand still, or
 * die, while time goes on for everybody else.
 */
import type { Exchange, HttpReply, HttpRequest, Runtime } from "../../src/runtime/runtime.ts";

/** What becomes of one request: undefined lets it pass. */
export type Fault = (request: HttpRequest, pass: () => Promise<HttpReply>) => Promise<HttpReply> | undefined;

const never = new Promise<never>(() => {});

export class Process {
  readonly runtime: Runtime;
  readonly exchange: Exchange;
  /** Its clock beside everybody else's, in people's time. */
  skewMs = 0;
  fault: Fault | undefined;
  #isPartitioned = false;
  #isDead = false;
  #paused: { readonly over: Promise<void>; readonly resume: () => void } | undefined;
  /** Rejects every call that is out. */
  readonly #cuts = new Set<() => void>();

  constructor(runtime: Runtime, exchange: Exchange) {
    this.runtime = {
      ...runtime,
      wallTime: () => runtime.wallTime() + this.skewMs,
      sleep: async (ms, signal) => {
        await runtime.sleep(ms, signal);
        await this.#alive();
      },
      timer: (ms, then) => {
        let cancelled = false;
        const timer = runtime.timer(ms, () => {
          if (!this.#paused && !this.#isDead) return then();
          void this.#alive().then(() => (cancelled ? undefined : then()));
        });
        return {
          cancel: () => {
            cancelled = true;
            timer.cancel();
          },
        };
      },
    };
    this.exchange = async (request, signal) => {
      await this.#alive();
      try {
        return await this.#send(exchange, request, signal);
      } finally {
        await this.#alive();
      }
    };
  }

  /** A call from outside to a handler of this process: it waits while the process stands still. */
  async reach<T>(call: () => Promise<T>): Promise<T> {
    await this.#alive();
    const answer = await call();
    await this.#alive();
    return answer;
  }

  /** Nothing gets out or in any more; what is out gets no answer. */
  partition(): void {
    this.#isPartitioned = true;
  }

  heal(): void {
    this.#isPartitioned = false;
  }

  /** A long pause of the garbage collector, or a machine that is starved. */
  pause(): void {
    if (this.#paused) return;
    let resume = (): void => {};
    const over = new Promise<void>((resolve) => {
      resume = resolve;
    });
    this.#paused = { over, resume };
  }

  resume(): void {
    this.#paused?.resume();
    this.#paused = undefined;
  }

  kill(): void {
    this.#isDead = true;
    this.resume();
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** As `Transport.destroyWrites`: whoever waits for an answer learns that none comes. */
  cutWrites(): void {
    for (const cut of this.#cuts) cut();
  }

  async #alive(): Promise<void> {
    while (this.#paused) await this.#paused.over;
    if (this.#isDead) await never;
  }

  #send(exchange: Exchange, request: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const cut = (): void => reject(new Error("the writes were cut off"));
      const isOfLease = request.path.includes("/leases");
      if (request.method !== "GET" && !isOfLease) this.#cuts.add(cut);
      signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      const pass = (): Promise<HttpReply> => (this.#isPartitioned ? never : exchange(request, signal));
      (this.fault?.(request, pass) ?? pass())
        .then(async (reply) => (this.#isPartitioned ? await never : this.#severed(reply)))
        .then(resolve, reject)
        .finally(() => this.#cuts.delete(cut));
    });
  }

  /** What a watch brings comes no further while the process is cut off. */
  #severed(reply: HttpReply): HttpReply {
    const { body } = reply;
    if (typeof body === "string" || body instanceof Uint8Array) return reply;
    return { ...reply, body: this.#delivered(body) };
  }

  async *#delivered(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      await this.#alive();
      if (this.#isPartitioned) throw new Error("ECONNRESET");
      yield chunk;
    }
  }
}
