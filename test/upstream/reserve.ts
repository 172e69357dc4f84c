/**
 * VB §8.9: Reserve. Upstream changes copies of volumes and claims in its cache, guarded by resourceVersion; Berth keeps promises beside
 * the cache and decides without a pause between look and promise, so that no version can change in between.
 */
import { describe, expect } from "vitest";
import { makePVC } from "../support/make.ts";
import { describePlan, type World } from "../support/world.ts";
import { claims, pvAt, upstreamWorld, volumes } from "./fixtures.ts";
import { askOn, expectDeparture, type NodeAnswer, scenario, texts } from "./support.ts";

const { u1, u2, b, d1 } = claims;
const { pv1a, pv1b, pvBound } = volumes;

/** Plans the Pod on node1 and promises it. */
function assume(world: World, name: string, ...mounts: string[]) {
  const pod = world.pod(name, ...mounts);
  const plan = world.plan(pod, "node1");
  return { pod, plan, planned: describePlan(plan), outcome: world.state.reservations.assume(pod.uid, plan) };
}

/** "claim node volume-or-class" of each assumption. */
function assumed(world: World): string[] {
  return world.state.reservations
    .dump()
    .assumptions.map(
      ({ claim, node, target }) => `${claim} ${node} ${target.kind === "volume" ? target.volume : `+${target.class}`}`,
    );
}

describe("VB 8.9: reserve", () => {
  scenario(95, "core", "all bound: nothing to promise", () => {
    const world = upstreamWorld(b, pvBound);
    const { planned, outcome } = assume(world, "p", "b");
    expect({ planned, outcome, assumed: assumed(world) }).toEqual({
      planned: ["b==pvbound"],
      outcome: { ok: true },
      assumed: [],
    });
  });
  scenario(96, "core", "one claim on one volume: nobody else is planned on it", () => {
    const world = upstreamWorld(u1, pv1a, makePVC("v1", { request: "1G", class: "wait" }));
    expect(assume(world, "p", "u1").planned).toEqual(["u1=pv1a"]);
    expect(assumed(world)).toEqual(["d/u1 node1 pv1a"]);
    expect(askOn(world, world.pod("q", "v1"), "node1")).toBe(texts.bind);
    expect(askOn(world, world.pod("p", "u1"), "node1")).toEqual(["u1=pv1a"]);
  });
  scenario(97, "core", "two claims, two promises", () => {
    const world = upstreamWorld(u1, u2, pv1a, pv1b);
    expect(assume(world, "p", "u1", "u2").planned).toEqual(["u1=pv1a", "u2=pv1b"]);
    expect(assumed(world)).toEqual(["d/u1 node1 pv1a", "d/u2 node1 pv1b"]);
  });
  scenario(98, "core", "a volume that names the claim already stays as planned", () => {
    const claimed = pvAt("pv1a", "node1", { capacity: "5G", claim: "u1", claimUid: "uu1", phase: "Available" });
    const world = upstreamWorld(u1, claimed, pvAt("closer", "node1", { capacity: "1G" }));
    const { planned, outcome } = assume(world, "p", "u1");
    expect({ planned, outcome }).toEqual({ planned: ["u1=pv1a"], outcome: { ok: true } });
    expect(assume(world, "p", "u1").planned).toEqual(["u1=pv1a"]);
  });
  scenario(99, "core", "a volume that is gone: nothing of the plan is promised", () => {
    const world = upstreamWorld(u1, u2, pv1a, pv1b);
    const pod = world.pod("p", "u1", "u2");
    const plan = world.plan(pod, "node1");
    world.state.delete("volume", "pv1b");
    expect(world.state.reservations.assume(pod.uid, plan)).toEqual({ ok: false, why: "volume pv1b is gone" });
    expect(assumed(world)).toEqual([]);
    expect(askOn(world, world.pod("q", "u1"), "node1")).toEqual(["u1=pv1a"]);
    expect(askOn(world, pod, "node1")).toBe(texts.bind);
  });
  scenario(100, "core", "a volume and a claim to provision", () => {
    const world = upstreamWorld(u1, d1, pv1a);
    expect(assume(world, "p", "u1", "d1").planned).toEqual(["d1=+waitp", "u1=pv1a"]);
    expect(assumed(world)).toEqual(["d/d1 node1 +waitp", "d/u1 node1 pv1a"]);
    expect(askOn(world, world.pod("q", "d1"), "node2")).toBe(texts.bind);
    expect(askOn(world, world.pod("q", "d1"), "node1")).toEqual(["d1=+waitp"]);
  });
  scenario(
    101,
    "departure",
    "decision 12: a claim's new version fails upstream's Reserve; ours plans on what is there",
    () => {
      const world = upstreamWorld(u1, d1, pv1a);
      const pod = world.pod("p", "u1", "d1");
      const before = world.plan(pod, "node1");
      world.add(makePVC("d1", { request: "1Gi", class: "waitp", version: "2" }));
      // What changed does not matter to the plan, which is made anew with the promise.
      const { planned, outcome } = assume(world, "p", "u1", "d1");
      expect(planned).toEqual(describePlan(before));
      const upstream = { ok: false, why: '"d/d1" is out of sync (stored: 2, assume: 1)' } as const;
      expectDeparture({ upstream, berth: outcome, want: { ok: true } });
      // Another node selected meanwhile matters.
      world.state.reservations.forget(pod.uid);
      world.add(makePVC("d1", { request: "1Gi", class: "waitp", version: "3", selectedNode: "node2" }));
      expect(askOn(world, pod, "node1")).toBe(texts.bind);
      expect(assumed(world)).toEqual([]);
    },
  );
  scenario(102, "core", "forgotten, everything is as before", () => {
    const world = upstreamWorld(u1, d1, pv1a, makePVC("v1", { request: "1G", class: "wait" }));
    const before = { dump: world.state.reservations.dump(), other: askOn(world, world.pod("q", "v1"), "node1") };
    const { pod } = assume(world, "p", "u1", "d1");
    world.state.reservations.forget(pod.uid);
    expect({
      dump: world.state.reservations.dump(),
      other: askOn(world, world.pod("q", "v1"), "node1"),
    }).toEqual(before);
    expect([...world.state.pools.demands()]).toEqual([]);
    expect(before.other).toEqual(["v1=pv1a"]);
  });
  scenario(103, "core", "asked and promised fifty times, the same of two equal volumes", () => {
    const equal = ["pvy", "pvx"].map((name) => pvAt(name, "node1", { capacity: "5G" }));
    const world = upstreamWorld(u1, ...equal);
    const pod = world.pod("p", "u1");
    for (let round = 0; round < 50; round++) {
      expect(askOn(world, pod, "node1")).toEqual(["u1=pvx"]);
      expect(assume(world, "p", "u1").outcome).toEqual({ ok: true });
      expect(askOn(world, pod, "node1")).toEqual(["u1=pvx"]);
      if (round % 2 === 1) world.state.reservations.forget(pod.uid);
    }
  });
  scenario(104, "departure", "decision 12: a promise ends when the watch shows it, not with any new version", () => {
    const version = (number: string, facts = {}) =>
      pvAt("pv1a", "node1", { capacity: "5G", version: number, ...facts });
    const world = upstreamWorld(u1, version("1"), makePVC("v1", { request: "1G", class: "wait" }));
    const other = world.pod("q", "v1");
    const { pod } = assume(world, "p", "u1");
    // The same version again: both keep the promise.
    world.add(version("1"));
    expect(askOn(world, other, "node1")).toBe(texts.bind);
    // A new version without our claimRef: upstream drops the assumption, though its own write may be on the way.
    world.add(version("2"));
    expectDeparture<NodeAnswer>({ upstream: ["v1=pv1a"], berth: askOn(world, other, "node1"), want: texts.bind });
    // Restoring an older promise must not remove a newer one: a Pod that leaves twice takes nothing of the next.
    world.state.reservations.forget(pod.uid);
    expect(assume(world, "q", "v1").outcome).toEqual({ ok: true });
    world.state.reservations.forget(pod.uid);
    expect(assumed(world)).toEqual(["d/v1 node1 pv1a"]);
    // The version that names the claim ends the promise: the object says so itself.
    world.add(version("3", { claim: "v1", claimUid: "uv1", phase: "Available" }));
    expect(assumed(world)).toEqual([]);
    expect(askOn(world, pod, "node1")).toBe(texts.bind);
    expect(askOn(world, other, "node1")).toEqual(["v1=pv1a"]);
    // A volume that goes takes its promise with it, also when it comes back at once under its name.
    world.add(version("4", { uid: "another" }));
    expect(askOn(world, pod, "node1")).toEqual(["u1=pv1a"]);
  });
});
