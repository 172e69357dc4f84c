/**
 * What of one class a node reaches, as one run of slots by (capacity, name), for the claims of one Pod that ask for the class.
 *
 * Mostly that is the node's own block as it stands. What several nodes share is looked through once a call: of a zone's volumes
 * only so many are kept as the Pod's claims can choose among. Where a node has both, or is in several such topologies, they are
 * merged.
 */
import { type Blocks, makeRun, type Run, slotOf, writeSlot } from "./blocks.ts";
import type { Disk, Disks } from "./disks.ts";
import { hasLabels, isLargeEnough, type Liberty, mayTake, offersWanted, type Want } from "./matching.ts";
import type { NodeId } from "./node-numbers.ts";
import type { Slab } from "./slab.ts";
import type { ClusterState } from "./state.ts";
import type { Topologies, Topology } from "./topology.ts";
import type { VolumeId, VolumeTable } from "./volume-table.ts";

const empty = makeRun(0);

/** Serves one decision: it must not outlive a change of state. */
export class Reach {
  /** Of the node looked at last, as in `Run`. */
  capacities = empty.capacities;
  words = empty.words;
  head = 0;
  tail = 0;
  length = 0;
  readonly #volumes: VolumeTable;
  readonly #topologies: Topologies;
  readonly #disks: Disks;
  readonly #wants: readonly Want[];
  readonly #settledCount: number;
  readonly #class: Want["claim"]["class"];
  readonly #blocks: Blocks | undefined;
  readonly #shared: ReadonlySet<Topology> | undefined;
  readonly #runs = new Map<Topology, Run>();
  readonly #merged = new Map<Run, Map<Run, Run>>();

  /**
   * @param wants         of one class, one at least
   * @param settledCount  claims of the Pod whose volumes may be left out of account: `except` of a liberty
   */
  constructor({ volumes, topologies, disks }: ClusterState, wants: readonly Want[], settledCount: number) {
    this.#volumes = volumes;
    this.#topologies = topologies;
    this.#disks = disks;
    this.#wants = wants;
    this.#settledCount = settledCount;
    this.#class = (wants[0] as Want).claim.class;
    this.#blocks = volumes.free.blocksOf(this.#class);
    this.#shared = volumes.free.sharedOf(this.#class);
  }

  lookAt(node: NodeId): void {
    const blocks = this.#blocks;
    if (blocks === undefined) return;
    if (blocks.lengthOf(node) < 0) this.#writeBlock(blocks, node);
    this.capacities = blocks.capacities;
    this.words = blocks.words;
    this.head = blocks.headOf(node);
    this.tail = blocks.tails[node] ?? 0;
    this.length = blocks.lengths[node] ?? 0;
    if (this.#shared !== undefined) this.#addShared(node, this.#shared);
  }

  volume(position: number): VolumeId {
    return this.words[4 * slotOf(this, position) + 2] ?? 0;
  }

  capacity(position: number): number {
    return this.capacities[2 * slotOf(this, position)] ?? 0;
  }

  offer(position: number): number {
    return this.words[4 * slotOf(this, position) + 3] ?? 0;
  }

  /** Where volumes begin to be large enough. Searched from the small end, where most claims find theirs. */
  firstLargeEnough(want: Want): number {
    const { length } = this;
    const { size } = want;
    let low = 0;
    let high = 0;
    for (let step = 1; high < length && this.capacity(high) < size; step *= 2) {
      low = high + 1;
      high += step;
    }
    if (high > length) high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.capacity(middle) < size) low = middle + 1;
      else high = middle;
    }
    if (size <= Number.MAX_SAFE_INTEGER) return low;
    // Equal doubles may stand for unequal sizes, and lie in the order of these.
    while (low < length && !isLargeEnough(want, this.#volumes, this.volume(low))) low++;
    return low;
  }

  hasLabels(want: Want, position: number): boolean {
    return hasLabels(want, this.#volumes, this.volume(position));
  }

  #writeBlock(blocks: Blocks, node: NodeId): void {
    this.#volumes.free.writeBlock(blocks, this.#topologies.numbers.at(node), this.#class);
  }

  #addShared(node: NodeId, shared: ReadonlySet<Topology>): void {
    let run = shared.has(this.#topologies.everywhere) ? this.#runOf(this.#topologies.everywhere) : empty;
    for (const topology of this.#topologies.numbers.at(node).topologies) {
      if (shared.has(topology)) run = this.#mergeOnce(run, this.#runOf(topology));
    }
    if (run.length === 0) return;
    const { capacities, words, head, tail, length } = this.length === 0 ? run : this.#merge(this, run);
    this.capacities = capacities;
    this.words = words;
    this.head = head;
    this.tail = tail;
    this.length = length;
  }

  #runOf(topology: Topology): Run {
    const known = this.#runs.get(topology);
    if (known) return known;
    const ids = this.#choose(topology.slabs.get(this.#class));
    const run = makeRun(ids.length);
    for (const [slot, id] of ids.entries()) writeSlot(run, slot, id, this.#volumes);
    this.#runs.set(topology, run);
    return run;
  }

  /** Under every liberty each claim's smallest, as many on each file system as there are claims: no more are ever needed. */
  #choose(slab: Slab | undefined): VolumeId[] {
    const { areShared } = this.#disks;
    const enough = this.#wants.length + this.#settledCount;
    const chosen = new Set<VolumeId>();
    for (const want of this.#wants) {
      const perDisk = new Map<Disk | undefined, number[]>();
      const isTooSmall = (id: VolumeId): boolean => (this.#volumes.size[id] ?? 0) < want.size;
      for (const id of slab?.from(isTooSmall) ?? []) {
        const disk = areShared ? this.#disks.of(id) : undefined;
        const missing = perDisk.get(disk) ?? liberties.map(() => enough);
        perDisk.set(disk, missing);
        if (!areShared && missing.every((left) => left === 0)) break;
        const offer = this.#volumes.offerOf(id);
        if (!offersWanted(want, offer) || !isLargeEnough(want, this.#volumes, id)) continue;
        if (!hasLabels(want, this.#volumes, id)) continue;
        for (const [index, liberty] of liberties.entries()) {
          const left = missing[index] ?? 0;
          if (left === 0 || !mayTake(liberty, offer)) continue;
          missing[index] = left - 1;
          chosen.add(id);
        }
      }
    }
    return [...chosen].sort((a, b) => this.#volumes.compare(a, b));
  }

  #mergeOnce(a: Run, b: Run): Run {
    if (a.length === 0) return b;
    const known = this.#merged.get(a)?.get(b);
    if (known) return known;
    const merged = this.#merge(a, b);
    const ofA = this.#merged.get(a) ?? new Map<Run, Run>();
    this.#merged.set(a, ofA.set(b, merged));
    return merged;
  }

  #merge(a: Run, b: Run): Run {
    const merged = makeRun(a.length + b.length);
    let [left, right] = [0, 0];
    for (let slot = 0; slot < merged.length; slot++) {
      const isLeft = right >= b.length || (left < a.length && this.#precedes(a, left, b, right));
      const from = isLeft ? a : b;
      const at = slotOf(from, isLeft ? left++ : right++);
      // Word by word: two words read as one float64 could be no number, and lose bits.
      for (let word = 0; word < 4; word++) merged.words[4 * slot + word] = from.words[4 * at + word] ?? 0;
    }
    return merged;
  }

  #precedes(a: Run, left: number, b: Run, right: number): boolean {
    const [x, y] = [slotOf(a, left), slotOf(b, right)];
    const difference = (a.capacities[2 * x] ?? 0) - (b.capacities[2 * y] ?? 0);
    if (difference !== 0) return difference < 0;
    return this.#volumes.compare(a.words[4 * x + 2] ?? 0, b.words[4 * y + 2] ?? 0) < 0;
  }
}

/** All there are; the last two serve explanations of a refusal. */
const liberties: readonly Liberty[] = [
  { held: false, assumed: false },
  { held: true, assumed: false },
  { held: false, assumed: true },
  { held: true, assumed: true },
];
