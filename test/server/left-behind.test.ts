/** A call that read live leaves nothing behind: a combined signal that somebody listens to is kept by Node for ever. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { LiveOutcome } from "../../src/server/parts.ts";
import { makeNode, makePod } from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

const never = new Promise<LiveOutcome>(() => {});

interface Row {
  readonly live: () => Promise<LiveOutcome>;
  /** What ends the call, where its reads do not. */
  readonly act?: (server: TestServer, caller: AbortController) => Promise<void> | void;
}

const ends: Readonly<Record<string, Row>> = {
  "what was missing is found": { live: async () => ({ found: true }) },
  "what was missing does not exist": { live: async () => ({ found: false }) },
  "the API fails": { live: async () => ({ failed: "no answer" }) },
  "the API does not answer in time": { live: () => never, act: (server) => server.runtime.advance(10_000) },
  "the caller hangs up": { live: () => never, act: (_, caller) => caller.abort() },
};

test.for(Object.entries(ends))("nobody listens to a signal any more once %s", async ([, { live, act }]) => {
  const server = new TestServer().add(makeNode("n1"));
  const caller = new AbortController();
  const signals = new Set<AbortSignal>([caller.signal]);
  server.live = (_kind, _key, signal) => {
    signals.add(signal);
    return live();
  };
  const asked = server.post("/v1/filter", extenderArgs(makePod("p", ["x", "y"]), ["n1"]), {}, caller.signal);
  await server.runtime.settle();
  await act?.(server, caller);
  expect((await asked).status).toBe(200);
  expect(signals.size).toBeGreaterThan(1);
  for (const signal of signals) expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(server.runtime.pending()).toBe(0);
});
