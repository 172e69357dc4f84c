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
import { deleteIn, setIn } from "./indexes.ts";
import type { ClaimKey, ClaimUid, ClassName, NodeName, PodUid, VolumeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import type { Plan, PlannedClaim, PoolKey } from "./plan.ts";
import type { Pool, Pools } from "./pools.ts";
import type { Bytes } from "./quantity.ts";
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
}

/** One thing held for one claim: a volume, or an amount of a pool. */
interface Held {
  readonly claimUid: ClaimUid;
  readonly volume?: VolumeId;
  readonly pool?: Pool;
  readonly bytes: Bytes;
}

interface Hold {
  readonly since: number;
  items: readonly Held[];
}

export interface ReservationOptions {
  readonly clock: () => number;
  /** A hold older than this has ended: bind follows filter within milliseconds, or minutes where Permit plugins wait. */
  readonly holdTtlMs: number;
  /** Pods that hold at one time; beyond it the oldest hold ends. */
  readonly holdsMax: number;
}

export class Reservations {
  readonly #volumes: VolumeTable;
  readonly #pools: Pools;
  readonly #options: ReservationOptions;
  readonly #holds = new Map<PodUid, Hold>();
  readonly #holders = new Map<ClaimUid, Set<PodUid>>();
  readonly #assumptions = new Map<ClaimUid, Assumption>();
  readonly #assumedVolumes = new Map<VolumeName, ClaimUid>();

  constructor(volumes: VolumeTable, pools: Pools, options: ReservationOptions) {
    this.#volumes = volumes;
    this.#pools = pools;
    this.#options = options;
  }

  /** Soft: replaces every earlier hold of the Pod by these plans. */
  hold(pod: PodUid, plans: readonly Plan[]): void {
    this.release(pod);
    const items = this.#itemsOf(plans);
    if (items.length === 0) return;
    this.#holds.set(pod, { since: this.#options.clock(), items });
    for (const item of items) {
      this.#count(item, 1);
      setIn(this.#holders, item.claimUid).add(pod);
    }
    if (this.#holds.size > this.#options.holdsMax) {
      const oldest = this.#holds.keys().next().value;
      if (oldest !== undefined) this.release(oldest);
    }
  }

  /** Ends the Pod's holds. */
  release(pod: PodUid): void {
    const hold = this.#holds.get(pod);
    if (!hold) return;
    this.#holds.delete(pod);
    for (const item of hold.items) {
      this.#count(item, -1);
      deleteIn(this.#holders, item.claimUid, pod);
    }
  }

  /** Runs a decision as if the Pod, and whoever shares these claims, held nothing for them. */
  without<R>(pod: PodUid, claims: readonly ClaimUid[], decide: () => R): R {
    this.#expire();
    const suspended = [...(this.#holds.get(pod)?.items ?? [])];
    for (const claim of claims) {
      for (const other of this.#holders.get(claim) ?? []) {
        if (other === pod) continue;
        for (const item of this.#holds.get(other)?.items ?? []) if (item.claimUid === claim) suspended.push(item);
      }
    }
    for (const item of suspended) this.#count(item, -1);
    try {
      return decide();
    } finally {
      for (const item of suspended) this.#count(item, 1);
    }
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
    this.release(pod);
    for (const planned of plan.claims) if (planned.kind !== "bound") this.#assumeOne(pod, planned, plan.node);
    return { ok: true };
  }

  /** The Pod leaves all its assumptions; one that no Pod is left in ends. */
  forget(pod: PodUid): void {
    this.release(pod);
    for (const assumption of this.#assumptions.values()) {
      if (assumption.pods.delete(pod) && assumption.pods.size === 0) this.#end(assumption, true);
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

  assumptions(): MapIterator<Assumption> {
    return this.#assumptions.values();
  }

  get holdCount(): number {
    return this.#holds.size;
  }

  get assumptionCount(): number {
    return this.#assumptions.size;
  }

  /** Pods that hold the volume. */
  holdersOf(volume: VolumeId): readonly PodUid[] {
    const found: PodUid[] = [];
    for (const [pod, { items }] of this.#holds) if (items.some((item) => item.volume === volume)) found.push(pod);
    return found;
  }

  /** The watch shows the volume: what is assumed of it ends when the API itself now says so. */
  volumeSeen(volume: Volume): void {
    const claim = this.#assumedVolumes.get(volume.name);
    if (claim === undefined || volume.claimRef?.uid !== claim) return;
    const assumption = this.#assumptions.get(claim);
    if (assumption) this.#end(assumption, false);
  }

  /** The volume is gone, or another object has its name: nothing promised of it stands (FR-065). */
  volumeGone(name: VolumeName, id: VolumeId): void {
    const claim = this.#assumedVolumes.get(name);
    const assumption = claim === undefined ? undefined : this.#assumptions.get(claim);
    if (assumption) this.#end(assumption, false);
    for (const hold of this.#holds.values()) {
      if (!hold.items.some((item) => item.volume === id)) continue;
      hold.items = hold.items.filter((item) => item.volume !== id);
    }
  }

  /** The watch shows the claim: a promise to provision is the API's own once selected-node is there. */
  claimSeen(claim: Claim): void {
    const assumption = this.#assumptions.get(claim.uid);
    if (assumption?.target.kind !== "provision") return;
    const bound = claim.volumeName !== undefined && claim.bindCompleted;
    if (claim.selectedNode === assumption.node || bound) this.#end(assumption, false);
  }

  /** For `/debug/state`: every hold and assumption with its Pods, target and age. */
  dump(): {
    readonly holds: readonly {
      pod: PodUid;
      ageMs: number;
      volumes: readonly VolumeName[];
      pools: readonly PoolKey[];
    }[];
    readonly assumptions: readonly {
      claim: ClaimKey;
      node: NodeName;
      pods: readonly PodUid[];
      ageMs: number;
      target: Target;
    }[];
  } {
    const now = this.#options.clock();
    const holds = [...this.#holds].map(([pod, { since, items }]) => ({
      pod,
      ageMs: now - since,
      volumes: items.flatMap(({ volume }) => (volume === undefined ? [] : [this.#volumes.at(volume).name])),
      pools: items.flatMap(({ pool }) => (pool ? [pool.key] : [])),
    }));
    const assumptions = [...this.#assumptions.values()].map(({ claim, node, pods, since, target }) => ({
      claim,
      node,
      pods: [...pods],
      ageMs: now - since,
      target,
    }));
    return { holds, assumptions };
  }

  #expire(): void {
    const now = this.#options.clock();
    for (const [pod, { since }] of this.#holds) {
      if (now - since < this.#options.holdTtlMs) return;
      this.release(pod);
    }
  }

  #itemsOf(plans: readonly Plan[]): Held[] {
    const items = new Map<string, Held>();
    for (const { claims } of plans) {
      for (const planned of claims) {
        if (planned.kind === "static") {
          const volume = this.#volumes.id(planned.volume.name);
          if (volume === undefined) continue;
          const item = { claimUid: planned.claim.uid, volume, bytes: planned.volume.capacity };
          items.set(`${planned.claim.uid} v${volume}`, item);
        } else if (planned.kind === "provision" && planned.pool !== undefined) {
          const pool = this.#pools.get(planned.pool);
          const item = pool && { claimUid: planned.claim.uid, pool, bytes: planned.bytes };
          if (item) items.set(`${planned.claim.uid} p${planned.pool}`, item);
        }
      }
    }
    return [...items.values()];
  }

  #count({ volume, pool, bytes }: Held, by: 1 | -1): void {
    if (volume !== undefined) this.#volumes.held[volume] = (this.#volumes.held[volume] ?? 0) + by;
    if (!pool) return;
    if (by === 1) this.#pools.hold(pool, bytes);
    else this.#pools.releaseHold(pool, bytes);
  }

  #conflict(planned: PlannedClaim, node: NodeName): string | undefined {
    if (planned.kind === "bound") return undefined;
    const own = this.#assumptions.get(planned.claim.uid);
    if (own && !sameTarget(own, planned, node)) return `claim ${own.claim} is assumed on node ${own.node}`;
    if (planned.kind !== "static") return undefined;
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
    const pods = new Set([pod]);
    const since = this.#options.clock();
    this.#assumptions.set(claim.uid, { claim: claim.key, claimUid: claim.uid, node, target, pods, since });
    if (target.kind === "volume") {
      this.#assumedVolumes.set(target.volume, claim.uid);
      const id = this.#volumes.id(target.volume);
      if (id !== undefined) this.#volumes.assumed[id] = 1;
    } else if (this.#pools.demandOf(claim.uid)?.node !== node) {
      this.#pools.demand(claim.uid, { ...target, node });
    }
  }

  /** `forgotten`: nothing was written, so capacity promised with it is free again. */
  #end(assumption: Assumption, forgotten: boolean): void {
    const { claimUid, target } = assumption;
    this.#assumptions.delete(claimUid);
    if (target.kind === "provision") {
      if (forgotten) this.#pools.end(claimUid);
      return;
    }
    this.#assumedVolumes.delete(target.volume);
    const id = this.#volumes.id(target.volume);
    if (id !== undefined) this.#volumes.assumed[id] = 0;
  }
}

function sameTarget(own: Assumption, planned: PlannedClaim, node: NodeName): boolean {
  if (planned.kind === "static") return own.target.kind === "volume" && own.target.volume === planned.volume.name;
  return own.target.kind === "provision" && own.node === node;
}
