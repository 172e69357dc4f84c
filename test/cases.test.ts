/**
 * The rules of matching as scripts that carry their own answers: a wrong answer shows as a diff of the case file. `npx vitest run
 * test/cases.test.ts -u` writes today's answers: read that diff before you commit it. test/support/world.ts lists the commands.
 */
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { World } from "./support/world.ts";

const files = globSync("test/cases/**/*.case").sort();

test("there are cases", () => {
  expect(files.length).toBeGreaterThanOrEqual(12);
});

test.for(files)("%s", async (file) => {
  await expect(replay(readFileSync(file, "utf8"))).toMatchFileSnapshot(resolve(file));
});

/** Runs a case script; returns it with each answer under its `----` replaced by today's. */
function replay(script: string): string {
  const world = new World();
  const out: string[] = [];
  let skipping = false;
  for (const [index, line] of script.split("\n").entries()) {
    skipping &&= line !== "";
    if (skipping) continue;
    out.push(line);
    const answer = apply(world, line, index + 1);
    if (answer === undefined) continue;
    out.push("----", ...answer);
    skipping = true;
  }
  return out.join("\n");
}

function apply(world: World, line: string, number: number): string[] | undefined {
  try {
    return world.apply(line);
  } catch (error) {
    throw new Error(`line ${number}: ${line}`, { cause: error });
  }
}
