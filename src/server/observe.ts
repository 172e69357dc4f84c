/** The last step of every verb: one histogram entry, one log line, the end of its span. */
import type { LogFields } from "../log.ts";
import type { CallOutcome, ErrorCause, Verb } from "../metrics.ts";
import type { HttpReply, HttpRequest } from "../runtime/runtime.ts";
import type { Span } from "../runtime/tracing.ts";
import type { Parts } from "./parts.ts";
import { failureReply } from "./replies.ts";

export interface CallRecord {
  /** Ends with the call. */
  readonly span: Span;
  /** The call was answered. */
  answered(outcome: CallOutcome, fields: LogFields): void;
  /** The call was answered with `Error`, or with nothing where the verb has no room for one. */
  failed(cause: ErrorCause, error: string, fields: LogFields): void;
  /** The body is no request of this verb: the reply that says so. */
  undecodable(problem: string): HttpReply;
}

const answeredMessages: Readonly<Record<Verb, string>> = {
  filter: "Filtered nodes",
  prioritize: "Scored nodes",
  preempt: "Kept candidates",
  bind: "Answered bind",
};

/** Starts the clock of one call. */
export function startCall(
  { metrics, log, tracing, runtime }: Parts,
  verb: Verb,
  { headers }: Pick<HttpRequest, "headers">,
): CallRecord {
  const startedAt = runtime.now();
  const span = tracing.start(verb, headers);
  const observe = (outcome: CallOutcome): number => {
    const durationMs = runtime.now() - startedAt;
    metrics.callDuration.observe({ verb, outcome }, durationMs / 1000);
    return Math.round(durationMs * 1000) / 1000;
  };
  return {
    span,
    answered: (outcome, fields) => {
      const durationMs = observe(outcome);
      span.set({ outcome, ...fields });
      span.end();
      log.info({ verb, outcome, durationMs, ...fields }, answeredMessages[verb]);
    },
    failed: (cause, error, fields) => {
      const durationMs = observe("error");
      span.set({ outcome: "error", reason: cause, ...fields });
      span.fail(error);
      span.end();
      metrics.callErrors.inc({ verb, cause });
      log.warn({ verb, outcome: "error", reason: cause, error, durationMs, ...fields }, "Could not answer");
    },
    undecodable: (problem) => {
      const durationMs = observe("undecodable");
      span.set({ outcome: "undecodable" });
      span.fail(problem);
      span.end();
      log.warn({ verb, outcome: "undecodable", error: problem, durationMs }, "Could not read a request");
      return failureReply(400, problem);
    },
  };
}
