/** How many volumes of each class there are in each topology, and how many of them are taken: kept in step as volumes change. */
import { mapIn } from "./indexes.ts";
import type { ClassName } from "./names.ts";
import type { Volume } from "./objects.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { Topology } from "./topology.ts";

export interface Tally {
  readonly count: number;
  /** Those that any claim may take; the others are taken. */
  readonly free: number;
  readonly takenBytes: Bytes;
}

export type Tallies = ReadonlyMap<Topology, Tally>;

type Kept = { -readonly [Field in keyof Tally]: Tally[Field] };

export class VolumeCensus {
  readonly #byClass = new Map<ClassName, Map<Topology, Kept>>();

  /** By topology; undefined where there is no volume of the class. */
  of(name: ClassName): Tallies | undefined {
    return this.#byClass.get(name);
  }

  /** Those that some volume is of. */
  classes(): MapIterator<ClassName> {
    return this.#byClass.keys();
  }

  /** A volume that is taken came. */
  add(topology: Topology, { class: name, capacity }: Volume): void {
    const tallies = mapIn(this.#byClass, name);
    const tally = tallies.get(topology);
    if (!tally) {
      tallies.set(topology, { count: 1, free: 0, takenBytes: capacity });
      return;
    }
    tally.count++;
    tally.takenBytes = addBytes(tally.takenBytes, capacity);
  }

  /** A volume that is taken goes. */
  remove(topology: Topology, { class: name, capacity }: Volume): void {
    const tallies = this.#byClass.get(name);
    const tally = tallies?.get(topology);
    if (!tallies || !tally) return;
    tally.count--;
    tally.takenBytes = subtractBytes(tally.takenBytes, capacity);
    if (tally.count === 0) tallies.delete(topology);
    if (tallies.size === 0) this.#byClass.delete(name);
  }

  /** A volume that was added becomes free, or is taken again. */
  setFree(topology: Topology, { class: name, capacity }: Volume, isFree: boolean): void {
    const tally = this.#byClass.get(name)?.get(topology);
    if (!tally) return;
    tally.free += isFree ? 1 : -1;
    tally.takenBytes = isFree ? subtractBytes(tally.takenBytes, capacity) : addBytes(tally.takenBytes, capacity);
  }
}

/** Bytes of the volumes that are taken, of those in any of the topologies. */
export function takenIn(topologies: readonly Topology[], everywhere: Topology, tallies: Tallies | undefined): Bytes {
  let sum = tallies?.get(everywhere)?.takenBytes ?? zero;
  if (tallies) for (const topology of topologies) sum = addBytes(sum, tallies.get(topology)?.takenBytes ?? zero);
  return sum;
}
