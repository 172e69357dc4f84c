/** What each controller process of a cluster has of its own: a client, caches, work queues and a voice for events. */
import type { Exchange, Milliseconds, Runtime } from "../runtime/runtime.ts";
import { ApiClient } from "./client.ts";
import { EventRecorder } from "./event-recorder.ts";
import { Informer } from "./informer.ts";
import type { Kinds, Plural } from "./objects.ts";
import { type Worked, WorkQueue } from "./work-queue.ts";

export interface AgentOptions {
  /** Its name in user agents, in events and for the wrapping of its exchange, e.g. "pv-controller". */
  readonly who: string;
  readonly exchange: Exchange;
  readonly runtime: Runtime;
}

const retryFirstMs: Milliseconds = 100;
const retryMaxMs: Milliseconds = 15_000;

/** One incarnation: after `stop` it does nothing any more, and its successor is a new agent. */
export class Agent {
  readonly who: string;
  readonly runtime: Runtime;
  readonly client: ApiClient;
  readonly events: EventRecorder;
  readonly #controller = new AbortController();
  readonly #informers = new Map<Plural, Informer<Plural>>();
  readonly #queues: WorkQueue[] = [];

  constructor({ who, exchange, runtime }: AgentOptions) {
    this.who = who;
    this.runtime = runtime;
    this.client = new ApiClient({ exchange, runtime, signal: this.signal, who });
    this.events = new EventRecorder({ client: this.client, runtime, who });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The cache of one resource, filled from the first time it is asked for. */
  informer<P extends Plural>(plural: P): Informer<P> {
    const known = this.#informers.get(plural);
    if (known) return known as unknown as Informer<P>;
    const { client, runtime, signal } = this;
    const made = new Informer({ client, plural, runtime, signal });
    this.#informers.set(plural, made as unknown as Informer<Plural>);
    return made;
  }

  /** A queue whose work begins once every cache named is filled. */
  queue(after: readonly Plural[], work: (key: string) => Promise<Worked>, workers = 1): WorkQueue {
    const { runtime, signal } = this;
    const synced = Promise.all(after.map((plural) => this.informer(plural).synced));
    const workSynced = async (key: string): Promise<Worked> => {
      await synced;
      return signal.aborted ? "done" : work(key);
    };
    const queue = new WorkQueue({ runtime, signal, work: workSynced, workers, retryFirstMs, retryMaxMs });
    this.#queues.push(queue);
    return queue;
  }

  /** Adds the key of each object of the resource that changes, or the keys that `keysOf` makes of it. */
  feed<P extends Plural>(plural: P, queue: WorkQueue, keysOf: (object: Kinds[P]) => readonly string[]): void {
    this.informer(plural).listen(({ object }) => {
      for (const key of keysOf(object)) queue.add(key);
    });
  }

  /** No request under way, no key ready, every cache filled. What waits for a time to come does not count. */
  get isIdle(): boolean {
    const synced = this.#informers.values().every(({ hasSynced }) => hasSynced);
    return synced && this.client.inFlight === 0 && this.#queues.every(({ isIdle }) => isIdle);
  }

  stop(): void {
    this.#controller.abort();
  }
}
