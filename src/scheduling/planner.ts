/**
 * One Pod against many nodes: prepared once, then asked node by node. All claims of the Pod are placed at once.
 *
 * Per claim, in this order: what is already promised or reserved for it decides; then existing volumes, by exact assignment;
 * then provisioning. What other Pods hold is avoided in a first try and used, marked contended, in a second.
 */
import { dealAlike } from "./alike.ts";
import { Candidates } from "./candidates.ts";
import { type Choice, matchChoices, type Patterns, provisioned, type Way, whyUnserved } from "./choices.ts";
import type { SortedClaims } from "./claims.ts";
import { type BoundClaim, boundClaim, reachesBound } from "./migration.ts";
import type { ClaimUid } from "./names.ts";
import type { Claim } from "./objects.ts";
import { type Open, openClaim } from "./open-claim.ts";
import type { Doubt } from "./plan.ts";
import type { Pool } from "./pools.ts";
import { compareLargestFirst, pack, type Room, roomsOf, whyNotPacked, whyNotProvision } from "./provisioning.ts";
import type { NodeReason } from "./reasons.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";
import type { VolumeId } from "./volume-table.ts";

/** How a node fares. */
export interface Outcome {
  /** In upstream's order; empty where the node fits. */
  readonly refusals: readonly { readonly reason: NodeReason; readonly claim?: Claim }[];
  readonly contended: boolean;
  /** Per open claim, in name order: a volume, or `provisioned`. */
  readonly volumes: readonly VolumeId[];
  /** Per open claim: the pool it is provisioned from, where the driver publishes any. */
  readonly pools: readonly (Pool | undefined)[];
}

/** A claim that gets a volume, would be provisioned (neither field), or gets nothing. */
export interface Diagnosis {
  readonly open: Open;
  readonly volume?: VolumeId;
  readonly reason?: NodeReason;
}

export class Planner {
  readonly open: readonly Open[];
  readonly doubts: readonly Doubt[];
  readonly #state: ClusterState;
  readonly bound: readonly BoundClaim[];
  readonly #own: ReadonlySet<ClaimUid>;
  readonly #bySize: readonly number[];
  readonly #patterns: Patterns = new Map();
  readonly #candidates: Candidates;
  /** Some claim's place is decided already: reserved, assumed or being provisioned. */
  readonly #anySettled: boolean;

  constructor(state: ClusterState, { bound, delayed }: SortedClaims) {
    this.#state = state;
    this.#candidates = new Candidates(state);
    const doubts: Doubt[] = [];
    this.bound = bound.map((claim) => boundClaim(state, claim, doubts));
    this.open = delayed.map((claim) => openClaim(state, claim, delayed, doubts));
    this.#own = new Set(this.open.filter((open) => !isUnderway(open)).map(({ claim }) => claim.uid));
    this.#bySize = this.open.map((_, index) => index).sort((a, b) => compareLargestFirst(this.#at(a), this.#at(b)));
    this.#anySettled = this.open.some(
      ({ assumption, selectedNode, reserved }) => assumption || selectedNode !== undefined || reserved.length > 0,
    );
    this.doubts = doubts;
  }

  plan(entry: NodeEntry): Outcome {
    const refusals = this.bound.length === 0 ? nothing : this.#judgeBound(entry);
    const opened = this.open.length === 0 ? nothingOpen : this.#planOpen(entry);
    if (refusals.length === 0) return opened;
    // Upstream's order: the node conflict comes before, the missing volume after what the unbound claims say.
    const before = refusals.filter(({ reason }) => reason === "volumeNodeConflict");
    const after = refusals.filter(({ reason }) => reason !== "volumeNodeConflict");
    return refusal([...before, ...opened.refusals, ...after]);
  }

  /**
   * How each open claim fares on a node that refuses the Pod, as far as claims can be told apart: what it would get beside
   * its siblings, or why it gets nothing. For explanations.
   */
  diagnose(entry: NodeEntry): readonly Diagnosis[] {
    const settled = this.open.map((open, index) => this.#choose(entry, open, index, false));
    const choices = this.#judge(
      entry,
      settled.map((choice, index) =>
        typeof choice === "string" ? { open: this.#at(index), candidates: [], forced: undefined } : choice,
      ),
      (open) => this.rooms(entry, open),
    );
    const volumes = matchChoices(this.#state, choices, this.#bySize, this.#patterns);
    return choices.map(({ open, blocked }, index): Diagnosis => {
      const reason = settled[index];
      const volume = volumes[index] ?? provisioned;
      if (typeof reason === "string") return { open, reason };
      if (volume !== provisioned) return { open, volume };
      return blocked === undefined ? { open } : { open, reason: this.#whyUnserved(entry, choices, index) };
    });
  }

  /** The pools a claim can be provisioned from on the node, with what is free for this Pod. */
  rooms(entry: NodeEntry, open: Open): Room[] {
    return roomsOf(this.#state, entry, open, this.#own, false);
  }

  #at(index: number): Open {
    const open = this.open[index];
    if (open === undefined) throw new Error(`no open claim ${index}`);
    return open;
  }

  /** The first bound claim that is out, in the Pod's order, speaks for all of them, as upstream has it. */
  #judgeBound(entry: NodeEntry): { reason: NodeReason; claim: Claim }[] {
    for (const bound of this.bound) {
      const { claim, topology } = bound;
      if (topology === undefined) return [{ reason: "boundVolumeMissing", claim }];
      if (!reachesBound(this.#state, entry, bound)) return [{ reason: "volumeNodeConflict", claim }];
    }
    return [];
  }

  #planOpen(entry: NodeEntry): Outcome {
    if (this.#state.reservations.holds.count === 0) return this.#try(entry, false);
    this.#candidates.avoided = false;
    const careful = this.#try(entry, true);
    if (careful.refusals.length === 0 || !this.#candidates.avoided) return careful;
    const contended = this.#try(entry, false);
    return contended.refusals.length === 0 ? { ...contended, contended: true } : contended;
  }

  #try(entry: NodeEntry, avoid: boolean): Outcome {
    const firsts = this.#anySettled ? undefined : this.#smallest(entry, avoid);
    if (firsts) return { refusals: nothing, contended: false, volumes: firsts, pools: noPools };
    const ways: Way[] = [];
    for (const [index, open] of this.open.entries()) {
      const way = this.#choose(entry, open, index, avoid);
      if (typeof way === "string") return refusal([{ reason: way, claim: open.claim }]);
      ways.push(way);
    }
    return this.#assign(entry, ways, avoid);
  }

  /**
   * The common cases, without a search. Claims that are alike take their smallest volumes, the largest claim first. Others take
   * their own smallest, where these differ: then no other assignment is smaller. Undefined where neither serves everybody.
   */
  #smallest(entry: NodeEntry, avoid: boolean): VolumeId[] | undefined {
    const chosen: VolumeId[] = [];
    let shared = false;
    for (const index of this.#bySize) {
      const open = this.#at(index);
      let first = this.#candidates.first(entry, open, index, avoid, nothing);
      if (chosen.includes(first)) {
        shared = true;
        first = open.isAlike ? this.#candidates.first(entry, open, index, avoid, chosen) : -1;
      }
      if (first === -1) return undefined;
      chosen.push(first);
    }
    const volumes: VolumeId[] = [];
    for (const [position, index] of this.#bySize.entries()) volumes[index] = chosen[position] ?? provisioned;
    return shared ? dealAlike(this.open, volumes, this.#state.volumes) : volumes;
  }

  /** What is settled for the claim already, or its candidates on the node. */
  #choose(entry: NodeEntry, open: Open, index: number, avoid: boolean): Way | NodeReason {
    const { assumption, reserved, selectedNode } = open;
    if (assumption?.target.kind === "volume") {
      const id = this.#state.volumes.id(assumption.target.volume);
      const topology = id === undefined ? undefined : this.#state.volumes.topologyOf(id);
      if (id === undefined || !topology || !this.#state.topologies.reaches(entry, topology)) return "selectedOtherNode";
      return { open, candidates: [id], forced: "volume" };
    }
    const provisionedOn = assumption?.node ?? selectedNode;
    if (provisionedOn !== undefined) {
      if (provisionedOn !== entry.node.name) return "selectedOtherNode";
      return { open, candidates: [], forced: "provision" };
    }
    if (reserved.length === 0)
      return { open, candidates: this.#candidates.of(entry, open, index, avoid), forced: undefined };
    const id = reserved.find((volume) => {
      const topology = this.#state.volumes.topologyOf(volume);
      return topology && this.#state.topologies.reaches(entry, topology);
    });
    return id === undefined ? "preboundElsewhere" : { open, candidates: [id], forced: "volume" };
  }

  /** The general case: not every claim can simply take its own smallest volume. */
  #assign(entry: NodeEntry, ways: readonly Way[], avoid: boolean): Outcome {
    const rooms = new Map<string, Room[]>();
    const roomsFor = (open: Open): Room[] => {
      let found = rooms.get(open.class.name);
      if (!found) {
        found = roomsOf(this.#state, entry, open, this.#own, avoid);
        if (avoid && found.some(({ pool }) => pool.held > 0n)) this.#candidates.avoided = true;
        rooms.set(open.class.name, found);
      }
      return found;
    };
    const choices = this.#judge(entry, ways, roomsFor);
    const volumes = matchChoices(this.#state, choices, this.#bySize, this.#patterns);
    for (const index of this.#bySize.toReversed()) {
      const choice = choices[index];
      if (choice?.blocked === undefined || volumes[index] !== provisioned) continue;
      return refusal([{ reason: this.#whyUnserved(entry, choices, index), claim: choice.open.claim }]);
    }
    return this.#provision(choices, volumes, roomsFor);
  }

  /** Adds whether each claim could be provisioned. */
  #judge(entry: NodeEntry, ways: readonly Way[], roomsFor: (open: Open) => readonly Room[]): Choice[] {
    return ways.map((way) => {
      const { open, forced } = way;
      const rooms = (): readonly Room[] => roomsFor(open);
      const how = { provision: open, isUnderway: forced === "provision" };
      return { ...way, blocked: forced === "volume" ? undefined : whyNotProvision(this.#state, entry, how, rooms) };
    });
  }

  #whyUnserved(entry: NodeEntry, choices: readonly Choice[], index: number): NodeReason {
    const [state, candidates, bySize, patterns] = [this.#state, this.#candidates, this.#bySize, this.#patterns];
    return whyUnserved({ state, entry, candidates, choices, bySize, patterns }, index);
  }

  #provision(choices: readonly Choice[], volumes: readonly VolumeId[], roomsFor: (open: Open) => Room[]): Outcome {
    const pools = new Array<Pool | undefined>(choices.length).fill(undefined);
    const byClass = new Map<string, number[]>();
    for (const [index, { open, forced }] of choices.entries()) {
      if (volumes[index] !== provisioned || !open.needsCapacity) continue;
      if (forced === "provision") {
        pools[index] = this.#state.pools.demandOf(open.claim.uid)?.pool;
        continue;
      }
      byClass.set(open.class.name, [...(byClass.get(open.class.name) ?? []), index]);
    }
    for (const indices of byClass.values()) {
      const opens = indices.map((index) => this.#at(index));
      const [first] = opens;
      if (!first) continue;
      const packed = pack(opens, roomsFor(first));
      if (!packed) return refusal([{ reason: whyNotPacked(opens, roomsFor(first)), claim: first.claim }]);
      for (const [position, index] of indices.entries()) pools[index] = packed[position];
    }
    return { refusals: [], contended: false, volumes, pools };
  }
}

const nothing: readonly never[] = [];
const noPools: readonly undefined[] = [];
const nothingOpen: Outcome = { refusals: nothing, contended: false, volumes: [], pools: noPools };

/** A provisioner has been told, or is about to be, to make the claim's volume on one node. */
function isUnderway({ assumption, selectedNode }: Open): boolean {
  return assumption ? assumption.target.kind === "provision" : selectedNode !== undefined;
}

function refusal(refusals: Outcome["refusals"]): Outcome {
  return { refusals, contended: false, volumes: [], pools: noPools };
}
