/** Nodes as publishers of capacity: one pool per node for each class, or group of classes, that the configuration maps. */
import { setIn } from "./indexes.ts";
import { type ClassName, capacityKey, type NodeName } from "./names.ts";
import { type CapacitySource, readNodeCapacity, sourceName, sourceText } from "./node-capacity.ts";
import type { Node } from "./objects.ts";
import type { Pool } from "./pools.ts";
import type { Place, Publications } from "./publications.ts";
import { addBytes, type Bytes, zero } from "./quantity.ts";
import { nodeSelector } from "./selectors.ts";
import type { Topologies, Topology } from "./topology.ts";
import type { VolumeUsage } from "./volume-usage.ts";

export class NodeSources {
  readonly #topologies: Topologies;
  readonly #publications: Publications;
  readonly #usage: VolumeUsage;
  readonly #sources: ReadonlyMap<ClassName, CapacitySource>;
  /** Classes by what they draw on together. */
  readonly #groups = new Map<string, Set<ClassName>>();
  /** Values that cannot be read. */
  readonly #faults = new Set<string>();

  constructor(
    topologies: Topologies,
    publications: Publications,
    usage: VolumeUsage,
    sources: ReadonlyMap<ClassName, CapacitySource>,
  ) {
    this.#topologies = topologies;
    this.#publications = publications;
    this.#usage = usage;
    this.#sources = sources;
    for (const name of sources.keys()) setIn(this.#groups, publications.groupOf(name)).add(name);
  }

  /** Whether the class is mapped: then its capacity objects, if there are any, do not count. */
  has(name: ClassName): boolean {
    return this.#sources.has(name);
  }

  /** "annotation example.com/free": where nodes say what the class has; undefined where the class is not mapped. */
  nameOf(name: ClassName): string | undefined {
    const source = this.#sources.get(name);
    return source && sourceName(source);
  }

  /** How many values of nodes cannot be read. */
  get faultCount(): number {
    return this.#faults.size;
  }

  /** Why the node has no capacity of the class; undefined where it has, or the class is not mapped. */
  whyNone(node: Node, name: ClassName): string | undefined {
    const source = this.#sources.get(name);
    const reading = source && readNodeCapacity(node, source);
    return reading && "problem" in reading ? reading.problem : undefined;
  }

  /**
   * Takes over what the node says now. Returns the pools whose published value may have changed.
   *
   * @param before  the same object as it was known
   */
  set(node: Node, before: Node | undefined): readonly Pool[] {
    const changed: Pool[] = [];
    for (const [name, source] of this.#sources) {
      const text = sourceText(node, source);
      if (before !== undefined && text === sourceText(before, source)) continue;
      const pool = this.#setOne(node, name, source);
      if (pool) changed.push(pool);
    }
    return changed;
  }

  delete(node: NodeName): void {
    for (const name of this.#sources.keys()) {
      this.#faults.delete(idOf(node, name));
      this.#publications.remove(idOf(node, name));
    }
  }

  #setOne(node: Node, name: ClassName, source: CapacitySource): Pool | undefined {
    const id = idOf(node.name, name);
    const reading = readNodeCapacity(node, source);
    if ("problem" in reading) {
      if (reading.isFault) this.#faults.add(id);
      else this.#faults.delete(id);
      this.#publications.remove(id);
      return undefined;
    }
    this.#faults.delete(id);
    const object = {
      resourceVersion: node.resourceVersion,
      key: capacityKey(node.name, name),
      capacity: reading.bytes,
      createdAt: "",
    };
    return this.#publications.put(id, object, this.#placeOf(node.name, name, source));
  }

  #placeOf(node: NodeName, name: ClassName, { means }: CapacitySource): Place {
    const selector = nodeSelector([{ labels: [], fields: [named(node)] }]);
    const topology = this.#topologies.ofNodeSelector(selector);
    const classes = setIn(this.#groups, this.#publications.groupOf(name));
    return { class: name, topology, ...(means === "total" && { used: () => this.#usedOn(topology, classes) }) };
  }

  /** What volumes take of a pool on its one node: those of all classes that draw on it. */
  #usedOn(topology: Topology, classes: ReadonlySet<ClassName>): Bytes {
    let used = zero;
    for (const entry of topology.members) used = addBytes(used, this.#usage.on(entry, classes));
    return used;
  }
}

function named(node: NodeName) {
  return { key: "metadata.name", operator: "In" as const, values: new Set<string>([node]) };
}

/** No key of an object holds a space. */
function idOf(node: NodeName, name: ClassName): string {
  return `${node} ${name}`;
}
