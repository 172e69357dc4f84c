/** What is made of the API server's reviews: a yes is said in so many words, and everything else is none. */
import { expect, test } from "vitest";
import { ApiClient } from "../../src/kube/client.ts";
import { digestOf, reviewAccess, reviewToken } from "../../src/kube/reviews.ts";
import type { HttpRequest } from "../../src/runtime/runtime.ts";
import { virtualRuntime } from "../support/clock.ts";

interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

function clientThat({ status = 201, body }: Answer, asked: HttpRequest[] = []): ApiClient {
  const exchange = async (request: HttpRequest) => {
    asked.push(request);
    return { status, headers: {}, body: typeof body === "string" ? body : JSON.stringify(body) };
  };
  return new ApiClient({ runtime: virtualRuntime(), exchange, userAgent: "test", timeoutMs: 1_000 });
}

const user = { username: "u", uid: "7", groups: ["g"], extra: { scopes: ["s"] } };
const ofToken: Record<string, { answer: Answer; want: object }> = {
  somebody: { answer: { body: { status: { authenticated: true, user } } }, want: { kind: "user", user } },
  "somebody of odd groups, which count for nothing": {
    answer: { body: { status: { authenticated: true, user: { username: "u", groups: [7], extra: { a: "b" } } } } },
    want: { kind: "user", user: { username: "u" } },
  },
  nobody: { answer: { body: { status: { authenticated: false, user } } }, want: { kind: "nobody" } },
  "nobody, as an error": { answer: { body: { status: { error: "expired" } } }, want: { kind: "nobody" } },
  "a yes that is a text": { answer: { body: { status: { authenticated: "true", user } } }, want: { kind: "nobody" } },
  "a yes to no name": { answer: { body: { status: { authenticated: true, user: {} } } }, want: { kind: "failed" } },
  "no status": { answer: { body: { kind: "TokenReview" } }, want: { kind: "failed" } },
  "no JSON": { answer: { body: "<html>" }, want: { kind: "failed" } },
  "no leave to ask": { answer: { status: 403, body: { message: "no" } }, want: { kind: "failed", why: "no" } },
  "the token itself": {
    answer: { status: 422, body: { message: "Invalid value: t0ken" } },
    want: { kind: "failed", why: "Invalid value: (the token)" },
  },
};

test.for(Object.entries(ofToken))("a TokenReview that answers %s", async ([, { answer, want }]) => {
  expect(await reviewToken(clientThat(answer), "t0ken")).toMatchObject(want);
});

const ofAccess: Record<string, { answer: Answer; want: string }> = {
  yes: { answer: { body: { status: { allowed: true } } }, want: "allowed" },
  no: { answer: { body: { status: { allowed: false, reason: "x" } } }, want: "denied" },
  "yes and no": { answer: { body: { status: { allowed: true, denied: true } } }, want: "denied" },
  "a yes that is a number": { answer: { body: { status: { allowed: 1 } } }, want: "denied" },
  "an error": { answer: { body: { status: { evaluationError: "x" } } }, want: "denied" },
  nothing: { answer: { body: {} }, want: "failed" },
  "500": { answer: { status: 500, body: {} }, want: "failed" },
};

test.for(Object.entries(ofAccess))("a SubjectAccessReview that answers %s", async ([, { answer, want }]) => {
  const asked: HttpRequest[] = [];
  const path = { path: "/metrics", verb: "get" };
  expect((await reviewAccess(clientThat(answer, asked), user, path)).kind).toBe(want);
  const { username, ...more } = user;
  expect(JSON.parse(String(asked[0]?.body)).spec).toEqual({ user: username, ...more, nonResourceAttributes: path });
});

test("what stands for a token does not hold it", () => {
  expect(digestOf("t0ken")).not.toContain("t0ken");
  expect(digestOf("t0ken")).not.toBe(digestOf("t0kem"));
});
