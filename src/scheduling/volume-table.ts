/**
 * All volumes, each under a small number, with what matching reads in flat columns. Objects stay out of the loops that run once
 * per node, and the columns too, where one node alone reaches the volume: `blocks.ts` has a copy beside its neighbours.
 */
import { FreeVolumes } from "./free-volumes.ts";
import { deleteIn, mapIn, setIn } from "./indexes.ts";
import { LabelSets } from "./label-sets.ts";
import { type ClaimKey, compareText, type VolumeName } from "./names.ts";
import type { AccessModes, Claim, Volume, VolumeMode } from "./objects.ts";
import { zero } from "./quantity.ts";
import type { Topologies, Topology } from "./topology.ts";
import { VolumeCensus } from "./volume-census.ts";

/** A volume's number. Used again after the volume is gone: never kept across a change of state. */
export type VolumeId = number;

/** Bits of an offer above `traits`; the number of the attributes class comes above them. */
export const assumedBit = 64;
export const heldBit = 128;
export const attributesShift = 8;

/** Access modes in bits 0..3, the mode in bits 4 and 5: a volume suits when it has every bit the claim needs. */
export function traits(accessModes: AccessModes, mode: VolumeMode): number {
  return accessModes | (mode === "Block" ? 32 : 16);
}

export class VolumeTable {
  /** Capacity rounded to a double: tells unequal sizes apart below 2^53; `compare` looks at the exact ones where it must. */
  size = new Float64Array(64);
  traits = new Uint8Array(64);
  /** Number of the VolumeAttributesClass name; 0 is none. */
  attributes = new Int32Array(64);
  /** What each volume's labels are in `labelSets`. */
  labels = new Int32Array(64);
  /** Claims that the volume is assumed for: one at most. Changed by `assume`. */
  assumed = new Uint8Array(64);
  /** Pods that hold it. Changed by `hold`. */
  held = new Uint16Array(64);
  readonly free: FreeVolumes;
  readonly labelSets = new LabelSets();
  readonly census = new VolumeCensus();

  readonly #ids = new Map<VolumeName, VolumeId>();
  readonly #unused: VolumeId[] = [];
  readonly #volumes: (Volume | undefined)[] = [];
  readonly #topology: (Topology | undefined)[] = [];
  readonly #listed: boolean[] = [];
  readonly #attributeNumbers = new Map<string, number>([["", 0]]);
  readonly #byClaimRef = new Map<ClaimKey, Set<VolumeId>>();
  readonly #namedBy = new Map<VolumeName, Map<ClaimKey, Claim>>();
  readonly #topologies: Topologies;

  constructor(topologies: Topologies) {
    this.#topologies = topologies;
    this.free = new FreeVolumes(this, topologies);
  }

  id(name: VolumeName): VolumeId | undefined {
    return this.#ids.get(name);
  }

  get(name: VolumeName): Volume | undefined {
    const id = this.#ids.get(name);
    return id === undefined ? undefined : this.#volumes[id];
  }

  /** The volume under a number that is in use. */
  at(id: VolumeId): Volume {
    const volume = this.#volumes[id];
    if (volume === undefined) throw new Error(`no volume under number ${id}`);
    return volume;
  }

  names(): MapIterator<VolumeName> {
    return this.#ids.keys();
  }

  get count(): number {
    return this.#ids.size;
  }

  topologyOf(id: VolumeId): Topology | undefined {
    return this.#topology[id];
  }

  /** Volumes whose claimRef names the claim, whatever uid it carries. */
  referringTo(claim: ClaimKey): ReadonlySet<VolumeId> | undefined {
    return this.#byClaimRef.get(claim);
  }

  /**
   * A pending claim that asks for this volume by name and could have it: the volume is kept for it (departure D15). A claim that
   * the volume does not suit keeps it from nobody, else any claim of any tenant could withhold every volume.
   */
  keptFor(name: VolumeName): ClaimKey | undefined {
    const volume = this.get(name);
    for (const claim of this.#namedBy.get(name)?.values() ?? [])
      if (volume && couldBind(claim, volume)) return claim.key;
    return undefined;
  }

  /** -1 where no volume ever had such attributes. */
  attributesNumber(name: string): number {
    return this.#attributeNumbers.get(name) ?? -1;
  }

  /** All that a claim asks of a volume besides its size and labels, in one number. */
  offerOf(id: VolumeId): number {
    const promised = (this.assumed[id] === 1 ? assumedBit : 0) | ((this.held[id] ?? 0) > 0 ? heldBit : 0);
    return (this.traits[id] ?? 0) | promised | ((this.attributes[id] ?? 0) << attributesShift);
  }

  assume(id: VolumeId, assumed: boolean): void {
    const wasFree = this.isFree(id);
    this.assumed[id] = assumed ? 1 : 0;
    this.#offerChanged(id);
    this.#countFree(id, wasFree);
  }

  /** @param by  1 for a hold that begins, -1 for one that ends */
  hold(id: VolumeId, by: 1 | -1): void {
    this.held[id] = (this.held[id] ?? 0) + by;
    this.#offerChanged(id);
  }

  set(volume: Volume): VolumeId {
    // What is new first: what stays is then never let go in between.
    const topology = this.#topologies.ofNodeSelector(volume.affinity);
    const labels = this.labelSets.use(volume.labels);
    const known = this.#ids.get(volume.name);
    if (known !== undefined) this.#detach(known);
    const id = known ?? this.#allocate(volume.name);
    this.#volumes[id] = volume;
    this.size[id] = Number(volume.capacity);
    this.traits[id] = traits(volume.accessModes, volume.mode);
    this.attributes[id] = this.#numberAttributes(volume.attributesClass);
    this.labels[id] = labels;
    this.#topology[id] = topology;
    this.census.add(topology, volume);
    if (volume.claimRef) setIn(this.#byClaimRef, volume.claimRef.claim).add(id);
    this.#list(id);
    return id;
  }

  delete(name: VolumeName): void {
    const id = this.#ids.get(name);
    if (id === undefined) return;
    this.#detach(id);
    this.#ids.delete(name);
    this.#volumes[id] = undefined;
    this.assumed[id] = 0;
    this.held[id] = 0;
    this.#unused.push(id);
  }

  /** A pending claim names the volume, or does so no more. */
  setNamed(name: VolumeName, claim: Claim, named: boolean): void {
    const claims = mapIn(this.#namedBy, name);
    if (named) claims.set(claim.key, claim);
    else claims.delete(claim.key);
    if (claims.size === 0) this.#namedBy.delete(name);
    const id = this.#ids.get(name);
    if (id === undefined) return;
    this.#unlist(id);
    this.#list(id);
  }

  /** By (capacity, name): the order in which volumes are preferred. */
  compare(a: VolumeId, b: VolumeId): number {
    const difference = (this.size[a] ?? 0) - (this.size[b] ?? 0);
    if (difference !== 0) return difference;
    if (a === b) return 0;
    const left = this.at(a);
    const right = this.at(b);
    if (left.capacity !== right.capacity) return left.capacity < right.capacity ? -1 : 1;
    return compareText(left.name, right.name);
  }

  #allocate(name: VolumeName): VolumeId {
    const id = this.#unused.pop() ?? this.#volumes.length;
    this.#ids.set(name, id);
    if (id >= this.size.length) this.#grow();
    return id;
  }

  #grow(): void {
    const length = this.size.length * 2;
    this.size = copyInto(new Float64Array(length), this.size);
    this.traits = copyInto(new Uint8Array(length), this.traits);
    this.attributes = copyInto(new Int32Array(length), this.attributes);
    this.labels = copyInto(new Int32Array(length), this.labels);
    this.assumed = copyInto(new Uint8Array(length), this.assumed);
    this.held = copyInto(new Uint16Array(length), this.held);
  }

  #detach(id: VolumeId): void {
    this.#unlist(id);
    const volume = this.at(id);
    this.labelSets.release(this.labels[id] ?? 0);
    if (volume.claimRef) deleteIn(this.#byClaimRef, volume.claimRef.claim, id);
    const topology = this.#topology[id];
    if (topology) {
      this.census.remove(topology, volume);
      this.#topologies.release(topology);
    }
    this.#topology[id] = undefined;
  }

  /** Free means that any claim may take it. What is reserved for one claim is found through `referringTo` instead. */
  #list(id: VolumeId): void {
    const volume = this.at(id);
    const free =
      volume.phase === "Available" && !volume.claimRef && !volume.deleting && this.keptFor(volume.name) === undefined;
    const topology = this.#topology[id];
    this.#listed[id] = free;
    if (!free || !topology) return;
    this.free.add(topology, volume.class, id);
    this.#countFree(id, false);
  }

  #unlist(id: VolumeId): void {
    const topology = this.#topology[id];
    if (!this.#listed[id] || !topology) return;
    const wasFree = this.isFree(id);
    this.#listed[id] = false;
    this.free.remove(topology, this.at(id).class, id);
    this.#countFree(id, wasFree);
  }

  /** Whether any claim may take it: nobody is promised it for good, and it is reserved for nobody. */
  isFree(id: VolumeId): boolean {
    return this.#listed[id] === true && this.assumed[id] === 0;
  }

  #countFree(id: VolumeId, wasFree: boolean): void {
    const topology = this.#topology[id];
    const isFree = this.isFree(id);
    if (topology && isFree !== wasFree) this.census.setFree(topology, this.at(id), isFree);
  }

  #offerChanged(id: VolumeId): void {
    const topology = this.#topology[id];
    if (topology && this.#listed[id]) this.free.offerChanged(topology, this.at(id).class, id);
  }

  #numberAttributes(name: string): number {
    const known = this.#attributeNumbers.get(name);
    if (known !== undefined) return known;
    const number = this.#attributeNumbers.size;
    this.#attributeNumbers.set(name, number);
    return number;
  }
}

/** @see kubernetes pkg/controller/volume/persistentvolume/pv_controller.go, checkVolumeSatisfyClaim */
function couldBind(claim: Claim, volume: Volume): boolean {
  const wanted = traits(claim.accessModes, claim.mode);
  return (
    !claim.deleting &&
    claim.class === volume.class &&
    (traits(volume.accessModes, volume.mode) & wanted) === wanted &&
    claim.attributesClass === volume.attributesClass &&
    volume.capacity >= (claim.request ?? zero)
  );
}

function copyInto<A extends { set(from: A): void }>(to: A, from: A): A {
  to.set(from);
  return to;
}
