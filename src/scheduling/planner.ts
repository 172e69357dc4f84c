/**
 * One Pod against many nodes: prepared once, then asked node by node. All claims of the Pod are placed at once.
 *
 * Per claim, in this order: what is already promised or reserved for it decides; then existing volumes, by exact assignment;
 * then provisioning. What other Pods hold is avoided in a first try and used, marked contended, in a second.
 */

import type { SortedClaims } from "./claims.ts";
import { ClassClaims } from "./class-claims.ts";
import { DiskUse } from "./disk-use.ts";
import type { Liberty } from "./matching.ts";
import { type BoundClaim, boundClaim, reachesBound } from "./migration.ts";
import type { ClaimUid } from "./names.ts";
import type { NodeId } from "./node-numbers.ts";
import { NodeRooms } from "./node-rooms.ts";
import type { Claim } from "./objects.ts";
import { isSettled, isUnderway, type Open, openClaim, settledOn } from "./open-claim.ts";
import { type Diagnosis, type Outcome, provisioned, refusal } from "./outcome.ts";
import type { Doubt } from "./plan.ts";
import { PoolClaims } from "./pool-claims.ts";
import type { Pool } from "./pools.ts";
import { compareLargestFirst, type Room, roomsOf } from "./provisioning.ts";
import type { NodeReason } from "./reasons.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";
import type { VolumeId } from "./volume-table.ts";

export class Planner {
  readonly open: readonly Open[];
  /** Per open claim: the bytes it asks for, rounded to a double. */
  readonly asked: Float64Array;
  readonly doubts: readonly Doubt[];
  readonly bound: readonly BoundClaim[];
  readonly #state: ClusterState;
  readonly #own: ReadonlySet<ClaimUid>;
  readonly #rooms: NodeRooms;
  /** Absent where no volume is a directory of a file system. */
  readonly #disks: DiskUse | undefined;
  readonly #bySize: readonly number[];
  /** Claims whose place is decided already; all others are in `#classes`. */
  readonly #settled: readonly number[];
  readonly #classes: readonly ClassClaims[];
  readonly #fromPools: PoolClaims;
  readonly #refused = new Map<NodeReason, Outcome[]>();
  /** Of the node that is looked at, as all below. Per open claim a volume, or `provisioned`. */
  readonly #volumes: VolumeId[];
  readonly #sizes: Float64Array;
  readonly #pools: (Pool | undefined)[];
  /** Per open claim why it cannot be provisioned; undefined where it can, or need not be. */
  readonly #blocked: (NodeReason | undefined)[];
  readonly #fits: { -readonly [Field in keyof Outcome]: Outcome[Field] };

  constructor(state: ClusterState, { bound, delayed }: SortedClaims) {
    this.#state = state;
    const doubts: Doubt[] = [];
    this.bound = bound.map((claim) => boundClaim(state, claim, doubts));
    const open = delayed.map((claim) => openClaim(state, claim, doubts));
    this.open = open;
    this.asked = Float64Array.from(open, ({ want }) => want.size);
    this.doubts = doubts;
    this.#own = new Set(open.filter((one) => !isUnderway(one)).map(({ claim }) => claim.uid));
    this.#rooms = new NodeRooms(state, this.#own);
    this.#disks = state.disks.areShared ? new DiskUse(state, new Set(open.map(({ claim }) => claim.uid))) : undefined;
    this.#bySize = [...open.keys()].sort((a, b) => compareLargestFirst(this.#at(a), this.#at(b)));
    this.#fromPools = new PoolClaims(state, open, this.#rooms);
    this.#settled = [...open.keys()].filter((index) => isSettled(this.#at(index)));
    const byClass = Map.groupBy(
      [...open.keys()].filter((index) => !isSettled(this.#at(index))),
      (index) => this.#at(index).class.name,
    );
    this.#classes = [...byClass.values()].map((indices) => new ClassClaims(state, open, indices));
    this.#volumes = open.map(() => provisioned);
    this.#pools = open.map(() => undefined);
    this.#blocked = open.map(() => undefined);
    this.#sizes = new Float64Array(open.length);
    const [volumes, sizes, pools] = [this.#volumes, this.#sizes, this.#pools];
    this.#fits = { refusals: nothing, contended: false, volumes, sizes, pools };
  }

  plan(node: NodeId): Outcome {
    const refusals = this.bound.length === 0 ? nothing : this.#judgeBound(this.#state.topologies.numbers.at(node));
    const opened = this.#planOpen(node);
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
    this.#begin(entry, false);
    const reasons = this.#settled.map((index) => [index, this.#settle(entry, index)] as const);
    // What cannot be here counts among those that nothing serves.
    for (const [index, reason] of reasons)
      if (reason) this.#blocked[index] = this.#rooms.whyNot(this.#at(index), false);
    const elsewhere = new Map(reasons);
    for (const claims of this.#classes) {
      claims.reach.lookAt(entry.id);
      claims.isPlaced = false;
    }
    this.#assign(false);
    const volumes = [...this.#volumes];
    return this.open.map((open, index): Diagnosis => {
      const reason = elsewhere.get(index);
      const volume = volumes[index] ?? provisioned;
      if (reason !== undefined) return { open, reason };
      if (volume !== provisioned) return { open, volume };
      if (this.#blocked[index] === undefined) return { open };
      // Why the last one was not served may have been asked with other volumes.
      this.#assign(false);
      return { open, reason: this.#whyUnserved(index, false) };
    });
  }

  /** Of all claims of the Pod that a decision looks at. */
  get claimUids(): ReadonlySet<ClaimUid> {
    return new Set([...this.bound, ...this.open].map(({ claim }) => claim.uid));
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

  #planOpen(node: NodeId): Outcome {
    if (this.#state.reservations.holds.count === 0) return this.#try(node, false);
    const careful = this.#try(node, true);
    if (!this.#takeAvoided() || careful.refusals.length === 0) return careful;
    const outcome = this.#try(node, false);
    if (outcome === this.#fits) this.#fits.contended = true;
    return outcome;
  }

  #takeAvoided(): boolean {
    let avoided = this.#rooms.takeAvoided() || this.#disks?.avoided === true;
    if (this.#disks) this.#disks.avoided = false;
    for (const claims of this.#classes) if (claims.takeAvoided()) avoided = true;
    return avoided;
  }

  #try(node: NodeId, avoid: boolean): Outcome {
    const outcome = this.#tryVolumes(node, avoid);
    if (this.#disks === undefined || outcome !== this.#fits) return outcome;
    return this.#disks.fits(this.#volumes, this.open, avoid) ? outcome : this.#searchDisks(node, avoid, this.#disks);
  }

  /** The smallest volumes together ask more of a file system than it has left: any other choice will do. */
  #searchDisks(node: NodeId, avoid: boolean, disks: DiskUse): Outcome {
    const entry = this.#state.topologies.numbers.at(node);
    this.#begin(entry, avoid);
    for (const index of this.#settled) this.#settle(entry, index);
    for (const { indices } of this.#classes) {
      for (const index of indices) this.#blocked[index] = this.#rooms.whyNot(this.#at(index), false);
    }
    const askers = this.#classes.flatMap((claims) => claims.askers(avoid ? careful : bold, this.#blocked));
    const accept = (): boolean => {
      for (const [index, volume] of this.#volumes.entries()) this.#sizes[index] = this.#state.volumes.size[volume] ?? 0;
      return !this.#fromPools.areAny || this.#provision() === this.#fits;
    };
    if (disks.search(askers, this.#volumes, { asked: this.open, avoid, accept })) return this.#fits;
    return this.#refusal(askers[0]?.index ?? 0, "notEnoughVolumes");
  }

  #tryVolumes(node: NodeId, avoid: boolean): Outcome {
    let arePlaced = this.#settled.length === 0;
    for (const claims of this.#classes) {
      if (claims.placeSimply(node, avoid) || !arePlaced) continue;
      const provided = claims.provisionSimply(this.#state.topologies.numbers.at(node), avoid, this.#pools);
      // Beside other classes it is not told which claim comes first.
      if (typeof provided === "object" && this.#classes.length === 1)
        return this.#refusal(provided.index, provided.reason);
      arePlaced = provided === true;
    }
    if (!arePlaced) return this.#assignAll(this.#state.topologies.numbers.at(node), avoid);
    this.#fits.contended = false;
    for (const claims of this.#classes) claims.collect(this.#volumes, this.#sizes);
    return this.#fits;
  }

  /** The general case: a claim is settled, or not every claim can simply take its own smallest volume. */
  #assignAll(entry: NodeEntry, avoid: boolean): Outcome {
    this.#begin(entry, avoid);
    for (const index of this.#settled) {
      const reason = this.#settle(entry, index);
      if (reason !== undefined) return this.#refusal(index, reason);
    }
    this.#assign(avoid);
    for (let nth = this.#bySize.length - 1; nth >= 0; nth--) {
      const index = this.#bySize[nth] ?? 0;
      if (this.#isUnserved(index)) return this.#refusal(index, this.#whyUnserved(index, avoid));
    }
    return this.#fromPools.areAny ? this.#provision() : this.#fits;
  }

  #begin(entry: NodeEntry, avoid: boolean): void {
    this.#rooms.begin(entry, avoid);
    this.#volumes.fill(provisioned);
    this.#pools.fill(undefined);
    this.#blocked.fill(undefined);
    this.#fits.contended = false;
  }

  /** Gives a settled claim what is its own. @returns why it cannot be here */
  #settle(entry: NodeEntry, index: number): NodeReason | undefined {
    const open = this.#at(index);
    const settled = settledOn(this.#state, entry, open);
    if (settled === "provision") {
      this.#blocked[index] = this.#rooms.whyNot(open, true);
      if (open.needsCapacity) this.#pools[index] = this.#state.pools.demandOf(open.claim.uid)?.pool;
      return undefined;
    }
    if (typeof settled === "string") return settled;
    this.#volumes[index] = settled.volume;
    this.#sizes[index] = this.#state.volumes.size[settled.volume] ?? 0;
    return undefined;
  }

  /** Serves all other claims as far as volumes go. */
  #assign(avoid: boolean): void {
    for (const claims of this.#classes) {
      if (!claims.isPlaced) {
        for (const index of claims.indices) this.#blocked[index] = this.#rooms.whyNot(this.#at(index), false);
        claims.assign(avoid ? careful : bold, this.#blocked);
      }
      claims.collect(this.#volumes, this.#sizes);
    }
  }

  #isUnserved(index: number): boolean {
    return this.#blocked[index] !== undefined && this.#volumes[index] === provisioned;
  }

  /** Tells a disk that is missing from one that a sibling claim or another Pod has. */
  #whyUnserved(index: number, avoid: boolean): NodeReason {
    const reason = this.#blocked[index] ?? "noMatchingVolume";
    if (reason !== "noMatchingVolume" && reason !== "selectorNotProvisionable") return reason;
    const claims = this.#classes.find(({ indices }) => indices.includes(index));
    if (!claims) return reason;
    const claim = claims.indices.indexOf(index);
    const isAlone = !claims.hasAny(claim);
    if (this.#state.reservations.assumptionCount === 0) return isAlone ? reason : "notEnoughVolumes";
    const own = this.#settled.flatMap((settled) => this.#volumes[settled] ?? []);
    if (isAlone && claims.hasAssumed(claim, own)) return "volumeAssumed";
    if (isAlone) return claims.hasAssumed(claim, nothing) ? "notEnoughVolumes" : reason;
    // Asked again as if nothing were assumed, so that whoever reads the reason learns whether to wait or to add a disk.
    for (const other of this.#classes) {
      if (other.isPlaced) continue;
      other.assign({ held: !avoid, assumed: true, except: own }, this.#blocked);
      other.collect(this.#volumes, this.#sizes);
    }
    return this.open.some((_, position) => this.#isUnserved(position)) ? "notEnoughVolumes" : "volumeAssumed";
  }

  /** What no volume serves. */
  #provision(): Outcome {
    const failed = this.#fromPools.place(this.#volumes, this.#pools);
    return failed ? this.#refusal(failed.index, failed.reason) : this.#fits;
  }

  /** Made once for all nodes that refuse the claim for one reason. */
  #refusal(index: number, reason: NodeReason): Outcome {
    const known = this.#refused.get(reason) ?? [];
    this.#refused.set(reason, known);
    const outcome = known[index] ?? refusal([{ reason, claim: this.#at(index).claim }]);
    known[index] = outcome;
    return outcome;
  }
}

const nothing: readonly never[] = [];
/** The first try, and the second. */
const careful: Liberty = { held: false, assumed: false };
const bold: Liberty = { held: true, assumed: false };
