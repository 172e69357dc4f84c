/**
 * The one clock of a simulated world: a queue of events in the order of their time. A step takes the next event and lets promises
 * settle. Nothing in the world waits for anything real, so one turn of Node's event loop drains all that a step sets off.
 */
import type { Milliseconds, Runtime, Timer } from "../../src/runtime/runtime.ts";
import type { Random } from "../oracle/random.ts";

interface Due {
  readonly at: Milliseconds;
  readonly order: number;
  /** Absent once cancelled. */
  run: (() => void) | undefined;
}

export class Clock {
  #now: Milliseconds = 0;
  #order = 0;
  /** A binary heap, the earliest first. */
  readonly #heap: Due[] = [];

  get now(): Milliseconds {
    return this.#now;
  }

  /** When the next event is due; undefined where none is left. */
  get nextAt(): Milliseconds | undefined {
    return this.#first()?.at;
  }

  timer(ms: Milliseconds, then: () => void): Timer {
    const due: Due = { at: this.#now + Math.max(0, ms), order: this.#order++, run: then };
    this.#push(due);
    return {
      cancel: () => {
        due.run = undefined;
      },
    };
  }

  /** Moves time to the next event and fires it. Returns false where there is none. */
  fire(): boolean {
    const due = this.#first();
    if (!due) return false;
    this.#pop();
    this.#now = due.at;
    due.run?.();
    return true;
  }

  /** Moves time on where nothing is due until then. */
  passTo(at: Milliseconds): void {
    if (at > this.#now) this.#now = at;
  }

  #first(): Due | undefined {
    while (this.#heap[0] && !this.#heap[0].run) this.#pop();
    return this.#heap[0];
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Due;
      if (!isBefore(due, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = due;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Due;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right && isBefore(right, heap[child] as Due)) child++;
      const below = heap[child] as Due;
      if (!isBefore(below, last)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Lets everything run that needs no time. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** One incarnation of a process: once it is over, nothing of it goes on, and none of its promises ever resolves. */
export class Life {
  readonly name: string;
  readonly #end = new AbortController();
  /** Its wall clock beside the world's. */
  skewMs: Milliseconds = 0;
  /** Counts down at every touch of the world; the life ends when it is used up. */
  fuse: { left: number; readonly burnt: () => void } | undefined;

  constructor(name: string) {
    this.name = name;
  }

  get isOver(): boolean {
    return this.#end.signal.aborted;
  }

  /** Aborts with the life. */
  get over(): AbortSignal {
    return this.#end.signal;
  }

  end(): void {
    this.#end.abort(this.name);
  }

  /** Called wherever the process touches the world or is touched by it. Returns whether it still lives. */
  touch(): boolean {
    if (this.fuse && !this.isOver && --this.fuse.left <= 0) {
      const { burnt } = this.fuse;
      this.fuse = undefined;
      burnt();
    }
    return !this.isOver;
  }
}

const startWallMs = Date.UTC(2026, 0, 1);

export interface RuntimeOptions {
  readonly clock: Clock;
  readonly life: Life;
  readonly random: Random;
  readonly uuid: () => string;
}

export function runtimeOf({ clock, life, random, uuid }: RuntimeOptions): Runtime {
  const timer = (ms: Milliseconds, then: () => void): Timer => clock.timer(ms, () => life.touch() && then());
  return {
    now: () => clock.now,
    wallTime: () => startWallMs + clock.now + life.skewMs,
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!life.touch()) return;
        if (signal?.aborted) return resolve();
        const finish = (): void => {
          waiting.cancel();
          signal?.removeEventListener("abort", finish);
          if (!life.isOver) resolve();
        };
        const waiting = timer(ms, finish);
        signal?.addEventListener("abort", finish, { once: true });
      }),
    yield: () => new Promise((resolve) => void timer(0, resolve)),
    random: () => random.int(0, 2 ** 30 - 1) / 2 ** 30,
    uuid,
  };
}
