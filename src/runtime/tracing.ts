/** Traces as the rooms see them: spans that somebody may collect, and mostly nobody does. */

/** Names that lead to one object, such as a Pod's, are welcome here, as in logs: metrics must not have them. */
export type SpanFields = Readonly<Record<string, unknown>>;

/** One piece of work. What is done to a span that has ended is lost. */
export interface Span {
  /** A piece of this one; it may end later. */
  child(name: string): Span;
  /** Texts, numbers and flags become attributes under their names; the rest is left out. */
  set(fields: SpanFields): void;
  fail(message: string): void;
  end(): void;
}

export interface Tracing {
  /** @param headers  of the request, for the W3C `traceparent` that a caller may send */
  start(name: string, headers: Readonly<Record<string, string>>): Span;
}

const unseen: Span = { child: () => unseen, set: () => {}, fail: () => {}, end: () => {} };

/** Where nobody collects. */
export const untraced: Tracing = { start: () => unseen };
