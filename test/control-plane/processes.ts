/** Child processes of a control plane: their logs in files, their end certain. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { until } from "./reach.ts";

/** Reads "+ pid" and "- pid"; when nobody writes any more, ends those that are left. */
const watchdog = `
while read -r sign pid; do
  if [ "$sign" = + ]; then all="$all $pid"; continue; fi
  left=
  for one in $all; do [ "$one" = "$pid" ] || left="$left $one"; done
  all=$left
done
[ -z "$all" ] || kill -9 $all`;

export class Processes {
  readonly #folder: string;
  readonly #running = new Map<string, ChildProcess>();
  readonly #watchdog: Socket;

  /** @param folder  where the logs go */
  constructor(folder: string) {
    this.#folder = folder;
    // In a session of its own, so that Ctrl-C does not reach it; it works also where this process is killed.
    const child = spawn("sh", ["-c", watchdog], { stdio: ["pipe", "ignore", "ignore"], detached: true });
    this.#watchdog = child.stdin as Socket;
    // It outlives us and must not keep us alive. What it says of its own end is of no use.
    this.#watchdog.on("error", () => {});
    this.#watchdog.unref();
    child.unref();
  }

  start(name: string, [command, ...args]: readonly [string, ...string[]]): void {
    const log = openSync(join(this.#folder, `${name}.log`), "a");
    const child = spawn(command, args, { stdio: ["ignore", log, log] });
    closeSync(log);
    this.#running.set(name, child);
    const { pid } = child;
    this.#watchdog.write(`+ ${pid}\n`);
    child.once("exit", () => this.#watchdog.write(`- ${pid}\n`));
  }

  /** SIGSTOP and SIGCONT: a process that stands still, with all that it knows and its connections open. */
  signal(name: string, signal: NodeJS.Signals): void {
    this.#running.get(name)?.kill(signal);
  }

  runs(name: string): boolean {
    const child = this.#running.get(name);
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** @throws Error with the last line of its log, where it has ended instead, or after a minute */
  async comesUp(name: string, isReady: () => Promise<boolean>): Promise<void> {
    await until(`${name} is ready`, async () => !this.runs(name) || (await isReady()));
    if (this.runs(name)) return;
    const lastLine =
      readFileSync(join(this.#folder, `${name}.log`), "utf8")
        .trimEnd()
        .split("\n")
        .at(-1) ?? "";
    throw new Error(`${name} ended: ${lastLine}`);
  }

  pids(): Record<string, number> {
    return Object.fromEntries([...this.#running].map(([name, { pid = 0 }]) => [name, pid]));
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

  async endAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.end(name)));
    this.#watchdog.end();
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
