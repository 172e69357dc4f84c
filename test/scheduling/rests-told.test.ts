/** What the table of rests tells others: whole, and news only where there is news. */
import { expect, test } from "vitest";
import { claimUid, nodeName } from "../../src/scheduling/names.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePVC } from "../support/make.ts";
import { World } from "../support/world.ts";

const published = (size: string, version: string) =>
  makeCapacity("pool", { class: "csi", on: "n", capacity: size, version });

/** A node with a pool of 10Gi, and a claim for which the provisioner refuses the node. */
function makeWorld(): World {
  return new World().add(
    makeNode("n"),
    makeNode("m"),
    makeClass("csi", { provisioner: "csi.example" }),
    makeDriver("csi.example", true),
    published("10Gi", "1"),
  );
}

function refuse(world: World, claim: string, node = "n"): void {
  world.add(makePVC(claim, { class: "csi", selectedNode: node }));
  world.add(makePVC(claim, { class: "csi" }));
}

const resting = (world: World): string[] => world.state.rests.dump().map(({ claim, node }) => `${claim} ${node}`);

test("a rest is told with its claim, its place and its times", () => {
  const world = makeWorld();
  refuse(world, "x");
  world.now = 1_000;
  const [pool] = world.state.pools.all();
  const told = { node: "n", pool: pool?.key, refusals: 1, sinceMs: 1_000, leftMs: 4_000 };
  expect(world.state.rests.dump()).toEqual([{ claim: "ux", ...told }]);
  expect(world.state.rests.of(claimUid("ux"))).toEqual([told]);
  expect(world.state.rests.of(claimUid("uy"))).toEqual([]);
});

test("each refusal, end and forgetting is another generation", () => {
  const { rests } = makeWorld().state;
  const seen = [rests.generation];
  for (const name of ["x", "y"]) {
    rests.refused(claimUid(name), nodeName("m"), undefined);
    seen.push(rests.generation);
  }
  for (const name of ["x", "y"]) {
    rests.forget(claimUid(name));
    seen.push(rests.generation);
  }
  expect(new Set(seen).size).toBe(5);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});

test("what a forgotten claim rested on is not remembered by its pool", () => {
  const world = makeWorld();
  refuse(world, "x");
  refuse(world, "y");
  world.state.rests.forget(claimUid("ux"));
  const { generation } = world.state.rests;
  expect(resting(world)).toEqual(["uy n"]);
  world.add(published("20Gi", "2"));
  expect(resting(world)).toEqual([]);
  const after = world.state.rests.generation;
  expect(after).toBeGreaterThan(generation);
  world.state.rests.forget(claimUid("uy"));
  const forgotten = world.state.rests.generation;
  world.add(published("30Gi", "3"));
  expect(world.state.rests.generation).toBe(forgotten);
});

const publications: Record<string, { sizes: readonly string[]; rests: boolean }> = {
  "the same again": { sizes: ["10Gi"], rests: true },
  less: { sizes: ["5Gi"], rests: true },
  more: { sizes: ["11Gi"], rests: false },
  "less, and then a little more": { sizes: ["5Gi", "6Gi"], rests: false },
  "less, and then the same": { sizes: ["5Gi", "5Gi"], rests: true },
};

test.for(Object.entries(publications))("a driver that publishes %s", ([, { sizes, rests }]) => {
  const world = makeWorld();
  refuse(world, "x");
  for (const [index, size] of sizes.entries()) world.add(published(size, String(index + 2)));
  expect(resting(world)).toEqual(rests ? ["ux n"] : []);
});

test("of a pool that published nothing the first value is no news, and the next rise is", () => {
  const world = makeWorld();
  const [pool] = world.state.pools.all();
  world.state.delete("capacity", "kube-system/pool");
  world.state.rests.refused(claimUid("ux"), nodeName("n"), pool);
  world.add(published("10Gi", "2"));
  expect(resting(world)).toEqual(["ux n"]);
  world.add(published("11Gi", "3"));
  expect(resting(world)).toEqual([]);
});

test("a refusal long after the last pause begins a new row; one shortly after makes the pause longer", () => {
  const pauses = [5_000, 600_000, 604_999, 605_000].map((at) => {
    const world = makeWorld();
    refuse(world, "x");
    world.now = at;
    refuse(world, "x");
    return world.state.rests.of(claimUid("ux")).map(({ refusals, leftMs }) => [refusals, leftMs]);
  });
  expect(pauses).toEqual([[[2, 10_000]], [[2, 10_000]], [[2, 10_000]], [[1, 5_000]]]);
});
