/** What claims lack of the pools of one node: nothing that is said elsewhere, and nothing of what is underway. */
import { expect, test } from "vitest";
import { decide } from "../../src/scheduling/filter.ts";
import { className } from "../../src/scheduling/names.ts";
import { shortagesOn } from "../../src/scheduling/shortage.ts";
import { World } from "../support/world.ts";

const csi = ["class csi provisioner=csi.example", "driver csi.example capacity", "node a segment=1"];
/** Classes that share their pools. */
const siblings = ["fast", "faster", "fastest"];

function shortages(...lines: string[]): string[] {
  const world = new World({ sharedPools: new Map(siblings.map((name) => [className(name), "vg"])) });
  const classes = siblings.map((name) => `class ${name} provisioner=csi.example`);
  for (const line of [...csi, ...classes, ...lines]) world.apply(line);
  const claims = lines.filter((line) => line.startsWith("pvc ")).map((line) => line.split(" ")[1] ?? "");
  const verdict = decide(world.state, world.pod("p", ...claims), (planner) =>
    [...world.state.topologies.nodes.values()].flatMap((entry) =>
      shortagesOn(world.state, planner, entry, { opens: planner.open, added: [] }),
    ),
  );
  const found = verdict.kind === "judged" ? verdict.nodes : [];
  return found.map(({ reason, claims: of }) => [reason, ...of.map(({ key }) => key)].join(" "));
}

const rows: Record<string, { given: readonly string[]; lacks: readonly string[] }> = {
  "nothing where there is room": { given: ["capacity c csi a 10Gi", "pvc x 10Gi class=csi"], lacks: [] },
  "space where there is less": {
    given: ["capacity c csi a 9Gi", "pvc x 5Gi class=csi", "pvc y 5Gi class=csi"],
    lacks: ["notEnoughSpace d/x d/y"],
  },
  "nothing but that nothing is published": { given: ["pvc x 5Gi class=csi"], lacks: ["noCapacityPublished d/x"] },
  "nothing where all is underway, though its bytes are gone from what is published": {
    given: ["capacity c csi a 1Gi", "pvc x 5Gi class=csi selected=a"],
    lacks: [],
  },
  "no space of a class that says nothing, however small its siblings' largest volumes": {
    given: ["capacity f fast a 100Gi max=1Gi", "pvc x 40Gi class=faster"],
    lacks: ["noCapacityPublished d/x"],
  },
  "space of a class that says nothing, where its siblings' pools have less": {
    given: ["capacity f fast a 30Gi", "pvc x 40Gi class=faster"],
    lacks: ["noCapacityPublished d/x", "notEnoughSpace d/x"],
  },
  "no space where each of several pools has room for one, whichever sibling says so": {
    given: [
      ...["capacity f1 fast a 6Gi max=1Gi", "capacity f2 fast - 6Gi at=segment:1 max=1Gi"],
      ...["capacity g1 fastest a 6Gi", "capacity g2 fastest - 6Gi at=segment:1"],
      ...["pvc x 5Gi class=faster", "pvc y 5Gi class=faster"],
    ],
    lacks: ["noCapacityPublished d/x d/y"],
  },
  "what is underway where nothing is published": {
    given: ["pvc x 5Gi class=csi selected=a"],
    lacks: ["noCapacityPublished d/x"],
  },
};

test.for(Object.entries(rows))("claims lack %s", ([, { given, lacks }]) => {
  expect(shortages(...given)).toEqual(lacks);
});
