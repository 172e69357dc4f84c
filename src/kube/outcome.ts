/** What becomes of a call to the API: a value, whatever the peer or the network does. */
import type { Milliseconds } from "../runtime/runtime.ts";

export interface Answer {
  readonly ok: true;
  readonly status: number;
  /** The decoded body; undefined where it could not be read: the status alone decides (FR-079). */
  readonly body: unknown;
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

/** @param isWrite  a failed read never took effect */
export function failureOf(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  isWrite: boolean,
): Failure {
  const { reason, message } = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const seconds = Number(headers["retry-after"]);
  return {
    ok: false,
    status,
    ...(typeof reason === "string" && { reason }),
    message: typeof message === "string" ? message.slice(0, messageLengthMax) : `status ${status}`,
    ...(Number.isFinite(seconds) &&
      seconds >= 0 &&
      headers["retry-after"] !== undefined && { retryAfterMs: seconds * 1000 }),
    // 429 is refused before anything is done; so are 4xx. A 5xx may follow the write.
    ambiguous: isWrite && status >= 500,
  };
}

/** No answer: refused, reset, timed out, or the caller gave up. */
export function noAnswer(problem: unknown, isWrite: boolean): Failure {
  const message = problem instanceof Error ? problem.message : String(problem);
  return { ok: false, message: message.slice(0, messageLengthMax), ambiguous: isWrite };
}
