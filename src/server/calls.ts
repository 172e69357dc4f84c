/** The door: how many calls may be inside at once, and who is still let in while Berth stops. */

import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import type { Metrics, RejectionCause, Verb } from "../metrics.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { Handler } from "./parts.ts";
import { failureReply } from "./replies.ts";

export class Calls {
  readonly #inProgress: Record<Verb, number> = { filter: 0, prioritize: 0, preempt: 0, bind: 0 };
  readonly #config: Config;
  readonly #metrics: Metrics;
  readonly #log: Log;
  #draining = false;
  #whenIdle: (() => void)[] = [];

  constructor({ config, metrics, log }: { config: Config; metrics: Metrics; log: Log }) {
    this.#config = config;
    this.#metrics = metrics;
    this.#log = log;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Lets nobody in any more. */
  close(): void {
    this.#draining = true;
  }

  /** Wraps a verb: 415 and 413 before its handler, 503 when draining or full, 500 for what it throws. */
  admit(verb: Verb, bodyBytesMax: number, handle: Handler): Handler {
    return async (request, signal, params) => {
      if (this.#draining) return this.#reject(verb, "draining", "stopping; ask again");
      if (this.#isFull(verb)) return this.#reject(verb, "overloaded", "too many calls in progress; ask again");
      const type = request.headers["content-type"];
      if (type !== undefined && !/^application\/json\s*(?:;|$)/i.test(type)) {
        return this.#undecodable(verb, 415, "the body is not application/json");
      }
      if ((request.body?.length ?? 0) > bodyBytesMax) {
        return this.#undecodable(verb, 413, `the body is larger than ${bodyBytesMax} bytes`);
      }
      this.#count(verb, 1);
      try {
        return await handle(request, signal, params);
      } catch (err) {
        this.#metrics.callFaults.inc({ verb });
        this.#log.error({ verb, err }, "Broke on a call");
        return failureReply(500, "internal fault; see the log");
      } finally {
        this.#count(verb, -1);
      }
    };
  }

  /** Resolves when nobody is inside, or after `ms`. */
  async idle(runtime: Runtime, ms: Milliseconds): Promise<boolean> {
    if (this.#total() === 0) return true;
    const enough = new AbortController();
    const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    await Promise.race([idle, runtime.sleep(ms, enough.signal)]);
    enough.abort();
    return this.#total() === 0;
  }

  #isFull(verb: Verb): boolean {
    const { callsMax } = this.#config.limits;
    const { inProgressMax, queuedMax } = this.#config.binding;
    // The binder bounds the binds of Pods with claims by itself, and lets those without past them.
    if (verb === "bind") return this.#inProgress.bind >= inProgressMax + queuedMax + callsMax;
    return this.#total() - this.#inProgress.bind >= callsMax;
  }

  #total(): number {
    return Object.values(this.#inProgress).reduce((sum, count) => sum + count, 0);
  }

  #count(verb: Verb, by: 1 | -1): void {
    this.#inProgress[verb] += by;
    this.#metrics.callsInProgress.set({ verb }, this.#inProgress[verb]);
    if (this.#total() > 0) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }

  #reject(verb: Verb, cause: RejectionCause, message: string) {
    this.#metrics.callsRejected.inc({ verb, cause });
    return failureReply(503, message);
  }

  #undecodable(verb: Verb, status: number, message: string) {
    this.#metrics.callDuration.observe({ verb, outcome: "undecodable" }, 0);
    return failureReply(status, message);
  }
}
