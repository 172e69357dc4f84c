/** Processes that end with this one, and tell a line when they are ready. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

export class Child {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  /** @param args  of the Node that runs this */
  constructor(args: readonly string[]) {
    this.#process = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
    process.once("exit", () => this.#process.kill("SIGKILL"));
  }

  /** @throws Error where it has ended instead */
  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`${this.#process.spawnargs[1]} ended before it was ready`);
    return value;
  }

  /** Reads on and keeps nothing: a log that nobody reads stops who writes it. */
  async drain(): Promise<void> {
    for (;;) if ((await this.#lines.next()).done) return;
  }

  /** Ends its input, by which it knows that it is to end, and gives it no second chance. */
  async end(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.stdin.end();
    setTimeout(() => this.#process.kill("SIGKILL"), 500).unref();
    await ended;
  }

  tell(line: string): void {
    this.#process.stdin.write(`${line}\n`);
  }
}
