/** The whole percent that `spread`, `most-allocated` and `upstream` rank by, worked out by hand beside each row. */
import { expect, test } from "vitest";
import { filterNodes } from "../../src/scheduling/filter.ts";
import { defaultScoring, type ShapePoint, type Strategy } from "../../src/scheduling/scoring.ts";
import { World } from "../support/world.ts";

interface Case {
  /** Lines as in `.case` files. */
  readonly world: readonly string[];
  readonly mounts: string;
  /** By node. */
  readonly want: Readonly<Record<string, number>>;
  readonly shape?: readonly ShapePoint[];
}

function percents(strategy: Strategy, { world: lines, mounts, shape = defaultScoring.shape }: Case) {
  const world = new World({ scoring: { strategy, shape } });
  for (const line of lines) world.apply(line);
  const verdict = filterNodes(world.state, world.pod("p", ...mounts.split(" ")), world.nodes());
  if (verdict.kind !== "judged") throw new Error(verdict.kind);
  const { nodes } = verdict;
  const fitting = [...nodes.names.keys()].filter((index) => nodes.fits(index));
  return Object.fromEntries(fitting.map((index) => [nodes.names[index], nodes.percent(index)]));
}

const csi = ["class csi provisioner=csi.example", "driver csi.example capacity"];
const fast = ["class fast provisioner=csi.example"];

const fills: Record<string, Case> = {
  "one of four disks": {
    world: ["node a", "pv 1 on=a", "pv 2 on=a", "pv 3 on=a", "pv 4 on=a", "pvc x"],
    mounts: "x",
    want: { a: 25 },
  },
  "one beside one that is taken, of three: rounded down": {
    world: ["node a", "pv 1 on=a", "pv 2 on=a", "pv 3 on=a for=other", "pvc x"],
    mounts: "x",
    want: { a: 66 },
  },
  "two of three of one class": {
    world: ["node a", "pv 1 on=a", "pv 2 on=a", "pv 3 on=a", "pvc x", "pvc y"],
    mounts: "x y",
    want: { a: 66 },
  },
  // (2 × 66 + 25) / 3 = 52.3
  "two of three of one class and one of four of another: each claim counts once": {
    world: [
      "class other",
      "node a",
      ...["1", "2", "3"].map((name) => `pv ${name} on=a`),
      ...["4", "5", "6", "7"].map((name) => `pv ${name} on=a class=other`),
      "pvc x",
      "pvc y",
      "pvc z class=other",
    ],
    mounts: "x y z",
    want: { a: 52 },
  },
  // a: 1 on a, 1 of the zone, 1 everywhere, 2 of them taken. b: 1 of 1.
  "disks of the node, of its zone and of every node, and not those of others": {
    world: ["node a zone=z", "node b", "pv 1 on=a", "pv 2 at=zone:z for=other", "pv 3", "pv 4 on=b for=other", "pvc x"],
    mounts: "x",
    want: { a: 66, b: 100 },
  },
  // A volume of its own is among the taken: 1 of 1 + 3 on a, 1 of 1 on b.
  "a claim with a volume that is reserved for it": {
    world: ["node a", "node b", "pv 1 on=a", "pv own for=x", "pv 2 on=a", "pv 3 on=a", "pvc x"],
    mounts: "x",
    want: { a: 25, b: 100 },
  },
  // x and y both: 1 taken and 1 to be taken, of 4.
  "a claim with a volume of its own beside one that takes another of the class": {
    world: ["node a", "pv own for=x", "pv 1 on=a", "pv 2 on=a", "pv 3 on=a", "pvc x", "pvc y"],
    mounts: "x y",
    want: { a: 50 },
  },
  // x: 1 of 4. y: 1 of 2. (25 + 50) / 2.
  "a claim with a volume of its own beside one that takes of another class": {
    world: [
      "class other",
      "node a",
      "pv own for=x",
      "pv 1 on=a",
      "pv 2 on=a",
      "pv 3 on=a",
      "pv 4 on=a class=other",
      "pv 5 on=a class=other",
      "pvc x",
      "pvc y class=other",
    ],
    mounts: "x y",
    want: { a: 37 },
  },
  "ten of a hundred": {
    world: [...csi, "node a", "capacity c csi a 100Gi", "pvc x 10Gi class=csi"],
    mounts: "x",
    want: { a: 10 },
  },
  "ten and twenty of one pool of a hundred": {
    world: [...csi, "node a", "capacity c csi a 100Gi", "pvc x 10Gi class=csi", "pvc y 20Gi class=csi"],
    mounts: "x y",
    want: { a: 30 },
  },
  "ten of one pool and fifty of another, a hundred each": {
    world: [
      ...csi,
      ...fast,
      "node a",
      "capacity c csi a 100Gi",
      "capacity f fast a 100Gi",
      "pvc x 10Gi class=csi",
      "pvc y 50Gi class=fast",
    ],
    mounts: "x y",
    want: { a: 30 },
  },
  // 20 used, 30 promised, 10 asked; 20 used and 80 published.
  "ten beside what is used and promised": {
    world: [
      ...csi,
      "node a",
      "pv old 20Gi on=a class=csi for=other",
      "capacity c csi a 80Gi",
      "pvc x 10Gi class=csi",
      "pvc y 30Gi class=csi",
      "assume q a : y",
    ],
    mounts: "x",
    want: { a: 60 },
  },
  "what the class has used elsewhere is another pool's": {
    world: [
      ...csi,
      "node a",
      "node b",
      "pv old 20Gi on=b class=csi for=other",
      "capacity c csi a 80Gi",
      "pvc x 8Gi class=csi",
    ],
    mounts: "x",
    want: { a: 10 },
  },
  // The disk: 1 of 1. The pool: 10 of 100. A disk that is free is not used.
  "one claim of the class takes a disk, one is provisioned": {
    world: [
      ...csi,
      "node a",
      "pv 1 50Gi on=a class=csi",
      "capacity c csi a 100Gi",
      "pvc x 10Gi class=csi",
      "pvc y 10Gi class=csi",
    ],
    mounts: "x y",
    want: { a: 55 },
  },
  // The pool: 10 of 100. The disk: 1 of 2, and nothing of what was asked of a pool on the node before.
  "a node that provisions, and one with a disk for the claim": {
    world: [
      ...csi,
      "node a",
      "node b",
      "capacity c csi a 100Gi",
      "pv 1 50Gi on=b class=csi",
      "pv 2 50Gi on=b class=csi",
      "pvc x 10Gi class=csi",
    ],
    mounts: "x",
    want: { a: 10, b: 50 },
  },
  "a pool, and a driver that publishes nothing, which is left out": {
    world: [
      ...csi,
      "class mute provisioner=mute.example",
      "node a",
      "capacity c csi a 100Gi",
      "pvc x 10Gi class=csi",
      "pvc y 10Gi class=mute",
    ],
    mounts: "x y",
    want: { a: 10 },
  },
  "a disk of two, and a claim that a provisioner works on": {
    world: [
      "class mute provisioner=mute.example",
      "node a",
      "pv 1 on=a",
      "pv 2 on=a",
      "pvc x",
      "pvc y class=mute selected=a",
    ],
    mounts: "x y",
    want: { a: 50 },
  },
  "nothing is known": {
    world: ["class mute provisioner=mute.example", "node a", "pvc y class=mute"],
    mounts: "y",
    want: { a: -1 },
  },
};

test.for(Object.entries(fills))("how full: %s", ([, row]) => {
  expect([percents("spread", row), percents("most-allocated", row)]).toEqual([row.want, row.want]);
});

const bent = [
  { utilization: 10, score: 2 },
  { utilization: 40, score: 9 },
  { utilization: 50, score: 4 },
];
const flat = [{ utilization: 0, score: 3 }];
const disk = (size: string, asked: string): Pick<Case, "world" | "mounts"> => ({
  world: ["node a", `pv 1 ${size} on=a`, `pvc x ${asked}`],
  mounts: "x",
});

const scores: Record<string, Case> = {
  "a quarter of a disk": { ...disk("40Gi", "10Gi"), want: { a: 75 } },
  "a disk, whole": { ...disk("10Gi", "10Gi"), want: { a: 0 } },
  "less than one percent: cut": { ...disk("1000Gi", "9Gi"), want: { a: 100 } },
  "a quarter of a disk beyond exact numbers": { ...disk("400Ti", "100Ti"), want: { a: 75 } },
  "a little of a disk beyond exact numbers": { ...disk("400Ti", "1Gi"), want: { a: 100 } },
  "a shape: below its first point": { ...disk("100Gi", "5Gi"), shape: bent, want: { a: 20 } },
  "a shape: at its first point": { ...disk("100Gi", "10Gi"), shape: bent, want: { a: 20 } },
  // 20 + 70 × 1 / 30 = 22.3
  "a shape: rising, cut": { ...disk("100Gi", "11Gi"), shape: bent, want: { a: 22 } },
  // 20 + 70 × 29 / 30 = 87.7
  "a shape: rising, cut again": { ...disk("100Gi", "39Gi"), shape: bent, want: { a: 87 } },
  "a shape: at a point": { ...disk("100Gi", "40Gi"), shape: bent, want: { a: 90 } },
  // 90 − 50 × 3 / 10
  "a shape: falling": { ...disk("100Gi", "43Gi"), shape: bent, want: { a: 75 } },
  "a shape: beyond its last point": { ...disk("100Gi", "90Gi"), shape: bent, want: { a: 40 } },
  "a shape of one point": { ...disk("100Gi", "90Gi"), shape: flat, want: { a: 30 } },
  // 20 of 80 together.
  "two claims of one class: their sums": {
    world: ["node a", "pv 1 20Gi on=a", "pv 2 60Gi on=a", "pvc x 10Gi", "pvc y 10Gi"],
    mounts: "x y",
    want: { a: 75 },
  },
  // 100 of 400 together.
  "two claims of one class, beyond exact numbers": {
    world: ["node a", "pv 1 100Ti on=a", "pv 2 300Ti on=a", "pvc x 50Ti", "pvc y 50Ti"],
    mounts: "x y",
    want: { a: 75 },
  },
  // (75 + 50) / 2 = 62.5, halves up.
  "two classes: the mean, halves up": {
    world: [
      "class other",
      "node a",
      "pv 1 40Gi on=a",
      "pv 2 20Gi on=a class=other",
      "pvc x 10Gi",
      "pvc y 10Gi class=other",
    ],
    mounts: "x y",
    want: { a: 63 },
  },
  // 75 and 50; the sums of each class are its own.
  "two classes beyond exact numbers": {
    world: [
      "class other",
      "node a",
      "pv 1 400Ti on=a",
      "pv 2 100Ti on=a class=other",
      "pvc x 100Ti",
      "pvc y 50Ti class=other",
    ],
    mounts: "x y",
    want: { a: 63 },
  },
  "a disk beyond exact numbers, and a claim of its class that is provisioned": {
    world: [
      ...csi,
      "node a",
      "pv 1 400Ti on=a class=csi",
      "capacity c csi a 1000Gi",
      "pvc x 100Ti class=csi",
      "pvc y 100Gi class=csi",
    ],
    mounts: "x y",
    want: { a: 75 },
  },
  "a disk and a pool: the disk alone": {
    world: [...csi, "node a", "pv 1 20Gi on=a", "capacity c csi a 1000Gi", "pvc x 10Gi", "pvc y 10Gi class=csi"],
    mounts: "x y",
    want: { a: 50 },
  },
  "a pool": {
    world: [...csi, "node a", "capacity c csi a 40Gi", "pvc x 10Gi class=csi"],
    mounts: "x",
    want: { a: 75 },
  },
  // 20 of 40: each claim sees the pool as if it were alone, and the class asks the sum.
  "two claims of one pool": {
    world: [...csi, "node a", "capacity c csi a 40Gi", "pvc x 10Gi class=csi", "pvc y 10Gi class=csi"],
    mounts: "x y",
    want: { a: 50 },
  },
  // (75 + 50) / 2 = 62.5
  "two pools: the mean, halves up": {
    world: [
      ...csi,
      ...fast,
      "node a",
      "capacity c csi a 40Gi",
      "capacity f fast a 20Gi",
      "pvc x 10Gi class=csi",
      "pvc y 10Gi class=fast",
    ],
    mounts: "x y",
    want: { a: 63 },
  },
  "a pool that publishes a maximum alone": {
    world: [...csi, "node a", "capacity c csi a max=40Gi", "pvc x 10Gi class=csi"],
    mounts: "x",
    want: { a: 75 },
  },
  "a driver that publishes nothing": {
    world: ["class mute provisioner=mute.example", "node a", "pvc x class=mute"],
    mounts: "x",
    want: { a: 0 },
  },
  // Volumes count as of the class they have: 10 and 10 of 40 and 10 together.
  "a volume that was assumed, and is of another class by now": {
    world: [
      "class other",
      "node a",
      "pv 1 30Gi on=a",
      "pvc x 10Gi",
      "assume q a : x",
      "pv 1 30Gi on=a class=other",
      "pv 2 10Gi on=a class=other",
      "pvc y 10Gi class=other",
    ],
    mounts: "x y",
    want: { a: 50 },
  },
};

test.for(Object.entries(scores))("upstream's points: %s", ([, row]) => {
  expect(percents("upstream", row)).toEqual(row.want);
});
