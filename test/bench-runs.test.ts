/** The benches that run for long, in their small size, and that each of them can fail. */
import { expect, test } from "vitest";
import { slopeOf } from "../bench/growth.ts";
import { budgetLines, isWithin } from "../bench/measure.ts";
import { overloadCounts, runOverload } from "../bench/overload.ts";
import { grown, runSoak, type SoakOptions, soakBudgets } from "../bench/soak.ts";
import type { HttpReply } from "../src/runtime/runtime.ts";
import type { BerthOptions } from "../src/server/berth.ts";

test("more calls than can be served: they are refused early, binds and health go on", { timeout: 90_000 }, async () => {
  const overload = await runOverload({ nodes: 1_000, connections: 100, binds: 10, paceMs: 10 });
  expect(budgetLines(overloadCounts(overload).filter((budget) => !isWithin(budget)))).toBe("");
  // What the callers were told is what the metric counts, but for those that came after it was read.
  const { 503: refused = 0 } = overload.answers.counts;
  const counted = overload.rejected['verb="filter",cause="tooManyCalls"'] ?? 0;
  expect(counted).toBeGreaterThan(0);
  expect(counted).toBeLessThanOrEqual(refused);
  expect(Object.keys(overload.rejected)).toEqual(['verb="filter",cause="tooManyCalls"']);
});

/** A heap that fills its caches grows by a kilobyte a call. */
const small: SoakOptions = {
  calls: 2_000,
  nodes: 10,
  disksPerNode: 2,
  seed: 7,
  bytesMax: 4_000,
  fillsMemory: false,
};

test("at the end of a long run everything is as empty as before", { timeout: 120_000 }, async () => {
  const soak = await runSoak(small);
  expect([grown(soak), soak.outstanding, soak.faults]).toEqual([[], expect.anything(), []]);
  expect(budgetLines(soakBudgets(soak, small).filter((budget) => !isWithin(budget)))).toBe("");
  expect(soak.bound).toBeGreaterThan(10);
  expect(soak.sizes.length).toBeGreaterThan(80);
});

async function* withoutEnds(body: Exclude<HttpReply["body"], string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) if (!Buffer.from(chunk).includes('"type":"DELETED"')) yield chunk;
}

/** Keeps some kilobytes a look at the clock, cancels no timer, and never hears that a Pod has gone. */
function leaking(made: BerthOptions): BerthOptions {
  const kept: Uint8Array[] = [];
  const { runtime } = made;
  return {
    ...made,
    runtime: {
      ...runtime,
      now: () => {
        kept.push(new Uint8Array(8_192));
        return runtime.now();
      },
      timer: (ms, then) => {
        runtime.timer(ms * 1e6, () => {});
        return runtime.timer(ms, then);
      },
    },
    exchange: async (request, signal) => {
      const reply = await made.exchange(request, signal);
      const { body } = reply;
      const isStream = typeof body !== "string" && !(body instanceof Uint8Array);
      return isStream && request.path.startsWith("/api/v1/pods") ? { ...reply, body: withoutEnds(body) } : reply;
    },
  };
}

test("leaks are found: of the heap, of timers, and of a collection", { timeout: 180_000 }, async () => {
  const options = { ...small, calls: 600, adapt: leaking };
  const soak = await runSoak(options);
  const broken = soakBudgets(soak, options).filter((budget) => !isWithin(budget));
  expect(budgetLines(broken)).toContain("the heap grows by");
  expect(grown(soak).map(({ path }) => path)).toEqual(expect.arrayContaining(["cluster.state.#objects.pod", "timers"]));
});

test("the slope is that of the nearest line", () => {
  const points = (of: (x: number) => number): [number, number][] => [1, 2, 3, 4, 5].map((x) => [x * 1_000, of(x)]);
  expect(slopeOf(points((x) => 7 + 3_000 * x))).toBeCloseTo(3);
  expect(slopeOf(points(() => 7))).toBeCloseTo(0);
  expect(slopeOf(points((x) => (x === 3 ? 100 : 0)))).toBeCloseTo(0);
});
