/**
 * What is promised before the API says so.
 *
 *            filter                     bind                       watch shows the write
 *   free ───────────▶ held on some ───────────▶ assumed on the ───────────────────────────▶ gone: the API object says it
 *     ▲               feasible nodes            chosen node
 *     │                 │      next filter of the Pod, Pod gone, bound elsewhere, TTL      │ failure, rolled back: forget
 *     └─────────────────┴──────────────────────────────────────────────────────────────────┘
 *
 * A hold is soft: other Pods avoid it where they can. An assumption is hard: nobody else is ever planned on it. Both are keyed
 * by claim, so that a claim which several Pods share is promised once, and a Pod's own claims never count against it.
 * Every call may come twice. Amounts are counted in the volume table's columns and the pools, so that decisions read them
 * without looking at a list, and cost nothing where nothing is promised.
 */
import type { CapacityLedger } from "./capacity-ledger.ts";
import { type HoldOptions, Holds } from "./holds.ts";
import type { ClaimKey, ClaimUid, ClassName, NodeName, PodUid, VolumeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import type { Plan, PlannedClaim, PoolKey } from "./plan.ts";
import type { Bytes } from "./quantity.ts";
import { isLaterVersion } from "./versions.ts";
import type { VolumeId, VolumeTable } from "./volume-table.ts";

export type AssumeOutcome = { readonly ok: true } | { readonly ok: false; readonly why: string };

export type Target =
  | { readonly kind: "volume"; readonly volume: VolumeName; readonly uid: string }
  | { readonly kind: "provision"; readonly class: ClassName; readonly bytes: Bytes; readonly pool?: PoolKey };

export interface Assumption {
  readonly claim: ClaimKey;
  readonly claimUid: ClaimUid;
  readonly node: NodeName;
  readonly target: Target;
  readonly pods: Set<PodUid>;
  readonly since: number;
  /** Of the volume, that the promise stands on: what the watch shows of earlier ones says nothing against it. */
  version: string | undefined;
}

export interface ReservationOptions extends HoldOptions {
  /** An assumption was given up: what is promised of capacity is what the API says again. */
  readonly forgotten: (assumption: Assumption) => void;
}

export class Reservations {
  readonly #volumes: VolumeTable;
  readonly #pools: CapacityLedger;
  readonly #clock: () => number;
  readonly #forgotten: (assumption: Assumption) => void;
  /** Soft promises. */
  readonly holds: Holds;
  readonly #assumptions = new Map<ClaimUid, Assumption>();
  readonly #assumedVolumes = new Map<VolumeName, ClaimUid>();

  #generation = 0;

  constructor(volumes: VolumeTable, pools: CapacityLedger, options: ReservationOptions) {
    this.#volumes = volumes;
    this.#pools = pools;
    this.#clock = options.clock;
    this.#forgotten = options.forgotten;
    this.holds = new Holds(volumes, pools, options);
  }

  /** Soft: replaces every earlier hold of the Pod by these plans. */
  hold(pod: PodUid, plans: readonly Plan[]): void {
    this.holds.hold(pod, plans);
  }

  /** Ends the Pod's holds. */
  release(pod: PodUid): void {
    this.holds.release(pod);
  }

  /**
   * Hard: reserves every claim of the plan or none, and ends the Pod's holds. A claim already assumed for the same target
   * is joined (shared claims, repeated calls); another target is a refusal.
   */
  assume(pod: PodUid, plan: Plan): AssumeOutcome {
    for (const planned of plan.claims) {
      const conflict = this.#conflict(planned, plan.node);
      if (conflict !== undefined) return { ok: false, why: conflict };
    }
    this.holds.release(pod);
    for (const planned of plan.claims) if (planned.kind !== "bound") this.#assumeOne(pod, planned, plan.node);
    return { ok: true };
  }

  /**
   * The Pod leaves its assumptions; one that no Pod is left in ends.
   *
   * @param leaves  whether it leaves that of the claim: of all unless given
   */
  forget(pod: PodUid, leaves: (claim: ClaimUid) => boolean = () => true): void {
    this.holds.release(pod);
    for (const assumption of this.#assumptions.values()) {
      if (!leaves(assumption.claimUid) || !assumption.pods.delete(pod) || assumption.pods.size > 0) continue;
      this.#end(assumption);
      this.#forgotten(assumption);
    }
  }

  of(claim: ClaimUid): Assumption | undefined {
    return this.#assumptions.get(claim);
  }

  /** Whoever the volume is assumed for. */
  assumedFor(volume: VolumeName): Assumption | undefined {
    const claim = this.#assumedVolumes.get(volume);
    return claim === undefined ? undefined : this.#assumptions.get(claim);
  }

  /** Counts assumptions made and ended: the same number means the same. */
  get generation(): number {
    return this.#generation;
  }

  get assumptionCount(): number {
    return this.#assumptions.size;
  }

  /**
   * The watch shows the volume: what is assumed of it ends when the API itself now says so, and when it says that another claim
   * has the volume. A write that is still out cannot land then, and a promise that stood would let a plan take the volume back.
   */
  volumeSeen({ name, claimRef, resourceVersion }: Volume): void {
    const assumption = this.assumedFor(name);
    if (!assumption || !claimRef) return;
    const isOurs = claimRef.uid === assumption.claimUid;
    // Reserved by name alone it may be meant for this very claim.
    const isAnothers = claimRef.uid === undefined ? claimRef.claim !== assumption.claim : !isOurs;
    const isOld = isLaterVersion(assumption.version ?? "", resourceVersion);
    if ((isOurs || isAnothers) && !isOld) this.#end(assumption);
  }

  /** The volume that is promised to the claim was read, or written, at this version. */
  standsOn(claim: ClaimUid, version: string): void {
    const assumption = this.#assumptions.get(claim);
    if (assumption) assumption.version = version;
  }

  /** The volume is gone, or another object has its name: nothing promised of it stands (FR-065). */
  volumeGone(name: VolumeName, id: VolumeId): void {
    const assumption = this.assumedFor(name);
    if (assumption) this.#end(assumption);
    this.holds.volumeGone(id);
  }

  /** The watch shows the claim: a promise to provision is the API's own once selected-node is there. */
  claimSeen(claim: Claim): void {
    const assumption = this.#assumptions.get(claim.uid);
    if (assumption?.target.kind !== "provision") return;
    const bound = claim.volumeName !== undefined && claim.bindCompleted;
    if (claim.selectedNode === assumption.node || bound) this.#end(assumption);
  }

  /** For `/debug/state`: every hold and assumption with its Pods, target and age. */
  dump(): {
    readonly holds: ReturnType<Holds["dump"]>;
    readonly assumptions: readonly {
      claim: ClaimKey;
      node: NodeName;
      pods: readonly PodUid[];
      ageMs: number;
      target: Target;
    }[];
  } {
    const now = this.#clock();
    const assumptions = [...this.#assumptions.values()].map(({ claim, node, pods, since, target }) => ({
      claim,
      node,
      pods: [...pods],
      ageMs: now - since,
      target,
    }));
    return { holds: this.holds.dump(), assumptions };
  }

  #conflict(planned: PlannedClaim, node: NodeName): string | undefined {
    if (planned.kind === "bound") return undefined;
    const own = this.#assumptions.get(planned.claim.uid);
    if (own && !sameTarget(own, planned, node)) return `claim ${own.claim} is assumed on node ${own.node}`;
    if (planned.kind !== "static") return undefined;
    if (this.#volumes.get(planned.volume.name)?.uid !== planned.volume.uid) {
      return `volume ${planned.volume.name} is gone`;
    }
    const other = this.#assumedVolumes.get(planned.volume.name);
    if (other !== undefined && other !== planned.claim.uid) {
      return `volume ${planned.volume.name} is assumed for claim ${this.#assumptions.get(other)?.claim}`;
    }
    return undefined;
  }

  #assumeOne(pod: PodUid, planned: Exclude<PlannedClaim, { kind: "bound" }>, node: NodeName): void {
    const { claim } = planned;
    const known = this.#assumptions.get(claim.uid);
    if (known) {
      known.pods.add(pod);
      return;
    }
    const target: Target =
      planned.kind === "static"
        ? { kind: "volume", volume: planned.volume.name, uid: planned.volume.uid }
        : {
            kind: "provision",
            class: planned.class.name,
            bytes: planned.bytes,
            ...(planned.pool !== undefined && { pool: planned.pool }),
          };
    this.holds.claimAssumed(claim.uid);
    const pods = new Set([pod]);
    const since = this.#clock();
    const version = planned.kind === "static" ? planned.volume.resourceVersion : undefined;
    this.#generation++;
    this.#assumptions.set(claim.uid, { claim: claim.key, claimUid: claim.uid, node, target, pods, since, version });
    if (target.kind === "volume") {
      this.#assumedVolumes.set(target.volume, claim.uid);
      const id = this.#volumes.id(target.volume);
      if (id !== undefined) this.#volumes.assume(id, true);
    } else if (this.#pools.demandOf(claim.uid)?.node !== node) {
      this.#pools.demand(claim.uid, { ...target, node });
    }
  }

  #end({ claimUid, target }: Assumption): void {
    this.#assumptions.delete(claimUid);
    this.#generation++;
    if (target.kind === "provision") return;
    this.#assumedVolumes.delete(target.volume);
    const id = this.#volumes.id(target.volume);
    if (id !== undefined) this.#volumes.assume(id, false);
  }
}

function sameTarget(own: Assumption, planned: PlannedClaim, node: NodeName): boolean {
  if (planned.kind === "static") return own.target.kind === "volume" && own.target.volume === planned.volume.name;
  return own.target.kind === "provision" && own.node === node;
}
