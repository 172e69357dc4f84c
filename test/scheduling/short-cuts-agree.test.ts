/**
 * The short cuts say what the general case says. A claim whose volume is reserved, of a class of its own and reached from every
 * node, sends its Pod through the general case, and takes nothing that its siblings could have.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { className } from "../../src/scheduling/names.ts";
import type { Pod } from "../../src/scheduling/objects.ts";
import type { Plan } from "../../src/scheduling/plan.ts";
import { runs } from "../support/runs.ts";
import { World } from "../support/world.ts";

const nodes = ["a", "b", "c"];
/** Some that doubles do not tell apart. */
const size = fc.constantFrom("1Gi", "2Gi", "3Gi", "9007199254740992", "9007199254740993", "9007199254740994");
const ofClass = fc.constantFrom("class=local", "class=csi", "class=two");
const seldom = (fact: string) => fc.constantFrom("", "", "", "", fact);
const words = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((facts) => facts.join(" "));
const volume = words(
  size,
  fc.constantFrom("on=a", "on=a", "on=b", "at=zone:z", ""),
  ofClass,
  fc.constantFrom("modes=RWO,ROX", "modes=RWO,ROX", "modes=RWO"),
  fc.constantFrom("", "label=k:1"),
  seldom("vac=gold"),
);
const claim = words(size, ofClass, seldom("modes=RWO,ROX"), seldom("selector=k:1"), seldom("vac=gold"));
const free = fc.constantFrom("0", "2Gi", "5Gi", "9007199254740993", "18014398509481987");

function put(world: World, name: string, claims: readonly string[]): Pod {
  for (const [index, facts] of claims.entries()) world.apply(`pvc ${name}${index} ${facts}`);
  return world.pod(name, ...claims.map((_, index) => `${name}${index}`));
}

function targets({ claims }: Plan): string[] {
  return claims
    .filter(({ claim: { key } }) => key !== "d/own")
    .map((planned) => `${planned.claim.key} ${planned.kind === "provision" ? planned.pool : planned.volume.name}`);
}

test("a sibling that has its volume already changes nothing for the other claims of a Pod", () => {
  const seen = { contended: 0, several: 0, refused: 0 };
  const some = (maxLength: number) => fc.array(claim, { minLength: 1, maxLength });
  fc.assert(
    fc.property(
      fc.array(volume, { maxLength: 12, size: "max" }),
      fc.tuple(some(2), some(3), some(4)),
      fc.tuple(free, free, free, free),
      (volumes, [assumed, held, asked], [one, two, zone, other]) => {
        const world = new World({ sharedPools: new Map(["csi", "two"].map((name) => [className(name), "vg"])) });
        for (const line of [
          ...["node a zone=z", "node b zone=z", "node c", "driver csi.example capacity", "class far"],
          ...["csi", "two"].map((name) => `class ${name} provisioner=csi.example`),
          ...[`capacity c1 csi a ${one}`, `capacity c2 two a ${two}`, `capacity c4 two b ${other}`],
          `capacity c3 csi - ${zone} at=zone:z`,
          ...volumes.map((facts, index) => `pv v${index} ${facts}`),
          ...["pv far 1Gi class=far for=own", "pvc own 1Gi class=far"],
        ])
          world.apply(line);
        const [first, second, pod] = [put(world, "x", assumed), put(world, "y", held), put(world, "z", asked)];
        const [on] = world.fitting(first);
        if (on !== undefined) world.state.reservations.assume(first.uid, world.plan(first, on));
        world.state.reservations.hold(
          second.uid,
          world.fitting(second).map((node) => world.plan(second, node)),
        );
        const beside = world.pod("z", ...asked.map((_, index) => `z${index}`), "own");
        expect(world.fitting(pod)).toEqual(nodes.filter((node) => world.reasons(pod, node).length === 0));
        for (const node of nodes) {
          const reasons = world.reasons(pod, node);
          expect(world.reasons(beside, node)).toEqual(reasons);
          seen.refused += reasons.length;
          if (reasons.length > 0) continue;
          const [plan, general] = [world.plan(pod, node), world.plan(beside, node)];
          expect([general.contended, ...targets(general)]).toEqual([plan.contended, ...targets(plan)]);
          if (plan.contended) seen.contended++;
          if (asked.length > 1) seen.several++;
        }
      },
    ),
    { numRuns: runs(400), seed: 20_261_130 },
  );
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(runs(10));
});
