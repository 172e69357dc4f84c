/** What claims ask of disks that volumes share, for one decision on one Pod: it must not outlive a change of state. */
import { type Asker, DiskSearch } from "./disk-search.ts";
import type { Disk } from "./disks.ts";
import type { ClaimUid } from "./names.ts";
import type { Gauge } from "./outcome.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { ClusterState } from "./state.ts";
import type { VolumeId } from "./volume-table.ts";

type Asked = readonly { readonly bytes: Bytes }[];

/** What a file system has left for the Pod, without and with what other Pods hold. */
interface Left {
  readonly careful: Bytes;
  readonly bold: Bytes;
}

/** Steps of a search on one node; of all searches of one decision; and what each has all the same, for the first choice. */
const steps = { perNode: 10_000, perDecision: 100_000, least: 100 };

export class DiskUse {
  /** Room was left alone only because another Pod holds it. Cleared by whoever asks. */
  avoided = false;
  readonly #state: ClusterState;
  readonly #own: ReadonlySet<ClaimUid>;
  #steps = steps.perDecision;
  readonly #left = new Map<Disk, Left>();

  /** @param own  claims of the Pod: what they ask is what is being decided */
  constructor(state: ClusterState, own: ReadonlySet<ClaimUid>) {
    this.#state = state;
    this.#own = own;
  }

  /**
   * Whether the file systems have room for what is asked of the volumes.
   *
   * @param volumes  per claim; `provisioned` where it gets a new one
   * @param avoid    leave alone what other Pods hold
   */
  fits(volumes: readonly VolumeId[], asked: Asked, avoid: boolean): boolean {
    for (const [disk, bytes] of this.#sum(volumes, asked)) if (!this.#hasRoom(disk, bytes, avoid)) return false;
    return true;
  }

  /**
   * Serves all askers so that every file system has room, by search: exact up to a bound.
   *
   * @param volumes  per open claim: filled in for the askers, and `provisioned` for each of them before
   * @param accept   has the last word on a choice, and may have it searched on
   */
  search(
    askers: readonly Asker[],
    volumes: VolumeId[],
    { asked, avoid, accept }: { readonly asked: Asked; readonly avoid: boolean; readonly accept: () => boolean },
  ): boolean {
    const used = this.#sum(volumes, asked);
    if (!this.#mayFit(askers, used, { asked, avoid })) return false;
    const search = new DiskSearch(askers, {
      asked,
      volumes,
      used,
      capacityOf: (id) => this.#state.volumes.at(id).capacity,
      diskOf: (id) => this.#sharedOf(id),
      hasRoom: (disk, bytes) => this.#hasRoom(disk, bytes, avoid),
      stepsMax: Math.max(steps.least, Math.min(steps.perNode, this.#steps)),
      accept,
    });
    const found = search.run();
    this.#steps -= search.steps;
    return found;
  }

  /** Whether all file systems together have what is asked by those that must have a volume: most full nodes need no search. */
  #mayFit(
    askers: readonly Asker[],
    used: ReadonlyMap<Disk, Bytes>,
    { asked, avoid }: { readonly asked: Asked; readonly avoid: boolean },
  ): boolean {
    const disks = new Set<Disk>();
    let missing = zero;
    for (const { index, candidates, canBeProvisioned } of askers) {
      if (canBeProvisioned) continue;
      missing = addBytes(missing, asked[index]?.bytes ?? zero);
      for (const id of candidates) {
        const disk = this.#sharedOf(id);
        if (!disk) return true;
        disks.add(disk);
      }
    }
    let isHeld = false;
    for (const disk of disks) {
      const { careful, bold } = this.#leftOf(disk);
      const left = subtractBytes(avoid ? careful : bold, used.get(disk) ?? zero);
      if (left > zero) missing = subtractBytes(missing, left);
      if (careful < bold) isHeld = true;
    }
    if (missing <= zero) return true;
    if (avoid && isHeld) this.avoided = true;
    return false;
  }

  #sum(volumes: readonly VolumeId[], asked: Asked): Map<Disk, Bytes> {
    const sums = new Map<Disk, Bytes>();
    for (const [claim, id] of volumes.entries()) {
      const disk = this.#sharedOf(id);
      if (disk) sums.set(disk, addBytes(sums.get(disk) ?? zero, asked[claim]?.bytes ?? zero));
    }
    return sums;
  }

  #sharedOf(id: VolumeId): Disk | undefined {
    const disk = this.#state.disks.of(id);
    return disk?.kind === "sharedFilesystem" ? disk : undefined;
  }

  #hasRoom(disk: Disk, bytes: Bytes, avoid: boolean): boolean {
    const { bold, careful } = this.#leftOf(disk);
    if (bytes > bold) return false;
    if (!avoid || bytes <= careful) return true;
    this.avoided = true;
    return false;
  }

  #leftOf(disk: Disk): Left {
    const left = this.#left.get(disk) ?? this.#measure(disk);
    this.#left.set(disk, left);
    return left;
  }

  /** The size is the largest that a volume reports: file systems grow, and old volumes keep the old number. */
  #measure(disk: Disk): Left {
    let size = zero;
    let used = zero;
    let held = zero;
    for (const id of disk.volumes) {
      const { capacity } = this.#state.volumes.at(id);
      if (capacity > size) size = capacity;
      used = addBytes(used, askedOf(this.#state, id, this.#own) ?? zero);
      held = addBytes(held, this.#state.reservations.holds.askedOf(id));
    }
    const bold = subtractBytes(size, used);
    return { bold, careful: subtractBytes(bold, held) };
  }
}

/** What is asked of a volume that is bound, reserved or assumed; undefined where it serves nobody, or only the Pod's own claims. */
function askedOf(state: ClusterState, id: VolumeId, own: ReadonlySet<ClaimUid>): Bytes | undefined {
  const { claimRef, name } = state.volumes.at(id);
  const assumed = state.reservations.assumedFor(name);
  const key = claimRef?.claim ?? assumed?.claim;
  const claim = key === undefined ? undefined : state.get("claim", key);
  const uid = claimRef ? claimRef.uid : assumed?.claimUid;
  if (!claim || own.has(claim.uid) || (uid !== undefined && uid !== claim.uid)) return undefined;
  return claim.request ?? zero;
}

/**
 * Per plan, how many of its volumes lie on a disk that another claim uses; undefined where no disk is known. It serves one call.
 *
 * @param own  claims of the Pod
 */
export function busyDisksGauge(state: ClusterState, own: ReadonlySet<ClaimUid>): Gauge | undefined {
  if (!state.disks.areKnown) return undefined;
  const isBusy = new Map<Disk, boolean>();
  return (_node, { volumes }) => {
    let busy = 0;
    for (const id of volumes) {
      const disk = state.disks.of(id);
      if (!disk) continue;
      const known = isBusy.get(disk) ?? hasAsker(state, disk, own);
      isBusy.set(disk, known);
      if (known) busy++;
    }
    return busy;
  };
}

function hasAsker(state: ClusterState, { volumes }: Disk, own: ReadonlySet<ClaimUid>): boolean {
  for (const id of volumes) if (askedOf(state, id, own) !== undefined) return true;
  return false;
}
