/** The volumes that claims of one Pod may take, node by node; scanned once where many nodes share them. */
import { firstLargeEnough, suits, type Want } from "./matching.ts";
import type { StorageClass } from "./objects.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry, Topology } from "./topology.ts";
import type { VolumeId } from "./volume-table.ts";

/** What a search for candidates needs to know of a claim. */
export interface Seeker {
  readonly want: Want;
  readonly class: StorageClass;
  /** Claims that may compete for the same volumes, itself included: so many candidates suffice. */
  readonly rivals: number;
}

/** A claim's candidates in one topology; `avoided` when some were left alone because another Pod holds them. */
interface Scan {
  readonly found: readonly VolumeId[];
  readonly avoided: boolean;
}

const nothingFound: Scan = { found: [], avoided: false };

/** Serves one decision: it must not outlive a change of state. */
export class Candidates {
  /** Something was left alone only because another Pod holds it. Cleared by whoever asks. */
  avoided = false;
  readonly #state: ClusterState;
  /** Candidates in topologies that several nodes share, by topology, then claim; for both tries. */
  readonly #shared = [new Map<Topology, Scan[]>(), new Map<Topology, Scan[]>()] as const;

  constructor(state: ClusterState) {
    this.#state = state;
  }

  /**
   * The smallest free volume that suits and is not among `taken`, or -1. Allocates nothing: the common case runs through
   * here, node by node.
   */
  first(entry: NodeEntry, open: Seeker, index: number, avoid: boolean, taken: readonly VolumeId[]): VolumeId | -1 {
    const { everywhere } = this.#state.topologies;
    let best = everywhere.slabs.size === 0 ? -1 : this.#firstIn(everywhere, open, index, avoid, taken);
    for (const topology of entry.topologies) {
      const here = this.#firstIn(topology, open, index, avoid, taken);
      if (here !== -1 && (best === -1 || this.#state.volumes.compare(here, best) < 0)) best = here;
    }
    return best;
  }

  #firstIn(topology: Topology, open: Seeker, index: number, avoid: boolean, taken: readonly VolumeId[]): VolumeId | -1 {
    const slab = topology.slabs.get(open.class.name);
    if (slab === undefined) return -1;
    if (topology.members.size !== 1) {
      return this.#inTopology(topology, open, index, avoid).find((id) => !taken.includes(id)) ?? -1;
    }
    const { volumes } = this.#state;
    for (let at = firstLargeEnough(open.want, volumes, slab); at < slab.length; at++) {
      const id = slab[at] ?? 0;
      if (volumes.assumed[id] === 1 || taken.includes(id) || !suits(open.want, volumes, id)) continue;
      if (!avoid || volumes.held[id] === 0) return id;
      this.avoided = true;
    }
    return -1;
  }

  /** The smallest free volumes that suit, as many as the claim has rivals. */
  of(entry: NodeEntry, open: Seeker, index: number, avoid: boolean): readonly VolumeId[] {
    let found = this.#inTopology(this.#state.topologies.everywhere, open, index, avoid);
    for (const topology of entry.topologies) {
      if (!topology.slabs.has(open.class.name)) continue;
      const here = this.#inTopology(topology, open, index, avoid);
      if (found.length === 0) found = here;
      else if (here.length > 0) {
        const merged = [...found, ...here].sort((a, b) => this.#state.volumes.compare(a, b));
        found = merged.slice(0, open.rivals);
      }
    }
    return found;
  }

  #inTopology(topology: Topology, open: Seeker, index: number, avoid: boolean): readonly VolumeId[] {
    const scan =
      topology.members.size === 1
        ? this.#scan(topology, open, avoid)
        : this.#scanOnce(this.#shared[avoid ? 1 : 0], topology, open, index, avoid);
    this.avoided ||= scan.avoided;
    return scan.found;
  }

  #scanOnce(shared: Map<Topology, Scan[]>, topology: Topology, open: Seeker, index: number, avoid: boolean): Scan {
    const perClaim = shared.get(topology) ?? [];
    const scan = perClaim[index] ?? this.#scan(topology, open, avoid);
    perClaim[index] = scan;
    shared.set(topology, perClaim);
    return scan;
  }

  #scan(topology: Topology, { want, class: { name }, rivals }: Seeker, avoid: boolean): Scan {
    const slab = topology.slabs.get(name);
    if (!slab) return nothingFound;
    const { volumes } = this.#state;
    const found: VolumeId[] = [];
    let avoided = false;
    for (let at = firstLargeEnough(want, volumes, slab); at < slab.length && found.length < rivals; at++) {
      const id = slab[at] ?? 0;
      if (volumes.assumed[id] === 1 || !suits(want, volumes, id)) continue;
      if (avoid && (volumes.held[id] ?? 0) > 0) avoided = true;
      else found.push(id);
    }
    return { found, avoided };
  }

  /** Volumes on the node that suit but for being assumed. */
  assumedThatSuit(entry: NodeEntry, { want, class: { name } }: Seeker): readonly VolumeId[] {
    const { volumes, topologies } = this.#state;
    return [topologies.everywhere, ...entry.topologies].flatMap(
      (topology) =>
        topology.slabs.get(name)?.filter((id) => volumes.assumed[id] === 1 && suits(want, volumes, id)) ?? [],
    );
  }
}
