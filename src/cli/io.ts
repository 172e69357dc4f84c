/** What a command may touch of the process that runs it. `main.ts` hands in the real ones, tests their own. */
import type { Runtime } from "../runtime/runtime.ts";

export interface TextSink {
  write(text: string): unknown;
}

export interface CommandIo {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly runtime: Runtime;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts on SIGINT and SIGTERM: the command winds up and resolves. */
  readonly signal: AbortSignal;
}

/** Resolves to the exit code: 0 done, 1 done with the answer "no", 2 used wrongly. Writes at most one line to stderr. */
export type Command = (argv: readonly string[], io: CommandIo) => Promise<number>;
