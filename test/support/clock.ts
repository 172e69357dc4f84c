/** A clock that moves only when a test moves it: timers fire in order of their time, promises settle in between. */
import type { Milliseconds, Runtime, Timer } from "../../src/runtime/runtime.ts";
import { mulberry32 } from "./mulberry32.ts";

interface Due {
  readonly at: Milliseconds;
  readonly order: number;
  readonly then: () => void;
}

export interface VirtualRuntime extends Runtime {
  /** Moves time forward by `ms`, firing every timer on the way and letting promises settle before and after each. */
  advance(ms: Milliseconds): Promise<void>;
  /** Lets everything that needs no time run to its end. */
  settle(): Promise<void>;
  /** Timers that have not fired: zero when nothing waits. */
  pending(): number;
}

export function virtualRuntime(seed = 1, startWall = Date.UTC(2026, 0, 1)): VirtualRuntime {
  let now = 0;
  let order = 0;
  let ids = 0;
  let due: Due[] = [];

  const settle = async (): Promise<void> => {
    // Enough turns for long promise chains and streams; each turn drains the whole microtask queue.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const timer = (ms: Milliseconds, then: () => void): Timer => {
    const entry: Due = { at: now + Math.max(0, ms), order: order++, then };
    due.push(entry);
    const cancel = (): void => {
      due = due.filter((other) => other !== entry);
    };
    return { cancel };
  };

  return {
    now: () => now,
    wallTime: () => startWall + now,
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const finish = (): void => {
          pending.cancel();
          signal?.removeEventListener("abort", finish);
          resolve();
        };
        const pending = timer(ms, finish);
        signal?.addEventListener("abort", finish, { once: true });
      }),
    yield: () => new Promise((resolve) => setImmediate(resolve)),
    random: mulberry32(seed),
    uuid: () => `00000000-0000-4000-8000-${(++ids).toString(16).padStart(12, "0")}`,
    settle,
    pending: () => due.length,
    advance: async (ms) => {
      const until = now + ms;
      await settle();
      for (;;) {
        const next = due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at || a.order - b.order)[0];
        if (!next) break;
        due = due.filter((other) => other !== next);
        now = next.at;
        next.then();
        await settle();
      }
      now = until;
    },
  };
}
