/** The two entries that `berth scheduler-config` writes, for the scheduler of the sandbox. */
import { parseDuration } from "../config/durations.ts";
import type { Exchange, Milliseconds } from "../runtime/runtime.ts";
import type { ExtenderEntry } from "../sandbox/scheduler/extender.ts";
import { extenderEntries } from "../scheduler-config/generate.ts";

export interface SandboxEntriesOptions {
  readonly urlPrefix: string;
  readonly exchange: Exchange;
  /** Berth's `binding.timeout`. */
  readonly bindTimeoutMs: Milliseconds;
}

export function sandboxEntries({ exchange, ...options }: SandboxEntriesOptions): readonly ExtenderEntry[] {
  const { asks, binds } = extenderEntries(options);
  return [asks, binds].map(({ httpTimeout, ...entry }) => {
    const httpTimeoutMs = parseDuration(httpTimeout);
    return { ...entry, ...(httpTimeoutMs !== undefined && { httpTimeoutMs }), exchange };
  });
}
