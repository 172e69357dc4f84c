/** Assumptions are hard: who may join one, what refuses one, and what ends one. */
import { expect, test } from "vitest";
import { claimUid, podUid, volumeName } from "../../src/scheduling/names.ts";
import type { Plan } from "../../src/scheduling/plan.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

const csi = { request: "6Gi", class: "csi" };

/** Two nodes with a 10Gi volume and a 10Gi pool each; static claims x and y, claims dx and dy to provision. */
function makeWorld(): World {
  return new World().add(
    makeNode("a"),
    makeNode("b"),
    makeClass("csi", { provisioner: "csi.example" }),
    makeDriver("csi.example", true),
    ...["a", "b"].map((node) => makeCapacity(`pool-${node}`, { class: "csi", on: node, capacity: "10Gi" })),
    makePV("v-a", { on: "a" }),
    makePV("v-b", { on: "b" }),
    makePVC("x"),
    makePVC("y"),
    makePVC("dx", csi),
    makePVC("dy", csi),
  );
}

const planOf = (world: World, pod: string, node: string, ...claims: string[]): Plan =>
  world.plan(world.pod(pod, ...claims), node);

const assume = (world: World, pod: string, node: string, ...claims: string[]) =>
  world.state.reservations.assume(podUid(`u${pod}`), planOf(world, pod, node, ...claims));

const fitting = (world: World, claim: string): string[] => world.fitting(world.pod("asking", claim));

test("an assumption says for whom, where and what; the volume knows it too", () => {
  const world = makeWorld();
  world.now = 5;
  expect(assume(world, "p", "a", "x", "dx")).toEqual({ ok: true });
  world.now = 12;
  const { reservations } = world.state;
  expect(reservations.assumptionCount).toBe(2);
  expect(reservations.of(claimUid("ux"))).toMatchObject({
    claim: "d/x",
    claimUid: "ux",
    node: "a",
    target: { kind: "volume", volume: "v-a", uid: "uid-v-a" },
    since: 5,
  });
  expect(reservations.assumedFor(volumeName("v-a"))?.claim).toBe("d/x");
  expect(reservations.assumedFor(volumeName("v-b"))).toBeUndefined();
  const [provision] = reservations.dump().assumptions;
  const [pool] = [...world.state.pools.all()].filter(({ promised }) => promised > 0n);
  expect(provision).toMatchObject({
    claim: "d/dx",
    node: "a",
    pods: ["up"],
    ageMs: 7,
    target: { kind: "provision", class: "csi", bytes: 6n << 30n, pool: pool?.key },
  });
  expect(reservations.dump().holds).toEqual([]);
});

test("a promise of a driver that publishes nothing names no pool", () => {
  const world = makeWorld().add(makeDriver("csi.example", false));
  assume(world, "p", "a", "dx");
  expect(world.state.reservations.of(claimUid("udx"))?.target).toStrictEqual({
    kind: "provision",
    class: "csi",
    bytes: 6n << 30n,
  });
});

test("a volume that is gone is assumed for nobody", () => {
  const world = makeWorld();
  assume(world, "p", "a", "x");
  world.state.delete("volume", "v-b");
  expect(world.state.reservations.assumptionCount).toBe(1);
  world.state.delete("volume", "v-a");
  expect(world.state.reservations.assumptionCount).toBe(0);
  expect(world.state.reservations.assumedFor(volumeName("v-a"))).toBeUndefined();
});

test("a claim that the API shows bound is not refused for what was once assumed for it", () => {
  const world = makeWorld();
  assume(world, "p", "a", "x");
  world.add(makePV("v-b", { on: "b", claim: "x", claimUid: "ux" }), makePVC("x", { volume: "v-b" }));
  expect(assume(world, "q", "b", "x")).toEqual({ ok: true });
});

test("what the driver published less, before the write was seen, is the promise's own", () => {
  const world = makeWorld().add(makePVC("small", { request: "4Gi", class: "csi" }));
  assume(world, "p", "a", "dx");
  world.add(makeCapacity("pool-a", { class: "csi", on: "a", capacity: "4Gi", version: "2" }));
  world.add(makePVC("dx", { ...csi, selectedNode: "a" }));
  expect(fitting(world, "small")).toEqual(["b"]);
  world.add(makePV("made", { on: "a", class: "csi", capacity: "6Gi", claim: "dx", claimUid: "udx" }));
  expect(fitting(world, "small")).toEqual(["a", "b"]);
});

test("an assumption ends the Pod's holds, those of other nodes too", () => {
  const world = makeWorld();
  world.state.reservations.hold(
    podUid("up"),
    ["a", "b"].map((node) => planOf(world, "p", node, "x")),
  );
  assume(world, "p", "a", "x");
  expect(world.plan(world.pod("q", "y"), "b").contended).toBe(false);
  expect(world.state.reservations.holds.count).toBe(0);
});

test("an assumption ends what the Pod holds for other claims", () => {
  const world = makeWorld();
  world.state.reservations.hold(podUid("up"), [planOf(world, "p", "a", "x", "dx")]);
  assume(world, "p", "a", "x");
  expect(world.state.reservations.holds.count).toBe(0);
});

test("what the driver published less, before a bind that comes again, is the promise's own", () => {
  const world = makeWorld().add(makePVC("small", { request: "4Gi", class: "csi" }));
  world.add(makePVC("dx", { ...csi, selectedNode: "a" }));
  world.add(makeCapacity("pool-a", { class: "csi", on: "a", capacity: "4Gi", version: "2" }));
  assume(world, "p", "a", "dx");
  world.add(makePV("made", { on: "a", class: "csi", capacity: "6Gi", claim: "dx", claimUid: "udx" }));
  expect(fitting(world, "small")).toEqual(["a", "b"]);
});

test("a plan that came too late is refused, whole, and says what is in the way", () => {
  const world = makeWorld();
  const late = planOf(world, "q", "a", "dy", "y");
  assume(world, "p", "a", "x");
  const refused = world.state.reservations.assume(podUid("uq"), late);
  expect(refused).toEqual({ ok: false, why: "volume v-a is assumed for claim d/x" });
  expect(world.state.reservations.of(claimUid("udy"))).toBeUndefined();
});

test("a refused assumption leaves the Pod's holds", () => {
  const world = makeWorld();
  const late = planOf(world, "q", "a", "y");
  world.state.reservations.hold(podUid("uq"), [planOf(world, "q", "b", "y")]);
  assume(world, "p", "a", "x");
  world.state.reservations.assume(podUid("uq"), late);
  expect(world.state.reservations.holds.count).toBe(1);
});

test("an assumed volume that is reserved for a claim made anew waits for the assumption's end", () => {
  const world = makeWorld();
  assume(world, "p", "a", "x");
  world.add(makePV("v-a", { on: "a", claim: "x" }), makePVC("x", { uid: "anew" }));
  const asking = world.pod("q", "x");
  expect(["a", "b"].map((node) => world.reasons(asking, node))).toEqual([["volumeAssumed"], ["preboundElsewhere"]]);
  world.add(makePV("w-a", { on: "a", capacity: "20Gi", claim: "x" }));
  expect(world.planned(asking, "a")).toEqual(["x=w-a"]);
  world.state.reservations.forget(podUid("up"));
  expect(world.planned(asking, "a")).toEqual(["x=v-a"]);
});

test("an assumed volume that is reserved for another claim is that claim's", () => {
  const world = makeWorld();
  assume(world, "p", "a", "x");
  world.add(makePV("v-a", { on: "a", claim: "y" }));
  const asking = world.pod("q", "y");
  expect(["a", "b"].map((node) => world.reasons(asking, node))).toEqual([[], ["preboundElsewhere"]]);
  expect(world.planned(asking, "a")).toEqual(["y=v-a"]);
});

test("what the watch shows late, of before the version that a promise stands on, is no word against it", () => {
  const world = makeWorld();
  assume(world, "p", "a", "x");
  const { reservations } = world.state;
  const standing = (): boolean => reservations.of(claimUid("ux")) !== undefined;
  reservations.standsOn(claimUid("ux"), "5");
  reservations.standsOn(claimUid("nobody"), "5");
  world.add(makePV("v-a", { on: "a", claim: "y", version: "3" }));
  expect(standing()).toBe(true);
  // Nor for it: the claim's own claimRef of an earlier try, which was taken off before the promise was written.
  world.add(makePV("v-a", { on: "a", claim: "x", claimUid: "ux", version: "4" }));
  expect(standing()).toBe(true);
  world.add(makePV("v-a", { on: "a", claim: "y", version: "6" }));
  expect(standing()).toBe(false);
});

const remade: Record<string, (world: World) => unknown> = {
  "is gone": (world) => world.state.delete("volume", "v-a"),
  "was made anew": (world) => world.add(makePV("v-a", { on: "a", uid: "anew" })),
};

test.for(Object.entries(remade))("a planned volume that %s is not assumed", ([, change]) => {
  const world = makeWorld();
  const plan = planOf(world, "p", "a", "x");
  change(world);
  expect(world.state.reservations.assume(podUid("up"), plan)).toEqual({ ok: false, why: "volume v-a is gone" });
  expect(world.state.reservations.assumptionCount).toBe(0);
});

const joins: Record<string, { first: [string, string]; second: [string, string]; joined: boolean }> = {
  "the same volume": { first: ["a", "x"], second: ["a", "x"], joined: true },
  "another volume": { first: ["a", "x"], second: ["b", "x"], joined: false },
  "the same node's pool": { first: ["a", "dx"], second: ["a", "dx"], joined: true },
  "another node's pool": { first: ["a", "dx"], second: ["b", "dx"], joined: false },
};

test.for(Object.entries(joins))("a claim that is assumed is planned for %s", ([, { first, second, joined }]) => {
  const world = makeWorld();
  const plans = [planOf(world, "p", ...first), planOf(world, "q", ...second)] as const;
  const { reservations } = world.state;
  expect(reservations.assume(podUid("up"), plans[0])).toEqual({ ok: true });
  expect(reservations.assume(podUid("uq"), plans[1])).toEqual(
    joined ? { ok: true } : { ok: false, why: `claim d/${first[1]} is assumed on node a` },
  );
  expect([...(reservations.of(claimUid(`u${first[1]}`))?.pods ?? [])]).toEqual(joined ? ["up", "uq"] : ["up"]);
});

test("a claim that is assumed on a volume is not joined to provision, nor the other way", () => {
  const world = makeWorld().add(makePVC("both", csi), makePV("w", { on: "a", class: "csi" }));
  const onVolume = planOf(world, "p", "a", "both");
  world.state.delete("volume", "w");
  const provisioned = planOf(world, "p", "a", "both");
  world.add(makePV("w", { on: "a", class: "csi" }));
  const outcomes = [
    [onVolume, provisioned],
    [provisioned, onVolume],
  ].map((plans) => {
    const fresh = makeWorld().add(makePVC("both", csi), makePV("w", { on: "a", class: "csi" }));
    return plans.map((plan) => fresh.state.reservations.assume(podUid("up"), plan).ok);
  });
  expect(outcomes).toEqual([
    [true, false],
    [true, false],
  ]);
});

test("the last Pod that leaves an assumption ends it, and takes its holds along", () => {
  const world = makeWorld();
  const { reservations } = world.state;
  assume(world, "p", "a", "x", "dx");
  assume(world, "q", "a", "x");
  reservations.hold(podUid("up"), [planOf(world, "p", "b", "y")]);
  reservations.forget(podUid("up"));
  expect(reservations.holds.count).toBe(0);
  expect(reservations.dump().assumptions.map(({ claim, pods }) => [claim, pods])).toEqual([["d/x", ["uq"]]]);
  expect(fitting(world, "y")).toEqual(["b"]);
  expect(fitting(world, "dy")).toEqual(["a", "b"]);
  reservations.forget(podUid("up"));
  expect(reservations.assumptionCount).toBe(1);
  reservations.forget(podUid("uq"));
  expect(reservations.assumptionCount).toBe(0);
  expect(fitting(world, "y")).toEqual(["a", "b"]);
});

const annotated = {
  ...(makePVC("dx")["metadata"] as Raw),
  annotations: { "pv.kubernetes.io/bind-completed": "yes" },
};

const written: Record<string, { claim: string; seen: Raw; ends: boolean }> = {
  "the volume names the claim": {
    claim: "x",
    seen: makePV("v-a", { on: "a", claim: "x", claimUid: "ux" }),
    ends: true,
  },
  "the volume changed otherwise": { claim: "x", seen: makePV("v-a", { on: "a", labels: { new: "1" } }), ends: false },
  "the volume names another claim": { claim: "x", seen: makePV("v-a", { on: "a", claim: "y" }), ends: true },
  "the volume names an earlier claim of the name": {
    claim: "x",
    seen: makePV("v-a", { on: "a", claim: "x", claimUid: "older" }),
    ends: true,
  },
  "the volume named another claim before the promise": {
    claim: "x",
    seen: makePV("v-a", { on: "a", claim: "y", version: "0" }),
    ends: false,
  },
  "the volume names the claim without its uid": {
    claim: "x",
    seen: makePV("v-a", { on: "a", claim: "x" }),
    ends: false,
  },
  "another volume names the claim": {
    claim: "x",
    seen: makePV("v-b", { on: "b", claim: "x", claimUid: "ux" }),
    ends: false,
  },
  "the claim has the selected node": { claim: "dx", seen: makePVC("dx", { ...csi, selectedNode: "a" }), ends: true },
  "the claim has another node": { claim: "dx", seen: makePVC("dx", { ...csi, selectedNode: "b" }), ends: false },
  "the claim changed otherwise": { claim: "dx", seen: makePVC("dx", { ...csi, version: "2" }), ends: false },
  "the claim is bound": { claim: "dx", seen: makePVC("dx", { ...csi, volume: "made" }), ends: true },
  "the claim has the annotation of a bound one and no volume": {
    claim: "dx",
    seen: { ...makePVC("dx", csi), metadata: annotated },
    ends: false,
  },
  "the claim is half bound": {
    claim: "dx",
    seen: makePVC("dx", { ...csi, volume: "made", halfBound: true }),
    ends: false,
  },
  "a static claim has the selected node": { claim: "x", seen: makePVC("x", { selectedNode: "a" }), ends: false },
  "a static claim is bound": { claim: "x", seen: makePVC("x", { volume: "v-a" }), ends: false },
};

test.for(Object.entries(written))("%s: whether the assumption ends", ([, { claim, seen, ends }]) => {
  const world = makeWorld();
  assume(world, "p", "a", claim);
  world.add(seen);
  expect(world.state.reservations.assumptionCount).toBe(ends ? 0 : 1);
});

test("a promise to provision whose write is seen still takes the capacity", () => {
  const world = makeWorld();
  assume(world, "p", "a", "dx");
  world.add(makePVC("dx", { ...csi, selectedNode: "a" }));
  expect(fitting(world, "dy")).toEqual(["b"]);
});

const claimsGone: Record<string, (world: World) => unknown> = {
  "is gone": (world) => world.state.delete("claim", "d/dx"),
  "was made anew": (world) => world.add(makePVC("dx", { ...csi, uid: "anew" })),
};

test.for(Object.entries(claimsGone))("capacity for a claim that %s is free once the Pod is forgotten", ([, change]) => {
  const world = makeWorld();
  assume(world, "p", "a", "dx");
  change(world);
  expect(fitting(world, "dy")).toEqual(["b"]);
  world.state.reservations.forget(podUid("up"));
  expect(fitting(world, "dy")).toEqual(["a", "b"]);
});

test("the generation tells assumptions made and ended, and nothing else", () => {
  const world = makeWorld();
  const { reservations } = world.state;
  const seen: number[] = [reservations.generation];
  const after = (change: () => unknown): void => {
    change();
    seen.push(reservations.generation);
  };
  after(() => assume(world, "p", "a", "x"));
  after(() => assume(world, "q", "a", "x"));
  after(() => reservations.hold(podUid("ur"), [planOf(world, "r", "b", "y")]));
  after(() => reservations.forget(podUid("up")));
  after(() => reservations.forget(podUid("uq")));
  expect(seen.map((generation, index) => generation > (seen[index - 1] ?? generation))).toEqual([
    false,
    true,
    false,
    false,
    false,
    true,
  ]);
});
