/** One class on one node, any few volumes and claims: the short cut, the general case and what is asked afterwards. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ClassClaims } from "../../src/scheduling/class-claims.ts";
import type { Liberty } from "../../src/scheduling/matching.ts";
import { volumeName } from "../../src/scheduling/names.ts";
import type { VolumeId } from "../../src/scheduling/volume-table.ts";
import { bestWay, none } from "../support/every-way.ts";
import { makeNode, makePV, makePVC } from "../support/make.ts";
import { openClaims } from "../support/open-claims.ts";
import { runs } from "../support/runs.ts";
import { World } from "../support/world.ts";

interface Disk {
  readonly size: number;
  readonly modes: string;
  readonly label: boolean;
  readonly promised: "" | "held" | "assumed" | "both";
}

interface Asked {
  readonly size: number;
  readonly mode: string;
  readonly selects: boolean;
  /** Nobody could provision it. */
  readonly blocked: boolean;
}

const disk: fc.Arbitrary<Disk> = fc.record({
  size: fc.integer({ min: 1, max: 4 }),
  modes: fc.constantFrom("RWO", "RWO", "RWO,ROX"),
  label: fc.boolean(),
  promised: fc.constantFrom<Disk["promised"][]>("", "", "", "held", "assumed", "both"),
});
const asked: fc.Arbitrary<Asked> = fc.record({
  size: fc.integer({ min: 1, max: 4 }),
  mode: fc.constantFrom("RWO", "RWO", "RWO", "ROX"),
  selects: fc.constantFrom(false, false, false, true),
  blocked: fc.boolean(),
});
const accessModes = new Map([
  ["RWO", "ReadWriteOnce"],
  ["ROX", "ReadOnlyMany"],
]);
const long = (modes: string): string[] => modes.split(",").map((mode) => accessModes.get(mode) ?? "");

/** In the order of preference. */
const inOrder = (disks: readonly Disk[]): Disk[] => disks.toSorted((a, b) => a.size - b.size);

function suits(claim: Asked, { size, modes, label }: Disk): boolean {
  return size >= claim.size && modes.split(",").includes(claim.mode) && (!claim.selects || label);
}

function mayTake({ held, assumed }: Liberty, { promised }: Disk): boolean {
  if (promised === "assumed" || promised === "both") return assumed;
  return held || promised === "";
}

const isAssumed = ({ promised }: Disk): boolean => promised === "assumed" || promised === "both";

function subjectOf(disks: readonly Disk[], claims: readonly Asked[]) {
  const world = new World().add(makeNode("a"));
  for (const [nth, { size, modes, label }] of disks.entries()) {
    const labels = label ? { t: "f" } : {};
    world.add(makePV(`v${nth}`, { on: "a", capacity: `${size}Gi`, modes: long(modes), labels }));
  }
  for (const [nth, { size, mode, selects }] of claims.entries()) {
    const selector = selects ? { selector: { matchLabels: { t: "f" } } } : {};
    world.add(makePVC(`c${nth}`, { request: `${size}Gi`, modes: long(mode), ...selector }));
  }
  const { volumes, topologies } = world.state;
  const ids = disks.map((_, nth) => volumes.id(volumeName(`v${nth}`)) ?? -1);
  for (const [nth, { promised }] of disks.entries()) {
    const id = ids[nth] ?? -1;
    if (promised === "held" || promised === "both") volumes.hold(id, 1);
    if (promised === "assumed" || promised === "both") volumes.assume(id, true);
  }
  const open = openClaims(world, ...claims.map((_, nth) => `c${nth}`));
  const node = [...topologies.nodes.values()][0]?.id ?? -1;
  const one = new ClassClaims(world.state, open, [...open.keys()]);
  const collected = (): number[] => {
    const found: VolumeId[] = claims.map(() => -2);
    const sizes = new Float64Array(claims.length);
    one.collect(found, sizes);
    const numbers = found.map((id) => (id === none ? none : ids.indexOf(id)));
    expect([...sizes]).toEqual(numbers.map((number) => (disks[number]?.size ?? 0) * 1024 ** 3));
    return numbers;
  };
  return { one, node, ids, collected };
}

const liberties = [false, true].flatMap((held) => [false, true].map((assumed) => ({ held, assumed })));
const few = fc.record({
  disks: fc.array(disk, { maxLength: 6 }).map(inOrder),
  claims: fc.array(asked, { minLength: 1, maxLength: 4 }),
});
const bySize = (claims: readonly Asked[]) => (a: number, b: number) =>
  (claims[b]?.size ?? 0) - (claims[a]?.size ?? 0) || a - b;

test("the general case is the best of all ways, whoever comes first and whatever may be taken", () => {
  fc.assert(
    fc.property(
      few,
      fc.constantFrom(...liberties),
      fc.subarray([0, 1, 2, 3, 4, 5]),
      ({ disks, claims }, liberty, not) => {
        const { one, node, ids, collected } = subjectOf(disks, claims);
        const except = not.flatMap((number) => ids[number] ?? []);
        one.reach.lookAt(node);
        const isOpen = (claim: Asked) => (number: number) =>
          suits(claim, disks[number] as Disk) && mayTake(liberty, disks[number] as Disk) && !not.includes(number);
        const wished = claims.map((claim) => [...disks.keys()].filter(isOpen(claim)));
        const places = [...claims.keys()];
        const order = [true, false].flatMap((blocked) =>
          places.filter((claim) => claims[claim]?.blocked === blocked).sort(bySize(claims)),
        );
        const blocked = claims.map((claim) => (claim.blocked ? "noMatchingVolume" : undefined));
        one.assign({ ...liberty, except }, blocked);
        expect(collected()).toEqual(bestWay(wished, order));
        expect(places.map((claim) => one.hasAny(claim))).toEqual(wished.map((own) => own.length > 0));
        const hasAssumed = (claim: Asked): boolean =>
          disks.some((disk, number) => isAssumed(disk) && suits(claim, disk) && !not.includes(number));
        expect(places.map((claim) => one.hasAssumed(claim, except))).toEqual(claims.map(hasAssumed));
      },
    ),
    { numRuns: runs(3_000) },
  );
});

test("what is left to others who hold it is told where it would have served, and not where nobody holds any", () => {
  fc.assert(
    fc.property(few, ({ disks, claims }) => {
      const { one, node, collected } = subjectOf(disks, claims);
      const blocked = claims.map(() => undefined);
      one.reach.lookAt(node);
      const served = (held: boolean): number => {
        one.assign({ held, assumed: false }, blocked);
        return collected().filter((number) => number !== none).length;
      };
      const [careful, told, bold, toldAgain] = [served(false), one.takeAvoided(), served(true), one.takeAvoided()];
      if (bold > careful) expect(told).toBe(true);
      if (disks.every(({ promised }) => promised !== "held")) expect(told).toBe(false);
      expect(toldAgain).toBe(false);
    }),
    { numRuns: runs(1_000) },
  );
});

test("the short cut gives the best of all ways where it serves all, and serves all like claims that can be served", () => {
  let taken = 0;
  fc.assert(
    fc.property(few, fc.boolean(), ({ disks, claims }, avoid) => {
      const { one, node, collected } = subjectOf(disks, claims);
      const liberty = { held: !avoid, assumed: false };
      const wished = claims.map((claim) =>
        [...disks.keys()].filter((number) => {
          const disk = disks[number] as Disk;
          return suits(claim, disk) && mayTake(liberty, disk);
        }),
      );
      const best = bestWay(wished, [...claims.keys()].sort(bySize(claims)));
      const placed = one.placeSimply(node, avoid);
      const areLike = claims.every(({ mode, selects }) => mode === claims[0]?.mode && selects === claims[0].selects);
      if (placed) expect(collected()).toEqual(best);
      if (areLike) expect(placed).toBe(!best.includes(none));
      if (placed && !areLike) taken++;
    }),
    { numRuns: runs(2_000) },
  );
  expect(taken).toBeGreaterThan(runs(15));
});

test("whoever searches is told of each claim all that it may take, and whether it can be provisioned", () => {
  fc.assert(
    fc.property(few, fc.constantFrom(...liberties), ({ disks, claims }, liberty) => {
      const { one, node, ids } = subjectOf(disks, claims);
      one.reach.lookAt(node);
      const blocked = claims.map((claim) => (claim.blocked ? "noMatchingVolume" : undefined));
      const expected = claims.map((claim, index) => ({
        index,
        candidates: disks.flatMap((disk, number) =>
          suits(claim, disk) && mayTake(liberty, disk) ? [ids[number]] : [],
        ),
        canBeProvisioned: !claim.blocked,
      }));
      expect(one.askers(liberty, blocked)).toEqual(expected);
    }),
    { numRuns: runs(1_000) },
  );
});
