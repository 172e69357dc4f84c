import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { berthVersion, versionCommand } from "../../src/cli/version.ts";
import { runCommand } from "./support.ts";

test("the version is package.json's", async () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(berthVersion()).toBe(version);
  const { code, stdout, stderr } = await runCommand(versionCommand, []);
  expect([code, stdout, stderr]).toEqual([0, `berth ${version} (node ${process.versions.node})\n`, ""]);
});

test("it takes no arguments", async () => {
  expect(await runCommand(versionCommand, ["1"])).toMatchObject({ code: 2, stdout: "" });
  expect(await runCommand(versionCommand, ["-h"])).toMatchObject({ code: 0, stdout: "Usage: berth version\n" });
});
