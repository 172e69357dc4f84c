/** Soft promises: what filter planned for Pods whose bind has not come. `reservations.ts` has the picture. */
import type { CapacityLedger } from "./capacity-ledger.ts";
import { deleteIn, setIn } from "./indexes.ts";
import type { ClaimUid, PodUid, VolumeName } from "./names.ts";
import type { Plan, PoolKey } from "./plan.ts";
import type { Pool } from "./pools.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { VolumeId, VolumeTable } from "./volume-table.ts";

/** One thing held for one claim: a volume, of which so much is asked, or an amount of a pool. */
interface Held {
  readonly claimUid: ClaimUid;
  readonly of: VolumeId | PoolHold;
  readonly bytes: Bytes;
}

/** What a claim may need of a pool: held once, however many Pods that share the claim hold it. */
interface PoolHold {
  readonly key: string;
  readonly pool: Pool;
  readonly bytes: Bytes;
  pods: number;
}

interface Hold {
  readonly pod: PodUid;
  readonly since: number;
  /** Those that it was made for, whatever became of its items. */
  readonly claims: ReadonlySet<ClaimUid>;
  items: readonly Held[];
}

const none: readonly never[] = [];

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
  readonly #holders = new Map<ClaimUid, Set<Hold>>();
  readonly #asked = new Map<VolumeId, Bytes>();
  /** By claim and pool. */
  readonly #poolHolds = new Map<string, PoolHold>();
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

  /** Soft: replaces every earlier hold of the Pod by these plans. What is promised to a claim already is not held besides. */
  hold(pod: PodUid, plans: readonly Plan[]): void {
    this.release(pod);
    const items = this.#itemsOf(plans);
    if (items.length === 0) return;
    const claims = new Set(items.map(({ claimUid }) => claimUid));
    const hold = { pod, since: this.#options.clock(), claims, items };
    this.#holds.set(pod, hold);
    for (const item of items) this.#count(item, 1);
    for (const claim of claims) setIn(this.#holders, claim).add(hold);
    for (const oldest of this.#holds.keys()) {
      if (this.#holds.size <= this.#options.holdsMax) return;
      this.release(oldest);
    }
  }

  /** Ends the Pod's holds. */
  release(pod: PodUid): void {
    const hold = this.#holds.get(pod);
    if (!hold) return;
    this.#holds.delete(pod);
    for (const item of hold.items) this.#count(item, -1);
    for (const claim of hold.claims) deleteIn(this.#holders, claim, hold);
  }

  /** The claim is promised something for good: what any Pod holds for it would count twice, or in vain. */
  claimAssumed(claim: ClaimUid): void {
    for (const hold of this.#holders.get(claim) ?? none) {
      for (const item of hold.items) if (item.claimUid === claim) this.#count(item, -1);
      this.#keep(hold, (item) => item.claimUid !== claim);
    }
  }

  /** Runs a decision as if the Pod, and whoever shares these claims, held nothing for them. */
  without<R>(pod: PodUid, claims: readonly ClaimUid[], decide: () => R): R {
    // A decision within a decision on the same Pod: its holds are out of the way already.
    if (this.#decidedFor === pod) return decide();
    this.#expire();
    const suspended = this.#itemsFor(pod, claims);
    for (const item of suspended) this.#suspend(item, true);
    this.#decidedFor = pod;
    try {
      return decide();
    } finally {
      this.#decidedFor = undefined;
      for (const item of suspended) this.#suspend(item, false);
    }
  }

  /** What holders ask of a volume, all together. */
  askedOf(volume: VolumeId): Bytes {
    return this.#asked.get(volume) ?? zero;
  }

  /** The number is about to stand for nothing, or for another volume. */
  volumeGone(volume: VolumeId): void {
    this.#asked.delete(volume);
    for (const hold of this.#holds.values()) this.#keep(hold, (item) => item.of !== volume);
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
      volumes: items.flatMap(({ of }) => (typeof of === "number" ? [this.#volumes.at(of).name] : [])),
      pools: items.flatMap(({ of }) => (typeof of === "number" ? [] : [of.pool.key])),
    }));
  }

  /** Items that do not stand are counted no more already. A hold of nothing ends. */
  #keep(hold: Hold, stands: (item: Held) => boolean): void {
    hold.items = hold.items.filter(stands);
    if (hold.items.length === 0) this.release(hold.pod);
  }

  #itemsFor(pod: PodUid, claims: readonly ClaimUid[]): Held[] {
    const own = this.#holds.get(pod);
    const found = [...(own?.items ?? none)];
    for (const claim of claims) {
      for (const other of this.#holders.get(claim) ?? none) {
        if (other === own) continue;
        for (const item of other.items) if (item.claimUid === claim) found.push(item);
      }
    }
    return found;
  }

  #suspend({ of, bytes }: Held, suspend: boolean): void {
    if (typeof of === "number") {
      this.#holdVolume(of, bytes, suspend ? -1 : 1);
      return;
    }
    const others = suspend ? --of.pods : of.pods++;
    if (others === 0) this.#pools.suspendHold(of.pool, of.bytes, suspend);
  }

  #holdVolume(volume: VolumeId, bytes: Bytes, by: 1 | -1): void {
    this.#volumes.hold(volume, by);
    const before = this.#asked.get(volume) ?? zero;
    const after = by === 1 ? addBytes(before, bytes) : subtractBytes(before, bytes);
    if (after > zero) this.#asked.set(volume, after);
    else this.#asked.delete(volume);
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
          if (volume === undefined || !this.#volumes.isFree(volume)) continue;
          const item = { claimUid: planned.claim.uid, of: volume, bytes: planned.claim.request ?? zero };
          items.set(`${planned.claim.uid} v${volume}`, item);
        } else if (planned.kind === "provision" && planned.pool !== undefined) {
          const pool = this.#pools.get(planned.pool);
          const isPromised = pool && this.#pools.demandOf(planned.claim.uid)?.pool === pool;
          if (!pool || isPromised) continue;
          const key = `${planned.claim.uid} p${planned.pool}`;
          const { bytes } = planned;
          const of = this.#poolHolds.get(key) ?? { key, pool, bytes, pods: 0 };
          items.set(key, { claimUid: planned.claim.uid, of, bytes });
        }
      }
    }
    return [...items.values()];
  }

  #count({ of, bytes }: Held, by: 1 | -1): void {
    if (typeof of === "number") {
      this.#holdVolume(of, bytes, by);
      return;
    }
    if (of.pods === 0) this.#pools.hold(of.pool, of.bytes);
    of.pods += by;
    if (of.pods > 0) {
      this.#poolHolds.set(of.key, of);
      return;
    }
    this.#poolHolds.delete(of.key);
    this.#pools.releaseHold(of.pool, of.bytes);
  }
}
