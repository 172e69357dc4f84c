/** The storage behind a CSI driver: pools, the volumes in them, and the faults that a test makes it have. */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { addBytes, type Bytes, parseBytes, subtractBytes, zero } from "../scheduling/quantity.ts";
import type { Claim } from "./objects.ts";

export interface DriverConfiguration {
  /** As StorageClasses name it, e.g. "lvm.example.com". */
  readonly name: string;
  /** The node label whose value says which pool a node reaches; the hostname unless given. */
  readonly topologyKey?: string;
  /** Size of each pool by the label's value, e.g. { "node-1": "100Gi" }. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Whether CSIStorageCapacity objects are published, and the CSIDriver says so. True unless given. */
  readonly publishesCapacity?: boolean;
  /** From one publication to the next where no volume was made or deleted in between; a minute unless given. */
  readonly pollMs?: Milliseconds;
  /** How long CreateVolume takes. */
  readonly createMs?: Milliseconds;
  /** Asked before each CreateVolume; what it returns goes wrong. */
  readonly onCreate?: (attempt: CreateAttempt) => CreateFault | undefined;
}

export interface CreateAttempt {
  readonly claim: Claim;
  readonly segment: string;
  /** From 1 on, counted for each claim. */
  readonly attempt: number;
}

export interface CreateFault {
  readonly delayMs?: Milliseconds;
  /** A gRPC code. "ResourceExhausted" is final for the node, all others are tried again there. */
  readonly code?: string;
  /** The call ends with DeadlineExceeded, and the volume is there this much later all the same. */
  readonly inProgressMs?: Milliseconds;
}

export interface CreateRequest {
  readonly claim: Claim;
  readonly uid: string;
  readonly segment: string;
  readonly bytes: Bytes;
}

export type Created =
  | { readonly ok: true; readonly segment: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface BackendVolume {
  readonly segment: string;
  readonly bytes: Bytes;
  /** Runtime clock. Before that the volume takes up its room but is not there. */
  readonly readyAt: Milliseconds;
}

const defaultTopologyKey = "kubernetes.io/hostname";

export class Backend {
  readonly topologyKey: string;
  readonly #pools: ReadonlyMap<string, Bytes>;
  readonly #volumes = new Map<string, BackendVolume>();
  readonly #attempts = new Map<string, number>();
  readonly #driver: DriverConfiguration;
  readonly #runtime: Runtime;
  readonly #signal: AbortSignal;

  constructor(driver: DriverConfiguration, runtime: Runtime, signal: AbortSignal) {
    this.#driver = driver;
    this.#runtime = runtime;
    this.#signal = signal;
    this.topologyKey = driver.topologyKey ?? defaultTopologyKey;
    this.#pools = new Map(
      Object.entries(driver.capacity).map(([segment, size]) => [segment, parseBytes(size) ?? zero]),
    );
  }

  /** By the uid of the claim each was made for: what is here without a PV is a leak. */
  get volumes(): ReadonlyMap<string, BackendVolume> {
    return this.#volumes;
  }

  segments(): string[] {
    return [...this.#pools.keys()];
  }

  has(segment: string): boolean {
    return this.#pools.has(segment);
  }

  free(segment: string): Bytes {
    let taken = zero;
    for (const volume of this.#volumes.values()) {
      if (volume.segment === segment) taken = addBytes(taken, volume.bytes);
    }
    return subtractBytes(this.#pools.get(segment) ?? zero, taken);
  }

  /**
   * CreateVolume: may be called again for one claim, and then finds what it made or has begun to make. While a volume is
   * being made the first call's segment stands, as the external-provisioner keeps it until a final error.
   */
  async create({ claim, uid, segment, bytes }: CreateRequest): Promise<Created> {
    const attempt = (this.#attempts.get(uid) ?? 0) + 1;
    this.#attempts.set(uid, attempt);
    const fault = this.#driver.onCreate?.({ claim, segment, attempt });
    const delayMs = fault?.delayMs ?? this.#driver.createMs ?? 0;
    if (delayMs > 0) await this.#runtime.sleep(delayMs, this.#signal);
    const now = this.#runtime.now();
    const begun = this.#volumes.get(uid);
    if (begun) return begun.readyAt <= now ? { ok: true, segment: begun.segment } : inProgress;
    if (fault?.code !== undefined) return { ok: false, code: fault.code, message: "injected" };
    if (this.free(segment) < bytes) return { ok: false, code: "ResourceExhausted", message: `pool ${segment} is full` };
    this.#volumes.set(uid, { segment, bytes, readyAt: now + (fault?.inProgressMs ?? 0) });
    return fault?.inProgressMs === undefined ? { ok: true, segment } : inProgress;
  }

  /** DeleteVolume; one that is gone already is a success. */
  remove(uid: string): void {
    this.#volumes.delete(uid);
    this.#attempts.delete(uid);
  }
}

const inProgress: Created = { ok: false, code: "DeadlineExceeded", message: "the volume is being created" };
