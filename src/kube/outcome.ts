/** What becomes of a call to the API: a value, whatever the peer or the network does. */
import type { HttpReply, Milliseconds } from "../runtime/runtime.ts";

export interface Answer {
  readonly ok: true;
  readonly status: number;
  /** The decoded body; undefined where it could not be read: the status alone decides (FR-079). */
  readonly body: unknown;
  /** Of the body, as JSON. */
  readonly bytes: number;
}

export interface Failure {
  readonly ok: false;
  /** Absent where no answer came. */
  readonly status?: number;
  /** The Status's reason, e.g. "Conflict", "Expired". */
  readonly reason?: string;
  readonly message: string;
  readonly retryAfterMs?: Milliseconds;
  /** The request may have taken effect, or may yet. */
  readonly ambiguous: boolean;
}

export type Outcome = Answer | Failure;

const messageLengthMax = 500;
/** Nobody who means it asks for more; a date of next year is a mistake. */
const retryAfterMsMax = 300_000;

/** `isWrite`: a failed read never took effect. */
export function failureOf(failed: {
  readonly reply: Pick<HttpReply, "status" | "headers">;
  readonly body: unknown;
  readonly isWrite: boolean;
  readonly wallTime: Milliseconds;
}): Failure {
  const { reply, body, isWrite, wallTime } = failed;
  const { reason, message, details } = fieldsOf(body);
  const retryAfterMs = readRetryAfter(reply.headers["retry-after"], fieldsOf(details)["retryAfterSeconds"], wallTime);
  return {
    ok: false,
    status: reply.status,
    ...(typeof reason === "string" && { reason }),
    message: typeof message === "string" ? message.slice(0, messageLengthMax) : `status ${reply.status}`,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    // 429 is refused before anything is done; so are other 4xx. A 5xx may follow the write.
    ambiguous: isWrite && reply.status >= 500,
  };
}

/** Seconds, or a date; the Status says it too, where a proxy dropped the header. @see RFC 9110 §10.2.3 */
function readRetryAfter(
  header: string | undefined,
  inStatus: unknown,
  wallTime: Milliseconds,
): Milliseconds | undefined {
  const text = header?.trim() ?? "";
  const seconds = /^\d+$/.test(text) ? Number(text) : typeof inStatus === "number" ? inStatus : undefined;
  const ms = seconds === undefined ? Date.parse(text) - wallTime : seconds * 1000;
  return ms > 0 ? Math.min(ms, retryAfterMsMax) : undefined;
}

/** Of an object in an answer; none where it is no object. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** No answer: refused, reset, timed out, or the caller gave up. */
export function noAnswer(problem: unknown, isWrite: boolean): Failure {
  const message = problem instanceof Error ? problem.message : String(problem);
  return { ok: false, message: message.slice(0, messageLengthMax), ambiguous: isWrite };
}
