/**
 * What kube-scheduler does with several extenders, of which Berth is one (VB §8.14): each test starts a kube-scheduler of its own
 * configuration, and beside Berth an extender that answers as the test says.
 */
import { expect } from "vitest";
import "../support/meta.ts";
import { realCluster } from "../upstream/kinds.ts";
import { accepts, answers, prefers } from "./extender.ts";
import { berthEntries } from "./kube-scheduler.ts";
import { inLab, type Lab } from "./lab.ts";
import { noVictims, noVolumes, unschedulable, vain } from "./messages.ts";
import { onPlane } from "./on-plane.ts";

function real(number: keyof typeof realCluster, run: (lab: Lab) => Promise<void>): void {
  const meta = { upstream: { number, kind: "real cluster" } } as const;
  onPlane(`${number}: ${realCluster[number]}`, { meta }, (plane) => inLab(plane, `s${number}`, run));
}

const local = { classes: { local: "wait" } } as const;
const disk = (on: string, size = "10Gi") => ({ on, class: "local", size });
const claim = { class: "local", size: "10Gi" };

real(150, async (lab) => {
  const other = await lab.extender({ filter: answers({ Error: "the shelf is on fire" }) });
  await lab.given({ ...local, nodes: { n1: null, n2: null }, volumes: { d1: disk("n1") } });
  await lab.scheduler([lab.berth.asks, lab.berth.binds, other.entry()]);
  await lab.given({ claims: { "shop/cart": claim }, pods: { "shop/web": { claims: ["cart"] } } });

  // The cycle fails as a whole: no count of nodes, no preemption, and nothing is written for the claim.
  expect(await lab.outcome("shop/web")).toEqual({ reason: "SchedulerError", message: "the shelf is on fire" });
  expect(await lab.claims()).toEqual({ "shop/cart": "" });
  // The other was offered what Berth let pass.
  expect(other.calls[0]).toMatchObject({ verb: "filter", pod: "web", nodes: ["n1"] });

  // A status other than 200 is an error in kube-scheduler's own words, and asked again after a back-off that grows.
  other.script = { filter: answers(500) };
  await lab.given({ pods: { "shop/plain": {} } });
  const message = `failed filter with extender at URL ${other.url}/filter, code 500`;
  expect(await lab.outcome("shop/plain")).toEqual({ reason: "SchedulerError", message });

  other.script = { filter: accepts("n1", "n2") };
  expect(await lab.placed("shop/web")).toBe("n1");
  expect(await lab.claims()).toEqual({ "shop/cart": "d1" });
});

real(151, async (lab) => {
  await lab.given({ ...local, nodes: { n1: null, n2: null } });
  await lab.scheduler([lab.berth.asks, lab.berth.binds]);
  await lab.given({ claims: { "shop/cart": claim }, pods: { "shop/web": { claims: ["cart"] } } });
  expect(await lab.outcome("shop/web")).toEqual(unschedulable(lab, 2, `2 ${noVolumes}`, `2 ${vain}`));
});

real(152, async (lab) => {
  const other = await lab.extender({ filter: accepts("n1") });
  await lab.given({ ...local, nodes: { n1: null, n2: null }, volumes: { d2: disk("n2") } });
  await lab.scheduler([lab.berth.asks, lab.berth.binds, other.entry()]);
  await lab.given({ claims: { "shop/cart": claim }, pods: { "shop/web": { claims: ["cart"] } } });
  expect(await lab.outcome("shop/web")).toEqual(
    unschedulable(lab, 2, `1 ${noVolumes}, 1 the shelf is full`, `1 ${noVictims}, 1 ${vain}`),
  );
  expect(other.calls[0]?.nodes).toEqual(["n2"]);
  expect(await lab.claims()).toEqual({ "shop/cart": "" });
});

real(153, async (lab) => {
  const other = await lab.extender({ filter: accepts("n1", "n3"), prioritize: prefers("n1") });
  const volumes = { d1: disk("n1", "40Gi"), d2: disk("n2") };
  await lab.given({ ...local, nodes: { n1: null, n2: null, n3: null }, volumes });
  await lab.scheduler([lab.berth.asks, lab.berth.binds, other.entry()]);
  await lab.given({ claims: { "shop/cart": claim }, pods: { "shop/web": { claims: ["cart"] } } });
  expect(await lab.outcome("shop/web")).toEqual({ node: "n1" });
  expect(await lab.claims()).toEqual({ "shop/cart": "d1" });
  // Of three that were looked at one is left, so nobody is asked which is best.
  const calls = other.calls.map(({ verb, nodes }) => ({ verb, nodes: nodes.toSorted() }));
  expect(calls).toEqual([{ verb: "filter", nodes: ["n1", "n2"] }]);
  expect(lab.log()).toMatch(/bound pod to node" pod="shop\/web" node="n1" evaluatedNodes=3 feasibleNodes=1/);
});

real(154, async (lab) => {
  const other = await lab.extender({ prioritize: answers(500) });
  await lab.given({ ...local, nodes: { n1: null, n2: null }, volumes: { d1: disk("n1") } });
  await lab.scheduler([lab.berth.asks, lab.berth.binds, other.entry()]);
  await lab.given({ claims: { "shop/one": claim }, pods: { "shop/a": { claims: ["one"] } } });
  expect(await lab.outcome("shop/a")).toEqual({ node: "n1" });
  expect(other.calls).toEqual([]);

  // Of two nodes the error is swallowed, and Berth's opinion remains.
  await lab.given({ volumes: { wide: disk("n1", "80Gi"), exact: disk("n2") } });
  await lab.given({ claims: { "shop/two": claim }, pods: { "shop/b": { claims: ["two"] } } });
  expect(await lab.outcome("shop/b")).toEqual({ node: "n2" });
  expect(other.calls.map(({ verb, pod }) => `${verb} ${pod}`)).toEqual(["prioritize b"]);
  expect(await lab.claims()).toEqual({ "shop/one": "d1", "shop/two": "exact" });
});

real(155, async (lab) => {
  const other = await lab.extender({ prioritize: prefers("n2") });
  const volumes = { e1: disk("n1"), e3: disk("n1"), w2: disk("n2", "80Gi"), w4: disk("n2", "80Gi") };
  await lab.given({ ...local, nodes: { n1: null, n2: null }, volumes });
  await lab.scheduler([{ ...lab.berth.asks, weight: 1 }, lab.berth.binds, other.entry({ weight: 5 })]);
  await lab.scheduler([{ ...lab.berth.asks, weight: 5 }, lab.berth.binds, other.entry({ weight: 1 })], {
    schedulerName: "s155-berth",
  });
  await lab.given({ claims: { "shop/one": claim, "shop/two": claim }, pods: { "shop/a": { claims: ["one"] } } });
  expect(await lab.outcome("shop/a")).toEqual({ node: "n2" });
  await lab.given({ pods: { "shop/b": { claims: ["two"] } } }, "s155-berth");
  expect(await lab.outcome("shop/b")).toEqual({ node: "n1" });
  expect(await lab.claims()).toEqual({ "shop/one": "w2", "shop/two": "e1" });
});

real(156, async (lab) => {
  const volumes = { e1: disk("n1"), e3: disk("n1"), w2: disk("n2", "80Gi"), w4: disk("n2", "80Gi") };
  await lab.given({ ...local, nodes: { n1: null, n2: null }, volumes });
  const weighs = (weight: number) => ({ enabled: [{ name: "NodeAffinity", weight }] });
  await lab.scheduler([{ ...lab.berth.asks, weight: 1 }, lab.berth.binds], weighs(20));
  await lab.scheduler([{ ...lab.berth.asks, weight: 20 }, lab.berth.binds], {
    schedulerName: "s156-berth",
    ...weighs(1),
  });
  await lab.given({
    claims: { "shop/one": claim, "shop/two": claim },
    pods: { "shop/a": { claims: ["one"], prefers: "n2" } },
  });
  expect(await lab.outcome("shop/a")).toEqual({ node: "n2" });
  await lab.given({ pods: { "shop/b": { claims: ["two"], prefers: "n2" } } }, "s156-berth");
  expect(await lab.outcome("shop/b")).toEqual({ node: "n1" });
  expect(await lab.claims()).toEqual({ "shop/one": "w2", "shop/two": "e1" });
});

const shelf = "example.com/shelf";
/** A container, or what an init container is too, that names the resource. */
const asking = (name: string, resources: Readonly<Record<string, unknown>>) => ({
  name,
  image: "registry.example.com/main:1",
  resources,
});

real(157, async (lab) => {
  const other = await lab.extender({ filter: answers({ Error: "nobody should ask" }) });
  await lab.given({ ...local, nodes: { n1: null, n2: null }, volumes: { d1: disk("n1") } });
  const managedResources = [{ name: shelf, ignoredByScheduler: true }];
  await lab.scheduler([lab.berth.asks, lab.berth.binds, other.entry({ managedResources })]);
  await lab.given({ claims: { "shop/cart": claim }, pods: { "shop/web": { claims: ["cart"] } } });
  expect(await lab.outcome("shop/web")).toEqual({ node: "n1" });
  expect(await lab.claims()).toEqual({ "shop/cart": "d1" });
  expect(other.calls).toEqual([]);

  await lab.given({ pods: { "shop/asks": { containers: [asking("main", { limits: { [shelf]: "1" } })] } } });
  expect(await lab.outcome("shop/asks")).toEqual({ reason: "SchedulerError", message: "nobody should ask" });
});

real(158, async (lab) => {
  const failing = await lab.extender({ filter: answers(500) });
  const next = await lab.extender({ filter: accepts("n1") });
  const volumes = { d1: disk("n1", "80Gi"), d2: disk("n2") };
  await lab.given({ ...local, nodes: { n1: null, n2: null, n3: null }, volumes });
  // Those that may be ignored come last, whatever the order here.
  await lab.scheduler([
    failing.entry({ ignorable: true }),
    next.entry({ ignorable: true }),
    lab.berth.asks,
    lab.berth.binds,
  ]);
  await lab.given({ claims: { "shop/cart": claim }, pods: { "shop/web": { claims: ["cart"] } } });
  expect(await lab.outcome("shop/web")).toEqual({ node: "n1" });
  expect(await lab.claims()).toEqual({ "shop/cart": "d1" });
  const offered = [failing, next].map(({ calls }) => calls.map(({ nodes }) => nodes.toSorted()));
  expect(offered).toEqual([[["n1", "n2"]], [["n1", "n2"]]]);
});

real(159, async (lab) => {
  await lab.given({ ...local, nodes: { n1: null } });
  const managedResources = [{ name: shelf, ignoredByScheduler: true }];
  const { asks, binds } = lab.berth;
  // One entry for all verbs: a resource may be named only once.
  await lab.scheduler([{ ...asks, ...binds, managedResources }]);
  await lab.scheduler([asks, binds], { schedulerName: "s159-all" });

  // A Pod that Berth is asked about is refused, for its claim has no volume; any other lands without.
  const claims = Object.fromEntries(["none", "zero", "limit", "init", "all"].map((name) => [`shop/${name}`, claim]));
  const zero = { requests: { [shelf]: "0" }, limits: { [shelf]: "0" } };
  await lab.given({
    claims,
    pods: {
      "shop/none": { claims: ["none"] },
      "shop/zero": { claims: ["zero"], containers: [asking("main", zero)] },
      "shop/limit": { claims: ["limit"], containers: [asking("main", { limits: { [shelf]: "1" } })] },
      "shop/init": { claims: ["init"], initContainers: [asking("first", { limits: { [shelf]: "1" } })] },
    },
  });
  await lab.given({ pods: { "shop/all": { claims: ["all"] } } }, "s159-all");
  const refused = unschedulable(lab, 1, `1 ${noVolumes}`, `1 ${vain}`);
  expect(await lab.outcome("shop/none")).toEqual({ node: "n1" });
  for (const name of ["zero", "limit", "init", "all"]) expect(await lab.outcome(`shop/${name}`), name).toEqual(refused);
});

real(160, async (lab) => {
  const other = await lab.extender({
    filter: () => ({
      NodeNames: [],
      FailedNodes: { n3: "the shelf is full", n4: "not read" },
      FailedAndUnresolvableNodes: { n4: "the shelf is gone" },
    }),
  });
  const volumes = { d1: disk("n1"), d3: disk("n3"), d4: disk("n4") };
  await lab.given({ ...local, nodes: { n1: null, n2: null, n3: null, n4: null }, volumes });
  const taints = [{ key: "example.com/kept", value: "free", effect: "NoSchedule" }];
  await lab.stage.patch("Node", undefined, "n1", { spec: { taints } });
  await lab.scheduler([lab.berth.asks, lab.berth.binds, other.entry()]);
  await lab.given({ claims: { "shop/cart": claim }, pods: { "shop/web": { claims: ["cart"] } } });
  // Only the node that is merely full is a candidate for preemption; what the plugins said of n1 is still there.
  const reasons = `1 ${noVolumes}, 1 node(s) had untolerated taint(s), 1 the shelf is full, 1 the shelf is gone`;
  expect(await lab.outcome("shop/web")).toEqual(unschedulable(lab, 4, reasons, `1 ${noVictims}, 3 ${vain}`));
  expect(other.calls[0]?.nodes.toSorted()).toEqual(["n3", "n4"]);
});

real(162, async (lab) => {
  const { asks, binds } = lab.berth;
  const volumes = { d1: disk("n1"), d2: disk("n1"), d3: disk("n1"), d4: disk("n1"), d5: disk("n1") };
  await lab.given({ ...local, nodes: { n1: null }, volumes });
  const broken = await lab.extender({ bind: answers({ Error: "the shelf is locked" }) });
  const managedResources = [{ name: shelf, ignoredByScheduler: true }];
  await lab.scheduler([asks], { schedulerName: "s162-none" });
  await lab.scheduler([asks, { ...binds, managedResources }]);
  await lab.scheduler([asks, broken.entry({ ignorable: true })], { schedulerName: "s162-ignorable" });
  await lab.scheduler([asks, broken.entry()], { schedulerName: "s162-strict" });

  const names = ["none", "asks", "silent", "ignorable", "strict"];
  await lab.given({ claims: Object.fromEntries(names.map((name) => [`shop/${name}`, claim])) });
  await lab.given({ pods: { "shop/none": { claims: ["none"] } } }, "s162-none");
  const containers = [asking("main", { limits: { [shelf]: "1" } })];
  await lab.given({ pods: { "shop/asks": { claims: ["asks"], containers }, "shop/silent": { claims: ["silent"] } } });
  await lab.given({ pods: { "shop/ignorable": { claims: ["ignorable"] } } }, "s162-ignorable");
  await lab.given({ pods: { "shop/strict": { claims: ["strict"] } } }, "s162-strict");

  for (const name of ["none", "asks", "silent", "ignorable"])
    expect(await lab.outcome(`shop/${name}`), name).toEqual({ node: "n1" });
  expect(await lab.outcome("shop/strict")).toEqual({ reason: "SchedulerError", message: "the shelf is locked" });
  // Berth binds a Pod after its claim; kube-scheduler's own binder knows of no claims.
  const { "shop/asks": bound, ...others } = await lab.claims();
  expect(bound).toMatch(/^d[1-5]$/);
  expect(others).toEqual({ "shop/none": "", "shop/silent": "", "shop/ignorable": "", "shop/strict": "" });
  expect(new Set(broken.calls.map(({ verb, pod }) => `${verb} ${pod}`))).toEqual(
    new Set(["bind ignorable", "bind strict"]),
  );
});

real(164, async (lab) => {
  await lab.given({ ...local, nodes: { n1: null, n2: null }, volumes: { d1: disk("n1") } });
  await lab.stage.patch("Node", undefined, "n1", { spec: { unschedulable: true } });
  const scheduler = await lab.scheduler([lab.berth.asks, lab.berth.binds]);
  await lab.given({ claims: { "shop/cart": claim }, pods: { "shop/web": { claims: ["cart"] } } });
  const reasons = `1 ${noVolumes}, 1 node(s) were unschedulable`;
  expect(await lab.outcome("shop/web")).toEqual(unschedulable(lab, 2, reasons, `2 ${vain}`));
  const rejected = [...(await scheduler.metrics()).matchAll(/^scheduler_unschedulable_pods\{plugin="(\w+)".*\} 1$/gm)];
  expect(rejected.map(([, plugin]) => plugin).sort()).toEqual(["Extender", "NodeUnschedulable"]);

  // What only the extender waits for wakes the Pod.
  await lab.given({ volumes: { d2: disk("n2") } });
  expect(await lab.placed("shop/web")).toBe("n2");
  expect(await lab.claims()).toEqual({ "shop/cart": "d2" });
});

real(196, async (lab) => {
  // A Berth that hears of everything 300 ms after kube-scheduler does: each volume's event and the filter call race, and it loses.
  const late = await lab.lateBerth(300);
  let refusals = 0;
  let made = false;
  const filter = async (_: readonly string[], body: string) => {
    const headers = { "content-type": "application/json" };
    const reply = await fetch(`${late.extenderUrl}/filter`, { method: "POST", headers, body });
    if (reply.status !== 200) return reply.status;
    const answer = (await reply.json()) as { NodeNames: readonly string[] };
    if (made && answer.NodeNames.length === 0) refusals++;
    return answer;
  };
  const between = await lab.extender({ filter });
  const { asks, binds } = berthEntries(late.extenderUrl);
  const { filterVerb: _, ...others } = asks;
  await lab.scheduler([between.entry(), others, binds]);

  const names = Array.from({ length: 10 }, (_, index) => `p${index}`);
  const each = <T>(of: (name: string) => T): Record<string, T> =>
    Object.fromEntries(names.map((name) => [name, of(name)]));
  const keyed = <T>(of: (name: string) => T): Record<string, T> =>
    Object.fromEntries(names.map((name) => [`shop/${name}`, of(name)]));
  await lab.given({
    nodes: { n1: null },
    classes: each(() => "wait"),
    claims: keyed((name) => ({ class: name, size: "10Gi" })),
  });
  await lab.stage.pass(1_000);
  await lab.given({ pods: keyed((name) => ({ claims: [name] })) });
  for (const name of names)
    expect(await lab.outcome(`shop/${name}`)).toEqual(unschedulable(lab, 1, `1 ${noVolumes}`, `1 ${vain}`));
  made = true;
  await lab.given({ volumes: each((name) => ({ on: "n1", class: name, size: "10Gi" })) });
  // Without a wake-up of ours each would wait five minutes.
  for (const name of names) expect(await lab.placed(`shop/${name}`, 30_000)).toBe("n1");
  expect(refusals).toBeGreaterThanOrEqual(names.length);
  expect(await lab.claims()).toEqual(keyed((name) => name));
});
