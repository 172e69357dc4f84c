/**
 * The short cuts of one class on one node: when each is taken, what it gives, and when it leaves the node to the general case. That
 * both say the same is what all other tests of the planner show.
 */
import { expect, test } from "vitest";
import { ClassClaims } from "../../src/scheduling/class-claims.ts";
import type { Open } from "../../src/scheduling/open-claim.ts";
import type { Pool } from "../../src/scheduling/pools.ts";
import type { VolumeId } from "../../src/scheduling/volume-table.ts";
import { openClaims } from "../support/open-claims.ts";
import { World } from "../support/world.ts";

interface Subject {
  readonly world: World;
  readonly all: readonly Open[];
  readonly claims: ClassClaims;
}

/** Claims of the Pod by name, of which those in the first one's class are the subject. */
function subjectOf(lines: readonly string[], names: readonly string[]): Subject {
  const world = new World();
  for (const line of ["node a", "class csi provisioner=csi.example", ...lines]) world.apply(line);
  world.state.pools.update();
  const all = openClaims(world, ...names);
  const indices = [...all.keys()].filter((index) => all[index]?.class.name === all[0]?.class.name);
  return { world, all, claims: new ClassClaims(world.state, all, indices) };
}

function entryOf({ world }: Subject) {
  const entry = world.state.topologies.nodes.get("a" as never);
  if (!entry) throw new Error("no node a");
  return entry;
}

/** Per claim of the class, as "volume size". */
function collected({ world, claims, all }: Subject): string[] {
  const volumes: VolumeId[] = all.map(() => -2);
  const sizes = new Float64Array(all.length);
  claims.collect(volumes, sizes);
  return claims.indices.map((index) => {
    const id = volumes[index] ?? -2;
    return `${id < 0 ? id : world.state.volumes.at(id).name} ${sizes[index]}`;
  });
}

interface Row {
  readonly given: readonly string[];
  readonly claims: readonly string[];
  /** Volumes; undefined where the general case must look. */
  readonly gets?: readonly string[];
  /** Something was left to another Pod that holds it. */
  readonly avoided?: boolean;
}

const unit = 1024 ** 3;
const disks = ["pv v1 1Gi on=a", "pv v2 2Gi on=a", "pv v3 3Gi on=a"];
const rows: Record<string, Row> = {
  "one claim takes the smallest that is large enough": { given: [...disks, "pvc x 2Gi"], claims: ["x"], gets: ["v2"] },
  "claims of three sizes take one each": {
    given: [...disks, "pvc x 3Gi", "pvc y 1Gi", "pvc z 2Gi"],
    claims: ["x", "y", "z"],
    gets: ["v3", "v1", "v2"],
  },
  "like claims that want the same take the next, dealt out in name order": {
    given: [...disks, "pvc x 1Gi", "pvc y 1Gi", "pvc z 1Gi"],
    claims: ["x", "y", "z"],
    gets: ["v1", "v2", "v3"],
  },
  "a small claim that comes first by name leaves the large one its only disk": {
    given: ["pv v1 1Gi on=a", "pv v3 3Gi on=a", "pvc x 1Gi", "pvc y 2Gi"],
    claims: ["x", "y"],
    gets: ["v1", "v3"],
  },
  "unlike claims that want the same are left to the general case": {
    given: ["pv v1 1Gi on=a modes=RWO,ROX", "pv v2 2Gi on=a modes=RWO,ROX", "pvc x 1Gi", "pvc y 1Gi modes=ROX"],
    claims: ["x", "y"],
  },
  "unlike claims that want different ones take them": {
    given: ["pv v1 1Gi on=a", "pv v2 2Gi on=a modes=ROX", "pvc x 1Gi", "pvc y 1Gi modes=ROX"],
    claims: ["x", "y"],
    gets: ["v1", "v2"],
  },
  "a claim that nothing is large enough for": { given: [...disks, "pvc x 4Gi"], claims: ["x"] },
  "more claims than disks": { given: ["pv v1 1Gi on=a", "pvc x 1Gi", "pvc y 1Gi"], claims: ["x", "y"] },
  "the second claim alone has nothing": {
    given: [...disks, "pvc x 1Gi", "pvc y 1Gi block"],
    claims: ["x", "y"],
  },
  "no disk at all": { given: ["pvc x 1Gi"], claims: ["x"] },
  "an assumed disk is passed over": {
    given: [...disks, "pvc w 1Gi", "assume q a : w", "pvc x 1Gi"],
    claims: ["x"],
    gets: ["v2"],
  },
  "a held disk is passed over, and that is told": {
    given: [...disks, "pvc w 1Gi", "hold q a : w", "pvc x 1Gi"],
    claims: ["x"],
    gets: ["v2"],
    avoided: true,
  },
  "only a held disk is there": {
    given: ["pv v1 1Gi on=a", "pvc w 1Gi", "hold q a : w", "pvc x 1Gi"],
    claims: ["x"],
    avoided: true,
  },
  "a held disk beyond the one that is taken is nothing to tell": {
    given: [...disks, "pvc w 3Gi", "hold q a : w", "pvc x 1Gi"],
    claims: ["x"],
    gets: ["v1"],
  },
  "disks without the labels are passed over": {
    given: [...disks, "pv w 4Gi on=a label=t:f", "pvc x 1Gi selector=t:f"],
    claims: ["x"],
    gets: ["w"],
  },
  "a class beside it is not its business": {
    given: [...disks, "pvc x 1Gi", "pvc y 1Gi class=csi"],
    claims: ["x", "y"],
    gets: ["v1"],
  },
};

test.for(Object.entries(rows))("%s", ([, { given, claims: names, gets, avoided = false }]) => {
  const subject = subjectOf(given, names);
  const { claims } = subject;
  expect(claims.takeAvoided()).toBe(false);
  const placed = claims.placeSimply(entryOf(subject).id, true);
  expect([placed, claims.isPlaced]).toEqual([gets !== undefined, gets !== undefined]);
  expect([claims.takeAvoided(), claims.takeAvoided()]).toEqual([avoided, false]);
  if (gets) expect(collected(subject)).toEqual(gets.map((name) => `${name} ${sizeOf(subject, name)}`));
});

function sizeOf({ world }: Subject, name: string): number {
  const size = Number(world.state.volumes.get(name as never)?.capacity);
  expect(size % unit).toBe(0);
  return size;
}

test("in the second try a held disk is as good as any", () => {
  const subject = subjectOf([...disks, "pvc w 1Gi", "hold q a : w", "pvc x 1Gi"], ["x"]);
  expect(subject.claims.placeSimply(entryOf(subject).id, false)).toBe(true);
  expect(collected(subject)).toEqual([`v1 ${unit}`]);
  expect(subject.claims.takeAvoided()).toBe(false);
});

test("who is not placed has nothing, whatever the node before gave", () => {
  const subject = subjectOf([...disks, "node b", "pvc x 1Gi"], ["x"]);
  const other = subject.world.state.topologies.nodes.get("b" as never);
  expect(subject.claims.placeSimply(entryOf(subject).id, true)).toBe(true);
  expect(subject.claims.placeSimply(other?.id ?? -1, true)).toBe(false);
  expect(collected(subject)).toEqual(["-1 0"]);
});

interface PoolRow {
  readonly given: readonly string[];
  readonly claims: readonly string[];
  /** Per open claim of the Pod "pool", or "" for none; a refusal; false for the general case. */
  readonly says: readonly string[] | { readonly index: number; readonly reason: string } | false;
  readonly avoided?: boolean;
}

const driver = ["driver csi.example capacity", "csinode a csi.example"];
const poolRows: Record<string, PoolRow> = {
  "all claims from the only pool": {
    given: [...driver, "capacity c csi a 10Gi", "pvc x 5Gi class=csi", "pvc y 5Gi class=csi"],
    claims: ["x", "y"],
    says: ["pool", "pool"],
  },
  "together too much for it": {
    given: [...driver, "capacity c csi a 10Gi", "pvc x 6Gi class=csi", "pvc y 5Gi class=csi"],
    claims: ["x", "y"],
    says: { index: 0, reason: "notEnoughSpace" },
  },
  "the smaller of two is too much for it alone": {
    given: [...driver, "capacity c csi a 10Gi", "pvc x 12Gi class=csi", "pvc y 11Gi class=csi"],
    claims: ["x", "y"],
    says: { index: 1, reason: "claimTooLarge" },
  },
  "the larger of two alone is too much": {
    given: [...driver, "capacity c csi a 10Gi", "pvc x 12Gi class=csi", "pvc y 1Gi class=csi"],
    claims: ["x", "y"],
    says: { index: 0, reason: "claimTooLarge" },
  },
  "a claim beyond the largest volume": {
    given: [...driver, "capacity c csi a 10Gi max=4Gi", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: { index: 0, reason: "claimTooLarge" },
  },
  "just as large as the largest volume": {
    given: [...driver, "capacity c csi a 10Gi max=5Gi", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: ["pool"],
  },
  "what others were promised would do": {
    given: [...driver, "capacity c csi a 10Gi", "pvc w 6Gi class=csi", "assume q a : w", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: { index: 0, reason: "capacityAssumed" },
  },
  "what others hold is left to them": {
    given: [...driver, "capacity c csi a 10Gi", "pvc w 6Gi class=csi", "hold q a : w", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: { index: 0, reason: "capacityAssumed" },
    avoided: true,
  },
  "the driver is not on the node": {
    given: [
      "driver csi.example capacity",
      "node b",
      "csinode b csi.example",
      "capacity c csi a 10Gi",
      "pvc x 5Gi class=csi",
    ],
    claims: ["x"],
    says: { index: 0, reason: "driverMissing" },
  },
  "a disk of the class is there": {
    given: [...driver, "capacity c csi a 10Gi", "pv v 1Gi on=a class=csi", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: false,
  },
  "nothing is published": { given: [...driver, "pvc x 5Gi class=csi"], claims: ["x"], says: false },
  "a driver that publishes nothing has room for all": {
    given: ["driver csi.example", "csinode a csi.example", "pvc x 5Gi class=csi"],
    claims: ["x"],
    says: [""],
  },
  "a claim that cannot be provisioned at all": {
    given: [...driver, "capacity c csi a 10Gi", "pvc x 5Gi class=csi selector=t:f"],
    claims: ["x"],
    says: false,
  },
};

test.for(Object.entries(poolRows))("provisioned: %s", ([, { given, claims: names, says, avoided = false }]) => {
  const subject = subjectOf(given, names);
  const pools: (Pool | undefined)[] = subject.all.map(() => undefined);
  expect(subject.claims.placeSimply(entryOf(subject).id, true)).toBe(false);
  const said = subject.claims.provisionSimply(entryOf(subject), true, pools);
  if (says === false || "reason" in says) expect(said).toEqual(says);
  else expect([said, pools.map((pool) => (pool ? "pool" : ""))]).toEqual([true, says]);
  expect([subject.claims.takeAvoided(), subject.claims.takeAvoided()]).toEqual([avoided, false]);
});
