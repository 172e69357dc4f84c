/** Makes lru-cache read the runtime's clock: left to itself it reads the real one and sets real timers. */
import type { Runtime } from "../runtime/runtime.ts";

/** For its options. What begins at 0 it would keep for ever. */
export function cacheClock(runtime: Pick<Runtime, "now">) {
  return { ttlResolution: 0, perf: { now: () => runtime.now() + 1 } } as const;
}
