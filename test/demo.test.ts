/** The demo as a user runs it. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test("npm run demo tells its six scenes, ends with the table, and exits 0", { timeout: 60_000 }, async () => {
  const { stdout, stderr } = await run(process.execPath, ["test/demo/main.ts"]);
  expect(stderr).toBe("");
  for (let scene = 1; scene <= 6; scene++) expect(stdout).toMatch(new RegExp(`^${scene}\\. `, "m"));
  expect(stdout).toContain("cold takes delta-nvme-1, hot finds nothing");
  expect(stdout).toMatch(/default\/archive +delta +cold → delta-nvme-2 +10Gi/);
  expect(stdout).toMatch(/default\/search +bravo +index → bravo-ssd-2 +0Gi/);
  expect(stdout).toMatch(/Would help: Add a volume of class local-ssd with at least 200Gi/);
  expect(stdout.trimEnd()).toMatch(/Every expectation held\.$/);
});

test("an unknown flag is one line that says what the demo takes, and exit 2", async () => {
  await expect(run(process.execPath, ["test/demo/main.ts", "--bogus"])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^demo: .*--bogus.*it takes --keep and --help\n$/s),
  });
});
