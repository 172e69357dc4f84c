/** The door: how many calls may be inside at once, and who is still let in while Berth stops. */

import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { type Metrics, type RejectionCause, type Verb, verbs } from "../metrics.ts";
import type { Admission, Departure, HttpReply, Milliseconds, RequestHead, Runtime } from "../runtime/runtime.ts";
import type { Handler } from "./parts.ts";
import { failureReply } from "./replies.ts";
import { pathOf } from "./router.ts";

type Counts = Record<Verb, number>;

const messages: Readonly<Record<Extract<RejectionCause, "draining" | "tooManyCalls">, string>> = {
  draining: "stopping; ask again",
  tooManyCalls: "too many calls in progress; ask again",
};

export function pathOfVerb(verb: Verb): string {
  return `/v1/${verb}`;
}

export class Calls {
  /** From the head of a request to the end of its reply, where a listener asks before it reads. */
  readonly #inside: Counts = { filter: 0, prioritize: 0, preempt: 0, bind: 0 };
  /** In the hands of their handlers. */
  readonly #inProgress: Counts = { filter: 0, prioritize: 0, preempt: 0, bind: 0 };
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

  /**
   * Before a body is read: what cannot be served soon is turned away while that costs next to nothing. Binds have a share of
   * their own, and whatever is no verb passes.
   */
  enter({ method, path, bodyBytes }: RequestHead): Admission {
    const asked = pathOf(path);
    const verb = verbs.find((name) => asked === pathOfVerb(name));
    if (verb === undefined || method !== "POST") return { kind: "passed" };
    const { bindBodyBytesMax } = this.#config.limits;
    const isBind = verb === "bind";
    if (isBind && bodyBytes !== undefined && bodyBytes > bindBodyBytesMax) {
      return { kind: "refused", reply: this.#tooLarge(verb, bindBodyBytesMax) };
    }
    if (this.#draining) return { kind: "refused", reply: this.#reject(verb, "draining") };
    if (this.#isFull(verb, this.#inside)) return { kind: "refused", reply: this.#reject(verb, "tooManyCalls") };
    this.#inside[verb]++;
    return { kind: "admitted", isLong: !isBind, leave: (departure) => this.#left(verb, departure) };
  }

  /** Wraps a verb: 415 and 413 before its handler, 503 when draining or full, 500 for what it throws. */
  admit(verb: Verb, bodyBytesMax: number, handle: Handler): Handler {
    return async (request, signal, params) => {
      if (this.#draining) return this.#reject(verb, "draining");
      if (this.#isFull(verb, this.#inProgress)) return this.#reject(verb, "tooManyCalls");
      const type = request.headers["content-type"];
      if (type !== undefined && !/^application\/json\s*(?:;|$)/i.test(type)) {
        return this.#undecodable(verb, 415, "the body is not application/json");
      }
      if ((request.body?.length ?? 0) > bodyBytesMax) return this.#tooLarge(verb, bodyBytesMax);
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
    if (this.#isIdle()) return true;
    const enough = new AbortController();
    const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    await Promise.race([idle, runtime.sleep(ms, enough.signal)]);
    enough.abort();
    return this.#isIdle();
  }

  #left(verb: Verb, departure: Departure): void {
    this.#inside[verb]--;
    if (departure === "served") return;
    if (departure === "tooLarge" || departure === "undecodable") {
      this.#metrics.callDuration.observe({ verb, outcome: "undecodable" }, 0);
    } else this.#metrics.callsRejected.inc({ verb, cause: departure });
  }

  #isFull(verb: Verb, counts: Counts): boolean {
    const { callsMax } = this.#config.limits;
    const { inProgressMax, queuedMax } = this.#config.binding;
    // The binder bounds the binds of Pods with claims by itself, and lets those without past them.
    if (verb === "bind") return counts.bind >= inProgressMax + queuedMax + callsMax;
    return counts.filter + counts.prioritize + counts.preempt >= callsMax;
  }

  #isIdle(): boolean {
    return verbs.every((verb) => this.#inProgress[verb] === 0);
  }

  #count(verb: Verb, by: 1 | -1): void {
    this.#inProgress[verb] += by;
    this.#metrics.callsInProgress.set({ verb }, this.#inProgress[verb]);
    if (!this.#isIdle()) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }

  #reject(verb: Verb, cause: keyof typeof messages): HttpReply {
    this.#metrics.callsRejected.inc({ verb, cause });
    return failureReply(503, messages[cause]);
  }

  #tooLarge(verb: Verb, bytesMax: number): HttpReply {
    return this.#undecodable(verb, 413, `the body is larger than ${bytesMax} bytes`);
  }

  #undecodable(verb: Verb, status: number, message: string): HttpReply {
    this.#metrics.callDuration.observe({ verb, outcome: "undecodable" }, 0);
    return failureReply(status, message);
  }
}
