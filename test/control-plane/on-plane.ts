/** Tests that need the real control plane: where there is none each is skipped by its name, and says why; in CI it fails. */
import { execFileSync } from "node:child_process";
import { inject, onTestFinished, type TaskMeta, test } from "vitest";
import type { Exchange } from "../../src/runtime/runtime.ts";
import type { Facts } from "./control-plane.ts";
import { reach, until } from "./reach.ts";

/** The control plane from a test's side, which did not start it. */
export interface Reached {
  readonly facts: Facts;
  readonly exchange: Exchange;
  /** SIGSTOP and SIGCONT to one of its processes. Resolves when it stands still, or runs. */
  signal(name: string, signal: NodeJS.Signals): Promise<void>;
}

interface Options {
  readonly timeout?: number;
  readonly meta?: Partial<TaskMeta>;
  /** Why what else it needs cannot be had here; read when it runs. */
  readonly lacks?: () => string | undefined;
  /** Why this one is not run as yet. */
  readonly awaits?: string | undefined;
}

export function onPlane(name: string, options: Options, run: (plane: Reached) => Promise<void>): void {
  const { timeout = 90_000, meta = {}, lacks = () => undefined, awaits } = options;
  const mayLack = process.env["CI"] !== "true";
  test(name, { timeout, meta }, async ({ skip }) => {
    const plane = inject("plane");
    if (awaits !== undefined) skip(awaits);
    if (plane.kind === "missing" && mayLack) skip(plane.why);
    if (plane.kind !== "runs") throw new Error(plane.why);
    const lacking = lacks();
    if (lacking !== undefined && mayLack) skip(lacking);
    if (lacking !== undefined) throw new Error(lacking);
    await run(reached(plane.facts));
  });
}

/** As ps gives it: "T" for a process that was stopped. */
function stateOf(pid: number): string {
  return execFileSync("ps", ["-o", "state=", "-p", String(pid)], { encoding: "utf8" }).trim();
}

function reached(facts: Facts): Reached {
  const transport = reach(facts.server);
  onTestFinished(() => transport.close());
  const signal = async (name: string, signal: NodeJS.Signals): Promise<void> => {
    const pid = facts.pids[name];
    if (pid === undefined) throw new Error(`the control plane has no ${name}`);
    process.kill(pid, signal);
    // On a busy machine the other threads of a process run on until the one that got the signal has its turn.
    if (signal === "SIGSTOP") await until(`${name} stands still`, async () => stateOf(pid).startsWith("T"), 10_000);
  };
  return { facts, exchange: transport.exchange, signal };
}
