/**
 * Vitest's side of `npm run mutate`: the tests are loaded once, and the first of them never ends. Inside it all tests run again for each
 * mutant that Stryker switches on, in milliseconds; a fresh worker for each mutant takes a second.
 */
import type { RunnerTask, RunnerTestCase, RunnerTestSuite } from "vitest";
import { TestRunner } from "vitest";
import { type Answer, channelName, type Message, type Order, type Outcome, type Switchboard } from "./messages.ts";

export default class Serve extends TestRunner {
  runTask({ file }: RunnerTestCase): Promise<void> {
    const tests = testsOf(file);
    const channel = new BroadcastChannel(channelName);
    return new Promise((_, reject) => {
      channel.onmessage = ({ data }: { readonly data: Message }) => {
        if (data.kind !== "order") return;
        carryOut(data, tests).then((answer) => channel.postMessage(answer), reject);
      };
      channel.postMessage({ kind: "ready" } satisfies Message);
    });
  }
}

function testsOf(task: RunnerTask): RunnerTestCase[] {
  if (task.type === "suite") return task.tasks.flatMap(testsOf);
  return task.mode === "run" || task.mode === "queued" ? [task] : [];
}

async function carryOut({ only, mutant, hitLimit }: Order, tests: RunnerTestCase[]): Promise<Answer> {
  const wanted = only && new Set(only);
  const board = switchboard();
  board.activeMutant = mutant === undefined ? undefined : fastToCompare(mutant);
  board.hitCount = mutant === undefined ? undefined : 0;
  board.hitLimit = hitLimit;
  const outcomes: Outcome[] = [];
  for (const [index, test] of tests.entries()) {
    if (wanted && !wanted.has(test.fullTestName)) continue;
    const outcome = await run(test, board);
    outcomes.push(outcome);
    if (mutant === undefined || outcome.failure === undefined) continue;
    // What killed this mutant mostly kills its neighbours: it goes first from now on.
    tests.unshift(...tests.splice(index, 1));
    break;
  }
  board.activeMutant = undefined;
  return {
    kind: "answer",
    outcomes,
    hits: board.hitCount ?? 0,
    coverage: mutant === undefined ? (board.mutantCoverage ?? { static: {}, perTest: {} }) : undefined,
  };
}

async function run(test: RunnerTestCase, board: Switchboard): Promise<Outcome> {
  const name = test.fullTestName;
  const began = performance.now();
  // Counting what each test reaches costs more than the tests do.
  if (board.activeMutant === undefined) board.currentTestId = name;
  try {
    await withHooks(test, TestRunner.getTestFn(test));
    return { name, ms: performance.now() - began };
  } catch (error) {
    return { name, ms: performance.now() - began, failure: String(error) };
  } finally {
    board.currentTestId = undefined;
  }
}

async function withHooks(test: RunnerTestCase, body: () => unknown): Promise<void> {
  const suites = suitesOf(test);
  for (const suite of suites) {
    for (const hook of TestRunner.getSuiteHooks(suite).beforeEach) await hook(test.context, suite);
  }
  try {
    await body();
  } finally {
    for (const suite of suites.reverse()) {
      for (const hook of TestRunner.getSuiteHooks(suite).afterEach) await hook(test.context, suite);
    }
  }
}

/** A string that came over a channel is compared letter by letter, at every switch; one that was parsed is known to V8. */
function fastToCompare(mutant: string): string {
  return JSON.parse(JSON.stringify(mutant)) as string;
}

/** From the file inwards. */
function suitesOf({ suite, file }: RunnerTask): RunnerTestSuite[] {
  return suite ? [...suitesOf(suite), suite] : [file];
}

/** Where instrumented code looks which mutant is on. */
function switchboard(): Switchboard {
  const scope = globalThis as { __stryker__?: Switchboard };
  scope.__stryker__ ??= {};
  return scope.__stryker__;
}
