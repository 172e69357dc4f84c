/** How old a state may be that answers are given on: docs/reliability.md tells the same times. */
import { expect, test } from "vitest";
import type { Exchange, HttpReply } from "../../src/runtime/runtime.ts";
import { makePod } from "../support/make.ts";
import { ask, base, Cluster } from "./berth-world.ts";
import { extenderArgs } from "./support.ts";

/** What the four verbs and the probe say of a Pod with a claim. */
async function answersOf(cluster: Cluster) {
  const { extender } = cluster.berth;
  const pod = await cluster.read("pod", "d/p");
  const victims = { n1: { Pods: [{ UID: "v" }], NumPDBViolations: 0 } };
  const preemption = { Pod: pod, NodeNameToVictims: null, NodeNameToMetaVictims: victims };
  const filtered = (await ask(extender, "POST", "/v1/filter", extenderArgs(pod, ["n1", "n2"]))).json;
  const { status: ready, json: why } = await ask(extender, "GET", "/readyz");
  return {
    ready,
    why: why.trim(),
    feasible: filtered.NodeNames,
    error: filtered.Error,
    preemptible: Object.keys((await ask(extender, "POST", "/v1/preempt", preemption)).json.NodeNameToMetaVictims),
  };
}

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));

/** Watches stay open and say nothing, calls get no answer: a connection through something that died on the way. */
function hanging(_: Cluster, isGone: () => boolean): (inner: Exchange) => Exchange {
  const quiet = async function* (body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      if (isGone()) await never(signal);
      yield chunk;
    }
  };
  return (inner) => async (request, signal) => {
    if (isGone()) await never(signal);
    const reply: HttpReply = await inner(request, signal);
    const { body } = reply;
    if (typeof body === "string" || body instanceof Uint8Array) return reply;
    return { ...reply, body: quiet(body, signal) };
  };
}

/** Nobody is there any more, and every watch broke off. */
function refusing(cluster: Cluster, isGone: () => boolean): (inner: Exchange) => Exchange {
  return (inner) => async (request, signal) => {
    if (!isGone()) return inner(request, signal);
    cluster.server.closeWatches();
    throw new Error("connect ECONNREFUSED");
  };
}

const losses = { "hangs behind open connections": hanging, "refuses connections": refusing };

test.for(Object.entries(losses))(
  "while the API server %s, answers are of the last 150 s or an Error",
  async ([, lose]) => {
    const cluster = new Cluster();
    let isGone = false;
    cluster.between = lose(cluster, () => isGone);
    await cluster.start(base);
    const fresh = { ready: 200, why: "ok", feasible: ["n1"], error: "", preemptible: ["n1"] };
    expect(await answersOf(cluster)).toEqual(fresh);

    isGone = true;
    if (lose === refusing) cluster.server.closeWatches();
    await cluster.runtime.advance(145_000);
    expect(await answersOf(cluster)).toEqual(fresh);
    await cluster.runtime.advance(10_000);
    const kinds = "node, volume, claim, class, driver, csiNode, capacity, pod";
    const why = `not heard of for 150 s: ${kinds}`;
    expect(await answersOf(cluster)).toEqual({
      ready: 503,
      why: `not ready: ${why}`,
      feasible: null,
      error: `the volume extender is not ready: ${why}`,
      preemptible: [],
    });
    const state = (await ask(cluster.berth.debug, "GET", "/debug/state")).json;
    expect(Object.values<{ ageMs: number }>(state.kinds).every(({ ageMs }) => ageMs > 150_000)).toBe(true);

    isGone = false;
    await cluster.runtime.advance(120_000);
    expect(await answersOf(cluster)).toEqual(fresh);
    await cluster.berth.stop();
  },
);

test("a bind on a stale state is an Error and writes nothing; of a Pod without claims it is not asked how old it is", async () => {
  const cluster = new Cluster();
  let isStale = false;
  const writes: string[] = [];
  cluster.between = (inner) => (request, signal) => {
    const isWatch = request.path.includes("watch=true");
    if (request.method !== "GET" && !request.path.endsWith("/events")) writes.push(`${request.method} ${request.path}`);
    return isStale && isWatch ? never(signal) : inner(request, signal);
  };
  await cluster.start([...base, makePod("free", [])]);
  isStale = true;
  cluster.server.closeWatches();
  await cluster.runtime.advance(155_000);
  const bind = async (name: string) => {
    const { metadata } = await cluster.read("pod", `d/${name}`);
    const body = { PodName: name, PodNamespace: "d", PodUID: metadata.uid, Node: "n1" };
    const answer = ask(cluster.berth.extender, "POST", "/v1/bind", body);
    await cluster.runtime.advance(1_000);
    return (await answer).json;
  };
  expect((await bind("p")).Error).toContain("not heard of for 150 s");
  expect(writes).toEqual([]);
  expect(await bind("free")).toEqual({ Error: "" });
  expect(writes).toEqual(["POST /api/v1/namespaces/d/pods/free/binding"]);
  await cluster.berth.stop();
});

test("a watch that says nothing is given up after 80 s, by its kind, and the next one goes on from its last version", async () => {
  const cluster = new Cluster();
  const watched: { at: number; from: string | null }[] = [];
  cluster.between = (inner) => async (request, signal) => {
    const query = new URLSearchParams(request.path.split("?")[1]);
    if (!request.path.startsWith("/api/v1/persistentvolumes?") || !query.has("watch")) return inner(request, signal);
    watched.push({ at: cluster.runtime.now(), from: query.get("resourceVersion") });
    const reply = await inner(request, signal);
    if (watched.length > 1) return reply;
    return { ...reply, body: firstOnly(reply.body as AsyncIterable<Uint8Array>, signal) };
  };
  await cluster.start(base);
  await cluster.runtime.advance(90_000);
  expect(watched).toHaveLength(2);
  const [, second] = watched;
  expect(second?.at).toBeGreaterThan(80_000);
  expect(second?.at).toBeLessThan(83_000);
  expect(Number(second?.from)).toBeGreaterThan(0);
  const metrics = (await ask(cluster.berth.debug, "GET", "/metrics")).json;
  expect(metrics).toContain('berth_watch_ends_total{kind="volume",how="silent"} 1');
  expect((await ask(cluster.berth.extender, "GET", "/readyz")).status).toBe(200);
  await cluster.berth.stop();
});

/** The list that a stream begins with, and then nothing. */
async function* firstOnly(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    yield chunk;
    if (Buffer.from(chunk).includes("initial-events-end")) await never(signal);
  }
}
