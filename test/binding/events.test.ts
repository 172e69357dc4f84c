/** Events are few and bounded, whatever is said how often: no Pod, and no crowd of Pods, can make a flood of them. */
import { expect, test } from "vitest";
import { EventQueue } from "../../src/binding/events.ts";
import { ApiKubeWriter, type WriterApi } from "../../src/binding/kube-writer.ts";
import type { RecordedEvent, WriteOutcome } from "../../src/binding/ports.ts";
import { podUid } from "../../src/scheduling/names.ts";
import { virtualRuntime } from "../support/clock.ts";

type Repeated = Pick<RecordedEvent, "namespace" | "name" | "count">;

/** What was written, and a queue that writes it. */
function events(runtime: ReturnType<typeof virtualRuntime>, isBusy: () => boolean = () => false) {
  const written: RecordedEvent[] = [];
  const repeated: Repeated[] = [];
  const outcomes: WriteOutcome[] = [];
  const recordEvent = async (event: RecordedEvent): Promise<WriteOutcome> => {
    written.push(event);
    return { ok: true };
  };
  const repeatEvent = async (event: Repeated): Promise<WriteOutcome> => {
    repeated.push(event);
    return outcomes.shift() ?? { ok: true };
  };
  const queue = new EventQueue({ runtime, writer: { recordEvent, repeatEvent }, isBusy });
  const about = (pod: string) => ({ namespace: "d", pod, podUid: podUid(pod) });
  return {
    written,
    repeated,
    outcomes,
    fails: (note: string, pod = "p") =>
      queue.record({ ...about(pod), type: "Warning", reason: "BerthBindFailed", note }),
    succeeds: (note: string, pod = "p") =>
      queue.record({ ...about(pod), type: "Normal", reason: "BerthVolumesBound", note }),
  };
}

test("what is said again makes a series at once, which is then written no sooner than after five minutes", async () => {
  const runtime = virtualRuntime();
  const { written, repeated, fails } = events(runtime);
  fails("same");
  await runtime.advance(1_000);
  for (let times = 0; times < 200; times++) {
    fails("same");
    await runtime.advance(3_000);
  }
  expect(written.map(({ count }) => count)).toEqual([1]);
  expect(repeated.map(({ count }) => count)).toEqual([2, 102]);
  expect(new Set(repeated.map(({ name }) => name))).toEqual(new Set([written[0]?.name]));
});

test("a series whose event the API has forgotten begins anew", async () => {
  const runtime = virtualRuntime();
  const { written, outcomes, fails } = events(runtime);
  fails("same");
  await runtime.advance(7_200_000);
  outcomes.push({ ok: false, status: 404, message: "", ambiguous: false });
  fails("same");
  await runtime.advance(1_000);
  expect(written.map(({ count }) => count)).toEqual([1, 1]);
  expect(new Set(written.map(({ name }) => name)).size).toBe(2);
});

test("a Pod of which ever new things are said gets ten events, then one in five minutes, and still its last one", async () => {
  const runtime = virtualRuntime();
  const { written, fails, succeeds } = events(runtime);
  for (let number = 0; number <= 1_200; number++) {
    fails(`not bound: ${number}`);
    await runtime.advance(3_000);
  }
  expect(written).toHaveLength(10 + 12);
  succeeds("bound");
  await runtime.advance(1_000);
  expect(written.at(-1)?.note).toBe("bound");
});

test("a crowd of Pods waits its turn: ten events a second, a thousand in the queue", async () => {
  const runtime = virtualRuntime();
  const { written, fails } = events(runtime);
  for (let number = 0; number < 5_000; number++) fails("the same", `p${number}`);
  await runtime.advance(10_000);
  expect(written.length).toBeGreaterThan(95);
  expect(written.length).toBeLessThanOrEqual(101);
  await runtime.advance(600_000);
  expect(written).toHaveLength(1_001);
});

test("events of success give way while many binds are in progress; warnings come first, and soon", async () => {
  const runtime = virtualRuntime();
  let isBusy = true;
  const { written, fails, succeeds } = events(runtime, () => isBusy);
  for (let number = 0; number < 50; number++) succeeds(`good ${number}`);
  await runtime.advance(5_000);
  expect(written.length).toBeGreaterThan(3);
  expect(written.length).toBeLessThan(8);
  fails("bad");
  await runtime.advance(200);
  expect(written.at(-1)?.note).toBe("bad");
  isBusy = false;
  await runtime.advance(6_000);
  expect(written).toHaveLength(51);
});

test("an event names its Pod, which Berth told it and since when, and no more than the API holds", async () => {
  const sent: { path: string; body: unknown }[] = [];
  const send = async (path: string, body: unknown) => {
    sent.push({ path, body });
    return { ok: true, status: 201, body: undefined, bytes: 0 } as const;
  };
  const api: WriterApi = { get: (path) => send(path, {}), post: send, patch: (path, _, body) => send(path, body) };
  const writer = new ApiKubeWriter({ runtime: virtualRuntime(), api, instance: "i".repeat(200) });
  const about = { namespace: "d", pod: "p", podUid: podUid("u"), name: "p.1" } as const;
  const note = "n".repeat(3_000);
  await writer.recordEvent({ ...about, type: "Warning", reason: "BerthVolumesUnavailable", note, count: 3 });
  await writer.repeatEvent({ namespace: "d", name: "p.1", count: 4 });
  const microTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(sent).toEqual([
    {
      path: "/apis/events.k8s.io/v1/namespaces/d/events",
      body: {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { namespace: "d", name: "p.1" },
        eventTime: microTime,
        series: { count: 3, lastObservedTime: microTime },
        reportingController: "berth.dev/berth",
        reportingInstance: "i".repeat(128),
        action: "Scheduling",
        reason: "BerthVolumesUnavailable",
        type: "Warning",
        note: `${"n".repeat(1_023)}…`,
        regarding: { apiVersion: "v1", kind: "Pod", namespace: "d", name: "p", uid: "u" },
      },
    },
    {
      path: "/apis/events.k8s.io/v1/namespaces/d/events/p.1",
      body: { series: { count: 4, lastObservedTime: microTime } },
    },
  ]);
});
