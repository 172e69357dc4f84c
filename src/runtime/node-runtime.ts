/** The real clock, timers and randomness. Imported by the commands only. */
import { randomUUID } from "node:crypto";
import type { Runtime } from "./runtime.ts";

export const nodeRuntime: Runtime = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const finish = (): void => {
        clearTimeout(timeout);
        signal?.removeEventListener("abort", finish);
        resolve();
      };
      const timeout = setTimeout(finish, ms);
      signal?.addEventListener("abort", finish, { once: true });
    }),
  timer: (ms, then) => {
    const timeout = setTimeout(then, ms);
    return { cancel: () => clearTimeout(timeout) };
  },
  yield: () => new Promise((resolve) => setImmediate(resolve)),
  random: () => Math.random(),
  uuid: () => randomUUID(),
};
