/** What is known of a claim before any node is looked at: what is reserved for it, and whether its node is there. */
import { expect, test } from "vitest";
import { filterNodes } from "../../src/scheduling/filter.ts";
import { World } from "../support/world.ts";

function makeWorld(...lines: string[]): World {
  const world = new World();
  for (const line of lines) world.apply(line);
  return world;
}

test("of several volumes that are reserved for a claim it takes the smallest that the node reaches, the first by name", () => {
  const volumes = ["pv d 30Gi on=a for=x", "pv c 20Gi on=a for=x", "pv b 20Gi on=a for=x", "pv e 10Gi on=b for=x"];
  for (const lines of [volumes, volumes.toReversed()]) {
    const world = makeWorld("node a", "node b", ...lines, "pvc x 5Gi");
    const pod = world.pod("p", "x");
    expect([...world.planned(pod, "a"), ...world.planned(pod, "b")]).toEqual(["x=b", "x=e"]);
  }
});

test("a selected node that is not there holds nobody, and the cache may lack it", () => {
  const world = makeWorld("node a", "pv v 10Gi on=a", "pvc x 5Gi selected=gone");
  const pod = world.pod("p", "x");
  expect(world.planned(pod, "a")).toEqual(["x=v"]);
  expect(filterNodes(world.state, pod, world.nodes())).toMatchObject({ doubts: [{ kind: "node", key: "gone" }] });
});
