/** Claims of several classes into pools: who draws on one pool is placed together, and who is told where several have no room. */
import { expect, test } from "vitest";
import { className } from "../../src/scheduling/names.ts";
import { World } from "../support/world.ts";

/** Classes a1 and a2 share a pool, b has its own. */
function filtered(...lines: string[]): string[] {
  const world = new World({ sharedPools: new Map(["a1", "a2"].map((name) => [className(name), "disk"])) });
  for (const name of ["a1", "a2", "b"]) world.apply(`class ${name} provisioner=csi.example`);
  for (const line of ["node n", "driver csi.example capacity", ...lines.slice(0, -1)]) world.apply(line);
  return world.apply(lines.at(-1) ?? "") ?? [];
}

const pools = (a: string, b: string): string[] => [
  ...["a1", "a2"].map((name) => `capacity ${name} ${name} n ${a}`),
  `capacity b b n ${b}`,
];

const rows: Record<string, { given: readonly string[]; says: string }> = {
  "all have room, each group in its pool": {
    given: [...pools("10Gi", "5Gi"), "pvc v 5Gi class=a1", "pvc w 5Gi class=b", "pvc x 5Gi class=a2"],
    says: "n  fits  v=+a1 w=+b x=+a2",
  },
  "classes that share a pool ask more than it has together": {
    given: [...pools("9Gi", "5Gi"), "pvc v 5Gi class=b", "pvc w 5Gi class=a1", "pvc x 5Gi class=a2"],
    says: "n  refused  notEnoughSpace d/w",
  },
  "the pool that is short has no room, whoever comes before in another": {
    given: [...pools("10Gi", "9Gi"), "pvc v 5Gi class=a1", "pvc w 5Gi class=b", "pvc x 5Gi class=b"],
    says: "n  refused  notEnoughSpace d/w",
  },
  "where two pools are short, the first claim in name order is told": {
    given: [
      ...[...pools("9Gi", "9Gi"), "pvc v 5Gi class=a1", "pvc w 5Gi class=b"],
      ...["pvc x 5Gi class=a2", "pvc y 5Gi class=b"],
    ],
    says: "n  refused  notEnoughSpace d/v",
  },
  "the first in name order, of those that no volume serves": {
    given: [
      ...[...pools("9Gi", "9Gi"), "pv disk 5Gi class=a1 on=n", "pvc v 5Gi class=a1", "pvc w 5Gi class=b"],
      ...["pvc x 5Gi class=a1", "pvc y 5Gi class=b", "pvc z 5Gi class=a2"],
    ],
    says: "n  refused  notEnoughSpace d/w",
  },
};

test.for(Object.entries(rows))("%s", ([, { given, says }]) => {
  const claims = given.filter((line) => line.startsWith("pvc ")).map((line) => line.split(" ")[1]);
  expect(filtered(...given, `filter p ${claims.join(" ")}`)).toEqual([says]);
});
