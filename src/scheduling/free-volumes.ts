/**
 * Volumes that any claim may take, by topology and class, smallest first: in slabs, which say what is so, and in blocks, a copy
 * of those slabs that one node alone reaches, laid out for decisions.
 */
import { Blocks, type SlotSource } from "./blocks.ts";
import { count, deleteIn, setIn, setNewest } from "./indexes.ts";
import type { ClassName } from "./names.ts";
import { Slab } from "./slab.ts";
import type { NodeEntry, Topologies, Topology } from "./topology.ts";
import type { VolumeId } from "./volume-table.ts";

interface Volumes extends SlotSource {
  compare(a: VolumeId, b: VolumeId): number;
}

/** Classes whose blocks are written before anybody asks. */
const preparedMax = 4;
/** Classes whose blocks are kept at one time, those used last. More than a Pod's open claims can name. */
const blocksMax = 128;

export class FreeVolumes {
  readonly #volumes: Volumes;
  readonly #compare: (a: VolumeId, b: VolumeId) => number;
  readonly #everywhere: Topology;
  /** How many by class. */
  readonly #counts = new Map<ClassName, number>();
  /** Topologies with a slab of the class that several nodes are in, or every node. What no node is in costs no decision anything. */
  readonly #shared = new Map<ClassName, Set<Topology>>();
  /** The class that was used last comes last. */
  readonly #blocks = new Map<ClassName, Blocks>();

  constructor(volumes: Volumes, topologies: Topologies) {
    this.#volumes = volumes;
    this.#compare = (a, b) => volumes.compare(a, b);
    this.#everywhere = topologies.everywhere;
    topologies.membersChange = (topology) => {
      for (const name of topology.slabs.keys()) this.#changed(topology, name);
    };
  }

  add(topology: Topology, name: ClassName, id: VolumeId): void {
    const slab = topology.slabs.get(name) ?? new Slab();
    topology.slabs.set(name, slab);
    slab.add(id, this.#compare);
    count(this.#counts, name, 1);
    this.#changed(topology, name);
  }

  /** Only what was added, with the capacity that it had then. */
  remove(topology: Topology, name: ClassName, id: VolumeId): void {
    const slab = topology.slabs.get(name);
    slab?.remove(id, this.#compare);
    if (slab?.length === 0) topology.slabs.delete(name);
    count(this.#counts, name, -1);
    this.#changed(topology, name);
    if (!this.#counts.has(name)) this.#blocks.delete(name);
  }

  /** A promise of a volume that was added was made or ended. */
  offerChanged(topology: Topology, name: ClassName, id: VolumeId): void {
    const [member] = topology.members;
    if (member && topology.members.size === 1) {
      this.#blocks.get(name)?.setOffer(member.id, id, this.#volumes.offerOf(id));
    }
  }

  /** Topologies with free volumes of the class that several nodes are in, or every node; undefined where there is none. */
  sharedOf(name: ClassName): ReadonlySet<Topology> | undefined {
    return this.#shared.get(name);
  }

  /** Free volumes of the class that one node alone reaches; undefined where no volume of the class is free. */
  blocksOf(name: ClassName): Blocks | undefined {
    if (!this.#counts.has(name)) return undefined;
    const blocks = this.#blocks.get(name) ?? new Blocks();
    setNewest(this.#blocks, name, blocks, blocksMax);
    return blocks;
  }

  /** Writes a node's block that was struck out. */
  writeBlock(blocks: Blocks, entry: NodeEntry, name: ClassName): void {
    let ids: readonly VolumeId[] = [];
    for (const topology of entry.topologies) {
      const slab = topology.members.size === 1 ? topology.slabs.get(name) : undefined;
      if (!slab) continue;
      ids = ids.length === 0 ? slab.toArray() : [...ids, ...slab].sort(this.#compare);
    }
    blocks.write(entry.id, ids, this.#volumes);
  }

  /** Writes the blocks of the largest classes, a node a step: the first decision would have to write them all in one turn. */
  *prepare(nodes: Iterable<NodeEntry>): Generator<undefined> {
    const largest = [...this.#counts].sort(([, a], [, b]) => b - a).slice(0, preparedMax);
    for (const entry of nodes) {
      for (const [name] of largest) {
        const blocks = this.blocksOf(name);
        if (blocks && blocks.lengthOf(entry.id) < 0) this.writeBlock(blocks, entry, name);
      }
      yield;
    }
  }

  /** The slab, or who is in the topology. */
  #changed(topology: Topology, name: ClassName): void {
    const [member] = topology.members;
    const isShared = topology.members.size > 1 || topology === this.#everywhere;
    if (member && !isShared) this.#blocks.get(name)?.strikeOut(member.id);
    if (isShared && topology.slabs.has(name)) setIn(this.#shared, name).add(topology);
    else deleteIn(this.#shared, name, topology);
  }
}
