/** The general case of a class: who comes first, and that no node is given another node's answer. */
import { expect, test } from "vitest";
import { decide, filterNodes, planNode } from "../../src/scheduling/filter.ts";
import type { Planner } from "../../src/scheduling/planner.ts";
import { World } from "../support/world.ts";

const csi = ["class csi provisioner=csi.example", "driver csi.example capacity"];

function given(...lines: string[]): World {
  const world = new World();
  for (const line of lines) world.apply(line);
  return world;
}

const orders: Record<string, { given: readonly string[]; gets: readonly string[] }> = {
  "a claim that nobody can provision comes before a larger one that can be": {
    given: ["pv v 10Gi on=a class=csi label=t:f", "pvc x 10Gi class=csi", "pvc y 5Gi class=csi selector=t:f"],
    gets: ["x=+csi", "y=v"],
  },
  "so do two of them, wherever they stand by size": {
    given: [
      ...["v", "w"].map((name) => `pv ${name} 10Gi on=a class=csi label=t:f`),
      ...["pvc x 9Gi class=csi selector=t:f", "pvc y 7Gi class=csi", "pvc z 5Gi class=csi selector=t:f"],
    ],
    gets: ["x=v", "y=+csi", "z=w"],
  },
  "of two that can be, the larger one has the volume": {
    given: [
      ...["pv u 10Gi on=a class=csi label=t:f", "pv v 10Gi on=a class=csi"],
      ...["pvc w 1Gi class=csi selector=t:f", "pvc x 5Gi class=csi", "pvc y 9Gi class=csi"],
    ],
    gets: ["w=u", "x=+csi", "y=v"],
  },
  "a claim that is too large for the pool comes before one that is not": {
    given: [
      "pv v 90Gi on=a class=csi",
      "pv u 60Gi on=a class=csi modes=ROX",
      "pvc x 50Gi class=csi",
      "pvc y 5Gi class=csi",
    ],
    gets: ["x=v", "y=+csi"],
  },
};

test.for(Object.entries(orders))("%s", ([, { given: lines, gets }]) => {
  const world = given("node a", ...csi, "capacity c csi a 20Gi", ...lines);
  const names = gets.map((one) => one.split("=")[0] ?? "");
  expect(world.planned(world.pod("p", ...names), "a")).toEqual(gets);
});

test("of many volumes those that suit are found far behind the smallest", () => {
  const world = given("node a", ...Array.from({ length: 60 }, (_, nth) => `pv v${nth + 10} ${nth + 10}Gi on=a`));
  for (const nth of [20, 50, 51]) world.apply(`pv v${nth + 10} ${nth + 10}Gi on=a label=t:f`);
  for (const line of ["x 5Gi selector=t:f", "y 30Gi selector=t:f", "z 30Gi"]) world.apply(`pvc ${line}`);
  for (const line of ["w 60Gi", "v 60Gi selector=t:f"]) world.apply(`pvc ${line}`);
  expect(world.planned(world.pod("p", "x", "y", "z"), "a")).toEqual(["x=v30", "y=v60", "z=v31"]);
  expect(world.planned(world.pod("q", "v", "w", "y"), "a")).toEqual(["v=v60", "w=v61", "y=v30"]);
});

test("claims that are not alike keep the volumes that suit them, whichever is smaller", () => {
  const world = given("node a", "pv v 1Gi on=a", "pv w 2Gi on=a modes=ROX", "pvc x 1Gi modes=ROX", "pvc y 1Gi");
  expect(world.planned(world.pod("p", "x", "y"), "a")).toEqual(["x=w", "y=v"]);
});

test("what suited on the nodes before is not taken for what suits on this one", () => {
  const kinds = { b: "modes=RWO,ROX label=t:f", x: "modes=ROX", y: "label=t:f", o: "" };
  const world = given("pvc x 1Gi modes=ROX", "pvc y 1Gi selector=t:f");
  // By size: both claims may have b, one of them x and the other y, and nobody o.
  for (const [node, volumes] of Object.entries({ n1: "ooobxy", n2: "bxy", n3: "booooox", n4: "bxoooy" })) {
    world.apply(`node ${node}`);
    for (const [nth, kind] of [...volumes].entries()) {
      world.apply(`pv ${node}-${nth} ${nth + 1}Gi on=${node} ${kinds[kind as keyof typeof kinds]}`);
    }
  }
  const pod = world.pod("p", "x", "y");
  const verdict = filterNodes(world.state, pod, world.nodes());
  if (verdict.kind !== "judged") throw new Error(verdict.kind);
  const { nodes } = verdict;
  expect(nodes.names.map((_, index) => nodes.fits(index))).toEqual([true, true, true, true]);
  // Each the two smallest, which ask 1Gi each.
  const surplus = nodes.names.map((_, index) => nodes.surplus(index) / 1024 ** 3);
  expect(surplus).toEqual([4 + 5 - 2, 1 + 2 - 2, 1 + 7 - 2, 1 + 2 - 2]);
});

test("a volume that is gone is no choice any more", () => {
  const world = given("node a", "node b", "pv v 5Gi on=a", "pv w 5Gi on=b", "pvc x 5Gi");
  expect(world.fitting(world.pod("p", "x"))).toEqual(["a", "b"]);
  world.state.delete("volume", "v");
  expect(world.fitting(world.pod("p", "x"))).toEqual(["b"]);
});

test("a volume that was promised, and is bound by now, is waited for by nobody", () => {
  const world = given("node a", "node b", "pv v 5Gi on=a", "pv w 5Gi on=b");
  for (const line of ["pvc x 5Gi", "pvc y 5Gi", "pvc z 5Gi", "assume p a : x", "assume q b : y"]) world.apply(line);
  const reasons = (): string[] => world.reasons(world.pod("r", "z"), "a");
  expect(reasons()).toEqual(["volumeAssumed"]);
  world.apply("pv v 5Gi on=a for=x uid=ux");
  expect(reasons()).toEqual(["noMatchingVolume"]);
});

/** Every choice of eight volumes on a node of its own, of which each suits some of the claims. */
const kinds = [
  ...["1Gi", "2Gi label=t:f", "2Gi modes=RWO,ROX", "3Gi label=t:f modes=RWO,ROX", "3Gi"],
  ...["4Gi label=t:f", "4Gi modes=RWO,ROX", "6Gi label=t:f modes=RWO,ROX"],
];

test("a node is judged among hundreds as it is alone, whatever their volumes and pools are", () => {
  const world = given(...csi);
  const names = Array.from({ length: 2 ** kinds.length }, (_, chosen) => `n${chosen}`);
  for (const [chosen, node] of names.entries()) {
    world.apply(`node ${node}`);
    world.apply(`capacity c-${node} csi ${node} ${[0, 1, 3, 5][(chosen ^ (chosen >> 3)) % 4]}Gi`);
    for (const [nth, kind] of kinds.entries())
      if ((chosen & (1 << nth)) !== 0) world.apply(`pv ${node}-${nth} ${kind} on=${node} class=csi`);
  }
  for (const line of ["w 1Gi selector=t:f", "x 2Gi", "y 3Gi modes=RWO,ROX", "z 4Gi"])
    world.apply(`pvc ${line} class=csi`);
  const pod = world.pod("p", "w", "x", "y", "z");
  const nodes = world.nodes();
  const together = (planner: Planner): unknown[] =>
    nodes.map((name) => {
      const { refusals, volumes } = planner.plan(world.state.topologies.nodes.get(name)?.id ?? -1);
      if (refusals.length > 0) return refusals.map(({ reason }) => reason);
      return volumes.map((id) => (id < 0 ? "+" : world.state.volumes.at(id).name));
    });
  const alone = nodes.map((name) => {
    const verdict = planNode(world.state, pod, name);
    if (verdict.kind !== "judged") return verdict.kind;
    if (!verdict.nodes.fits) return verdict.nodes.refusals.map(({ reason }) => reason);
    return verdict.nodes.plan.claims.map((one) => ("volume" in one ? one.volume.name : "+"));
  });
  const verdict = decide(world.state, pod, together);
  expect(verdict.kind === "judged" && verdict.nodes).toEqual(alone);
  expect(new Set(alone.map(String)).size).toBeGreaterThan(100);
});
