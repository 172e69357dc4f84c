/** Processes that are asked things, one at a time, and end with whoever asks. */
import { type ChildProcess, fork } from "node:child_process";
import { createInterface } from "node:readline";

type Message = Readonly<Record<string, unknown>>;

/** In a child: says something unasked, or the answer. */
export function tell(message: Message): void {
  process.send?.(message);
}

/** In a child: does what it is asked to, by name, and ends when the parent has gone. */
export function answer(verbs: Readonly<Record<string, (asked: Message) => Promise<Message>>>): void {
  process.on("message", (asked: Message) => {
    void (async () => tell((await verbs[String(asked["verb"])]?.(asked)) ?? { problem: "no such verb" }))();
  });
  process.on("disconnect", () => process.exit(1));
}

export interface ChildOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly nodeArgs?: readonly string[];
  /** What it says on its standard output, line by line. */
  readonly line?: (line: string) => void;
}

export class Child {
  readonly #process: ChildProcess;

  constructor({ file, args, nodeArgs = [], line = () => {} }: ChildOptions) {
    this.#process = fork(file, [...args], { execArgv: [...nodeArgs], stdio: ["ignore", "pipe", "inherit", "ipc"] });
    const { stdout } = this.#process;
    if (stdout) createInterface({ input: stdout }).on("line", line);
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** The next thing that it says. @throws Error where it ends instead */
  async told<T>(): Promise<T> {
    if (this.hasEnded) throw new Error(`${this.#process.spawnargs.at(1)} has ended`);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const heard = (message: unknown): void => resolve(message as T);
    const ended = (): void => reject(new Error(`${this.#process.spawnargs.at(1)} has ended`));
    this.#process.once("message", heard);
    this.#process.once("exit", ended);
    try {
      return await promise;
    } finally {
      this.#process.off("message", heard);
      this.#process.off("exit", ended);
    }
  }

  /** One at a time. */
  async ask<T>(verb: string, more: Message = {}): Promise<T> {
    const told = this.told<T>();
    this.#process.send({ ...more, verb });
    return told;
  }

  async end(): Promise<void> {
    if (this.hasEnded) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#process.once("exit", () => resolve());
    this.#process.kill("SIGTERM");
    const late = setTimeout(() => this.#process.kill("SIGKILL"), 5_000);
    await promise;
    clearTimeout(late);
  }
}
