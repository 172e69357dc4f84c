/** What Go builds out of a committed module: once, and again when a source has changed. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface GoBuild {
  /** What is built and how long that takes, for those who wait for it. */
  readonly what: string;
  readonly takes: string;
  /** Folder of the module. */
  readonly source: string;
  /** Paths of all that decides what comes of it. */
  readonly inputs: readonly string[];
  /** Where the binaries and the mark of what they were built from go. */
  readonly folder: string;
  readonly outputs: readonly string[];
  /** After `go build`. */
  readonly args: readonly string[];
}

/** Does not block: a build takes minutes. @returns undefined when the binaries stand there, or why they do not */
export async function goBuild(build: GoBuild, say: (line: string) => void): Promise<string | undefined> {
  const { what, takes, source, inputs, folder, outputs, args } = build;
  const stand = outputs.every((output) => existsSync(join(folder, output)));
  const stamp = createHash("sha256");
  for (const file of inputs) stamp.update(readFileSync(file));
  const is = stamp.digest("hex");
  const mark = join(folder, "built-from");
  if (stand && existsSync(mark) && readFileSync(mark, "utf8") === is) return undefined;

  // Binaries of older sources serve where there is no Go.
  if (spawnSync("go", ["version"]).error) return stand ? undefined : noGo;
  say(`Go builds ${what}: ${takes} the first time, seconds later`);
  mkdirSync(folder, { recursive: true });
  const child = spawn("go", ["build", ...args], { cwd: source, stdio: ["ignore", "inherit", "inherit"] });
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) return `Go could not build ${what}; it says above why`;
  writeFileSync(mark, is);
  return undefined;
}

const noGo =
  "the control plane is built by Go, which is not installed, and KUBEBUILDER_ASSETS names no folder that has it";
