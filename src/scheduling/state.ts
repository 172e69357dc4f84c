/**
 * All that Berth believes of the cluster, in memory: fed by `cluster/` as the watches deliver, read by decisions. Changing it
 * keeps every index and every promise in step, so that no decision ever walks all volumes.
 */
import { CapacityLedger } from "./capacity-ledger.ts";
import { claimGone, settleVolume, trackDemand, trackVolume, volumeGone } from "./demands.ts";
import { type DiskRule, Disks } from "./disks.ts";
import { count, mapIn } from "./indexes.ts";
import type { ClaimKey, ClaimUid, ClassName, NodeName, VolumeName } from "./names.ts";
import type { CapacitySource } from "./node-capacity.ts";
import type { Claim, Kind, Kinds, Node, ObjectKey, Volume } from "./objects.ts";
import { isMadeByHand } from "./provisioning.ts";
import { type Assumption, Reservations } from "./reservations.ts";
import { Rests } from "./rests.ts";
import { defaultScoring, type Scoring } from "./scoring.ts";
import { Topologies } from "./topology.ts";
import { type VolumeId, VolumeTable } from "./volume-table.ts";

export interface StateOptions {
  /** Milliseconds on a clock that never runs backwards; read for expiry only. */
  readonly clock: () => number;
  readonly holdTtlMs?: number;
  readonly holdsMax?: number;
  /** How often CSI drivers look at their capacity, ms. */
  readonly capacityPollIntervalMs?: number;
  /** Classes that are never, or always, provisioned from, whatever the cluster seems to say. */
  readonly provisioning?: ReadonlyMap<ClassName, "static" | "dynamic">;
  /** Classes whose capacity nodes carry themselves. */
  readonly capacitySources?: ReadonlyMap<ClassName, CapacitySource>;
  /** Names of the pools that classes share. */
  readonly sharedPools?: ReadonlyMap<ClassName, string>;
  /** How to tell which volumes lie on one disk. */
  readonly disks?: readonly DiskRule[];
  /** How nodes that fit are ranked. */
  readonly scoring?: Scoring;
}

const defaults = { holdTtlMs: 60_000, holdsMax: 1_000, capacityPollIntervalMs: 60_000 };

export class ClusterState {
  readonly topologies = new Topologies();
  readonly volumes = new VolumeTable(this.topologies);
  readonly pools: CapacityLedger;
  readonly reservations: Reservations;
  readonly disks: Disks;
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
  #isListed = false;
  #generation = 0;

  constructor(options: StateOptions) {
    const { clock, holdTtlMs, holdsMax, capacityPollIntervalMs } = { ...defaults, ...options };
    this.pools = new CapacityLedger(this.topologies, {
      clock,
      pollIntervalMs: capacityPollIntervalMs,
      ...(options.capacitySources && { sources: options.capacitySources }),
      ...(options.sharedPools && { shared: options.sharedPools }),
    });
    const forgotten = ({ claim: key, claimUid }: Assumption): void => {
      const claim = this.get("claim", key);
      if (claim?.uid === claimUid) trackDemand(this, claim, claim, false);
      else this.pools.end(claimUid);
    };
    this.reservations = new Reservations(this.volumes, this.pools, { clock, holdTtlMs, holdsMax, forgotten });
    this.disks = new Disks(options.disks ?? []);
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
        this.#setNode(change.object);
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
      case "pod":
        // Whoever assigned it: without a bind of ours nothing else would end its holds (filter-only).
        if (change.object.nodeName !== undefined) this.reservations.release(change.object.uid);
        break;
      case "class":
      case "driver":
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

  /**
   * Every kind was listed: what follows is news. Volumes of the first lists that are newer than what drivers published count as
   * capacity in flight (decision 23), and only now is it known which nodes reach them.
   */
  listed(): void {
    for (const _ of this.listing());
  }

  /**
   * The same in steps of microseconds, for a large cluster would take too long in one turn. Changes may come in between; decisions
   * wait until the last step.
   */
  *listing(): Generator<undefined> {
    if (this.#isListed) return;
    this.#isListed = true;
    for (const claim of this.#objects.claim.values()) {
      trackDemand(this, claim, claim, true);
      yield;
    }
    yield* this.volumes.free.prepare(this.topologies.nodes.values());
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
        this.pools.nodes.delete(key as NodeName);
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

  #setNode(node: Node): void {
    const before = this.topologies.nodes.get(node.name)?.node;
    this.topologies.setNode(node);
    for (const pool of this.pools.setNode(node, before)) this.rests.published(pool);
  }

  #setVolume(volume: Volume): void {
    const before = this.volumes.get(volume.name);
    this.#countVolume(this.volumes.id(volume.name), -1);
    const id = this.volumes.set(volume);
    this.#countVolume(id, 1);
    this.reservations.volumeSeen(volume);
    settleVolume(this, id);
    if (!before) trackVolume(this, volume, this.#isListed);
    else if (before.claimRef?.uid !== volume.claimRef?.uid) trackVolume(this, before, false);
  }

  #removeVolume(name: VolumeName): void {
    const id = this.volumes.id(name);
    if (id === undefined) return;
    this.#countVolume(id, -1);
    this.reservations.volumeGone(name, id);
    const volume = this.volumes.at(id);
    this.volumes.delete(name);
    volumeGone(this, volume);
  }

  #countVolume(id: VolumeId | undefined, by: 1 | -1): void {
    if (id === undefined) return;
    const volume = this.volumes.at(id);
    if (isMadeByHand(volume)) count(this.handMade, volume.class, by);
    else if (volume.provisionedBy !== undefined) count(this.provisionedBy, volume.provisionedBy, by);
    const topology = this.volumes.topologyOf(id);
    if (!topology) return;
    this.pools.usage.count(volume, topology, by);
    this.disks.count(id, volume, topology, by);
  }

  #setClaim(claim: Claim): void {
    const before = this.#objects.claim.get(claim.key);
    if (before) this.#nameVolume(before, false);
    this.#nameVolume(claim, true);
    this.reservations.claimSeen(claim);
    this.#trackRefusal(before, claim);
    trackDemand(this, claim, before, this.#isListed && !before);
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
    claimGone(this, claim);
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
}
