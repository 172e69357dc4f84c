/** What waking may cost: how many writes and looks there are however many Pods wait, and whom a busy cluster makes wait longer. */
import { expect, test } from "vitest";
import type { PodWake, WriteOutcome } from "../../src/binding/ports.ts";
import { Waker } from "../../src/binding/waker.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { nodeName } from "../../src/scheduling/names.ts";
import { virtualRuntime } from "../support/clock.ts";
import { makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { World } from "../support/world.ts";

class Stage {
  readonly runtime = virtualRuntime();
  readonly world = new World({ clock: () => this.runtime.now() });
  readonly wakes: (PodWake & { readonly at: number })[] = [];
  readonly told: string[] = [];
  looks = 0;
  outcome: WriteOutcome = { ok: true };
  readonly waker = new Waker({
    runtime: this.runtime,
    cluster: { state: this.world.state, readiness: () => ({ ready: true }), subscribe: () => () => {} },
    writer: {
      wakePod: async (wake) => {
        this.wakes.push({ ...wake, at: this.runtime.now() });
        return this.outcome;
      },
    },
    log: silentLog,
    offeredTo: () => {
      this.looks++;
      return [nodeName("n1")];
    },
    isBinding: () => false,
    observer: { woke: (outcome) => void this.told.push(outcome) },
  });

  constructor() {
    this.world.add(makeNode("n1"));
  }

  /** Refuses Pods that want what there is none of, one claim each. */
  refuse(prefix: string, count: number, request = "10Gi"): this {
    for (let at = 0; at < count; at++) {
      const name = `${prefix}${at}`;
      this.world.add(makePVC(`of-${name}`, { request }), makePod(name, [`of-${name}`]));
      this.waker.refused(this.world.pod(name, `of-${name}`));
    }
    return this;
  }

  /** Time passes in which nothing stays as it is. */
  async churn(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      this.world.add(makePVC("churn", { version: `${this.runtime.now() + 2}` }));
      await this.runtime.advance(1_000);
    }
  }

  get wokenPods(): Set<string> {
    return new Set(this.wakes.map(({ pod }) => pod));
  }
}

const free = (count: number) =>
  Array.from({ length: count }, (_, at) => makePV(`v${at}`, { on: "n1", capacity: "10Gi" }));

test("a Pod that can be helped is woken soon, however many wait that cannot be, while the cluster changes all the time", async () => {
  const stage = new Stage().refuse("hopeless", 60, "500Gi").refuse("helpable", 1);
  await stage.churn(5);
  stage.world.add(...free(1));
  await stage.churn(15);
  expect(stage.wokenPods).toEqual(new Set(["d/helpable0"]));
});

test("no more than ten Pods are woken in a second, and all are in the end", async () => {
  const stage = new Stage().refuse("p", 100);
  stage.world.add(...free(1));
  await stage.churn(30);
  expect(stage.wokenPods.size).toBe(100);
  for (const { at } of stage.wakes) {
    expect(stage.wakes.filter((other) => other.at >= at && other.at < at + 1_000).length).toBeLessThanOrEqual(10);
  }
});

test("Pods that nobody can help cost no write, and no look while nothing changes but one every thirty seconds", async () => {
  const stage = new Stage().refuse("p", 50, "500Gi");
  await stage.runtime.advance(600_000);
  expect(stage.wakes).toEqual([]);
  expect(stage.looks).toBeLessThanOrEqual(50 * 21);
  const before = stage.looks;
  await stage.churn(100);
  expect(stage.wakes).toEqual([]);
  expect(stage.looks - before).toBeLessThanOrEqual(10 * 101);
});

test("after a 429 nobody is woken for as long as it says; then those are who were not", async () => {
  const stage = new Stage().refuse("p", 20);
  stage.world.add(...free(1));
  stage.outcome = { ok: false, status: 429, message: "", retryAfterMs: 30_000, ambiguous: false };
  await stage.runtime.advance(25_000);
  expect(stage.wakes).toHaveLength(1);
  stage.outcome = { ok: true };
  await stage.runtime.advance(20_000);
  expect(stage.wokenPods.size).toBe(20);
  expect(stage.wakes[1]?.at).toBeGreaterThanOrEqual((stage.wakes[0]?.at ?? 0) + 30_000);
  expect(stage.told).toEqual(["failed", ...Array.from({ length: 20 }, () => "ok")]);
});

test("a wake that failed is sent again, though nothing has changed", async () => {
  const stage = new Stage().refuse("p", 1);
  stage.world.add(...free(1));
  stage.outcome = { ok: false, message: "no answer", ambiguous: true };
  await stage.runtime.advance(4_000);
  expect(stage.wakes).toHaveLength(1);
  stage.outcome = { ok: true };
  await stage.runtime.advance(10_000);
  expect(stage.told).toEqual(["failed", "ok"]);
});
