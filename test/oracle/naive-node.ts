/**
 * One Pod's open claims on one node: every way to serve them is tried and the best is kept. Exponential, and obviously right.
 *
 * Best is (decision 9): fewest provisioned, then least surplus, then the smallest volumes as a set by (capacity, name), then
 * claims in name order: served by a volume before provisioned, and the smaller volume before the larger.
 */
import { classOf, compare, isBound, type NaiveCluster, sizeOf } from "./naive-cluster.ts";
import { labelsMatch, termsMatch } from "./naive-selectors.ts";
import type { ClaimLine, ClassLine, NodeLine, VolumeLine } from "./script.ts";

/** A Pod with its open claims in name order. */
export interface Question {
  readonly pod: string;
  readonly open: readonly ClaimLine[];
}

/** A volume, or undefined for a claim that is provisioned. */
export type Given = VolumeLine | undefined;

/** What is decided for a claim already: its volume, or that it is being provisioned here; "free" where nothing is. */
export type Settled = "free" | "underway" | VolumeLine;

export interface Room {
  readonly pool: string;
  /** The largest single volume; undefined where nothing is published. */
  readonly limit: bigint | undefined;
  readonly free: bigint;
  readonly total: bigint;
}

export const bySize = (a: VolumeLine, b: VolumeLine): number => compare(a.bytes, b.bytes) || compare(a.name, b.name);

export class NaiveNode {
  readonly cluster: NaiveCluster;
  readonly node: NodeLine;
  readonly open: readonly ClaimLine[];
  readonly #pod: string;
  readonly #names: readonly string[];

  constructor(cluster: NaiveCluster, node: NodeLine, { pod, open }: Question) {
    this.cluster = cluster;
    this.node = node;
    this.open = open;
    this.#pod = pod;
    this.#names = open.map(({ name }) => name);
  }

  /** @param careful  leave alone what other Pods hold */
  best(careful: boolean): readonly Given[] | undefined {
    const settled = this.open.map((claim) => this.settledFor(claim));
    let found: readonly Given[] | undefined;
    const visit = (given: readonly Given[]): void => {
      const claim = this.open[given.length];
      if (!claim) {
        if ((!found || this.#isBetter(given, found)) && this.#isProvisionable(given, careful)) found = given;
        return;
      }
      const way = settled[given.length];
      if (typeof way === "object") {
        if (!given.includes(way)) visit([...given, way]);
        return;
      }
      if (way === "free") {
        for (const volume of this.suiting(claim)) {
          if (given.includes(volume) || this.cluster.isAssumed(volume.name)) continue;
          if (careful && this.cluster.isHeld(volume.name, this.#pod, this.#names)) continue;
          visit([...given, volume]);
        }
      }
      const isOpen = way === "free" || way === "underway";
      if (isOpen && this.whyNotProvision(claim, careful) === undefined) visit([...given, undefined]);
    };
    visit([]);
    return found;
  }

  /** What is settled for the claim on this node, or why that refuses the node. */
  settledFor(claim: ClaimLine): Settled | "selectedOtherNode" | "preboundElsewhere" {
    const { cluster, node } = this;
    const assumption = cluster.assumptionOf(claim.name);
    if (assumption && "volume" in assumption.target) {
      const volume = cluster.volumes.get(assumption.target.volume);
      return volume && termsMatch(volume.terms, node) ? volume : "selectedOtherNode";
    }
    const selected = assumption?.node ?? this.#selected(claim);
    if (selected !== undefined) return selected === node.name ? "underway" : "selectedOtherNode";
    const reserved = [...cluster.volumes.values()].filter((volume) => this.#isReserved(claim, volume)).sort(bySize);
    if (reserved.length === 0) return "free";
    return reserved.find((volume) => termsMatch(volume.terms, node)) ?? "preboundElsewhere";
  }

  /** The node is gone: its name binds nobody (departure D12). */
  #selected({ selected }: ClaimLine): string | undefined {
    return selected !== undefined && this.cluster.nodes.has(selected) ? selected : undefined;
  }

  /** Volumes reachable from here that suit the claim, assumed for somebody or not. */
  suiting(claim: ClaimLine): VolumeLine[] {
    return [...this.cluster.volumes.values()].filter(
      (volume) =>
        this.#isFree(volume) &&
        fits(claim, volume) &&
        termsMatch(volume.terms, this.node) &&
        labelsMatch(claim.selector ?? [], volume.labels),
    );
  }

  /** Any claim may take it. One that another pending claim names, and could have, is kept for that one (departure D15). */
  #isFree(volume: VolumeLine): boolean {
    if (volume.phase !== "Available" || volume.claim !== undefined || volume.deleting) return false;
    const named = [...this.cluster.claims.values()].filter((claim) => claim.volume === volume.name && !isBound(claim));
    return !named.some((claim) => !claim.deleting && fits(claim, volume));
  }

  /** VB §3.3: phase, selector and best fit do not matter for a volume whose claimRef names the claim. */
  #isReserved(claim: ClaimLine, volume: VolumeLine): boolean {
    const isFor = volume.claim === claim.name && (volume.claimUid ?? `u${claim.name}`) === `u${claim.name}`;
    return isFor && !volume.deleting && fits(claim, volume);
  }

  /** Why this claim alone cannot be provisioned here. */
  whyNotProvision(claim: ClaimLine, careful: boolean): string | undefined {
    const { cluster, node } = this;
    const storageClass = cluster.classes.get(classOf(claim));
    if (!storageClass || !isDynamic(cluster, storageClass)) return "noMatchingVolume";
    if (claim.selector) return "selectorNotProvisionable";
    const { provisioner, topologies } = storageClass;
    const terms = topologies.map((labels) => ({ labels, fields: [] }));
    if (topologies.length > 0 && !termsMatch(terms, node)) return "topologyNotAllowed";
    const isRegistered = (name: string): boolean => cluster.csiNodes.get(name)?.drivers.includes(provisioner) ?? false;
    if ([...cluster.csiNodes.keys()].some(isRegistered) && !isRegistered(node.name)) return "driverMissing";
    if (!this.#isCounted(claim)) return undefined;
    const rooms = this.rooms(claim, careful);
    if (rooms.length === 0) return "noCapacityPublished";
    if (this.settledFor(claim) === "underway") return undefined;
    const large = rooms.filter(({ limit }) => limit !== undefined && limit >= sizeOf(claim));
    if (large.length === 0) return "claimTooLarge";
    return large.some(({ free }) => free >= sizeOf(claim)) ? undefined : "capacityAssumed";
  }

  /** The driver publishes its capacity, and the claim asks for a size. */
  #isCounted(claim: ClaimLine): boolean {
    const provisioner = this.cluster.classes.get(classOf(claim))?.provisioner ?? "";
    return claim.bytes !== undefined && this.cluster.drivers.get(provisioner)?.capacity === true;
  }

  rooms(claim: ClaimLine, careful: boolean): Room[] {
    const { cluster } = this;
    const own = this.open.filter((one) => !this.#isUnderway(one)).map(({ name }) => name);
    return cluster.poolsOn(this.node, classOf(claim)).map((pool) => {
      const { capacity, max } = cluster.newestOf(pool) ?? {};
      const total = cluster.totalOf(pool) ?? 0n;
      const held = careful ? cluster.heldOf(pool, this.#pod, this.#names) : 0n;
      return { pool, limit: max ?? capacity, total, free: total - cluster.promisedOf(pool, own) - held };
    });
  }

  /** Some provisioner makes the claim's volume, here or on another node. */
  #isUnderway(claim: ClaimLine): boolean {
    const assumption = this.cluster.assumptionOf(claim.name);
    return assumption ? "pool" in assumption.target : this.#selected(claim) !== undefined;
  }

  /** The provisioned claims that draw on pools, by class. */
  drawing(given: readonly Given[]): ClaimLine[][] {
    const drawing = this.open.filter(
      (claim, index) => !given[index] && this.#isCounted(claim) && this.settledFor(claim) === "free",
    );
    const classes = [...new Set(drawing.map(classOf))];
    return classes.map((name) => drawing.filter((claim) => classOf(claim) === name));
  }

  #isProvisionable(given: readonly Given[], careful: boolean): boolean {
    return this.drawing(given).every((claims) => claims[0] && isPackable(claims, this.rooms(claims[0], careful)));
  }

  #isBetter(a: readonly Given[], b: readonly Given[]): boolean {
    const provisioned = (given: readonly Given[]): number => given.filter((volume) => !volume).length;
    if (provisioned(a) !== provisioned(b)) return provisioned(a) < provisioned(b);
    if (this.surplus(a) !== this.surplus(b)) return this.surplus(a) < this.surplus(b);
    const [setA, setB] = [a, b].map((given) => given.filter((volume) => volume !== undefined).sort(bySize));
    for (const [index, volume] of (setA ?? []).entries()) {
      const other = setB?.[index];
      if (other && bySize(volume, other) !== 0) return bySize(volume, other) < 0;
    }
    for (const index of a.keys()) if (Boolean(a[index]) !== Boolean(b[index])) return Boolean(a[index]);
    for (const [index, volume] of a.entries()) {
      const other = b[index];
      if (volume && other && bySize(volume, other) !== 0) return bySize(volume, other) < 0;
    }
    return false;
  }

  /** Bytes of the volumes beyond what their claims ask. */
  surplus(given: readonly Given[]): bigint {
    return this.open.reduce((sum, claim, index) => sum + ((given[index]?.bytes ?? sizeOf(claim)) - sizeOf(claim)), 0n);
  }
}

/** Each claim in some pool, none above the largest single volume, no pool above what it has free: every way is tried. */
export function isPackable(claims: readonly ClaimLine[], rooms: readonly Room[]): boolean {
  const [claim, ...others] = claims;
  if (!claim) return true;
  return rooms.some(({ limit, free }, index) => {
    if (limit === undefined || sizeOf(claim) > limit || sizeOf(claim) > free) return false;
    const left = rooms.map((room, at) => (at === index ? { ...room, free: free - sizeOf(claim) } : room));
    return isPackable(others, left);
  });
}

/** Class, size, modes and attributes: what a volume must have for a claim whoever it is reserved for. */
function fits(claim: ClaimLine, volume: VolumeLine): boolean {
  return (
    classOf(claim) === classOf(volume) &&
    volume.bytes >= sizeOf(claim) &&
    volume.block === claim.block &&
    volume.attributes === claim.attributes &&
    claim.modes.every((mode) => volume.modes.includes(mode))
  );
}

/** Whether somebody makes volumes of the class; a made-up provisioner of volumes made by hand makes none. */
function isDynamic(cluster: NaiveCluster, { name, provisioner }: ClassLine): boolean {
  if (provisioner === "kubernetes.io/no-provisioner") return false;
  const volumes = [...cluster.volumes.values()];
  const isKnown =
    cluster.drivers.has(provisioner) ||
    [...cluster.csiNodes.values()].some(({ drivers }) => drivers.includes(provisioner)) ||
    volumes.some(({ madeBy }) => madeBy === provisioner);
  return isKnown || !volumes.some((volume) => classOf(volume) === name && volume.madeBy === undefined);
}
