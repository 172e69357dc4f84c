/** Child processes of the control plane: their logs in files, their end certain. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

export class Processes {
  readonly #folder: string;
  readonly #running = new Map<string, ChildProcess>();

  constructor(folder: string) {
    this.#folder = folder;
    // Also when the test itself dies.
    process.once("exit", () => this.endAll());
  }

  start(
    name: string,
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): ChildProcess {
    const log = openSync(join(this.#folder, `${name}.log`), "a");
    const child = spawn(command, args, { stdio: ["ignore", log, log], env: { ...process.env, ...env } });
    this.#running.set(name, child);
    return child;
  }

  get(name: string): ChildProcess | undefined {
    return this.#running.get(name);
  }

  /** SIGSTOP and SIGCONT: a process that stands still, with all that it knows and its connections open. */
  signal(name: string, signal: NodeJS.Signals): void {
    this.#running.get(name)?.kill(signal);
  }

  /** SIGKILL: kube-apiserver takes many seconds over a SIGTERM and keeps etcd busy meanwhile. */
  async end(name: string, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#running.get(name);
    this.#running.delete(name);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  endAll(): void {
    for (const child of this.#running.values()) child.kill("SIGKILL");
    this.#running.clear();
  }
}

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer().listen(0, "127.0.0.1", () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
