/** Soft promises: what filter planned for Pods whose bind has not come. `reservations.ts` has the picture. */
import type { CapacityLedger } from "./capacity-ledger.ts";
import { deleteIn, setIn } from "./indexes.ts";
import type { ClaimUid, PodUid, VolumeName } from "./names.ts";
import type { Plan, PoolKey } from "./plan.ts";
import type { Pool } from "./pools.ts";
import type { Bytes } from "./quantity.ts";
import type { VolumeId, VolumeTable } from "./volume-table.ts";

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

export interface HoldOptions {
  readonly clock: () => number;
  /** A hold older than this has ended: bind follows filter within milliseconds, or minutes where Permit plugins wait. */
  readonly holdTtlMs: number;
  /** Pods that hold at one time; beyond it the oldest hold ends. */
  readonly holdsMax: number;
}

export class Holds {
  readonly #volumes: VolumeTable;
  readonly #pools: CapacityLedger;
  readonly #options: HoldOptions;
  readonly #holds = new Map<PodUid, Hold>();
  readonly #holders = new Map<ClaimUid, Set<PodUid>>();
  /** The Pod that a decision is running for. */
  #decidedFor: PodUid | undefined;

  constructor(volumes: VolumeTable, pools: CapacityLedger, options: HoldOptions) {
    this.#volumes = volumes;
    this.#pools = pools;
    this.#options = options;
  }

  get count(): number {
    return this.#holds.size;
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
    // A decision within a decision on the same Pod: its holds are out of the way already.
    if (this.#decidedFor === pod) return decide();
    this.#expire();
    const suspended = [...(this.#holds.get(pod)?.items ?? [])];
    for (const claim of claims) {
      for (const other of this.#holders.get(claim) ?? []) {
        if (other === pod) continue;
        for (const item of this.#holds.get(other)?.items ?? []) if (item.claimUid === claim) suspended.push(item);
      }
    }
    for (const item of suspended) this.#suspend(item, true);
    this.#decidedFor = pod;
    try {
      return decide();
    } finally {
      this.#decidedFor = undefined;
      for (const item of suspended) this.#suspend(item, false);
    }
  }

  /** The number is about to stand for nothing, or for another volume. */
  volumeGone(volume: VolumeId): void {
    for (const hold of this.#holds.values()) {
      if (hold.items.some((item) => item.volume === volume)) {
        hold.items = hold.items.filter((item) => item.volume !== volume);
      }
    }
  }

  dump(): readonly {
    readonly pod: PodUid;
    readonly ageMs: number;
    readonly volumes: readonly VolumeName[];
    readonly pools: readonly PoolKey[];
  }[] {
    const now = this.#options.clock();
    return [...this.#holds].map(([pod, { since, items }]) => ({
      pod,
      ageMs: now - since,
      volumes: items.flatMap(({ volume }) => (volume === undefined ? [] : [this.#volumes.at(volume).name])),
      pools: items.flatMap(({ pool }) => (pool ? [pool.key] : [])),
    }));
  }

  #suspend({ volume, pool, bytes }: Held, suspend: boolean): void {
    if (volume !== undefined) this.#volumes.hold(volume, suspend ? -1 : 1);
    if (pool) this.#pools.suspendHold(pool, bytes, suspend);
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
    if (volume !== undefined) this.#volumes.hold(volume, by);
    if (!pool) return;
    if (by === 1) this.#pools.hold(pool, bytes);
    else this.#pools.releaseHold(pool, bytes);
  }
}
