/**
 * All that Berth believes of the cluster, in memory: fed by `cluster/` as the watches deliver, read by decisions. Changing it
 * keeps every index and every promise in step, so that no decision ever walks all volumes.
 */
import { count, mapIn } from "./indexes.ts";
import type { ClaimKey, ClaimUid, ClassName, NodeName, VolumeName } from "./names.ts";
import type { Claim, Kind, Kinds, ObjectKey, Volume } from "./objects.ts";
import { Pools } from "./pools.ts";
import { zero } from "./quantity.ts";
import { Reservations } from "./reservations.ts";
import { Rests } from "./rests.ts";
import { defaultScoring, type Scoring } from "./scoring.ts";
import { Topologies } from "./topology.ts";
import { VolumeTable } from "./volume-table.ts";

export interface StateOptions {
  /** Milliseconds on a clock that never runs backwards; read for expiry only. */
  readonly clock: () => number;
  readonly holdTtlMs?: number;
  readonly holdsMax?: number;
  /** How often CSI drivers look at their capacity, ms. */
  readonly capacityPollIntervalMs?: number;
  /** Classes that are never, or always, provisioned from, whatever the cluster seems to say. */
  readonly provisioning?: ReadonlyMap<ClassName, "static" | "dynamic">;
  /** How nodes that fit are ranked. */
  readonly scoring?: Scoring;
}

const defaults = { holdTtlMs: 60_000, holdsMax: 1_000, capacityPollIntervalMs: 60_000 };

export class ClusterState {
  readonly topologies = new Topologies();
  readonly volumes = new VolumeTable(this.topologies);
  readonly pools: Pools;
  readonly reservations: Reservations;
  /** Where provisioners refused a short time ago (departure D18). */
  readonly rests: Rests;
  readonly provisioning: ReadonlyMap<ClassName, "static" | "dynamic">;
  readonly scoring: Scoring;
  /** Nodes that each driver is registered on. */
  readonly driverNodes = new Map<string, number>();
  /** Volumes that each provisioner made. */
  readonly provisionedBy = new Map<string, number>();
  /** Volumes of each class that nobody provisioned. */
  readonly handMade = new Map<ClassName, number>();
  readonly #objects: { readonly [K in Exclude<Kind, "node" | "volume">]: Map<ObjectKey, Kinds[K]> } = {
    claim: new Map(),
    class: new Map(),
    driver: new Map(),
    csiNode: new Map(),
    capacity: new Map(),
    pod: new Map(),
  };
  readonly #problems = new Map<Kind, Map<ObjectKey, string>>();
  #generation = 0;

  constructor(options: StateOptions) {
    const { clock, holdTtlMs, holdsMax, capacityPollIntervalMs } = { ...defaults, ...options };
    this.pools = new Pools(this.topologies, { clock, pollIntervalMs: capacityPollIntervalMs });
    this.reservations = new Reservations(this.volumes, this.pools, { clock, holdTtlMs, holdsMax });
    this.rests = new Rests(clock);
    this.provisioning = options.provisioning ?? new Map();
    this.scoring = options.scoring ?? defaultScoring;
  }

  /** Counts every change; the same number means the same objects. */
  get generation(): number {
    return this.#generation;
  }

  /** Adds or replaces. An object of the same name with another uid is a deletion and an addition in one step (FR-061). */
  set<K extends Kind>(kind: K, key: ObjectKey, object: Kinds[K]): void {
    this.#generation++;
    this.#problems.get(kind)?.delete(key);
    const known = this.get(kind, key);
    if (known && known.uid !== object.uid) this.#remove(kind, key);
    const change = { kind, object } as { [K in Kind]: { kind: K; object: Kinds[K] } }[Kind];
    switch (change.kind) {
      case "node":
        this.topologies.setNode(change.object);
        this.pools.nodesChanged();
        break;
      case "volume":
        this.#setVolume(change.object);
        break;
      case "claim":
        this.#setClaim(change.object);
        break;
      case "capacity": {
        const pool = this.pools.setCapacity(change.object);
        if (pool) this.rests.published(pool);
        break;
      }
      case "csiNode":
        for (const driver of this.#objects.csiNode.get(key)?.drivers ?? []) count(this.driverNodes, driver, -1);
        for (const driver of change.object.drivers) count(this.driverNodes, driver, 1);
        break;
      case "class":
      case "driver":
      case "pod":
        break;
    }
    if (change.kind === "node" || change.kind === "volume") return;
    (this.#objects[change.kind] as Map<ObjectKey, typeof change.object>).set(key, change.object);
  }

  delete(kind: Kind, key: ObjectKey): void {
    this.#generation++;
    this.#problems.get(kind)?.delete(key);
    this.#remove(kind, key);
  }

  /** Remembers that the object exists but cannot be read, and why; drops what was known of it. */
  setAside(kind: Kind, key: ObjectKey, problem: string): void {
    this.delete(kind, key);
    mapIn(this.#problems, kind).set(key, problem);
  }

  get<K extends Kind>(kind: K, key: ObjectKey): Kinds[K] | undefined {
    const which: Kind = kind;
    if (which === "node") return this.topologies.nodes.get(key as NodeName)?.node as Kinds[K] | undefined;
    if (which === "volume") return this.volumes.get(key as VolumeName) as Kinds[K] | undefined;
    return this.#objects[which].get(key) as Kinds[K] | undefined;
  }

  problem(kind: Kind, key: ObjectKey): string | undefined {
    return this.#problems.get(kind)?.get(key);
  }

  /** Keys known or set aside. */
  *keys(kind: Kind): IterableIterator<ObjectKey> {
    if (kind === "node") yield* this.topologies.nodes.keys();
    else if (kind === "volume") yield* this.volumes.names();
    else yield* this.#objects[kind].keys();
    yield* this.#problems.get(kind)?.keys() ?? [];
  }

  size(kind: Kind): number {
    const problems = this.#problems.get(kind)?.size ?? 0;
    if (kind === "node") return this.topologies.nodes.size + problems;
    if (kind === "volume") return this.volumes.count + problems;
    return this.#objects[kind].size + problems;
  }

  /** The claim's provisioner gave it back. Of a node that is gone this says nothing new. */
  provisionerRefused(claim: ClaimUid, node: NodeName): void {
    if (!this.topologies.nodes.has(node)) return;
    this.pools.update();
    this.rests.refused(claim, node, this.pools.demandOf(claim)?.pool);
  }

  #remove(kind: Kind, key: ObjectKey): void {
    switch (kind) {
      case "node":
        this.topologies.deleteNode(key as NodeName);
        break;
      case "volume":
        this.#removeVolume(key as VolumeName);
        break;
      case "claim":
        this.#removeClaim(key as ClaimKey);
        break;
      case "capacity":
        this.pools.deleteCapacity(key);
        break;
      case "csiNode":
        for (const driver of this.#objects.csiNode.get(key)?.drivers ?? []) count(this.driverNodes, driver, -1);
        break;
      case "pod":
        this.#removePod(key);
        break;
      case "class":
      case "driver":
        break;
    }
    if (kind !== "node" && kind !== "volume") this.#objects[kind].delete(key);
  }

  #setVolume(volume: Volume): void {
    this.#countVolume(this.volumes.get(volume.name), -1);
    this.#countVolume(volume, 1);
    this.volumes.set(volume);
    this.reservations.volumeSeen(volume);
    if (volume.claimRef?.uid !== undefined) this.pools.settle(volume.claimRef.uid);
  }

  #removeVolume(name: VolumeName): void {
    const id = this.volumes.id(name);
    if (id === undefined) return;
    this.#countVolume(this.volumes.get(name), -1);
    this.reservations.volumeGone(name, id);
    this.volumes.delete(name);
  }

  #countVolume(volume: Volume | undefined, by: 1 | -1): void {
    if (!volume) return;
    if (volume.provisionedBy === undefined) count(this.handMade, volume.class, by);
    else count(this.provisionedBy, volume.provisionedBy, by);
  }

  #setClaim(claim: Claim): void {
    const before = this.#objects.claim.get(claim.key);
    if (before) this.#nameVolume(before, false);
    this.#objects.claim.set(claim.key, claim);
    this.#nameVolume(claim, true);
    this.reservations.claimSeen(claim);
    this.#trackRefusal(before, claim);
    this.#trackDemand(claim);
  }

  /** A selected-node that is taken back is the provisioner's refusal of the node. */
  #trackRefusal(before: Claim | undefined, { uid, volumeName, selectedNode, deleting }: Claim): void {
    if (volumeName !== undefined) this.rests.forget(uid);
    else if (before?.selectedNode !== undefined && selectedNode === undefined && !deleting) {
      this.provisionerRefused(uid, before.selectedNode);
    }
  }

  #removeClaim(key: ClaimKey): void {
    const claim = this.#objects.claim.get(key);
    if (!claim) return;
    this.#nameVolume(claim, false);
    this.rests.forget(claim.uid);
    // Its volume may still be created: the promise ends by the clock, unless a bind still stands behind it.
    this.pools.settle(claim.uid);
  }

  #removePod(key: ObjectKey): void {
    const pod = this.#objects.pod.get(key);
    if (pod) this.reservations.holds.release(pod.uid);
  }

  /** A pending claim that names its volume keeps it from everybody else. */
  #nameVolume(claim: Claim, named: boolean): void {
    const { volumeName, bindCompleted } = claim;
    if (volumeName !== undefined && !bindCompleted) this.volumes.setNamed(volumeName, claim, named);
  }

  /** Capacity that a provisioner was told to use, by us or anybody, is in flight until its volume shows. */
  #trackDemand(claim: Claim): void {
    const demand = this.pools.demandOf(claim.uid);
    if (claim.volumeName !== undefined && claim.bindCompleted) {
      if (demand && this.volumes.id(claim.volumeName) !== undefined) this.pools.settle(claim.uid);
      return;
    }
    const { selectedNode } = claim;
    if (selectedNode === undefined) {
      // The provisioner took it back, which is its final word; a promise of our own that is not written yet stays.
      if (demand && !this.reservations.of(claim.uid)) this.pools.end(claim.uid);
    } else if (demand?.node !== selectedNode) {
      this.pools.demand(claim.uid, { class: claim.class, node: selectedNode, bytes: claim.request ?? zero });
    }
  }
}
