/**
 * Claims that differ in size alone: whatever volume serves one of them serves every smaller one. Then no search is needed. The
 * largest claim takes its smallest volume, the next its smallest that is left, and so on: an assignment is found whenever one
 * exists, over the least volumes. It remains to deal those out as every assignment is: claims in name order, each the smallest
 * volume that leaves the others served.
 */
import { isLargeEnough, type Want } from "./matching.ts";
import { zero } from "./quantity.ts";
import type { VolumeId, VolumeTable } from "./volume-table.ts";

/** Whether the wants, of one class, differ in size alone. */
export function areAlike(wants: readonly Want[]): boolean {
  const [first] = wants;
  return wants.every(
    ({ traits, attributes, selector }) =>
      traits === first?.traits && attributes === first.attributes && selector?.identity === first.selector?.identity,
  );
}

interface Alike {
  readonly want: Want;
  readonly isAlike: boolean;
}

/**
 * Within each class whose claims are alike, deals the volumes out anew.
 *
 * @param open     in name order
 * @param volumes  a volume per claim that suits it, all different
 */
export function dealAlike(open: readonly Alike[], volumes: readonly VolumeId[], table: VolumeTable): VolumeId[] {
  if (isDealt(open, volumes, table)) return [...volumes];
  const dealt = [...volumes];
  const classes = new Set(open.flatMap(({ isAlike, want: { claim } }) => (isAlike ? [claim.class] : [])));
  for (const name of classes) {
    const indexes = open.flatMap(({ want: { claim } }, index) => (claim.class === name ? [index] : []));
    const chosen = indexes.map((index) => volumes[index] ?? 0).sort((a, b) => table.compare(a, b));
    const wants = indexes.flatMap((index) => open[index]?.want ?? []);
    for (const [position, volume] of deal(wants, chosen, table).entries()) dealt[indexes[position] ?? 0] = volume;
  }
  return dealt;
}

/** Whether each claim has a smaller volume than the next of its class: no deal gives an earlier claim a smaller one. */
function isDealt(open: readonly Alike[], volumes: readonly VolumeId[], table: VolumeTable): boolean {
  for (let later = 1; later < open.length; later++) {
    for (let earlier = 0; earlier < later; earlier++) {
      if (open[earlier]?.want.claim.class !== open[later]?.want.claim.class) continue;
      if (table.compare(volumes[earlier] ?? 0, volumes[later] ?? 0) > 0) return false;
    }
  }
  return true;
}

/**
 * @param wants    alike, in name order
 * @param chosen   as many volumes, by (capacity, name), that can serve all of them
 * @returns        a volume per want
 */
function deal(wants: readonly Want[], chosen: readonly VolumeId[], volumes: VolumeTable): VolumeId[] {
  const left = [...chosen];
  return wants.map((want, index) => {
    const later = wants.slice(index + 1).sort((a, b) => compareSizes(a, b));
    const position = left.findIndex(
      (volume, at) => isLargeEnough(want, volumes, volume) && canServe(later, left, at, volumes),
    );
    return left.splice(position, 1)[0] ?? -1;
  });
}

function compareSizes(a: Want, b: Want): number {
  const [left, right] = [a.claim.request ?? zero, b.claim.request ?? zero];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether the volumes but one, both in ascending order, are each large enough for the want in the same place. */
function canServe(wants: readonly Want[], chosen: readonly VolumeId[], without: number, volumes: VolumeTable): boolean {
  return wants.every((want, index) => isLargeEnough(want, volumes, chosen[index < without ? index : index + 1] ?? -1));
}
