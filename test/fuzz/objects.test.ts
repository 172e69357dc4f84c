/** Every field that Berth reads of the API's objects, damaged in every way; a share of them through the reflectors of a whole Berth. */
import { expect, test } from "vitest";
import { translate } from "../../src/apis/kubernetes.ts";
import { kinds } from "../../src/scheduling/objects.ts";
import { Random } from "../oracle/random.ts";
import { damagesOf, victims } from "./damage.ts";
import { HostileWorld, judgeDamage, namesField } from "./objects.ts";

const seed = Date.now() % 1_000_000_000;
const perKind = 6;

test.for(kinds)("a %s that is damaged anywhere is refused by the name of the field", async (kind) => {
  const world = await HostileWorld.open(1);
  const damages = damagesOf(kind, world.api.get(kind, victims[kind]));
  const wrong = damages.flatMap(({ object, field, how }) => {
    const read = translate(kind, object);
    if (read.ok) return [`${field}, ${how}: was read`];
    return namesField(`${read.field}: ${read.problem}`, field) ? [] : [`${field}, ${how}: ${read.field}`];
  });
  expect(wrong).toEqual([]);
  expect(damages.length).toBeGreaterThan(15);
});

test.for(kinds)(`a %s that cannot be read harms nobody who does not need it (seed ${seed})`, async (kind) => {
  const world = await HostileWorld.open(3);
  const key = victims[kind];
  const sound = { answers: await world.answers(), objects: world.objects() };
  const random = new Random(seed);
  const found: string[] = [];
  for (const damage of random.shuffled(damagesOf(kind, world.api.get(kind, key))).slice(0, perKind)) {
    const problem = await judgeDamage(world, damage, key, sound);
    if (problem !== undefined) found.push(`${damage.field}, ${damage.how}: ${problem}`);
  }
  expect(found).toEqual([]);
  expect(world.api.writes).toEqual([]);
});
