/** Decision 8: who is woken, when, and how often (FR-070, FR-081). */
import { describe, expect, test } from "vitest";
import type { PodWake } from "../../src/binding/ports.ts";
import { Waker } from "../../src/binding/waker.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { type NodeName, nodeName } from "../../src/scheduling/names.ts";
import type { Kind, Pod } from "../../src/scheduling/objects.ts";
import { virtualRuntime } from "../support/clock.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

class Stage {
  readonly runtime = virtualRuntime();
  readonly world = new World({ clock: () => this.runtime.now() });
  readonly wakes: PodWake[] = [];
  readonly listeners = new Set<(change: { kind: Kind; key: string; deleted: boolean }) => void>();
  ready = true;
  binding = false;
  offered: readonly NodeName[] = [nodeName("n1")];
  readonly waker = new Waker({
    runtime: this.runtime,
    cluster: {
      state: this.world.state,
      readiness: () => (this.ready ? { ready: true } : { ready: false, why: "not synced" }),
      subscribe: (listener) => {
        this.listeners.add(listener);
        return () => void this.listeners.delete(listener);
      },
    },
    writer: {
      wakePod: async (wake) => {
        this.wakes.push(wake);
        return { ok: true };
      },
    },
    log: silentLog,
    offeredTo: () => this.offered,
    isBinding: () => this.binding,
  });

  add(...objects: Raw[]): this {
    this.world.add(...objects);
    for (const raw of objects) {
      if (raw["kind"] !== "Node") continue;
      const { name } = raw["metadata"] as { name: string };
      for (const listener of this.listeners) listener({ kind: "node", key: name, deleted: false });
    }
    return this;
  }

  /** A Pod that waits, and was refused just now. */
  refused(): Pod {
    this.add(makeNode("n1"), makePVC("x"), makePod("p", ["x"]));
    const pod = this.world.pod("p", "x");
    this.waker.refused(pod);
    return pod;
  }
}

describe("a refused Pod", () => {
  test("counts as waiting until it is answered, assigned or gone, whether anybody has looked or not", () => {
    const stage = new Stage();
    const pod = stage.refused();
    stage.ready = false;
    expect(stage.waker.waitingCount()).toBe(1);
    stage.add(makePod("p", ["x"], { node: "n1" }));
    expect(stage.waker.waitingCount()).toBe(0);
    stage.add(makePod("p", ["x"], { uid: "another" }));
    expect(stage.waker.waitingCount()).toBe(0);
    stage.add(makePod("p", ["x"]));
    expect(stage.waker.waitingCount()).toBe(1);
    stage.waker.answered(pod.uid);
    expect(stage.waker.waitingCount()).toBe(0);
  });

  test("is woken two seconds after its cause is gone, once", async () => {
    const stage = new Stage();
    const pod = stage.refused();
    stage.add(makePV("a", { on: "n1" }));
    await stage.runtime.advance(1_500);
    expect(stage.wakes).toEqual([]);
    await stage.runtime.advance(2_000);
    expect(stage.wakes).toEqual([{ pod: "d/p", uid: pod.uid }]);
    await stage.runtime.advance(3_000);
    expect(stage.wakes).toHaveLength(1);
  });

  test("is not woken while a newer filter call of it is two seconds old at most, answered or not", async () => {
    const stage = new Stage();
    const pod = stage.refused();
    await stage.runtime.advance(5_500);
    stage.add(makePV("a", { on: "n1" }));
    stage.waker.asked(pod.uid);
    await stage.runtime.advance(1_900);
    expect(stage.wakes).toEqual([]);
    await stage.runtime.advance(1_500);
    expect(stage.wakes).toHaveLength(1);
  });

  test("is woken when a promise to another Pod ends, which no watch shows", async () => {
    const stage = new Stage();
    stage.add(makeNode("n1"), makePV("a", { on: "n1" }), makePVC("y"));
    const other = stage.world.pod("q", "y");
    stage.world.state.reservations.assume(other.uid, stage.world.plan(other, "n1"));
    stage.refused();
    await stage.runtime.advance(10_000);
    expect(stage.wakes).toEqual([]);
    stage.world.state.reservations.forget(other.uid);
    await stage.runtime.advance(3_000);
    expect(stage.wakes).toHaveLength(1);
  });

  test("is woken when the rest of the only node is over, which no watch shows (departure D18)", async () => {
    const stage = new Stage();
    stage.add(makeNode("n1"), makeClass("csi", { provisioner: "csi.example" }));
    const claim = makePVC("x", { class: "csi" });
    stage.add(makePVC("x", { class: "csi", selectedNode: "n1" }), claim, makePod("p", ["x"]));
    stage.waker.refused(stage.world.pod("p", "x"));
    await stage.runtime.advance(4_500);
    expect(stage.wakes).toEqual([]);
    await stage.runtime.advance(2_000);
    expect(stage.wakes).toHaveLength(1);
  });

  test("is woken for a node that came after it was asked about", async () => {
    const stage = new Stage();
    stage.refused();
    await stage.runtime.advance(5_000);
    stage.add(makePV("b", { on: "n2" }), makeNode("n2"));
    await stage.runtime.advance(3_000);
    expect(stage.wakes).toHaveLength(1);
  });

  test.for([
    ["did not show it", []],
    ["showed an older one of its name", [makePod("p", ["x"], { uid: "earlier" })]],
  ] as const)("is woken although our cache %s when we first looked", async ([, cached]) => {
    const stage = new Stage();
    stage.add(makeNode("n1"), makePVC("x"), makePV("a", { on: "n1" }), ...cached);
    stage.waker.refused(stage.world.pod("p", "x"));
    await stage.runtime.advance(10_000);
    expect(stage.wakes).toEqual([]);
    stage.add(makePod("p", ["x"]));
    await stage.runtime.advance(3_000);
    expect(stage.wakes).toHaveLength(1);
  });

  test.for(
    Object.entries<(stage: Stage, pod: Pod) => void>({
      "while nothing helps it": () => {},
      "for a node that was there and not offered": (stage) => stage.add(makePV("b", { on: "n0" })),
      "after filter passed it": (stage, pod) => {
        stage.add(makePV("a", { on: "n1" }));
        stage.waker.answered(pod.uid);
      },
      "while its bind runs": (stage) => {
        stage.add(makePV("a", { on: "n1" }));
        stage.binding = true;
      },
      "while the cache is behind": (stage) => {
        stage.add(makePV("a", { on: "n1" }));
        stage.ready = false;
      },
      "once it is gone": (stage) => {
        stage.add(makePV("a", { on: "n1" }));
        stage.world.state.delete("pod", "d/p");
      },
      "once it has a node": (stage) => stage.add(makePV("a", { on: "n1" }), makePod("p", ["x"], { node: "n1" })),
    }),
  )("is not woken %s", async ([, change]) => {
    const stage = new Stage();
    stage.add(makeNode("n0"));
    await stage.runtime.advance(60_000);
    change(stage, stage.refused());
    await stage.runtime.advance(60_000);
    expect(stage.wakes).toEqual([]);
  });

  test("that waking does not help is woken at growing pauses", async () => {
    const stage = new Stage();
    const pod = stage.refused();
    stage.add(makePV("a", { on: "n1" }));
    for (let second = 0, seen = 0; second < 600; second++) {
      await stage.runtime.advance(1_000);
      // Each time kube-scheduler asks, and is refused again.
      if (stage.wakes.length > seen) stage.waker.refused(pod);
      seen = stage.wakes.length;
    }
    expect(stage.wakes.length).toBeGreaterThan(2);
    expect(stage.wakes.length).toBeLessThan(12);
  });
});

test("nothing waits for time once nobody is refused, or it is closed", async () => {
  const stage = new Stage();
  const pod = stage.refused();
  stage.waker.answered(pod.uid);
  await stage.runtime.advance(2_000);
  expect(stage.runtime.pending()).toBe(0);
  stage.waker.refused(pod);
  stage.waker.close();
  expect(stage.runtime.pending()).toBe(0);
});
