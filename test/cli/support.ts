/** Runs a command as `main.ts` would, with its streams caught. */
import type { Command, CommandIo } from "../../src/cli/io.ts";
import { virtualRuntime } from "../support/clock.ts";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runCommand(
  command: Command,
  argv: readonly string[],
  io: Partial<CommandIo> = {},
): Promise<Outcome> {
  let stdout = "";
  let stderr = "";
  const code = await command(argv, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    runtime: virtualRuntime(),
    env: {},
    signal: new AbortController().signal,
    ...io,
  });
  return { code, stdout, stderr };
}
