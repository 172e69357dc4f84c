/** What one decision says of the Pod as a whole, and what can be asked of its verdicts node by node. */
import { expect, test } from "vitest";
import { filterNodes, planNode } from "../../src/scheduling/filter.ts";
import { nodeName } from "../../src/scheduling/names.ts";
import type { Pod } from "../../src/scheduling/objects.ts";
import type { NodeVerdicts } from "../../src/scheduling/plan.ts";
import { nodeReasons } from "../../src/scheduling/reasons.ts";
import { World } from "../support/world.ts";

function given(...lines: string[]): World {
  const world = new World();
  for (const line of lines) world.apply(line);
  return world;
}

function judge(world: World, pod: Pod, ...names: string[]): NodeVerdicts {
  const verdict = filterNodes(world.state, pod, names.map(nodeName));
  if (verdict.kind !== "judged") throw new Error(verdict.kind);
  return verdict.nodes;
}

test("64 unbound claims are planned, and one more is too many", () => {
  const claims = Array.from({ length: 65 }, (_, nth) => `x${nth}`);
  const world = given("node a", ...claims.map((name) => `pvc ${name} 1Gi`));
  expect(filterNodes(world.state, world.pod("p", ...claims.slice(1)), [nodeName("a")]).kind).toBe("judged");
  expect(planNode(world.state, world.pod("p", ...claims), nodeName("a"))).toMatchObject({
    kind: "fault",
    object: { kind: "pod", key: "d/p" },
    problem: "it mounts 65 unbound claims, and 64 are planned at most",
  });
});

test("a bound claim whose volume cannot be read is at fault, and no other", () => {
  const world = given("node a", "pvc x 5Gi volume=v", "pv v 5Gi on=a for=x uid=ux", "pv w many on=a");
  expect(planNode(world.state, world.pod("p", "x"), nodeName("a"))).toMatchObject({
    kind: "judged",
    nodes: { fits: true },
  });
  world.apply("pv v many on=a for=x uid=ux");
  const verdict = planNode(world.state, world.pod("p", "x"), nodeName("a"));
  expect(verdict).toMatchObject({
    kind: "fault",
    object: { kind: "volume", key: "v" },
    problem: expect.stringContaining("many"),
  });
});

test("a node that nobody knows is refused as unknown, alone or among others", () => {
  const world = given("node a", "pv v 5Gi on=a", "pvc x 5Gi");
  const pod = world.pod("p", "x");
  const unknown = { fits: false, refusals: [{ reason: "nodeUnknown" }], text: nodeReasons.nodeUnknown };
  expect(planNode(world.state, pod, nodeName("z"))).toMatchObject({ kind: "judged", nodes: unknown });
  const verdicts = judge(world, pod, "z", "a");
  expect([verdicts.fits(0), verdicts.fits(1), verdicts.feasibleCount]).toEqual([false, true, 1]);
  expect([verdicts.reason(0), verdicts.reason(1)]).toEqual(["nodeUnknown", undefined]);
  expect([verdicts.text(0), verdicts.text(1)]).toEqual([nodeReasons.nodeUnknown, ""]);
  expect(verdicts.verdict(0)).toEqual(unknown);
  expect(() => verdicts.verdict(2)).toThrow("no node 2 in this verdict");
});

test("two reasons at once are told in upstream's order, the first counts", () => {
  const world = given("node a", "pvc x 5Gi volume=gone", "pvc y 5Gi");
  const verdicts = judge(world, world.pod("p", "x", "y"), "a");
  expect(verdicts.reason(0)).toBe("noMatchingVolume");
  expect(verdicts.text(0)).toBe(`${nodeReasons.noMatchingVolume}, ${nodeReasons.boundVolumeMissing}`);
});

test("the surplus is what the volumes have beyond the requests, and what is provisioned is counted", () => {
  const csi = ["class csi provisioner=csi.example", "driver csi.example"];
  const world = given("node a", ...csi, "pv v 9 on=a", "pv w 7 on=a", "pvc x 5", "pvc y 6");
  for (const name of ["r", "s"]) world.apply(`pvc ${name} 5 class=csi`);
  const verdicts = judge(world, world.pod("p", "r", "s", "x", "y"), "a");
  expect([verdicts.surplus(0), verdicts.provisions(0), verdicts.busyDisks(0)]).toEqual([5, 2, 0]);
});

test("on each of several nodes claims take the smallest volumes, whatever they took on the node before", () => {
  const world = given("node a", "node b", "pvc x 5", "pvc y 5");
  for (const [name, size] of Object.entries({ "a-1": 5, "a-2": 6, "b-1": 5, "b-2": 6, "b-3": 9 })) {
    world.apply(`pv ${name} ${size} on=${name[0]}`);
  }
  const verdicts = judge(world, world.pod("p", "x", "y"), "a", "b");
  expect([verdicts.surplus(0), verdicts.surplus(1)]).toEqual([1, 1]);
});

test("a claim that goes before a verdict is looked at in full is what that verdict tells", () => {
  const world = given("node a", "pv v 5Gi on=a", "pvc x 5Gi");
  const verdicts = judge(world, world.pod("p", "x"), "a");
  expect(verdicts.verdict(0).fits).toBe(true);
  world.state.delete("claim", "d/x");
  expect(verdicts.verdict(0)).toEqual({ fits: false, refusals: [], text: 'persistentvolumeclaim "x" not found' });
  // What cannot be read is an error, for which kube-scheduler has no text.
  world.apply("pvc x many");
  expect(verdicts.verdict(0)).toEqual({ fits: false, refusals: [], text: "" });
});
