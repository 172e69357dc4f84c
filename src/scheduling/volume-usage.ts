/** What the volumes of some classes take on each node: where a node publishes all it has, this is to be deducted. */
import type { ClassName } from "./names.ts";
import type { Volume } from "./objects.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { NodeEntry, Topologies, Topology } from "./topology.ts";

export class VolumeUsage {
  readonly #topologies: Topologies;
  readonly #classes: ReadonlySet<ClassName>;
  /** By where the volumes can be reached from, then by class. */
  readonly #taken = new WeakMap<Topology, Map<ClassName, Bytes>>();

  /** @param classes  the classes whose volumes are counted */
  constructor(topologies: Topologies, classes: ReadonlySet<ClassName>) {
    this.#topologies = topologies;
    this.#classes = classes;
  }

  /** A volume came or went. Whoever changes one lets it go first. */
  count({ class: name, capacity }: Volume, topology: Topology, by: 1 | -1): void {
    if (!this.#classes.has(name)) return;
    const taken = this.#taken.get(topology) ?? new Map<ClassName, Bytes>();
    const before = taken.get(name) ?? zero;
    taken.set(name, by === 1 ? addBytes(before, capacity) : subtractBytes(before, capacity));
    this.#taken.set(topology, taken);
  }

  /** Bytes of all volumes of the classes that the node reaches, whatever their phase: they exist until they are deleted. */
  on(entry: NodeEntry, classes: Iterable<ClassName>): Bytes {
    let sum = zero;
    for (const name of classes) {
      sum = addBytes(sum, this.#taken.get(this.#topologies.everywhere)?.get(name) ?? zero);
      for (const topology of entry.topologies) sum = addBytes(sum, this.#taken.get(topology)?.get(name) ?? zero);
    }
    return sum;
  }
}
