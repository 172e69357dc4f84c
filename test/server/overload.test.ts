/** Who is let in while there is more to do than can be done, and what is told of those who are not. */
import { expect, test } from "vitest";
import { defaults } from "../../src/config.ts";
import { createMetrics } from "../../src/metrics.ts";
import { silentLog } from "../../src/runtime/log.ts";
import type { Admission, Departure } from "../../src/runtime/runtime.ts";
import { Calls } from "../../src/server/calls.ts";
import type { Readiness } from "../../src/server/parts.ts";
import { createServer } from "../../src/server/server.ts";
import { TestServer } from "./support.ts";

const limits = { ...defaults.limits, callsMax: 2, bodyBytesMax: 1_000, bindBodyBytesMax: 100 };
const binding = { ...defaults.binding, inProgressMax: 1, queuedMax: 1 };

class Door {
  readonly metrics = createMetrics();
  readonly calls: Calls;

  constructor(bounds = limits) {
    const config = { ...defaults, limits: bounds, binding };
    this.calls = new Calls({ config, metrics: this.metrics, log: { ...silentLog, isDebug: false } });
  }

  enter(path: string, bodyBytes: number | "untold" = 10, method = "POST"): Admission {
    return this.calls.enter({ method, path, bodyBytes: bodyBytes === "untold" ? undefined : bodyBytes });
  }

  /** The status of a refusal, or that there is none. */
  ask(...args: Parameters<Door["enter"]>): number | "in" {
    const admission = this.enter(...args);
    return admission.kind === "refused" ? admission.reply.status : "in";
  }

  async rejected(): Promise<Record<string, number>> {
    const { values } = await this.metrics.callsRejected.get();
    return Object.fromEntries(values.map(({ labels, value }) => [`${labels.verb} ${labels.cause}`, value]));
  }
}

function leave(admission: Admission, departure: Departure = "served"): void {
  if (admission.kind !== "admitted") throw new Error("was not let in");
  admission.leave(departure);
}

test("filter, prioritize and preempt share their places; one more is refused unread, and told why", async () => {
  const door = new Door();
  const first = door.enter("/v1/filter");
  expect(door.ask("/v1/prioritize")).toBe("in");
  for (const verb of ["filter", "prioritize", "preempt"]) expect(door.ask(`/v1/${verb}`), verb).toBe(503);
  expect(door.ask("/v1/filter?twice")).toBe(503);
  leave(first);
  expect(door.ask("/v1/preempt")).toBe("in");
  expect(door.ask("/v1/filter")).toBe(503);
  const counts = { "filter tooManyCalls": 3, "prioritize tooManyCalls": 1, "preempt tooManyCalls": 1 };
  expect(await door.rejected()).toEqual(counts);
  const refused = door.enter("/v1/filter");
  expect(refused).toMatchObject({
    reply: { status: 503, body: expect.stringContaining("too many calls in progress") },
  });
});

test("binds have places of their own, however many filters there are, and leave filters theirs", async () => {
  const door = new Door();
  for (let count = 0; count < 10; count++) door.enter("/v1/filter", 1_000);
  // One in progress, one queued, and `callsMax` for Pods without claims.
  expect([1, 2, 3, 4, 5].map(() => door.ask("/v1/bind"))).toEqual(["in", "in", "in", "in", 503]);
  expect(await door.rejected()).toMatchObject({ "bind tooManyCalls": 1 });
  const other = new Door();
  for (let count = 0; count < 10; count++) other.enter("/v1/bind", 100);
  expect([other.ask("/v1/filter"), other.ask("/v1/filter")]).toEqual(["in", "in"]);
});

test("health and pages pass when all is full", () => {
  const door = new Door();
  for (let count = 0; count < 10; count++) door.enter("/v1/filter", 1_000);
  for (const path of ["/livez", "/readyz", "/nowhere"]) expect(door.ask(path, 0, "GET"), path).toBe("in");
  expect(door.ask("/v1/filter", 0, "GET")).toBe("in");
});

test("a bind that is too long is 413 before it is read, and takes no place", () => {
  const door = new Door();
  for (let count = 0; count < 10; count++) expect(door.ask("/v1/bind", 101)).toBe(413);
  expect(door.ask("/v1/bind", 100)).toBe("in");
});

test("while stopping, all calls are refused unread", async () => {
  const door = new Door();
  const before = door.enter("/v1/filter");
  door.calls.close();
  for (const verb of ["filter", "prioritize", "preempt", "bind"]) expect(door.ask(`/v1/${verb}`), verb).toBe(503);
  expect(door.ask("/readyz", 0, "GET")).toBe("in");
  leave(before);
  expect(await door.rejected()).toMatchObject({ "filter draining": 1, "bind draining": 1 });
});

test("those for whom nothing was done are counted by the cause, and have left their places", async () => {
  const door = new Door();
  for (const departure of ["callerGone", "tooManyBytes", "tooLarge", "undecodable", "served"] as const) {
    leave(door.enter("/v1/filter"), departure);
  }
  expect(await door.rejected()).toEqual({ "filter callerGone": 1, "filter tooManyBytes": 1 });
  expect((await door.metrics.callDuration.get()).values).toContainEqual(
    expect.objectContaining({
      labels: { verb: "filter", outcome: "undecodable" },
      value: 2,
      metricName: expect.stringMatching(/_count$/),
    }),
  );
  expect([door.ask("/v1/filter"), door.ask("/v1/filter")]).toEqual(["in", "in"]);
});

test("a Berth that does not lead ends the connection of whoever it refuses unread, as of those it answers", () => {
  const { parts } = new TestServer({ limits: { ...limits, callsMax: 0 } });
  const refusal = (ready: Readiness): unknown => {
    const { admit } = createServer({ ...parts, leadership: { ...parts.leadership, readiness: () => ready } });
    const admission = admit({ method: "POST", path: "/v1/filter", bodyBytes: 2 });
    return admission.kind === "refused" && [admission.reply.status, admission.reply.headers["connection"]];
  };
  expect(refusal({ ready: true })).toEqual([503, undefined]);
  expect(refusal({ ready: false, why: "follower" })).toEqual([503, "close"]);
});
