/** What Stryker's side asks of the worker that holds the tests, and what it answers: structured clones over a broadcast channel. */
import type { CoveragePerTestId, InstrumenterContext } from "@stryker-mutator/api/core";

export const channelName = "mutation";

export interface Order {
  readonly kind: "order";
  /** Tests by full name; all without. */
  readonly only?: readonly string[] | undefined;
  /** The mutant that is on; none in the run that measures coverage. */
  readonly mutant?: string | undefined;
  readonly hitLimit?: number | undefined;
}

export interface Outcome {
  readonly name: string;
  readonly ms: number;
  /** Why it failed. */
  readonly failure?: string;
}

export interface Answer {
  readonly kind: "answer";
  readonly outcomes: readonly Outcome[];
  readonly hits: number;
  readonly coverage?: { readonly static: CoveragePerTestId[string]; readonly perTest: CoveragePerTestId } | undefined;
}

export type Message = { readonly kind: "ready" } | Order | Answer;

/** Stryker's own state in a process of instrumented code (`__stryker__`, INSTRUMENTER_CONSTANTS.NAMESPACE); undefined is off. */
export type Switchboard = { [Field in keyof InstrumenterContext]: InstrumenterContext[Field] | undefined };
