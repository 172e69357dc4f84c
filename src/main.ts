#!/usr/bin/env node
/** The command line: `berth COMMAND`, or `kubectl berth COMMAND`. Hands the real process to one command, which is loaded only then. */
import { basename } from "node:path";
import { calledAs, helpText, speakingAs, unknownCommand } from "./cli/help.ts";
import type { Command, CommandIo, TextSink } from "./cli/io.ts";

/** Each is `src/cli/some-name.ts` and exports `someNameCommand`. */
const summaries: ReadonlyMap<string, string> = new Map([
  ["serve", "answer kube-scheduler for a cluster"],
  ["sandbox", "run a whole cluster in this process, with nothing installed"],
  ["simulate", "say where a Pod's volumes would fit, from files and offline"],
  ["config", "print what Berth can be told, and find what is wrong in its configuration"],
  ["explain", "ask a running Berth why a Pod is pending"],
  ["capacity", "show what there is of each class, and who has it, on each node"],
  ["scheduler-config", "print the configuration that kube-scheduler needs to ask Berth"],
  ["check-config", "find what is wrong in a kube-scheduler's configuration with Berth in it"],
  ["rbac", "print the account and the roles that Berth needs"],
  ["check-permissions", "ask a cluster which of the rights that Berth needs are granted"],
  ["check-storage", "find what is wrong in classes, volumes and claims before a Pod meets it"],
  ["version", "print the version"],
]);
const nodeMajorMin = 24;
/** How long what is left open may keep the process after its command is done. */
const lingerMs = 1_000;

async function main(argv: readonly string[]): Promise<number> {
  // `berth help serve` is `berth serve --help`.
  const [name = "--help", ...rest] = argv[0] === "help" && argv[1] !== undefined ? [argv[1], "--help"] : argv;
  if (Number.parseInt(process.versions.node, 10) < nodeMajorMin) {
    return fail(`Node ${process.versions.node} is too old: run Berth with Node ${nodeMajorMin} or newer`);
  }
  if (name === "--help" || name === "-h" || name === "help") {
    saying(process.stdout).write(helpText(summaries));
    return 0;
  }
  const wanted = name === "--version" ? "version" : name;
  if (!summaries.has(wanted)) return fail(unknownCommand(wanted, [...summaries.keys()]));
  const command = await load(wanted);
  if (!command) return fail(`the command "${wanted}" is not part of this build`);
  return command(rest, await realIo(rest));
}

/** Names Berth as it was called. */
function saying(sink: TextSink): TextSink {
  return speakingAs(calledAs(basename(process.argv[1] ?? "")), summaries.keys(), sink);
}

async function load(name: string): Promise<Command | undefined> {
  try {
    const module = (await import(`./cli/${name}.ts`)) as Readonly<Record<string, Command | undefined>>;
    const exported = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    return module[`${exported}Command`];
  } catch (error) {
    const { code, url } = error as { code?: string; url?: string };
    if (code === "ERR_MODULE_NOT_FOUND" && url?.endsWith(`/cli/${name}.ts`)) return undefined;
    throw error;
  }
}

async function realIo(argv: readonly string[]): Promise<CommandIo> {
  const { nodeRuntime } = await import("./runtime/node-runtime.ts");
  const { stdout: plain, env } = process;
  const stdout = argv.includes("--help") || argv.includes("-h") ? saying(plain) : plain;
  return { stdout, stderr: saying(process.stderr), env, runtime: nodeRuntime, signal: stopSignal() };
}

/** Aborts at the first SIGINT or SIGTERM; the second one ends the process where it stands. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(name === "SIGINT" ? 130 : 143);
      controller.abort();
    });
  }
  return controller.signal;
}

function fail(problem: string): number {
  saying(process.stderr).write(`berth: ${problem}\n`);
  return 2;
}

// Whoever reads our output may stop reading, as `head` does.
process.stdout.on("error", () => process.exit(0));

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.exitCode = 70;
  process.stderr.write(`berth: a fault of Berth itself: ${text}\n`);
}
setTimeout(() => process.exit(), lingerMs).unref();
