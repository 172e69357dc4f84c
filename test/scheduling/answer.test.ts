/** What an answer says beside the verdicts: who has what, by how much the nearest is too small, and which claims cannot meet. */
import { expect, test } from "vitest";
import { answerPod } from "../../src/scheduling/answer.ts";
import type { ClaimReport } from "../../src/scheduling/candidates.ts";
import { holderText } from "../../src/scheduling/holders.ts";
import { World } from "../support/world.ts";

function given(...lines: string[]): World {
  const world = new World();
  for (const line of lines) world.apply(line);
  return world;
}

const nodes = (count: number): string[] => Array.from({ length: count }, (_, index) => `node n${index + 1}`);
const csi = ["class csi provisioner=csi.example", "driver csi.example capacity"];
const driverOn = (...names: string[]): string[] => names.map((name) => `csinode ${name} csi.example`);

const answer = (world: World, ...claims: string[]) => answerPod(world.state, world.pod("p", ...claims));
const reports = (world: World, ...claims: string[]): readonly ClaimReport[] => answer(world, ...claims).claims;

/** "a free", or "a 10Gi@n1: promised to …". */
function volumesOf(world: World): string[] {
  const first = reports(world, "x")[0]?.volumes?.first ?? [];
  return first.map(({ volume, size, on, holder, why }) => {
    const place = on.everywhere ? "*" : on.nodes.join("+");
    return `${volume} ${size}@${place}: ${holder ? holderText(holder) : (why ?? "free")}`;
  });
}

test("of each candidate it says who has it, the free ones first", () => {
  const world = given(
    ...nodes(3),
    "pv bound 10Gi on=n1 for=y uid=uy phase=Bound",
    "pv released 10Gi on=n1 for=gone uid=ugone phase=Released",
    "pv later 20Gi on=n2",
    "pv promised 10Gi on=n2",
    "pv held 10Gi on=n3",
    "pv named 10Gi on=n3",
    "pv failed 10Gi on=n3 phase=Failed",
    "pv net 50Gi",
    "pv other 10Gi on=n1 class=other",
    "pvc y 5Gi volume=bound",
    "pvc z 5Gi volume=named half",
    "pvc q 6Gi",
    "pvc r 7Gi",
    "pvc x 5Gi",
  );
  const { state } = world;
  for (const name of ["later", "net", "held", "failed"]) world.apply(`delete volume ${name}`);
  world.apply("assume q n2 : q");
  world.apply("pv held 10Gi on=n3");
  world.apply("hold r n3 : r");
  for (const line of ["pv later 20Gi on=n2", "pv net 50Gi", "pv failed 10Gi on=n3 phase=Failed"]) world.apply(line);
  state.set("pod", "d/q", world.pod("q", "q"));
  expect(volumesOf(world)).toEqual([
    "later 20Gi@n2: free",
    "net 50Gi@*: free",
    "failed 10Gi@n3: phase Failed",
    "held 10Gi@n3: held for Pod ur",
    "named 10Gi@n3: asked for by name, by claim d/z",
    "promised 10Gi@n2: promised to claim d/q of Pod d/q",
    "released 10Gi@n1: belongs to claim d/gone, which is gone",
    "bound 10Gi@n1: belongs to claim d/y",
  ]);
  expect(reports(world, "x")[0]?.volumes).toMatchObject({ count: 8, free: 2 });
});

test("what the Pod itself holds, or is promised, is nobody else's", () => {
  const world = given(...nodes(1), "pv a 10Gi on=n1", "pvc x 5Gi", "hold p n1 : x");
  expect(volumesOf(world)).toEqual(["a 10Gi@n1: free"]);
  world.apply("assume p n1 : x");
  expect(volumesOf(world)).toEqual(["a 10Gi@n1: free"]);
});

test("of many candidates the first are listed and all are counted", () => {
  const disks = Array.from({ length: 200 }, (_, index) => `pv v${index + 100} ${300 - index}Gi on=n1`);
  const { volumes } = reports(given(...nodes(1), ...disks, "pvc x 5Gi"), "x")[0] ?? {};
  expect(volumes).toMatchObject({ count: 200, free: 200 });
  expect(volumes?.first.map(({ volume }) => volume)).toEqual(
    [299, 298, 297, 296, 295, 294, 293, 292].map((n) => `v${n}`),
  );
});

const misses: Record<string, { given: string[]; want: object | undefined }> = {
  "the largest free volume": {
    given: ["pv a 60Gi on=n1", "pv b 80Gi on=n3", "pv c 80Gi on=n2", "pv taken 90Gi on=n1 for=y uid=uy phase=Bound"],
    want: { needs: "100Gi", largest: "80Gi", short: "20Gi", volume: "b", on: { count: 1, nodes: ["n3"] } },
  },
  "nothing where a free volume is large enough": { given: ["pv a 60Gi on=n1", "pv b 100Gi on=n9"], want: undefined },
  "nothing where all of the class are of another mode": { given: ["pv a 60Gi on=n1 block"], want: undefined },
  "the largest where the one that would do is taken": {
    given: ["pv a 60Gi on=n1", "pv b 100Gi on=n2 for=y uid=uy phase=Bound"],
    want: { needs: "100Gi", largest: "60Gi", short: "40Gi", volume: "a", on: { count: 1, nodes: ["n1"] } },
  },
};

test.for(Object.entries(misses))("the nearest miss of volumes is %s", ([, row]) => {
  expect(reports(given(...nodes(3), ...row.given, "pvc x 100Gi"), "x")[0]?.nearest).toEqual(row.want);
});

test("nothing is missing where a pool has room, though every volume is too small", () => {
  const world = given(
    ...nodes(1),
    ...csi,
    ...driverOn("n1"),
    "capacity c1 csi n1 200Gi",
    "pv a 60Gi on=n1 class=csi",
    "pvc x 100Gi class=csi",
  );
  expect(reports(world, "x")[0]).toMatchObject({ volumes: { free: 0 }, pools: { fitting: 1 } });
  expect(reports(world, "x")[0]?.nearest).toBeUndefined();
});

test("the nearest miss of pools is the one with the most room for one volume, without what is promised", () => {
  const world = given(
    ...nodes(3),
    ...csi,
    ...driverOn("n1", "n2", "n3"),
    "capacity c1 csi n1 90Gi max=40Gi",
    "capacity c2 csi n2 95Gi",
    "capacity c3 csi n3 80Gi",
    "pvc y 30Gi class=csi selected=n2",
    "pvc x 100Gi class=csi",
  );
  const [report] = reports(world, "x");
  expect(report?.nearest).toMatchObject({ needs: "100Gi", largest: "80Gi", short: "20Gi", on: { nodes: ["n3"] } });
  expect(report?.pools).toMatchObject({ count: 3, fitting: 0 });
  const rooms = report?.pools?.first.map(({ on, free, total, largest, promised }) => [
    on.nodes.join(),
    free,
    total,
    largest,
    promised,
  ]);
  expect(rooms).toEqual([
    ["n3", "80Gi", "80Gi", "80Gi", "0"],
    ["n2", "65Gi", "95Gi", "65Gi", "30Gi"],
    ["n1", "90Gi", "90Gi", "40Gi", "0"],
  ]);
});

test("a bound claim is told of by its volume and where that is", () => {
  const world = given(...nodes(2), "pv a 10Gi on=n2 for=x uid=ux phase=Bound", "pvc x 5Gi volume=a");
  expect(reports(world, "x", "gone")).toEqual([
    { claim: "d/x", class: "local", asks: "5Gi", volume: "a", on: { count: 1, nodes: ["n2"] } },
  ]);
});

test("two claims whose disks are on different nodes cannot meet, and a third is not blamed", () => {
  const world = given(
    ...nodes(4),
    "pv a 10Gi on=n1 for=x uid=ux phase=Bound",
    "pv b 10Gi on=n2 class=fast",
    "class fast",
    "pv c 1Gi on=n1 class=small",
    "pv d 1Gi on=n2 class=small",
    "class small",
    "pvc x 5Gi volume=a",
    "pvc y 5Gi class=fast",
    "pvc z 1Gi class=small",
  );
  expect(answer(world, "x", "y", "z").meeting).toEqual({
    alone: [
      { claim: "d/x", nodes: 1, first: ["n1"] },
      { claim: "d/y", nodes: 1, first: ["n2"] },
      { claim: "d/z", nodes: 2, first: ["n1", "n2"] },
    ],
    apart: [{ claims: ["d/x", "d/y"], inCommon: 0, firstInCommon: [] }],
    leftOut: 0,
  });
});

test("two claims that need the same disk cannot meet either, though each fits there alone", () => {
  const world = given(...nodes(2), "pv a 10Gi on=n1", "pvc x 5Gi", "pvc y 6Gi");
  expect(answer(world, "x", "y").meeting?.apart).toEqual([
    { claims: ["d/x", "d/y"], inCommon: 1, firstInCommon: ["n1"] },
  ]);
});

test("three claims of which each two meet: no pair is blamed", () => {
  const world = given(...nodes(1), "pv a 10Gi on=n1", "pv b 10Gi on=n1", "pvc x 5Gi", "pvc y 5Gi", "pvc z 5Gi");
  expect(answer(world, "x", "y", "z")).toMatchObject({ schedulable: false, meeting: { apart: [], leftOut: 0 } });
});

test("a claim that no node serves is seen alone, and is in no pair", () => {
  const world = given(...nodes(1), "pv a 10Gi on=n1", "pvc x 5Gi", "pvc y 50Gi");
  expect(answer(world, "x", "y").meeting).toMatchObject({
    alone: [
      { claim: "d/x", nodes: 1 },
      { claim: "d/y", nodes: 0, first: [] },
    ],
    apart: [],
  });
});

test("of many claims those that the fewest nodes serve are looked at in pairs, the others counted", () => {
  const claims = ["a", "b", "c", "e", "f", "g", "h", "i"];
  const disks = claims.flatMap((name) => [`pv 1${name} 10Gi on=n1 class=${name}`, `class ${name}`]);
  const more = claims.slice(2).map((name) => `pv 2${name} 10Gi on=n2 class=${name}`);
  const world = given(
    ...nodes(2),
    ...disks,
    ...more,
    "pv 2b 10Gi on=n2 class=b",
    "delete volume 1b",
    ...claims.map((name) => `pvc ${name} 5Gi class=${name}`),
  );
  const { meeting } = answer(world, ...claims);
  expect(meeting).toMatchObject({ apart: [{ claims: ["d/a", "d/b"] }], leftOut: 2 });
  expect(meeting?.alone).toHaveLength(8);
});

test("a Pod that fits, has one claim, or is refused as a whole has no such question", () => {
  const world = given(...nodes(1), "pv a 10Gi on=n1", "pv b 10Gi on=n1", "pvc x 5Gi", "pvc y 5Gi", "pvc z 50Gi");
  for (const claims of [["x", "y"], ["z"], ["x", "gone"]])
    expect(answer(world, ...claims)).not.toHaveProperty("meeting");
});

test("nodes are grouped by what is said of them: those that fit first, then the larger groups", () => {
  const world = given(
    ...nodes(6),
    "pv a 10Gi on=n1",
    "pv b 10Gi on=n2",
    "pvc y 5Gi",
    "hold q n2 : y",
    "pvc x 5Gi",
    "class csi provisioner=csi.example",
  );
  const told = ({ fits, contended, nodes: count, first }: (typeof groups)[number]): unknown[] => [
    fits,
    contended,
    count,
    first,
  ];
  const { groups } = answer(world, "x");
  expect(groups.map(told)).toEqual([
    [true, false, 1, ["n1"]],
    [true, true, 1, ["n2"]],
    [false, false, 4, ["n3", "n4", "n5"]],
  ]);
  expect(answer(world, "gone").groups).toEqual([
    {
      fits: false,
      contended: false,
      reason: 'persistentvolumeclaim "gone" not found',
      nodes: 6,
      first: ["n1", "n2", "n3"],
    },
  ]);
  expect(answer(world).groups.map(told)).toEqual([[true, false, 6, ["n1", "n2", "n3"]]]);
});
