/** `berth version`. */
import { readFileSync } from "node:fs";
import { parseOptions, runCommand } from "./arguments.ts";
import type { Command, CommandIo } from "./io.ts";

/** The version in package.json, which the release sets. */
export function berthVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return version;
}

export const versionCommand: Command = (argv, io) => runCommand("version", io, () => printVersion(argv, io));

async function printVersion(argv: readonly string[], io: CommandIo): Promise<number> {
  const { help } = parseOptions(argv, { help: { type: "boolean", short: "h" } });
  io.stdout.write(help ? "Usage: berth version\n" : `berth ${berthVersion()} (node ${process.versions.node})\n`);
  return 0;
}
