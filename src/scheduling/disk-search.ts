/**
 * Volumes for the claims of one Pod where the smallest together ask more of a file system than it has left: by search, exact up to
 * a bound. As everywhere, what counts is to provision as few as can be, and then the least surplus (decision 9).
 */
import type { Disk } from "./disks.ts";
import { provisioned } from "./outcome.ts";
import { addBytes, type Bytes, compareBytes, subtractBytes, zero } from "./quantity.ts";
import type { VolumeId } from "./volume-table.ts";

/** A claim that is to be served. */
export interface Asker {
  /** Its place among all open claims of the Pod. */
  readonly index: number;
  /** Volumes in the order of preference, the smallest first. */
  readonly candidates: readonly VolumeId[];
  readonly canBeProvisioned: boolean;
}

export interface DiskSearchOptions {
  /** Per open claim. */
  readonly asked: readonly { readonly bytes: Bytes }[];
  /** Per open claim: filled in for the askers, and `provisioned` for each of them before. */
  readonly volumes: VolumeId[];
  /** What the other open claims ask of file systems: changed meanwhile. */
  readonly used: Map<Disk, Bytes>;
  readonly capacityOf: (id: VolumeId) => Bytes;
  /** The file system that the volume is a directory of. */
  readonly diskOf: (id: VolumeId) => Disk | undefined;
  readonly hasRoom: (disk: Disk, bytes: Bytes) => boolean;
  /** Beyond so many steps a search says no, though a choice may exist. */
  readonly stepsMax: number;
  /** Has the last word on a choice, and may have it searched on. */
  readonly accept: () => boolean;
}

/** After a choice is found, a better one is looked for in so many more. */
const betterMax = 1_000;

interface Choice {
  readonly id: VolumeId;
  readonly disk: Disk | undefined;
  readonly surplus: Bytes;
  /** Volumes of one disk that the same claims may take: of these the smallest will always do. */
  readonly group: number;
}

interface Place {
  readonly asker: Asker;
  readonly bytes: Bytes;
  /** Made when a search gets here: most fail before. */
  choices?: readonly Choice[];
}

/** How good a choice is: less is better, the first number before the second. */
interface Cost {
  readonly provisioned: number;
  readonly surplus: Bytes;
}

export class DiskSearch {
  readonly #options: DiskSearchOptions;
  /** The largest claims first: they have the fewest places. */
  readonly #places: readonly Place[];
  readonly #groups: ReadonlyMap<VolumeId, number>;
  /** Per place what it and all after it cost at least. */
  readonly #least: Cost[] = [];
  #best: (Cost & { readonly volumes: readonly VolumeId[] }) | undefined;
  #steps = 0;
  #limit: number;

  constructor(askers: readonly Asker[], options: DiskSearchOptions) {
    this.#options = options;
    this.#limit = options.stepsMax;
    const bytesOf = ({ index }: Asker): Bytes => options.asked[index]?.bytes ?? zero;
    const order = askers.toSorted((a, b) => compareBytes(bytesOf(b), bytesOf(a)));
    this.#groups = groupsOf(order, options);
    this.#places = order.map((asker) => ({ asker, bytes: bytesOf(asker) }));
    let least: Cost = { provisioned: 0, surplus: zero };
    for (const { asker, bytes } of this.#places.toReversed()) {
      const [smallest] = asker.candidates;
      const surplus = smallest === undefined ? zero : subtractBytes(options.capacityOf(smallest), bytes);
      least = sum(least, { provisioned: smallest === undefined ? 1 : 0, surplus });
      this.#least.unshift(least);
    }
  }

  /** Taken so far. */
  get steps(): number {
    return this.#steps;
  }

  /** Whether all askers are served: then `volumes` is the best choice that was found, and accepted last. */
  run(): boolean {
    this.#place(0, { provisioned: 0, surplus: zero });
    if (!this.#best) return false;
    for (const [index, id] of this.#best.volumes.entries()) this.#options.volumes[index] = id;
    return this.#options.accept();
  }

  #place(position: number, cost: Cost): void {
    const place = this.#places[position];
    const { volumes, used, hasRoom, accept } = this.#options;
    if (!place) {
      if (!accept()) return;
      this.#best = { ...cost, volumes: [...volumes] };
      this.#limit = Math.min(this.#limit, this.#steps + betterMax);
      return;
    }
    if (++this.#steps > this.#limit) return;
    const { index, canBeProvisioned } = place.asker;
    const tried = new Set<number>();
    place.choices ??= this.#choicesOf(place);
    for (const { id, disk, surplus, group } of place.choices) {
      if (this.#steps > this.#limit) return;
      if (tried.has(group) || volumes.includes(id)) continue;
      tried.add(group);
      const next = sum(cost, { provisioned: 0, surplus });
      const before = (disk && used.get(disk)) ?? zero;
      const after = addBytes(before, place.bytes);
      if (!this.#mayBeBest(position + 1, next) || (disk && !hasRoom(disk, after))) continue;
      if (disk) used.set(disk, after);
      volumes[index] = id;
      this.#place(position + 1, next);
      volumes[index] = provisioned;
      if (disk) used.set(disk, before);
    }
    const next = sum(cost, { provisioned: 1, surplus: zero });
    if (canBeProvisioned && this.#mayBeBest(position + 1, next)) this.#place(position + 1, next);
  }

  #choicesOf({ asker, bytes }: Place): Choice[] {
    const { capacityOf, diskOf } = this.#options;
    return asker.candidates.map((id) => ({
      id,
      disk: diskOf(id),
      surplus: subtractBytes(capacityOf(id), bytes),
      group: this.#groups.get(id) ?? 0,
    }));
  }

  #mayBeBest(position: number, cost: Cost): boolean {
    const least = this.#least[position];
    const whole = least ? sum(cost, least) : cost;
    const best = this.#best;
    if (!best || whole.provisioned < best.provisioned) return true;
    return whole.provisioned === best.provisioned && whole.surplus < best.surplus;
  }
}

/** Per volume a number for its disk and the askers that may take it. */
function groupsOf(askers: readonly Asker[], { diskOf }: DiskSearchOptions): Map<VolumeId, number> {
  const disks = new Map<Disk | undefined, number>();
  const groups = new Map<VolumeId, number>();
  /** By the group of a volume before it was known that one asker more may take it, and that asker. */
  const narrower = new Map<number, number>();
  for (const [position, { candidates }] of askers.entries()) {
    for (const id of candidates) {
      let before = groups.get(id);
      if (before === undefined) {
        const disk = diskOf(id);
        before = disks.get(disk) ?? -1 - disks.size;
        disks.set(disk, before);
      }
      const key = before * askers.length + position;
      const group = narrower.get(key) ?? narrower.size;
      narrower.set(key, group);
      groups.set(id, group);
    }
  }
  return groups;
}

function sum(a: Cost, b: Cost): Cost {
  return { provisioned: a.provisioned + b.provisioned, surplus: addBytes(a.surplus, b.surplus) };
}
