/** Calls to the API: outcomes are values, whatever the peer sends or the network does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ApiClient } from "../../src/kube/client.ts";
import type { Outcome } from "../../src/kube/outcome.ts";
import type { HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";

type Answer = HttpReply | Error | "never";

interface World {
  readonly runtime: VirtualRuntime;
  readonly client: ApiClient;
  readonly sent: HttpRequest[];
  /** Runs the call to its end, moving the clock for pauses and timeouts. */
  outcomeOf(call: Promise<Outcome>, withinMs?: number): Promise<Outcome>;
}

/** Gives the answers in turn, the last one for ever. */
function makeWorld(...answers: readonly Answer[]): World {
  const runtime = virtualRuntime();
  const sent: HttpRequest[] = [];
  const client = new ApiClient({
    runtime,
    userAgent: "berth/test",
    timeoutMs: 10_000,
    exchange: (request, signal) => {
      const answer = answers[Math.min(sent.length, answers.length - 1)] ?? "never";
      sent.push(request);
      if (answer instanceof Error) return Promise.reject(answer);
      if (answer !== "never") return Promise.resolve(answer);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    },
  });
  return {
    runtime,
    client,
    sent,
    outcomeOf: async (call, withinMs = 60_000) => {
      const outcome = call.then((value) => value);
      await runtime.advance(withinMs);
      return outcome;
    },
  };
}

const reply = (status: number, body: HttpReply["body"] = "{}", headers: Record<string, string> = {}): HttpReply => ({
  status,
  headers,
  body,
});
const status = (code: number, details: object = {}): string =>
  JSON.stringify({ kind: "Status", status: "Failure", code, ...details });
const reset = new Error("read ECONNRESET");

async function* chunks(...parts: readonly (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield Buffer.from(part);
  }
}

const writes: Record<string, { answer: Answer; want: object }> = {
  "a 201 with the object": { answer: reply(201, '{"a":1}'), want: { ok: true, status: 201, body: { a: 1 } } },
  "a 201 whose body is no JSON is a success (FR-079)": {
    answer: reply(201, "<html>"),
    want: { ok: true, status: 201, body: undefined },
  },
  "a 201 whose body breaks off is a success": {
    answer: reply(201, chunks("{", reset)),
    want: { ok: true, status: 201, body: undefined },
  },
  "a 201 with a Status for a Binding is a success (FR-079)": {
    answer: reply(201, '{"kind":"Status"}'),
    want: { ok: true, status: 201 },
  },
  "a conflict is certain": {
    answer: reply(409, status(409, { reason: "Conflict", message: "the object has been modified" })),
    want: { ok: false, status: 409, reason: "Conflict", message: "the object has been modified", ambiguous: false },
  },
  "a 500 may have taken effect": { answer: reply(500, status(500)), want: { ok: false, status: 500, ambiguous: true } },
  "a 504 may have taken effect": {
    answer: reply(504, "timeout"),
    want: { ok: false, status: 504, message: "status 504", ambiguous: true },
  },
  "a 500 whose body breaks off may have taken effect": {
    answer: reply(500, chunks(reset)),
    want: { ok: false, status: 500, ambiguous: true },
  },
  "a throttled write did not": {
    answer: reply(429, status(429), { "retry-after": "3" }),
    want: { ok: false, status: 429, retryAfterMs: 3_000, ambiguous: false },
  },
  "a connection that breaks may have carried it": {
    answer: reset,
    want: { ok: false, message: "read ECONNRESET", ambiguous: true },
  },
  "no answer in time may come with the write done": {
    answer: "never",
    want: { ok: false, message: "no answer within 10000 ms", ambiguous: true },
  },
  "a message of megabytes is cut": {
    answer: reply(400, status(400, { message: "x".repeat(1 << 20) })),
    want: { ok: false, message: "x".repeat(500) },
  },
};

test.for(Object.entries(writes))("a write: %s", async ([, { answer, want }]) => {
  const world = makeWorld(answer);
  const outcome = await world.outcomeOf(world.client.post("/api/v1/x", {}));
  expect(outcome).toMatchObject(want);
  // Whether a write may be tried again is for the writer to say.
  expect(world.sent).toHaveLength(1);
});

const reads: Record<string, { answers: readonly Answer[]; want: object; tries: number }> = {
  "an object": { answers: [reply(200, '{"a":1}')], want: { ok: true, body: { a: 1 } }, tries: 1 },
  "an object in chunks": { answers: [reply(200, chunks('{"a"', ":1}"))], want: { ok: true, body: { a: 1 } }, tries: 1 },
  "bytes that are no JSON are no object": {
    answers: [reply(200, "<html>")],
    want: { ok: false, ambiguous: false },
    tries: 3,
  },
  "what is not there is not asked for again": {
    answers: [reply(404, status(404))],
    want: { ok: false, status: 404 },
    tries: 1,
  },
  "an expired list is not asked for again": {
    answers: [reply(410, status(410, { reason: "Expired" }))],
    want: { ok: false, reason: "Expired" },
    tries: 1,
  },
  "a connection closed while idle": { answers: [reset, reply(200)], want: { ok: true }, tries: 2 },
  "a body that breaks off": { answers: [reply(200, chunks("{", reset)), reply(200)], want: { ok: true }, tries: 2 },
  "a 503 that passes": { answers: [reply(503, ""), reply(503, ""), reply(200)], want: { ok: true }, tries: 3 },
  "a 503 that stays": { answers: [reply(503, "")], want: { ok: false, status: 503, ambiguous: false }, tries: 3 },
  "a short Retry-After is waited for": {
    answers: [reply(429, "", { "retry-after": "1" }), reply(200)],
    want: { ok: true },
    tries: 2,
  },
  "a long Retry-After is passed on": {
    answers: [reply(429, "", { "retry-after": "60" })],
    want: { ok: false, retryAfterMs: 60_000 },
    tries: 1,
  },
};

test.for(Object.entries(reads))("a read: %s", async ([, { answers, want, tries }]) => {
  const world = makeWorld(...answers);
  expect(await world.outcomeOf(world.client.get("/api/v1/x"))).toMatchObject(want);
  expect(world.sent).toHaveLength(tries);
  expect(world.runtime.pending()).toBe(0);
});

const retryAfters: Record<string, { headers?: Record<string, string>; body?: string; want: number | undefined }> = {
  seconds: { headers: { "retry-after": "5" }, want: 5_000 },
  "a date": { headers: { "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT" }, want: 10_000 },
  "a date that has passed": { headers: { "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, want: undefined },
  "the Status alone": { body: status(429, { details: { retryAfterSeconds: 7 } }), want: 7_000 },
  "more than anybody means": { headers: { "retry-after": "99999999" }, want: 300_000 },
  nonsense: { headers: { "retry-after": "soon" }, want: undefined },
  "a negative number": { headers: { "retry-after": "-5" }, want: undefined },
  nothing: { want: undefined },
};

test.for(Object.entries(retryAfters))("Retry-After: %s", async ([, { headers = {}, body = "", want }]) => {
  const world = makeWorld(reply(429, body, headers));
  const outcome = await world.outcomeOf(world.client.post("/api/v1/x", {}));
  expect(!outcome.ok && outcome.retryAfterMs).toBe(want);
});

test("each patch names its type (FR-080)", async () => {
  const world = makeWorld(reply(200));
  for (const type of ["merge", "json", "strategic"] as const) await world.client.patch("/api/v1/x", type, {});
  expect(world.sent.map(({ method, headers }) => [method, headers["content-type"]])).toEqual([
    ["PATCH", "application/merge-patch+json"],
    ["PATCH", "application/json-patch+json"],
    ["PATCH", "application/strategic-merge-patch+json"],
  ]);
});

test("a null in a patch survives, and what the types do not know is sent", async () => {
  const world = makeWorld(reply(200));
  await world.client.patch("/api/v1/x", "merge", { spec: { claimRef: null, tomorrow: 1 } });
  expect(world.sent[0]?.body).toBe('{"spec":{"claimRef":null,"tomorrow":1}}');
});

test("every request says who asks; reads take compressed answers, watches and writes do not", async () => {
  const world = makeWorld(reply(200));
  await world.client.get("/a");
  await world.client.put("/b", {});
  await world.client.delete("/c", { uid: "u" });
  await world.client.watch("/d?watch=true", new AbortController().signal);
  expect(world.sent.map(({ headers }) => headers["user-agent"])).toEqual(Array(4).fill("berth/test"));
  expect(world.sent.map(({ headers }) => headers["accept-encoding"])).toEqual([
    "gzip",
    undefined,
    undefined,
    undefined,
  ]);
  expect(world.sent[2]?.body).toContain('"preconditions":{"uid":"u"}');
});

test("a caller who goes ends the call, and no try follows", async () => {
  const world = makeWorld("never");
  const caller = new AbortController();
  const call = world.client.get("/a", caller.signal);
  await world.runtime.settle();
  caller.abort();
  expect(await call).toMatchObject({ ok: false, message: "aborted" });
  await world.runtime.advance(60_000);
  expect(world.sent).toHaveLength(1);
  expect(world.runtime.pending()).toBe(0);
});

test("a watch yields events, and ends with what cannot be read", async () => {
  const world = makeWorld(
    reply(
      200,
      chunks(
        '{"type":"ADDED","object":{"a":1}}\n{"type":"MODI',
        'FIED","object":2}\n',
        "{oops}\n",
        '{"type":"ADDED"}\n',
      ),
    ),
  );
  const outcome = await world.client.watch("/x?watch=true", new AbortController().signal);
  if (!outcome.ok) throw new Error(outcome.message);
  const events: unknown[] = [];
  await expect(async () => {
    for await (const event of outcome.events) events.push(event);
  }).rejects.toThrow(SyntaxError);
  expect(events).toEqual([
    { type: "ADDED", object: { a: 1 } },
    { type: "MODIFIED", object: 2 },
  ]);
});

test("a watch may wait for ever once it is open, and not before", async () => {
  const world = makeWorld("never");
  const opening = world.client.watch("/x?watch=true", new AbortController().signal);
  await world.runtime.advance(11_000);
  expect(await opening).toMatchObject({ ok: false, message: "no answer within 10000 ms" });

  const open = makeWorld(reply(200, chunks()));
  expect(await open.client.watch("/x?watch=true", new AbortController().signal)).toMatchObject({ ok: true });
  expect(open.runtime.pending()).toBe(0);
});

test("whatever a peer sends, the outcome is a value", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 100, max: 599 }),
      fc.oneof(fc.json(), fc.string()),
      fc.string(),
      async (code, body, retryAfter) => {
        const world = makeWorld(reply(code, body, { "retry-after": retryAfter }));
        const outcome = await world.client.post("/x", {});
        expect(outcome.ok).toBe(code >= 200 && code < 300);
      },
    ),
    { numRuns: 300 },
  );
});
