/**
 * A process among others: its clock, timers and calls go through here, so that it can be cut off from the API, stand still, or
 * die, while time goes on for everybody else.
 */
import type { Exchange, HttpReply, HttpRequest, Runtime } from "../../src/runtime/runtime.ts";

/** What becomes of one request: undefined lets it pass. */
export type Fault = (request: HttpRequest, pass: () => Promise<HttpReply>) => Promise<HttpReply> | undefined;

const timersLateMs = 20;
const never = new Promise<never>(() => {});

export class Process {
  readonly runtime: Runtime;
  readonly exchange: Exchange;
  /** Its clock beside everybody else's, in people's time. */
  skewMs = 0;
  fault: Fault | undefined;
  readonly #watches = new Set<{ readonly path: string; isSilent: boolean }>();
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
          // What is on its way already comes before the timers.
          void this.#alive()
            .then(() => runtime.sleep(timersLateMs))
            .then(() => (cancelled ? undefined : then()));
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

  /** The watches of a path that are open now fall silent; those opened later bring what they should. */
  holdWatch(path: string): void {
    for (const watch of this.#watches) if (watch.path.includes(path)) watch.isSilent = true;
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

  get isPaused(): boolean {
    return this.#paused !== undefined;
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
      let isGone = false;
      const breakOff = (why: string): void => {
        isGone = true;
        reject(new Error(why));
      };
      const cut = (): void => breakOff("the writes were cut off");
      if (request.method !== "GET" && !request.path.includes("/leases")) this.#cuts.add(cut);
      signal.addEventListener("abort", () => breakOff("aborted"), { once: true });
      // What is broken off on its way arrives no more.
      const pass = (): Promise<HttpReply> => (this.#isPartitioned || isGone ? never : exchange(request, signal));
      (this.fault?.(request, pass) ?? pass())
        .then(async (reply) => (this.#isPartitioned ? await never : this.#severed(request, reply)))
        .then(resolve, reject)
        .finally(() => this.#cuts.delete(cut));
    });
  }

  /** What a watch brings comes no further while the process is cut off. */
  #severed({ path }: HttpRequest, reply: HttpReply): HttpReply {
    const { body } = reply;
    if (typeof body === "string" || body instanceof Uint8Array) return reply;
    return { ...reply, body: this.#delivered(body, path) };
  }

  async *#delivered(chunks: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
    const watch = { path, isSilent: false };
    this.#watches.add(watch);
    for await (const chunk of chunks) {
      await this.#alive();
      if (watch.isSilent) continue;
      if (this.#isPartitioned) throw new Error("ECONNRESET");
      yield chunk;
    }
  }
}
