/**
 * The short cuts say what the general case says. A sibling that takes nothing the other claims could have sends a Pod through the
 * general case: one whose volume is reserved for it, or, in each class, one that asks for a block device beside file systems.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { planNode } from "../../src/scheduling/filter.ts";
import { className, nodeName } from "../../src/scheduling/names.ts";
import type { Pod } from "../../src/scheduling/objects.ts";
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

const siblings = {
  reserved: { lines: ["class far", "pv far 1Gi class=far for=far", "pvc far 1Gi class=far"], claims: ["far"] },
  unlike: {
    lines: ["local", "csi", "two"].flatMap((name) => [
      `pv block-${name} 1Gi class=${name} block`,
      `pvc block-${name} 1Gi class=${name} block`,
    ]),
    claims: ["block-local", "block-csi", "block-two"],
  },
};

/** What the Pod is told of the node, or gets there, the siblings apart. */
function answerOn(
  { state }: World,
  pod: Pod,
  node: string,
): { readonly fits: boolean; readonly told: readonly string[] } {
  const verdict = planNode(state, pod, nodeName(node));
  if (verdict.kind !== "judged") throw new Error(verdict.kind);
  if (!verdict.nodes.fits) {
    return { fits: false, told: verdict.nodes.refusals.map(({ reason, claim: key }) => `${reason} ${key}`) };
  }
  const { contended, claims } = verdict.nodes.plan;
  const own = claims.filter(({ claim: { key } }) => !/^d.(far|block)/.test(key));
  const got = own.map(
    (planned) => `${planned.claim.key} ${planned.kind === "provision" ? planned.pool : planned.volume.name}`,
  );
  return { fits: true, told: [...(contended ? ["contended"] : []), ...got] };
}

test.for(Object.entries(siblings))(
  "a sibling that is %s changes nothing for the other claims of a Pod",
  ([, sibling]) => {
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
            ...["node a zone=z", "node b zone=z", "node c", "driver csi.example capacity"],
            ...["csi", "two"].map((name) => `class ${name} provisioner=csi.example`),
            ...[`capacity c1 csi a ${one}`, `capacity c2 two a ${two}`, `capacity c4 two b ${other}`],
            `capacity c3 csi - ${zone} at=zone:z`,
            ...volumes.map((facts, index) => `pv v${index} ${facts}`),
            ...sibling.lines,
          ])
            world.apply(line);
          const [first, second, pod] = [put(world, "x", assumed), put(world, "y", held), put(world, "z", asked)];
          const [on] = world.fitting(first);
          if (on !== undefined) world.state.reservations.assume(first.uid, world.plan(first, on));
          world.state.reservations.hold(
            second.uid,
            world.fitting(second).map((node) => world.plan(second, node)),
          );
          const beside = world.pod("z", ...asked.map((_, index) => `z${index}`), ...sibling.claims);
          const answers = nodes.map((node) => answerOn(world, pod, node));
          expect(nodes.map((node) => answerOn(world, beside, node))).toEqual(answers);
          expect(world.fitting(pod)).toEqual(nodes.filter((_, index) => answers[index]?.fits));
          for (const { fits, told } of answers) {
            if (!fits) seen.refused++;
            else if (asked.length > 1) seen.several++;
            if (told[0] === "contended") seen.contended++;
          }
        },
      ),
      { numRuns: runs(400), seed: 20_261_130 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(runs(10));
  },
);
