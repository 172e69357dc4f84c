/** Who may call and who may look: by certificate, by token, and nobody where nobody can say. */
import { beforeEach, expect, test } from "vitest";
import { defaultDebugAccess } from "../../src/config/tls.ts";
import type { Config } from "../../src/config.ts";
import type { AccessVerdict, AskedPath, TokenVerdict } from "../../src/kube/reviews.ts";
import { createMetrics } from "../../src/metrics.ts";
import type { Admission, Peer, RequestHead } from "../../src/runtime/runtime.ts";
import { Callers } from "../../src/server/callers.ts";
import { DebugGuard } from "../../src/server/debug-guard.ts";
import { virtualRuntime } from "../support/clock.ts";

let runtime = virtualRuntime();
let metrics = createMetrics();
let lines: object[] = [];
const say = (fields: object, msg: string): void => void lines.push({ ...fields, msg });
const log = { debug: say, info: say, warn: say, error: say, isDebug: false };

beforeEach(() => {
  runtime = virtualRuntime();
  metrics = createMetrics();
  lines = [];
});

const peerNamed = (name: string, more: Partial<Peer> = {}): Peer => ({
  subject: `CN=${name}`,
  expiresAtMs: Number.POSITIVE_INFINITY,
  isNamed: (asked) => asked === name,
  ...more,
});
const head = (path: string, more: Partial<RequestHead> = {}): RequestHead => ({
  method: "GET",
  path,
  bodyBytes: 0,
  ...more,
});
const verdictOf = (admission: Admission | undefined): number | "in" =>
  admission?.kind === "refused" ? admission.reply.status : "in";
const refusals = async (): Promise<Record<string, number>> => {
  const { values } = await metrics.callersRefused.get();
  return Object.fromEntries(values.map(({ labels, value }) => [`${labels["listener"]} ${labels["cause"]}`, value]));
};

const certificates: Record<string, { peer?: Peer; want: number | "in"; cause?: string }> = {
  "an allowed name": { peer: peerNamed("scheduler"), want: "in" },
  "another allowed name": { peer: peerNamed("second"), want: "in" },
  "no TLS at all": { want: 401, cause: "noCertificate" },
  "no certificate": { peer: peerNamed("scheduler", { problem: "none" }), want: 401, cause: "noCertificate" },
  "one that is not believed": {
    peer: peerNamed("scheduler", { problem: "untrusted" }),
    want: 401,
    cause: "certificateUntrusted",
  },
  "one that had expired": {
    peer: peerNamed("scheduler", { problem: "expired" }),
    want: 401,
    cause: "certificateExpired",
  },
  "another name of the same authority": { peer: peerNamed("node-7"), want: 403, cause: "nameNotAllowed" },
};

test.for(Object.entries(certificates))("the extender, asked by a caller with %s", async ([, { peer, want, cause }]) => {
  const callers = new Callers({ runtime, metrics, log }, "extender", ["scheduler", "second"]);
  for (const path of ["/v1/filter", "/v1/bind", "/metrics", "/nowhere"]) {
    expect(verdictOf(callers.refuse(head(path, { method: "POST", ...(peer && { peer }) })))).toBe(want);
  }
  expect(await refusals()).toEqual(cause === undefined ? {} : { [`extender ${cause}`]: 4 });
});

test("a certificate that ends while its connection stands is good no longer", async () => {
  const callers = new Callers({ runtime, metrics, log }, "extender", ["scheduler"]);
  const peer = peerNamed("scheduler", { expiresAtMs: runtime.wallTime() + 60_000 });
  expect(verdictOf(callers.refuse(head("/v1/filter", { peer })))).toBe("in");
  await runtime.advance(60_000);
  expect(verdictOf(callers.refuse(head("/v1/filter", { peer })))).toBe(401);
});

test("probes say nothing of who they are, whatever they carry; what looks like one is none", () => {
  const callers = new Callers({ runtime, metrics, log }, "extender", ["scheduler"]);
  const asked = ["/livez", "/readyz", "/readyz?verbose", "/readyz/", "/livez/../v1/filter", "/healthz"];
  expect(asked.map((path) => verdictOf(callers.refuse(head(path))))).toEqual(["in", "in", "in", 401, 401, 401]);
  expect(verdictOf(callers.refuse(head("/livez", { method: "POST" })))).toBe(401);
});

test("those who are turned away a thousand times are told of once in ten seconds", async () => {
  const callers = new Callers({ runtime, metrics, log }, "extender", ["scheduler"]);
  for (let nth = 0; nth < 1_000; nth++) callers.refuse(head("/v1/filter", { peer: peerNamed("node-7") }));
  expect(lines).toEqual([
    { listener: "extender", reason: "nameNotAllowed", who: "CN=node-7", msg: "Turned a caller away" },
  ]);
  await runtime.advance(10_000);
  callers.refuse(head("/v1/filter"));
  expect(lines).toHaveLength(2);
});

/** Every Prometheus may read the metrics, and nothing else. */
class Api {
  tokens: string[] = [];
  paths: AskedPath[] = [];
  token: (token: string) => Promise<TokenVerdict> = async (token) =>
    token.startsWith("good") ? { kind: "user", user: { username: token, groups: ["g"] } } : { kind: "nobody" };
  access: (asked: AskedPath) => Promise<AccessVerdict> = async ({ path, verb }) => ({
    kind: path === "/metrics" && verb === "get" ? "allowed" : "denied",
  });

  guard(debugTls: Config["debugTls"] = { certFile: "a", keyFile: "b" }, more: object = {}): DebugGuard {
    const reviewer = {
      token: (token: string) => {
        this.tokens.push(token);
        return this.token(token);
      },
      access: (_user: unknown, asked: AskedPath) => {
        this.paths.push(asked);
        return this.access(asked);
      },
    };
    const config = { ...(debugTls && { debugTls }), debugAccess: { ...defaultDebugAccess, ...more } };
    return new DebugGuard({ runtime, metrics, log, reviewer, config }, debugTls?.allowedNames ?? []);
  }
}

const bearer = (token: string, path = "/metrics", method = "GET"): RequestHead =>
  head(path, { method, authorization: `Bearer ${token}` });

const tokens: Record<string, { head: RequestHead; want: number | "in"; cause?: string }> = {
  "a token whose user may read the metrics": { head: bearer("good"), want: "in" },
  "the same with a query": { head: bearer("good", "/metrics?name[]=x"), want: "in" },
  "the scheme in small letters": { head: head("/metrics", { authorization: "bearer good" }), want: "in" },
  "a page that he may not read": { head: bearer("good", "/debug/state"), want: 403, cause: "forbidden" },
  "a verb that he may not use": { head: bearer("good", "/metrics", "POST"), want: 403, cause: "forbidden" },
  "a token that nobody knows": { head: bearer("stolen"), want: 401, cause: "tokenUnknown" },
  "no token": { head: head("/metrics"), want: 401, cause: "noToken" },
  "an empty token": { head: head("/metrics", { authorization: "Bearer " }), want: 401, cause: "noToken" },
  "a password": { head: head("/metrics", { authorization: "Basic Z29vZDpnb29k" }), want: 401, cause: "noToken" },
  "two tokens": { head: head("/metrics", { authorization: "Bearer a, Bearer good" }), want: 401, cause: "noToken" },
  "a probe": { head: head("/readyz"), want: "in" },
};

test.for(Object.entries(tokens))("the debug listener, asked with %s", async ([, { head: asked, want, cause }]) => {
  const admission = await new Api().guard().admit(asked);
  expect(verdictOf(admission)).toBe(want);
  expect(await refusals()).toEqual(cause === undefined ? {} : { [`debug ${cause}`]: 1 });
  const headers = admission.kind === "refused" ? admission.reply.headers : {};
  expect(headers["www-authenticate"]).toBe(want === 401 ? "Bearer" : undefined);
});

test("a yes is remembered for half a minute, a no for five seconds, and neither for longer", async () => {
  const api = new Api();
  const guard = api.guard();
  const ask = async (token: string): Promise<number | "in"> => verdictOf(await guard.admit(bearer(token)));
  for (let nth = 0; nth < 3; nth++) expect([await ask("good"), await ask("bad")]).toEqual(["in", 401]);
  expect(api.tokens).toEqual(["good", "bad"]);
  api.token = async () => ({ kind: "nobody" });
  await runtime.advance(5_001);
  expect([await ask("good"), await ask("bad")]).toEqual(["in", 401]);
  expect(api.tokens).toEqual(["good", "bad", "bad"]);
  await runtime.advance(25_000);
  expect(await ask("good")).toBe(401);
});

test("a yes to a second path is no older than the yes to the token", async () => {
  const api = new Api();
  api.access = async () => ({ kind: "allowed" });
  const guard = api.guard();
  await guard.admit(bearer("good", "/metrics"));
  await runtime.advance(29_000);
  await guard.admit(bearer("good", "/debug/state"));
  api.token = async () => ({ kind: "nobody" });
  await runtime.advance(1_001);
  const paths = ["/metrics", "/debug/state"];
  const verdicts = await Promise.all(paths.map(async (path) => verdictOf(await guard.admit(bearer("good", path)))));
  expect(verdicts).toEqual([401, 401]);
});

test("a yes to one verb and path is none to another, though it is remembered", async () => {
  const guard = new Api().guard();
  const asked = [bearer("good"), bearer("good", "/metrics", "POST"), bearer("good", "/debug/state"), bearer("good")];
  const verdicts = [];
  for (const one of asked) verdicts.push(verdictOf(await guard.admit(one)));
  expect(verdicts).toEqual(["in", 403, 403, "in"]);
});

const failed = { kind: "failed", why: "no answer within 3000 ms" } as const;

test.for(["token", "access"] as const)(
  "where the %s cannot be reviewed nobody comes in, and it is not remembered",
  async (which) => {
    const api = new Api();
    const well = api[which];
    Object.assign(api, { [which]: async () => failed });
    const guard = api.guard();
    expect(verdictOf(await guard.admit(bearer("good")))).toBe(503);
    expect(lines).toEqual([expect.objectContaining({ reason: "notReviewed", error: failed.why })]);
    Object.assign(api, { [which]: well });
    expect(verdictOf(await guard.admit(bearer("good")))).toBe("in");
  },
);

test("a yes that is remembered holds while the API server is gone, and no longer", async () => {
  const api = new Api();
  const guard = api.guard();
  await guard.admit(bearer("good"));
  api.token = async () => failed;
  api.access = async () => failed;
  expect(verdictOf(await guard.admit(bearer("good")))).toBe("in");
  await runtime.advance(30_001);
  expect(verdictOf(await guard.admit(bearer("good")))).toBe(503);
});

test("those who ask the same at once share one review; of others so many are asked about at once", async () => {
  const api = new Api();
  let answer: (verdict: TokenVerdict) => void = () => {};
  const answered = new Promise<TokenVerdict>((resolve) => {
    answer = resolve;
  });
  api.token = () => answered;
  const guard = api.guard();
  const same = Array.from({ length: 50 }, () => guard.admit(bearer("good")));
  const others = Array.from({ length: 50 }, (_, nth) => guard.admit(bearer(`made-up-${nth}`)));
  const [now] = await Promise.all([Promise.all(others.slice(3)), runtime.settle()]);
  expect(new Set(now.map(verdictOf))).toEqual(new Set([503]));
  expect(api.tokens).toEqual(["good", "made-up-0", "made-up-1", "made-up-2"]);
  answer({ kind: "user", user: { username: "u" } });
  expect(new Set((await Promise.all(same)).map(verdictOf))).toEqual(new Set(["in"]));
  await Promise.all(others);
  expect(verdictOf(await guard.admit(bearer("made-up-9")))).toBe("in");
});

test("what is remembered is bounded by the number of tokens", async () => {
  const api = new Api();
  const guard = api.guard(undefined, { rememberedMax: 10 });
  for (let nth = 0; nth < 30; nth++) await guard.admit(bearer(`bad-${nth}`));
  await guard.admit(bearer("bad-29"));
  expect(api.tokens).toHaveLength(30);
  await guard.admit(bearer("bad-0"));
  expect(api.tokens).toHaveLength(31);
});

const withCertificates = { certFile: "a", keyFile: "b", clientCAFile: "c", allowedNames: ["prometheus"] };
const both: Record<string, { head: RequestHead; tokenReviews?: boolean; want: number | "in"; cause?: string }> = {
  "an allowed certificate": { head: head("/debug/state", { peer: peerNamed("prometheus") }), want: "in" },
  "a certificate of another name, and no token": {
    head: head("/metrics", { peer: peerNamed("node-7") }),
    want: 403,
    cause: "nameNotAllowed",
  },
  "a certificate of another name, and a good token": {
    head: { ...bearer("good"), peer: peerNamed("node-7") },
    want: "in",
  },
  neither: { head: head("/metrics", { peer: peerNamed("", { problem: "none" }) }), want: 401, cause: "noToken" },
  "a token, where certificates alone count": {
    head: { ...bearer("good"), peer: peerNamed("", { problem: "none" }) },
    tokenReviews: false,
    want: 401,
    cause: "noCertificate",
  },
};

test.for(Object.entries(both))(
  "a debug listener that knows certificates, asked with %s",
  async ([, { head: asked, tokenReviews = true, want, cause }]) => {
    expect(verdictOf(await new Api().guard(withCertificates, { tokenReviews }).admit(asked))).toBe(want);
    expect(await refusals()).toEqual(cause === undefined ? {} : { [`debug ${cause}`]: 1 });
  },
);

test("a certificate counts for nothing where no authority is configured", async () => {
  const guard = new Api().guard({ certFile: "a", keyFile: "b", allowedNames: ["prometheus"] });
  expect(verdictOf(await guard.admit(head("/metrics", { peer: peerNamed("prometheus") })))).toBe(401);
});
