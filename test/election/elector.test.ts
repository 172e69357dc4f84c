/** One Lease and those who want it, over the sandbox's API server and a virtual clock. */
import { expect, test } from "vitest";
import { type Accession, Elector } from "../../src/election/elector.ts";
import { ApiClient } from "../../src/kube/client.ts";
import type { HttpReply } from "../../src/runtime/runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { virtualRuntime } from "../support/clock.ts";
import { Process } from "./process.ts";

// biome-ignore lint/suspicious/noExplicitAny: API objects are JSON of every shape
type Body = any;

const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth";
const times = { leaseMs: 8_000, renewMs: 5_000, retryMs: 1_000 };
const refuse = (status: number, message = "made up"): Promise<HttpReply> =>
  Promise.resolve({ status, headers: {}, body: JSON.stringify({ kind: "Status", message }) });

interface Candidate {
  readonly process: Process;
  readonly elector: Elector;
  readonly story: string[];
  readonly warnings: string[];
  isFit: boolean;
  takesOver: boolean;
}

class Stage {
  readonly runtime = virtualRuntime();
  readonly server = new ApiServer({ runtime: this.runtime, protectsVolumes: false });
  readonly candidates: Candidate[] = [];
  /** Two that lead at once, ever. */
  readonly faults: string[] = [];

  add(identity: string): Candidate {
    const process = new Process(this.runtime, this.server.exchange);
    const story: string[] = [];
    const warnings: string[] = [];
    const warn = (fields: object, message: string): void =>
      void warnings.push(`${message}: ${(fields as { error?: string }).error}`);
    const quiet = (): void => {};
    const { runtime, exchange } = process;
    const candidate: Candidate = {
      process,
      story,
      warnings,
      isFit: true,
      takesOver: false,
      elector: new Elector({
        runtime,
        client: new ApiClient({ runtime, exchange, userAgent: "berth", timeoutMs: times.renewMs / 2 }),
        log: { debug: quiet, info: quiet, warn, error: warn },
        options: { namespace: "kube-system", name: "berth", identity, ...times },
        isFit: () => candidate.isFit,
        takesOver: () => candidate.takesOver,
        led: (how: Accession) => {
          story.push(`${this.#second()} ${how}`);
          const others = this.candidates.filter((other) => other !== candidate && other.elector.isLeading);
          this.faults.push(...others.map(() => `two lead at ${this.runtime.now()}`));
        },
        lost: (why) => story.push(`${this.#second()} lost: ${why}`),
      }),
    };
    this.candidates.push(candidate);
    candidate.elector.start();
    return candidate;
  }

  async advance(seconds: number): Promise<void> {
    for (let step = 0; step < seconds * 10; step++) {
      await this.runtime.advance(100);
      const leading = this.candidates.filter(({ elector, process }) => elector.isLeading && !process.isDead);
      if (leading.length > 1) this.faults.push(`two lead at ${this.runtime.now()}`);
    }
  }

  async call(method: string, body?: unknown, to = path): Promise<Body> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const request = { method, path: to, headers: { "content-type": type } };
    const reply = await this.server.exchange(
      { ...request, ...(body !== undefined && { body: JSON.stringify(body) }) },
      new AbortController().signal,
    );
    return { ...JSON.parse(Buffer.from(reply.body as string).toString()), status: reply.status };
  }

  #second(): number {
    return Math.floor(this.runtime.now() / 1000);
  }
}

test("the first one makes the Lease, and renews it each second with times that the API takes", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  await stage.advance(3.5);
  expect(a.story).toEqual(["0 created"]);
  const { spec } = await stage.call("GET");
  expect(spec).toEqual({
    holderIdentity: "a",
    leaseDurationSeconds: 8,
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:03.000000Z",
    leaseTransitions: 0,
  });
});

test("the second one follows, and leads 8 s after the last renewal that it saw of a leader that died", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(20);
  expect([a.elector.isLeading, b.elector.isLeading, b.elector.holder]).toEqual([true, false, "a"]);
  a.process.kill();
  await stage.advance(12);
  expect(b.story).toEqual([expect.stringMatching(/^2[89] expired$/)]);
  const { spec } = await stage.call("GET");
  expect([spec.holderIdentity, spec.leaseTransitions]).toEqual(["b", 1]);
  expect(stage.faults).toEqual([]);
});

test("a leader that is cut off gives up after 5 s, 3 s before anybody may follow", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(10.5);
  a.process.partition();
  await stage.advance(12);
  expect(a.story).toEqual(["0 created", "15 lost: the Lease could not be renewed for 5 s"]);
  expect(b.story).toEqual([expect.stringMatching(/^1[89] expired$/)]);
  a.process.heal();
  await stage.advance(10);
  expect([a.elector.isLeading, a.elector.holder, b.elector.isLeading]).toEqual([false, "b", true]);
  expect(stage.faults).toEqual([]);
});

test("a leader that stood still leads no more when it wakes up, before any timer had its turn", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(10.5);
  a.process.pause();
  await stage.advance(6);
  expect(a.elector.isLeading).toBe(false);
  await stage.advance(6);
  a.process.resume();
  await stage.advance(3);
  expect(a.story.length).toBe(2);
  expect(b.elector.isLeading).toBe(true);
  expect(stage.faults).toEqual([]);
});

test("one that stood still for less than the Lease lasts leads no more either, and may lead anew", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  await stage.advance(10.5);
  a.process.pause();
  await stage.advance(6);
  a.process.resume();
  await stage.advance(3);
  expect(a.story).toEqual(["0 created", expect.stringContaining("16 lost"), expect.stringMatching(/^1[678] expired$/)]);
  expect((await stage.call("GET")).spec.leaseTransitions).toBe(0);
});

test("a follower that stood still does not take what was renewed meanwhile", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(10.5);
  b.process.pause();
  await stage.advance(30);
  b.process.resume();
  await stage.advance(5);
  expect([a.elector.isLeading, b.story]).toEqual([true, []]);
});

test.for([-86_400_000, -3_000, 3_000, 86_400_000])(
  "clocks may differ: one is %i ms beside the other",
  async (skewMs) => {
    const stage = new Stage();
    const a = stage.add("a");
    const b = stage.add("b");
    b.process.skewMs = skewMs;
    await stage.advance(30);
    expect([a.story, b.story]).toEqual([["0 created"], []]);
    a.process.kill();
    await stage.advance(12);
    expect(b.elector.isLeading).toBe(true);
  },
);

test("an API that takes 2 s to answer does not cost the lead", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  await stage.advance(2.5);
  a.process.fault = (_, pass) => stage.runtime.sleep(2_000).then(pass);
  await stage.advance(60);
  expect(a.story).toEqual(["0 created"]);
});

test("one that takes 3 s does, and the lead ends at the deadline", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  await stage.advance(2.5);
  a.process.fault = (_, pass) => stage.runtime.sleep(3_000).then(pass);
  await stage.advance(10);
  expect(a.story).toEqual(["0 created", "7 lost: the Lease could not be renewed for 5 s"]);
});

test("renewals that took effect and were answered 504 keep the lead", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(2.5);
  let lost = 0;
  a.process.fault = ({ method }, pass) =>
    method === "PUT" && lost++ % 2 === 0 ? pass().then(() => refuse(504)) : undefined;
  await stage.advance(30);
  expect([a.story, b.story]).toEqual([["0 created"], []]);
});

test("a Lease that was got although the answer was lost is found at the next look", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  a.process.fault = ({ method }, pass) => {
    a.process.fault = method === "GET" ? a.process.fault : undefined;
    return method === "POST" ? pass().then(() => refuse(504)) : undefined;
  };
  await stage.advance(3);
  expect(a.story).toEqual([expect.stringMatching(/^[12] created$/)]);
});

test.for([500, 503, 429, 408])("renewals that are answered %i are tried again until the deadline", async (status) => {
  const stage = new Stage();
  const a = stage.add("a");
  await stage.advance(2.5);
  let refused = 0;
  a.process.fault = ({ method }) => (method === "PUT" && refused++ < 3 ? refuse(status) : undefined);
  await stage.advance(10);
  expect([a.story, a.elector.problem]).toEqual([["0 created"], ""]);
});

// FR-113.
test.for([400, 401, 403, 404, 422])("a renewal that is refused with %i ends the lead at once", async (status) => {
  const stage = new Stage();
  const a = stage.add("a");
  await stage.advance(2.5);
  a.process.fault = ({ method }) => (method === "PUT" ? refuse(status) : undefined);
  await stage.advance(1);
  expect(a.story).toEqual(["0 created", expect.stringContaining("3 lost: the Lease could not be kept: ")]);
});

test("what others write beside a holder stays, and costs nobody the lead", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  await stage.advance(2.5);
  await stage.call("PATCH", { metadata: { labels: { team: "storage" } } });
  await stage.advance(5);
  expect(a.story).toEqual(["0 created"]);
  expect((await stage.call("GET")).metadata.labels).toEqual({ team: "storage" });
});

test("a leader whose Lease is deleted gives up, and a follower waits until it must have noticed", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(10.5);
  a.process.partition();
  await stage.call("DELETE");
  await stage.advance(15);
  expect(b.story).toEqual([expect.stringMatching(/^1[89] created$/)]);
  expect(stage.faults).toEqual([]);
});

test("a Lease that is put down is taken within two looks", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(10.5);
  const released = a.elector.release();
  await stage.advance(0.1);
  await released;
  const { spec } = await stage.call("GET");
  expect([spec.holderIdentity, spec.leaseDurationSeconds, a.elector.isLeading]).toEqual(["", 1, false]);
  await stage.advance(1.5);
  expect(b.story).toEqual([expect.stringMatching(/^1[01] released$/)]);
  expect(a.story).toEqual(["0 created"]);
});

test("one that does not hold the Lease puts nothing down", async () => {
  const stage = new Stage();
  stage.add("a");
  const b = stage.add("b");
  await stage.advance(3);
  const released = b.elector.release();
  await stage.advance(1);
  await released;
  expect((await stage.call("GET")).spec.holderIdentity).toBe("a");
});

test("a release finds the version of a renewal whose answer was lost", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  await stage.advance(2.5);
  a.process.fault = ({ method }, pass) => {
    if (method !== "PUT") return undefined;
    a.process.fault = undefined;
    return pass().then(() => refuse(504));
  };
  await stage.advance(0.6);
  const released = a.elector.release();
  await stage.advance(0.1);
  await released;
  expect((await stage.call("GET")).spec.holderIdentity).toBe("");
});

test("one that is not fit leaves a free Lease to others", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  a.isFit = false;
  await stage.advance(5);
  expect((await stage.call("GET")).status).toBe(404);
  a.isFit = true;
  await stage.advance(2);
  expect(a.elector.isLeading).toBe(true);
});

test("one that is asked for may take the Lease from a holder that renews it, which learns of it at its next renewal", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(10);
  b.takesOver = true;
  await stage.advance(3);
  expect(b.story).toEqual([expect.stringMatching(/^1[01] taken$/)]);
  expect(a.story).toEqual(["0 created", expect.stringMatching(/^1[012] lost: b holds the Lease now$/)]);
});

test("a holder's own duration counts where it is longer than ours, and nonsense does not", async () => {
  for (const [leaseDurationSeconds, want] of [
    [20, 20],
    [1, 8],
    [2_000_000_000, 8],
  ] as const) {
    const stage = new Stage();
    const spec = { holderIdentity: "other", leaseDurationSeconds };
    await stage.call("POST", { metadata: { name: "berth" }, spec }, path.replace(/\/berth$/, ""));
    const a = stage.add("a");
    await stage.advance(25);
    const [at = ""] = a.story;
    expect(Number.parseInt(at, 10) - want).toBeOneOf([0, 1]);
    expect(at).toContain("expired");
  }
});

test("a count of transitions that has no next number begins anew, and the Lease can be taken", async () => {
  const stage = new Stage();
  const spec = { holderIdentity: "other", leaseDurationSeconds: 1, leaseTransitions: 2 ** 31 - 1 };
  await stage.call("POST", { metadata: { name: "berth" }, spec }, path.replace(/\/berth$/, ""));
  const a = stage.add("a");
  await stage.advance(12);
  expect([a.elector.isLeading, (await stage.call("GET")).spec.leaseTransitions]).toEqual([true, 1]);
});

test("without permission it says what to grant, once, and goes on trying", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  a.process.fault = () => refuse(403, "leases is forbidden");
  await stage.advance(20);
  const want = "may not read Lease kube-system/berth: grant get, create and update on leases of coordination.k8s.io";
  expect(a.elector.problem).toContain(want);
  expect(a.warnings).toEqual([expect.stringContaining(want)]);
  a.process.fault = undefined;
  await stage.advance(2);
  expect([a.elector.isLeading, a.elector.problem]).toEqual([true, ""]);
});

test("permission to read alone is said once too", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  a.process.fault = ({ method }) => (method === "GET" ? undefined : refuse(403, "leases is forbidden"));
  await stage.advance(20);
  expect(a.warnings).toEqual([expect.stringContaining("may not create Lease")]);
});

test("a namespace that does not exist is named", async () => {
  const stage = new Stage();
  const a = stage.add("a");
  a.process.fault = ({ method }) => (method === "POST" ? refuse(404, 'namespaces "kube-system" not found') : undefined);
  await stage.advance(2);
  expect(a.elector.problem).toBe('could not create Lease kube-system/berth: namespaces "kube-system" not found');
});

test("of many who start at once one leads", async () => {
  const stage = new Stage();
  for (const identity of "abcdefgh") stage.add(identity);
  await stage.advance(30);
  expect(stage.candidates.filter(({ elector }) => elector.isLeading)).toHaveLength(1);
  expect(stage.candidates.flatMap(({ story }) => story)).toEqual(["0 created"]);
});

test.for(Array.from({ length: Number(process.env["STORMS"] ?? 10) }, (_, index) => [index + 1]))(
  "election storm %i: never two at once, and one in the end",
  async ([seed = 1]) => {
    const stage = new Stage();
    const dice = virtualRuntime(seed);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(dice.random() * from.length)] as T;
    let made = 0;
    const add = (): void => {
      const { process } = stage.add(`c${++made}`);
      process.skewMs = pick([0, -60_000, 7_200_000]);
    };
    for (let count = 0; count < 3; count++) add();
    for (let step = 0; step < 60; step++) {
      const living = stage.candidates.filter(({ process }) => !process.isDead);
      const { process, elector } = pick(living);
      pick([
        () => process.partition(),
        () => process.heal(),
        () => process.heal(),
        () => process.pause(),
        () => process.resume(),
        () => process.resume(),
        () => {
          process.fault = (_, pass) => (dice.random() < 0.3 ? pass().then(() => refuse(504)) : undefined);
        },
        () => {
          process.fault = (_, pass) => stage.runtime.sleep(dice.random() * 4_000).then(pass);
        },
        () => {
          process.fault = undefined;
        },
        () => {
          if (living.length > 2) process.kill();
          else add();
        },
        () => void elector.release().then(() => process.kill()),
        () => undefined,
      ])();
      if (stage.candidates.filter(({ process: { isDead } }) => !isDead).length < 2) add();
      await stage.advance(pick([0.1, 1, 3, 9]));
    }
    for (const { process } of stage.candidates) {
      process.heal();
      process.resume();
      process.fault = undefined;
    }
    add();
    await stage.advance(20);
    expect(stage.faults).toEqual([]);
    expect(stage.candidates.filter(({ elector, process }) => elector.isLeading && !process.isDead)).toHaveLength(1);
  },
);
