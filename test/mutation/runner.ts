/** Stryker's side of `npm run mutate`: a test runner (Stryker's public API) that keeps one vitest worker and tells it which mutant is on. */
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import {
  type DryRunResult,
  DryRunStatus,
  determineHitLimitReached,
  type MutantRunOptions,
  type MutantRunResult,
  type TestResult,
  type TestRunner,
  type TestRunnerCapabilities,
  TestStatus,
  toMutantRunResult,
} from "@stryker-mutator/api/test-runner";
import { createVitest, type Vitest } from "vitest/node";
import { type Answer, channelName, type Message, type Order } from "./messages.ts";

class Runner implements TestRunner {
  readonly #channel = new BroadcastChannel(channelName);
  #vitest: Vitest | undefined;

  capabilities(): TestRunnerCapabilities {
    return { reloadEnvironment: false };
  }

  async init(): Promise<void> {
    const ready = this.#next("ready");
    this.#vitest = await createVitest("test", { config: "test/mutation/vitest.config.ts", watch: false });
    const ended = this.#vitest.start().then(() => {
      throw new Error("the tests could not be loaded: npx vitest run -c test/mutation/vitest.config.ts");
    });
    await Promise.race([ready, ended]);
    ended.catch(() => {});
  }

  async dryRun(): Promise<DryRunResult> {
    const answer = await this.#order({ kind: "order" });
    const { coverage } = answer;
    return { status: DryRunStatus.Complete, tests: results(answer), ...(coverage && { mutantCoverage: coverage }) };
  }

  async mutantRun({ testFilter, activeMutant, hitLimit }: MutantRunOptions): Promise<MutantRunResult> {
    const answer = await this.#order({ kind: "order", only: testFilter, mutant: activeMutant.id, hitLimit });
    const tooOften = determineHitLimitReached(answer.hits, hitLimit);
    return toMutantRunResult(tooOften ?? { status: DryRunStatus.Complete, tests: results(answer) });
  }

  async dispose(): Promise<void> {
    this.#channel.close();
    await this.#vitest?.close();
  }

  async #order(order: Order): Promise<Answer> {
    const answer = this.#next("answer");
    this.#channel.postMessage(order);
    return (await answer) as Answer;
  }

  #next(kind: Message["kind"]): Promise<Message> {
    return new Promise((resolve) => {
      this.#channel.onmessage = ({ data }: { readonly data: Message }) => {
        if (data.kind === kind) resolve(data);
      };
    });
  }
}

function results({ outcomes }: Answer): TestResult[] {
  return outcomes.map(({ name, ms, failure }) => {
    const result = { id: name, name, timeSpentMs: ms };
    if (failure === undefined) return { ...result, status: TestStatus.Success };
    return { ...result, status: TestStatus.Failed, failureMessage: failure };
  });
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, "core", Runner)];
