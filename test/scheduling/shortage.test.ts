/** What claims lack of the pools of one node: nothing that is said elsewhere, and nothing of what is underway. */
import { expect, test } from "vitest";
import { decide } from "../../src/scheduling/filter.ts";
import { shortagesOn } from "../../src/scheduling/shortage.ts";
import { World } from "../support/world.ts";

const csi = ["class csi provisioner=csi.example", "driver csi.example capacity", "node a"];

function shortages(...lines: string[]): string[] {
  const world = new World();
  for (const line of [...csi, ...lines]) world.apply(line);
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
  "what is underway where nothing is published": {
    given: ["pvc x 5Gi class=csi selected=a"],
    lacks: ["noCapacityPublished d/x"],
  },
};

test.for(Object.entries(rows))("claims lack %s", ([, { given, lacks }]) => {
  expect(shortages(...given)).toEqual(lacks);
});
