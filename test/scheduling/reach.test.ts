/** What of one class a node reaches: one run by size and name, of what is its own, its zones' and everybody's. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { wantOf } from "../../src/scheduling/matching.ts";
import { claimKey, className, nodeName, volumeName } from "../../src/scheduling/names.ts";
import { Reach } from "../../src/scheduling/reach.ts";
import { runs } from "../support/runs.ts";
import { World } from "../support/world.ts";

/** Nodes a and b in rack r, a and c in zone z; each is looked at in turn. */
function makeReach(given: readonly string[], claims: readonly string[], settled = 0) {
  const world = new World();
  const nodes = ["node a rack=r zone=z", "node b rack=r", "node c zone=z"];
  for (const line of [...nodes, ...given]) world.apply(line);
  const wants = claims.map((name) => {
    const claim = world.state.get("claim", claimKey("d", name));
    if (!claim) throw new Error(`no claim ${name}`);
    return wantOf(claim, world.state.volumes);
  });
  const reach = new Reach(world.state, wants, settled);
  const lookAt = (name: string): Reach => {
    reach.lookAt(world.state.topologies.nodes.get(nodeName(name))?.id ?? -1);
    return reach;
  };
  const volumesOf = (name: string): string[] => {
    lookAt(name);
    return Array.from({ length: reach.length }, (_, at) => world.state.volumes.at(reach.volume(at)).name as string);
  };
  return { world, wants, lookAt, volumesOf };
}

test("all that a node reaches, by size and then by name, whatever came first", () => {
  const volumes = [
    ...["pv h 3Gi on=a", "pv f 2Gi on=a", "pv b 2Gi on=a", "pv a 9Gi on=a"],
    ...["pv g 2Gi at=rack:r", "pv c 2Gi at=rack:r", "pv k 1Gi at=rack:r"],
    ...["pv d 2Gi at=zone:z", "pv e 4Gi at=zone:z", "pv i 2Gi", "pv j 5Gi"],
  ];
  const names = ["w", "x", "y", "z"];
  const claims = names.map((name) => `pvc ${name} 1Gi`);
  fc.assert(
    fc.property(fc.shuffledSubarray(volumes, { minLength: volumes.length }), (shuffled) => {
      const { volumesOf } = makeReach([...shuffled, ...claims], names);
      expect(["a", "b", "c"].map((node) => volumesOf(node).join(""))).toEqual(["kbcdfgiheja", "kcgij", "diej"]);
    }),
    { numRuns: runs(20) },
  );
});

test("a run says size and offer of each volume, the merged one too", () => {
  const { world, lookAt, volumesOf } = makeReach(
    [
      "pv v 3Gi on=a",
      "pv w 2Gi at=rack:r modes=RWX",
      "pv x 5Gi block",
      "pvc y 1Gi",
      "pvc z 1Gi modes=RWX",
      "pvc u 1Gi block",
    ],
    ["y", "z", "u"],
  );
  expect(volumesOf("a")).toEqual(["w", "v", "x"]);
  const reach = lookAt("a");
  const { size } = world.state.volumes;
  for (const at of [0, 1, 2]) {
    const id = reach.volume(at);
    expect([reach.capacity(at), reach.offer(at)]).toEqual([size[id], world.state.volumes.offerOf(id)]);
  }
});

/** Of a rack's volumes those that claims may need, of 2Gi unless said otherwise, and no others. */
const kept: Record<string, { given: readonly string[]; claims?: readonly string[]; settled?: number; keeps: string }> =
  {
    "the smallest that is large enough": { given: ["a 1Gi", "b 2Gi", "c 2Gi", "d 3Gi"], keeps: "b" },
    "one for each claim": { given: ["a 1Gi", "b 2Gi", "c 2Gi", "d 3Gi"], claims: ["2Gi", "2Gi"], keeps: "bc" },
    "one more for each volume that the Pod has already": {
      given: ["a 2Gi", "b 2Gi", "c 2Gi", "d 3Gi"],
      settled: 2,
      keeps: "abc",
    },
    "in one order, whichever claim comes first": {
      given: ["a 1Gi", "b 2Gi", "c 3Gi", "d 4Gi", "e 5Gi", "f 6Gi"],
      claims: ["4Gi", "1Gi"],
      keeps: "abde",
    },
    "all where there are fewer": { given: ["b 2Gi", "c 3Gi"], claims: ["2Gi", "2Gi", "2Gi"], keeps: "bc" },
    "none where none is large enough": { given: ["a 1Gi", "b 1Gi"], keeps: "" },
    "none that does not suit": { given: ["a 2Gi block", "b 2Gi label=disk:hdd", "c 3Gi label=disk:ssd"], keeps: "c" },
    "one that is held, and one that is not": { given: ["a 2Gi held", "b 2Gi held", "c 3Gi", "d 4Gi"], keeps: "ac" },
    "one that is assumed, and one that is not": {
      given: ["a 2Gi assumed", "b 2Gi assumed", "c 3Gi", "d 4Gi"],
      keeps: "ac",
    },
    "one that is assumed, one that is held, and one that is neither": {
      given: ["a 2Gi assumed", "b 2Gi held", "c 3Gi", "d 4Gi held"],
      keeps: "abc",
    },
  };

test.for(Object.entries(kept))(
  "of what nodes share is kept: %s",
  ([, { given, claims = ["2Gi"], settled = 0, keeps }]) => {
    const names = ["x", "y", "z"].slice(0, claims.length);
    const promised = (kind: string): string[] => given.filter((one) => one.endsWith(kind)).map((one) => one[0] ?? "");
    const { world, volumesOf } = makeReach(
      [
        ...given.map((one) => `pv ${one.replace(/ (held|assumed)$/, "")} at=rack:r`).map(withLabel),
        ...names.map((name, nth) => `pvc ${name} ${claims[nth]} selector=disk:ssd`),
      ],
      names,
      settled,
    );
    const { volumes } = world.state;
    const idOf = (name: string): number => volumes.id(volumeName(name)) ?? -1;
    for (const name of promised("held")) volumes.hold(idOf(name), 1);
    for (const name of promised("assumed")) volumes.assume(idOf(name), true);
    expect([volumesOf("a").join(""), volumesOf("b").join("")]).toEqual([keeps, keeps]);
  },
);

function withLabel(line: string): string {
  return line.includes("label=") ? line : `${line} label=disk:ssd`;
}

test("what nodes share is looked through once, and once with the same neighbours", () => {
  const shared = ["pv v 2Gi at=rack:r", "pv w 2Gi at=zone:z", "pv x 3Gi"];
  const twins = ["node d rack=r zone=z", "node e rack=r zone=z"];
  const { lookAt } = makeReach([...twins, ...shared, "pvc y 1Gi"], ["y"]);
  const [d, e, a] = ["d", "e", "a"].map((name) => lookAt(name).words);
  expect([d === e, d === a]).toEqual([true, true]);
  const rack = makeReach(["node d rack=r", ...shared.slice(0, 1), "pvc y 1Gi"], ["y"]);
  expect(rack.lookAt("b").words).toBe(rack.lookAt("d").words);
});

test("a node that shares nothing of the class has its own volumes as they stand", () => {
  const { world, lookAt, volumesOf } = makeReach(["node d", "pv v 2Gi on=d", "pv w 2Gi at=rack:r", "pvc y 1Gi"], ["y"]);
  expect(volumesOf("d")).toEqual(["v"]);
  expect(lookAt("d").words).toBe(world.state.volumes.free.blocksOf(className("local"))?.words);
});

test.for(["small", "beyond what doubles tell apart"])(
  "a claim begins with the first volume that is large enough: %s",
  (which) => {
    const least = which === "small" ? 0n : 2n ** 53n;
    for (const count of [0, 1, 2, 3, 4, 5, 8, 13]) {
      // Two of each size, and a claim of each, of less and of more.
      const sizes = Array.from({ length: count }, (_, nth) => least + BigInt(nth + 1));
      const asked = [least, ...sizes, least + BigInt(count + 1)];
      const { wants, lookAt } = makeReach(
        [
          ...sizes.flatMap((size) => [`pv v${size} ${size} on=a`, `pv w${size} ${size} on=a`]),
          ...asked.map((size) => `pvc c${size} ${size}`),
        ],
        asked.map((size) => `c${size}`),
      );
      const begins = wants.map((want) => lookAt("a").firstLargeEnough(want));
      expect(begins).toEqual([0, ...sizes.map((_, nth) => 2 * nth), 2 * count]);
    }
  },
);
