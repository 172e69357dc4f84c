/**
 * The extender protocol from kube-scheduler's side: what it sends, and what becomes of each kind of answer, whoever gives it. The
 * extender here is a script, Berth is asked nothing. docs/verbs.md quotes these tests by name.
 */
import { expect } from "vitest";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import type { Raw } from "../support/make.ts";
import { answers, type Script } from "./extender.ts";
import { inLab, type Lab, type Outcome } from "./lab.ts";
import { unschedulable } from "./messages.ts";
import { onPlane } from "./on-plane.ts";
import { until } from "./reach.ts";
import { forVersion } from "./versions.ts";

const wire = (name: string, run: (lab: Lab) => Promise<void>): void =>
  onPlane(name, {}, (plane) => inLab(plane, "wire", run));

const two = { n1: null, n2: null } as const;
const podOf = (body: string): string => (JSON.parse(body) as { Pod: { metadata: { name: string } } }).Pod.metadata.name;
const podsNamed = (names: readonly string[]) => ({
  pods: Object.fromEntries(names.map((name) => [`shop/${name}`, {}])),
});
const failed = (message: string): Outcome => ({ reason: "SchedulerError", message });
/** Passes what it is asked about. */
const passes = (nodes: readonly string[]) => ({ NodeNames: nodes });

/** By the name of the Pod that is asked about; others pass everywhere. */
const perPod =
  (table: Readonly<Record<string, NonNullable<Script["filter"]>>>, otherwise: NonNullable<Script["filter"]>) =>
  (nodes: readonly string[], body: string) =>
    (table[podOf(body)] ?? otherwise)(nodes, body);

/** Of the Pod's events; kube-scheduler counts equal ones up. */
async function eventsOf({ stage }: Lab, pod: string): Promise<{ reason: string; message: string }[]> {
  const events = (await stage.list("Event")) as unknown as {
    involvedObject: { name: string };
    reason: string;
    message: string;
  }[];
  return events
    .filter(({ involvedObject }) => involvedObject.name === pod)
    .map(({ reason, message }) => ({ reason, message }));
}

wire("a request is a plain POST with the Pod and the names of the nodes that the plugins left", async (lab) => {
  const bound: string[] = [];
  const bind = (_: readonly string[], body: string) => {
    bound.push(body);
    return { Error: "not today" };
  };
  const other = await lab.extender({ filter: passes, prioritize: answers([]), bind });
  const whole = await lab.extender({ filter: (_, body) => ({ Nodes: (JSON.parse(body) as Raw)["Nodes"] }) });
  await lab.given({ nodes: { ...two, n3: null } });
  await lab.stage.patch("Node", undefined, "n3", { spec: { unschedulable: true } });
  await lab.scheduler([whole.entry({ nodeCacheCapable: false }), other.entry()]);
  await lab.given({ pods: { "shop/web": {}, "shop/tied": { on: "n1" } } });
  expect(await lab.outcome("shop/web")).toEqual(failed("not today"));
  expect(await lab.outcome("shop/tied")).toEqual(failed("not today"));

  const [first] = other.calls;
  expect(first?.headers).toMatchObject({ "content-type": "application/json", "user-agent": "Go-http-client/1.1" });
  expect(first?.headers).not.toHaveProperty("authorization");
  const { Pod, ...rest } = JSON.parse(first?.body ?? "") as Raw;
  expect(Pod).toMatchObject({ metadata: { name: "web", namespace: "shop" }, spec: { schedulerName: "wire" } });
  expect(rest).toEqual({ Nodes: null, NodeNames: expect.arrayContaining(["n1", "n2"]) });
  expect(first?.nodes).toHaveLength(2);
  // Whole nodes, where the extender says that it keeps none.
  const asked = JSON.parse(whole.calls[0]?.body ?? "") as { Nodes: { items: Raw[] }; NodeNames: null };
  expect(asked.NodeNames).toBeNull();
  expect(asked.Nodes.items[0]).toMatchObject({ metadata: { labels: {} }, spec: {}, status: { allocatable: {} } });

  const verbsOf = (pod: string) => new Set(other.calls.filter((call) => call.pod === pod).map(({ verb }) => verb));
  expect(verbsOf("web")).toEqual(new Set(["filter", "prioritize", "bind"]));
  // Of one node nobody is asked which is best.
  expect(verbsOf("tied")).toEqual(new Set(["filter", "bind"]));
  const told = bound.map((body) => JSON.parse(body) as Raw).find(({ PodName }) => PodName === "tied");
  expect(told).toEqual({ PodName: "tied", PodNamespace: "shop", PodUID: expect.any(String), Node: "n1" });
});

wire("each kind of answer to filter", async (lab) => {
  const refused = (reason: string) => (nodes: readonly string[]) =>
    Object.fromEntries(nodes.map((node) => [node, reason]));
  const table: Record<string, NonNullable<Script["filter"]>> = {
    created: answers(201),
    broken: answers(500),
    busy: answers(503),
    "no-json": answers("<html>"),
    error: answers({ Error: "the shelf is 50% full" }),
    stranger: answers({ NodeNames: ["n9"] }),
    silent: answers({}),
    unresolvable: (nodes) => ({ NodeNames: [], FailedAndUnresolvableNodes: refused("the shelf is gone")(nodes) }),
    curable: (nodes) => ({ NodeNames: [], FailedNodes: refused("the shelf is full")(nodes) }),
    outsider: (nodes) => ({
      NodeNames: [],
      FailedAndUnresolvableNodes: { ...refused("the shelf is gone")(nodes), n9: "the shelf is gone" },
    }),
    twice: (nodes) => ({ NodeNames: [...nodes, ...nodes] }),
    loose: (nodes) => `{"nodenames":${JSON.stringify(nodes)},"Extra":1} and more`,
  };
  const other = await lab.extender({ filter: perPod(table, passes) });
  await lab.given({ nodes: two });
  await lab.scheduler([other.entry()]);
  await lab.given(podsNamed(Object.keys(table)));

  const status = (code: number) => failed(`failed filter with extender at URL ${other.url}/filter, code ${code}`);
  const vain = "2 Preemption is not helpful for scheduling";
  const expected: Readonly<Record<string, unknown>> = {
    created: status(201),
    broken: status(500),
    busy: status(503),
    "no-json": failed("invalid character '<' looking for beginning of value"),
    stranger: failed(`extender "${other.url}" claims a filtered node "n9" which is not found in the input node list`),
    // Nodes that are neither passed nor refused are counted with no reason.
    silent: unschedulable(lab, 2, "", vain),
    unresolvable: unschedulable(lab, 2, "2 the shelf is gone", vain),
    curable: unschedulable(lab, 2, "2 the shelf is full", "2 No preemption victims found for incoming pod"),
    // A name that was not asked about counts all the same.
    outsider: unschedulable(lab, 2, "3 the shelf is gone", vain),
    twice: { node: expect.stringMatching(/^n[12]$/) },
    loose: { node: expect.stringMatching(/^n[12]$/) },
  };
  const found: Record<string, Outcome> = {};
  for (const pod of Object.keys(expected)) found[pod] = await lab.outcome(`shop/${pod}`);
  expect(found).toEqual(expected);

  // The text is the condition's, and of the event the format: a percent sign spoils it.
  await until("the event is there", async () => (await eventsOf(lab, "error")).length > 0);
  expect(await eventsOf(lab, "error")).toContainEqual({
    reason: "FailedScheduling",
    message: "the shelf is 50%!f(MISSING)ull",
  });
});

wire("a filter that takes too long fails its Pod, and every other Pod waits meanwhile", async (lab) => {
  const hangs = async () => {
    await runtime.sleep(4_000);
    return 500;
  };
  let slow = true;
  const other = await lab.extender({
    filter: (nodes, body) => (slow && podOf(body) === "slow" ? hangs() : passes(nodes)),
  });
  await lab.given({ nodes: two });
  await lab.scheduler([other.entry({ httpTimeout: "2s" })]);
  await lab.given({ pods: { "shop/slow": {} } });
  await runtime.sleep(500);
  const created = runtime.now();
  await lab.given({ pods: { "shop/other": {} } });
  await lab.placed("shop/other");
  expect(runtime.now() - created).toBeGreaterThan(1_000);
  const message = `Post "${other.url}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
  expect(await lab.outcome("shop/slow")).toEqual(failed(message));
  slow = false;
  await lab.placed("shop/slow");
});

wire("each kind of answer to prioritize", async (lab) => {
  const table: Record<string, NonNullable<Script["prioritize"]>> = {
    omitted: answers([{ Host: "n2", Score: 1 }]),
    negative: (nodes) => nodes.map((Host) => ({ Host, Score: Host === "n2" ? -1 : -9 })),
    beyond: answers([
      { Host: "n1", Score: 10 },
      { Host: "n2", Score: 50 },
    ]),
    stranger: answers([
      { Host: "n9", Score: 10 },
      { Host: "n2", Score: 1 },
    ]),
    // A score that is no whole number spoils the whole answer, and nobody is told: the Pod's own preference is left.
    fraction: (nodes) => nodes.map((Host) => ({ Host, Score: Host === "n2" ? 9.5 : 0 })),
    broken: answers(500),
    empty: answers([]),
  };
  const other = await lab.extender({ prioritize: perPod(table, answers([])) });
  await lab.given({ nodes: { ...two, n3: null } });
  // So much that nothing else counts.
  await lab.scheduler([other.entry({ weight: 100 })]);
  const pods = Object.keys(table).map((name) => [`shop/${name}`, { prefers: "n1" }] as const);
  await lab.given({ pods: Object.fromEntries(pods) });
  const placed: Record<string, string> = {};
  for (const pod of Object.keys(table)) placed[pod] = await lab.placed(`shop/${pod}`);
  expect(placed).toEqual({
    omitted: "n2",
    negative: "n2",
    beyond: "n2",
    stranger: "n2",
    fraction: "n1",
    broken: "n1",
    empty: "n1",
  });
});

wire("each kind of answer to bind", async (lab) => {
  const bindings: { pod: string; at: number }[] = [];
  const post = async (pod: string) => {
    const target = { apiVersion: "v1", kind: "Node", name: "n1" };
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: pod }, target };
    return lab.stage.call("POST", `/api/v1/namespaces/shop/pods/${pod}/binding`, binding);
  };
  const byPod: Record<string, (pod: string) => Promise<Raw | number>> = {
    error: async () => ({ Error: "the shelf is locked" }),
    broken: async () => 500,
    late: async (pod) => {
      await runtime.sleep(2_500);
      await post(pod);
      return {};
    },
    liar: async () => ({}),
  };
  const bind = (_: readonly string[], body: string) => {
    const { PodName } = JSON.parse(body) as { PodName: string };
    bindings.push({ pod: PodName, at: runtime.now() });
    return byPod[PodName]?.(PodName) ?? 500;
  };
  const other = await lab.extender({ filter: passes, bind });
  await lab.given({ nodes: { n1: null } });
  await lab.scheduler([other.entry({ httpTimeout: "2s" })]);
  await lab.given(podsNamed(Object.keys(byPod)));

  expect(await lab.outcome("shop/error")).toEqual(failed("the shelf is locked"));
  const message = `failed bind with extender at URL ${other.url}/bind, code 500`;
  expect(await lab.outcome("shop/broken")).toEqual(failed(message));
  // It gives up on one that takes too long, and finds the Pod bound all the same.
  expect(await lab.placed("shop/late")).toBe("n1");
  await runtime.sleep(3_000);
  const askedAfter = (pod: string) => bindings.filter((one) => one.pod === pod).length;
  expect(askedAfter("late")).toBeLessThanOrEqual(2);
  // Failed binds come again, each with a filter call before.
  expect(askedAfter("error")).toBeGreaterThan(1);
  const ofError = other.calls.filter(({ pod }) => pod === "error").map(({ verb }) => verb);
  expect(ofError.slice(0, 4)).toEqual(["filter", "bind", "filter", "bind"]);

  // It takes an answer without Error at its word, says so, and never comes back.
  expect(await eventsOf(lab, "liar")).toContainEqual({
    reason: "Scheduled",
    message: "Successfully assigned shop/liar to n1",
  });
  expect(askedAfter("liar")).toBe(1);
  const pods = (await lab.stage.list("Pod")) as { metadata: { name: string }; spec: { nodeName?: string } }[];
  expect(pods.find(({ metadata }) => metadata.name === "liar")?.spec.nodeName).toBeUndefined();
});

const priority = (name: string, value: number): Raw => ({
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name },
  value,
});

wire("each kind of answer to preempt", async (lab) => {
  const keep = (nodes: Readonly<Record<string, unknown>>) => ({ NodeNameToMetaVictims: nodes });
  type Candidates = Readonly<Record<string, { Pods: { UID: string }[] }>>;
  const offered = (body: string) => (JSON.parse(body) as { NodeNameToMetaVictims: Candidates }).NodeNameToMetaVictims;
  const table: Record<string, NonNullable<Script["preempt"]>> = {
    none: answers(keep({})),
    empty: answers(keep({ n1: { Pods: [] } })),
    unknown: answers(keep({ n1: { Pods: [{ UID: "u-9" }] } })),
    nowhere: answers(keep({ n9: { Pods: [{ UID: "u-9" }] } })),
    broken: answers(500),
    keeps: (_, body) => keep({ n2: offered(body)["n2"] }),
  };
  const other = await lab.extender({ filter: passes, preempt: perPod(table, answers(keep({}))) });
  for (const object of [priority("high", 1000), priority("low", 10)]) await lab.stage.apply(object);
  await lab.given({ nodes: two });
  await lab.scheduler([other.entry()]);
  const low = (on: string) => ({ on, cpu: "3", priorityClassName: "low" });
  await lab.given({ pods: { "shop/low-1": low("n1"), "shop/low-2": low("n2") } });
  await lab.placed("shop/low-1");
  await lab.placed("shop/low-2");

  const found: Record<string, string> = {};
  const { keeps: _, ...inVain } = table;
  for (const pod of Object.keys(inVain)) {
    await lab.given({ pods: { [`shop/${pod}`]: { cpu: "3", priorityClassName: "high" } } });
    const outcome = await lab.outcome(`shop/${pod}`);
    if (!("message" in outcome)) throw new Error(`${pod} is placed`);
    found[pod] = outcome.message.replace(/^0\/2 nodes are available: 2 Insufficient cpu\. /, "");
    await lab.stage.delete("Pod", "shop", pod);
  }
  const others = forVersion(lab.facts, { "1.34": "no new claims to deallocate, ", "1.37": "" });
  expect(found).toEqual({
    none: `${others}preemption: no candidate node for preemption`,
    empty: 'preemption: expected at least one victim pod on node "n1"',
    unknown: expect.stringMatching(
      /^preemption: extender: \S+ claims to preempt pod \(UID: .*u-9.*\) on node: n1, but the pod is not found on that node$/,
    ),
    nowhere: 'preemption: nodeinfo not found for node name "n9"',
    broken: `preemption: failed preempt with extender at URL ${other.url}/preempt, code 500`,
  });
  const { Pod, ...asked } = JSON.parse(other.calls.find(({ verb }) => verb === "preempt")?.body ?? "") as Raw;
  expect(Pod).toMatchObject({ metadata: { name: "none" } });
  const victims = { Pods: [{ UID: expect.any(String) }], NumPDBViolations: 0 };
  expect(asked).toEqual({ NodeNameToVictims: null, NodeNameToMetaVictims: { n1: victims, n2: victims } });

  await lab.given({ pods: { "shop/keeps": { cpu: "3", priorityClassName: "high" } } });
  expect(await lab.placed("shop/keeps")).toBe("n2");
  const left = (await lab.stage.list("Pod")).map(({ metadata }) => (metadata as { name: string }).name);
  expect(left.sort()).toEqual(["keeps", "low-1"]);
  // Of the nominated node alone, once its victim is gone: while the plugins refuse all nodes nobody is asked.
  const filters = other.calls.filter(({ verb, pod }) => verb === "filter" && pod === "keeps");
  expect(filters.map(({ nodes }) => nodes)).toEqual([["n2"]]);
});

wire(
  "who was refused is asked about when something changes, who met an error after a pause that grows",
  async (lab) => {
    const asked: { pod: string; at: number }[] = [];
    const note = (body: string) => asked.push({ pod: podOf(body), at: runtime.now() });
    const of = (pod: string) => asked.filter((one) => one.pod === pod).map(({ at }) => at);
    const other = await lab.extender({
      filter: (nodes, body) => {
        note(body);
        if (podOf(body) === "error") return { Error: "the shelf is on fire" };
        return { NodeNames: [], FailedAndUnresolvableNodes: Object.fromEntries(nodes.map((node) => [node, "gone"])) };
      },
    });
    await lab.given({ nodes: { n1: null } });
    await lab.scheduler([other.entry()]);
    await lab.given(podsNamed(["refused", "error"]));
    await until("the error came up three times", async () => of("error").length >= 3);
    const [first = 0, second = 0, third = 0] = of("error");
    expect(second - first).toBeGreaterThan(900);
    expect(third - second).toBeGreaterThan(1_800);
    expect(third - second).toBeLessThan(5_000);

    // Its own report of the refusal is a change of the Pod: that much comes at once, and nothing after it.
    const before = of("refused").length;
    expect(before).toBeLessThanOrEqual(2);
    const conditions = [{ type: "example.com/Shelf", status: "True" }];
    const path = "/api/v1/namespaces/shop/pods/refused/status";
    await lab.stage.call("PATCH", path, { status: { conditions } }, "application/strategic-merge-patch+json");
    const patched = runtime.now();
    await until("it is asked about again", async () => of("refused").length > before);
    expect((of("refused")[before] ?? 0) - patched).toBeLessThan(1_500);
  },
);
