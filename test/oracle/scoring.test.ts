/** Each strategy's scores on random clusters, beside the same sentences computed from the lists that the cluster was made of. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Plan } from "../../src/scheduling/plan.ts";
import { type ShapePoint, type Strategy, strategies } from "../../src/scheduling/scoring.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePV, makePVC } from "../support/make.ts";
import { World } from "../support/world.ts";
import { upstreamScore } from "../upstream/upstream-score.ts";

interface ModelDisk {
  readonly class: string;
  readonly size: number;
  readonly taken: boolean;
}

interface Model {
  /** Sizes in Gi. `free` is what the pool publishes, 0 for no pool. */
  readonly nodes: readonly { readonly disks: readonly ModelDisk[]; readonly free: number }[];
  readonly claims: readonly { readonly class: string; readonly size: number }[];
  /** Other Pods, each with one claim, planned on a node and promised it, where it fits. */
  readonly others: readonly {
    readonly class: string;
    readonly size: number;
    readonly on: number;
    readonly bind: boolean;
  }[];
  readonly shape: readonly ShapePoint[];
}

const classes = fc.constantFrom("local", "local", "csi");
const size = fc.integer({ min: 1, max: 6 });
const disk = fc.record({ class: classes, size: fc.integer({ min: 1, max: 12 }), taken: fc.boolean() });
const models: fc.Arbitrary<Model> = fc.record({
  nodes: fc.array(fc.record({ disks: fc.array(disk, { maxLength: 6 }), free: fc.constantFrom(0, 6, 12, 12, 40) }), {
    minLength: 1,
    maxLength: 7,
  }),
  claims: fc.array(fc.record({ class: classes, size }), { minLength: 1, maxLength: 3 }),
  others: fc.array(fc.record({ class: classes, size, on: fc.nat(6), bind: fc.boolean() }), { maxLength: 4 }),
  shape: fc
    .uniqueArray(fc.record({ utilization: fc.nat(100), score: fc.nat(10) }), {
      minLength: 1,
      maxLength: 4,
      selector: ({ utilization }) => utilization,
    })
    .map((points) => points.toSorted((a, b) => a.utilization - b.utilization)),
});

interface Told {
  readonly node: string;
  readonly contended: boolean;
  readonly plan: Plan;
}

/** What the model has become: volumes promised to binds are taken, and pools have promises. */
interface Facts {
  readonly taken: Set<string>;
  readonly promised: Map<string, number>;
}

const volumeName = (node: number, index: number): string => `v${node}-${index}`;

function build(model: Model, strategy: Strategy): { world: World; facts: Facts } {
  const world = new World({ scoring: { strategy, shape: model.shape } });
  world.add(makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true));
  const facts: Facts = { taken: new Set(), promised: new Map() };
  for (const [number, { disks, free }] of model.nodes.entries()) {
    const on = `n${number}`;
    world.add(makeNode(on));
    if (free > 0) world.add(makeCapacity(`room-${on}`, { class: "csi", on, capacity: `${free}Gi` }));
    for (const [index, { taken, ...one }] of disks.entries()) {
      const name = volumeName(number, index);
      const claim = taken ? { claim: `of-${name}`, claimUid: "u" } : {};
      world.add(makePV(name, { on, class: one.class, capacity: `${one.size}Gi`, ...claim }));
      if (taken) facts.taken.add(name);
    }
  }
  for (const [index, one] of model.claims.entries()) {
    world.add(makePVC(`c${index}`, { class: one.class, request: `${one.size}Gi` }));
  }
  for (const [index, other] of model.others.entries()) promise(world, facts, other, index);
  return { world, facts };
}

function promise(world: World, facts: Facts, other: Model["others"][number], index: number): void {
  world.add(makePVC(`o${index}`, { class: other.class, request: `${other.size}Gi` }));
  const pod = world.pod(`other${index}`, `o${index}`);
  const node = `n${other.on}`;
  if (!world.fitting(pod).includes(node)) return;
  const plan = world.plan(pod, node);
  if (!other.bind) {
    world.state.reservations.hold(pod.uid, [plan]);
    return;
  }
  expect(world.state.reservations.assume(pod.uid, plan).ok).toBe(true);
  for (const planned of plan.claims) {
    if (planned.kind === "static") facts.taken.add(planned.volume.name);
    else facts.promised.set(node, (facts.promised.get(node) ?? 0) + other.size);
  }
}

/** Smaller is better. */
function naiveCost({
  strategy,
  model,
  facts,
  told,
}: {
  strategy: Strategy;
  model: Model;
  facts: Facts;
  told: Told;
}): number {
  const number = Number(told.node.slice(1));
  const wants = told.plan.claims.map((planned) => model.claims[Number(planned.claim.key.slice(3))]?.size ?? 0);
  const disks = (model.nodes[number]?.disks ?? []).map((one, index) => ({ ...one, name: volumeName(number, index) }));
  const takes = told.plan.claims.map((planned) =>
    planned.kind === "static" ? disks.find(({ name }) => name === planned.volume.name) : undefined,
  );
  if (strategy === "least-surplus") {
    const provisions = takes.filter((one) => !one).length;
    const surplus = takes.reduce((sum, one, index) => sum + (one ? one.size - (wants[index] ?? 0) : 0), 0);
    return provisions * 1000 + surplus;
  }
  const isTaken = (name: string): boolean => facts.taken.has(name);
  const fills = takes.map((take) => {
    if (take) {
      const ofClass = disks.filter((one) => one.class === take.class);
      const after = ofClass.filter(({ name }) => isTaken(name) || takes.some((one) => one?.name === name));
      return Math.floor((100 * after.length) / ofClass.length);
    }
    const used = disks
      .filter((one) => one.class === "csi" && isTaken(one.name))
      .reduce((sum, one) => sum + one.size, 0);
    const asked = takes.reduce((sum, one, index) => sum + (one ? 0 : (wants[index] ?? 0)), 0);
    const total = used + (model.nodes[number]?.free ?? 0);
    return Math.floor((100 * (used + (facts.promised.get(told.node) ?? 0) + asked)) / total);
  });
  const fill = Math.floor(fills.reduce((sum, one) => sum + one, 0) / fills.length);
  return strategy === "spread" ? fill : -fill;
}

function naiveUpstream(model: Model, { node, plan }: Told): number {
  const fixed = new Map<string, [number, number]>();
  const made = new Map<string, [number, number]>();
  for (const planned of plan.claims) {
    const want = model.claims[Number(planned.claim.key.slice(3))]?.size ?? 0;
    if (planned.kind === "static") {
      const [requested, capacity] = fixed.get(planned.volume.class) ?? [0, 0];
      fixed.set(planned.volume.class, [requested + want, capacity + Number(planned.volume.capacity >> 30n)]);
    } else {
      const [requested] = made.get("csi") ?? [0];
      made.set("csi", [requested + want, model.nodes[Number(node.slice(1))]?.free ?? 0]);
    }
  }
  const shape = model.shape.map(({ utilization, score }) => [utilization, score] as const);
  return upstreamScore(shape, [...(fixed.size > 0 ? fixed : made).values()]);
}

function naiveScores(strategy: Strategy, model: Model, facts: Facts, told: readonly Told[]): Record<string, number> {
  const scores: Record<string, number> = {};
  for (const contended of [false, true]) {
    const group = told.filter((one) => one.contended === contended);
    const costs = new Map(group.map((one) => [one.node, naiveCost({ strategy, model, facts, told: one })]));
    const levels = [...new Set(costs.values())].sort((a, b) => a - b);
    const [high, low] = contended ? [1, 0] : [10, 2];
    for (const one of group) {
      const points = naiveUpstream(model, one);
      const place = levels.indexOf(costs.get(one.node) ?? 0);
      if (strategy !== "upstream") {
        scores[one.node] = levels.length === 1 ? high : high - Math.ceil((place * (high - low)) / (levels.length - 1));
      } else if (contended) scores[one.node] = points >= 50 ? 1 : 0;
      else scores[one.node] = Math.max(told.length > group.length ? 2 : 0, Math.floor((points + 5) / 10));
    }
  }
  return new Set(Object.values(scores)).size < 2 ? {} : scores;
}

const runs = 600;

test.for(strategies)(`%s: ${runs} random clusters score as the definition says`, { timeout: 120_000 }, (strategy) => {
  let scored = 0;
  let contended = 0;
  fc.assert(
    fc.property(models, (model) => {
      const { world, facts } = build(model, strategy);
      const pod = world.pod("p", ...model.claims.map((_, index) => `c${index}`));
      const told = world.fitting(pod).map((node): Told => {
        const plan = world.plan(pod, node);
        return { node, plan, contended: plan.contended };
      });
      const want = naiveScores(strategy, model, facts, told);
      expect(world.scores(pod)).toEqual(want);
      if (Object.keys(want).length > 0) scored++;
      if (told.some((one) => one.contended) && told.some((one) => !one.contended)) contended++;
    }),
    { numRuns: runs, seed: 20 },
  );
  // The clusters are not all dull.
  expect(scored).toBeGreaterThan(runs / 6);
  expect(contended).toBeGreaterThan(runs / 100);
});
