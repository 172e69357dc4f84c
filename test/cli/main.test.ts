/** `src/main.ts` as a process of its own. */
import { execFile } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { expect, test } from "vitest";

function berth(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["src/main.ts", ...argv], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

test("it can be run as it is", () => {
  accessSync("src/main.ts", constants.X_OK);
  const lines = readFileSync("src/main.ts", "utf8").split("\n");
  expect(lines[0]).toBe("#!/usr/bin/env node");
  expect(lines.length).toBeLessThanOrEqual(120);
});

test("without a command, and with --help, it lists the commands", async () => {
  const [none, help] = await Promise.all([berth(), berth("--help")]);
  expect(help).toEqual(none);
  expect(help.code).toBe(0);
  const commands = [
    "serve",
    "sandbox",
    "simulate",
    "explain",
    "capacity",
    "scheduler-config",
    "check-config",
    "rbac",
    "check-permissions",
    "check-storage",
    "version",
  ];
  for (const command of commands) expect(help.stdout).toContain(`\n  ${command} `);
});

test("a mistyped command is one line with the near one, and 2", async () => {
  const { code, stdout, stderr } = await berth("serv");
  expect([code, stdout, stderr]).toEqual([2, "", 'berth: there is no command "serv"; did you mean "serve"?\n']);
});

test("the version is that of package.json", async () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const [command, flag, wrong] = await Promise.all([berth("version"), berth("--version"), berth("version", "--x")]);
  expect(command).toEqual({ code: 0, stdout: `berth ${version} (node ${process.versions.node})\n`, stderr: "" });
  expect(flag).toEqual(command);
  expect([wrong.code, wrong.stderr]).toEqual([2, 'berth version: --x is not an option; see "--help"\n']);
});

test("a command's exit code becomes the process's", async () => {
  const { code, stderr } = await berth("simulate", "-f", "/nowhere", "--pod", "a/b");
  expect([code, stderr]).toEqual([2, "berth simulate: /nowhere: no such file or directory\n"]);
});

test("a command of several words is found by its name", async () => {
  const help = await Promise.all(
    ["check-config", "check-permissions", "scheduler-config"].map((name) => berth("help", name)),
  );
  for (const { code, stdout } of help) expect([code, stdout.slice(0, 13)]).toEqual([0, "Usage: berth "]);
});
