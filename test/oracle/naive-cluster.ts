/**
 * The cluster and the promises as the oracle sees them: plain lists, walked on every look. It reads the lines of a script and
 * shares nothing with `src/`.
 */
import { labelsMatch, termsMatch } from "./naive-selectors.ts";
import type {
  CapacityLine,
  ClaimLine,
  ClassLine,
  CsiNodeLine,
  DeleteLine,
  DriverLine,
  NodeLine,
  ObjectLine,
  VolumeLine,
} from "./script.ts";

/** Where the core put what could be put into several pools. Nothing says which; the oracle checks that it was one of them. */
export interface PoolChoices {
  /** Names of the capacity objects of the pool that the demand of the claim is in. */
  poolOfDemand(claim: string): readonly string[];
  /** The node that the demand of the claim is for. */
  nodeOfDemand(claim: string): string | undefined;
  /** Per claim of the plan those of its pool. */
  poolsOfPlan(pod: string, claims: readonly string[], node: string): ReadonlyMap<string, readonly string[]>;
}

export class UnknownPool extends Error {}

/** What a claim gets: a volume, or a new one, from a pool where the driver publishes any. */
export type Target = { readonly volume: string } | { readonly pool: string | undefined };

interface Demand {
  readonly claim: string;
  readonly class: string;
  readonly node: string;
  bytes: bigint;
  pool: string | undefined;
  /** Drops of the pool before this one are of others. */
  firstDrop: number;
  settlingSince: number | undefined;
  /** That a provisioner made for it, once it was seen. */
  volume: string | undefined;
}

interface Assumption {
  readonly claim: string;
  readonly node: string;
  readonly target: Target;
  readonly pods: Set<string>;
}

interface Held {
  readonly claim: string;
  readonly target: Target;
  readonly bytes: bigint;
}

interface Hold {
  readonly pod: string;
  readonly since: number;
  items: Held[];
}

const pollMs = 60_000;
const holdMs = 60_000;

export const classOf = (line: VolumeLine | ClaimLine): string => line.beta ?? line.class;
export const sizeOf = (claim: ClaimLine): bigint => claim.bytes ?? 0n;
export const isBound = (claim: ClaimLine): boolean => claim.volume !== undefined && !claim.half;
const uidOf = (claim: string): string => `u${claim}`;

export class NaiveCluster {
  readonly nodes = new Map<string, NodeLine>();
  readonly classes = new Map<string, ClassLine>();
  readonly volumes = new Map<string, VolumeLine>();
  readonly claims = new Map<string, ClaimLine>();
  readonly drivers = new Map<string, DriverLine>();
  readonly csiNodes = new Map<string, CsiNodeLine>();
  readonly capacities = new Map<string, CapacityLine>();
  now = 0;
  readonly notes = new Set<string>();
  readonly #choices: PoolChoices;
  /** In the order in which they were written. */
  readonly #written: ObjectLine[] = [];
  #assumptions: Assumption[] = [];
  #holds: Hold[] = [];
  #demands: Demand[] = [];
  /** How far published values dropped, one after the other, less what drops have settled. */
  readonly #drops: { readonly pool: string; left: bigint }[] = [];

  constructor(choices: PoolChoices) {
    this.#choices = choices;
  }

  set(line: ObjectLine): void {
    this.#written.push(line);
    switch (line.verb) {
      case "node":
        this.nodes.set(line.name, line);
        this.#place();
        break;
      case "class":
        this.classes.set(line.name, line);
        break;
      case "driver":
        this.drivers.set(line.name, line);
        break;
      case "csinode":
        this.csiNodes.set(line.name, line);
        break;
      case "pv":
        this.#volumeSeen(line);
        break;
      case "pvc":
        this.#claimSeen(line);
        break;
      case "capacity":
        // An object that no node reaches is no news.
        if (line.topology) this.#place();
        this.#publish(line);
    }
  }

  delete({ kind, name }: DeleteLine): void {
    if (kind === "volume" && this.volumes.has(name)) {
      this.#assumptions = this.#assumptions.filter(({ target }) => !("volume" in target && target.volume === name));
      for (const hold of this.#holds) {
        hold.items = hold.items.filter(({ target }) => !("volume" in target && target.volume === name));
      }
    }
    if (kind === "claim" && this.claims.has(name)) this.#settle(name, undefined);
    const ofClaim = kind === "volume" ? this.volumes.get(name)?.claimUid : undefined;
    const all = { node: this.nodes, class: this.classes, volume: this.volumes, claim: this.claims };
    const rest = { driver: this.drivers, csiNode: this.csiNodes, capacity: this.capacities };
    ({ ...all, ...rest })[kind].delete(name);
    this.#track(ofClaim);
    if (kind === "claim") this.#dismiss(name);
    if (kind === "volume" && ofClaim !== undefined) this.#dismiss(ofClaim.slice(1), name);
  }

  /** What came and went, and whose claim is gone, takes nothing. @param volume  that went just now */
  #dismiss(claim: string, volume?: string): void {
    const demand = this.#demands.find((one) => one.claim === claim);
    if (demand?.volume === undefined || this.claims.has(claim) || this.volumes.has(demand.volume)) return;
    if (volume !== undefined && demand.volume !== volume) return;
    this.notes.add("demand whose volume and claim are gone");
    this.#conclude(demand);
  }

  /** What time has ended is gone, and demands that can be are in a pool: the state that a decision is made on. */
  settleAll(): void {
    this.#holds = this.#holds.filter(({ since }) => this.now - since < holdMs);
    this.#place();
    for (const demand of [...this.#demands].filter(({ settlingSince }) => settlingSince !== undefined)) {
      const { settlingSince = this.now } = demand;
      const isCovered = this.#isCovered(demand);
      if (!isCovered && this.now - settlingSince < 2 * pollMs) continue;
      this.notes.add(isCovered ? "demand that a drop settled" : "demand that time settled");
      this.#conclude(demand);
    }
  }

  /** What a bind writes of its assumptions. */
  writesFor(pod: string): ObjectLine[] {
    return this.#assumptions.flatMap(({ claim, node, target, pods }): ObjectLine[] => {
      const line = this.claims.get(claim);
      const volume = "volume" in target ? this.volumes.get(target.volume) : undefined;
      if (!pods.has(pod) || !line) return [];
      if (volume) return [{ ...volume, claim, claimUid: uidOf(claim) }];
      return "pool" in target && !isBound(line) ? [{ ...line, selected: node }] : [];
    });
  }

  /** The PV controller binds the claim to the volume that is its own; a provisioner has made one where it was told to. */
  finishOf(name: string, on?: string): ObjectLine[] {
    const claim = this.claims.get(name);
    if (!claim || isBound(claim)) return [];
    const own = [...this.volumes.values()].find((volume) => volume.claim === name && volume.claimUid === uidOf(name));
    if (own) return [{ ...claim, volume: own.name, half: false }];
    const node = this.nodes.get((claim.selected && on) ?? claim.selected ?? "");
    const provisioner = this.classes.get(classOf(claim))?.provisioner;
    if (!node || provisioner === undefined) return [];
    const { modes, block, attributes } = claim;
    const terms = [{ labels: [], fields: [{ key: "metadata.name", operator: "In", values: [node.name] }] }] as const;
    const traits = { class: classOf(claim), modes, block, attributes, labels: {}, deleting: false };
    const made = {
      name: `m-${name}`,
      bytes: sizeOf(claim),
      terms,
      claim: name,
      claimUid: uidOf(name),
      madeBy: provisioner,
    };
    return [
      { verb: "pv", phase: "Bound", ...traits, ...made },
      { ...claim, volume: made.name, half: false },
    ];
  }

  assumptionOf(claim: string): Assumption | undefined {
    return this.#assumptions.find((one) => one.claim === claim);
  }

  isAssumed(volume: string): boolean {
    return this.#assumptions.some(({ target }) => "volume" in target && target.volume === volume);
  }

  /** Whether a Pod, other than this one and those that share these claims, holds the volume. */
  isHeld(volume: string, pod: string, claims: readonly string[]): boolean {
    return this.#heldBesides(pod, claims).some(({ target }) => "volume" in target && target.volume === volume);
  }

  heldOf(pool: string, pod: string, claims: readonly string[]): bigint {
    const held = new Map<string, bigint>();
    for (const { claim, target, bytes } of this.#heldBesides(pod, claims)) {
      if ("pool" in target && target.pool === pool) held.set(claim, bytes);
    }
    return [...held.values()].reduce((sum, bytes) => sum + bytes, 0n);
  }

  promisedOf(pool: string, besides: readonly string[]): bigint {
    const counted = this.#demands.filter((demand) => demand.pool === pool && !besides.includes(demand.claim));
    return counted.reduce((sum, { bytes }) => sum + bytes, 0n);
  }

  demandPool(claim: string): string | undefined {
    return this.#demands.find((demand) => demand.claim === claim)?.pool;
  }

  /** What is promised to a claim already needs no hold. */
  hold(pod: string, items: readonly Held[]): void {
    this.#release(pod);
    const isPromised = ({ claim, target }: Held): boolean => {
      if ("pool" in target) return this.demandPool(claim) === target.pool;
      return this.isAssumed(target.volume) || this.volumes.get(target.volume)?.claim !== undefined;
    };
    const unpromised = items.filter((item) => !isPromised(item));
    if (unpromised.length > 0) this.#holds.push({ pod, since: this.now, items: unpromised });
  }

  assume(pod: string, node: string, items: readonly Held[]): void {
    this.#release(pod);
    for (const { claim, target, bytes } of items) {
      const known = this.assumptionOf(claim);
      if (known) {
        known.pods.add(pod);
        continue;
      }
      this.#assumptions.push({ claim, node, target, pods: new Set([pod]) });
      this.#unhold(claim);
      const line = this.claims.get(claim);
      const isCounted = this.#demands.some((demand) => demand.claim === claim && demand.node === node);
      if ("pool" in target && line && !isCounted) this.#demand(line, node, bytes, target.pool);
    }
  }

  forget(pod: string): void {
    this.#release(pod);
    for (const assumption of [...this.#assumptions]) {
      if (!assumption.pods.delete(pod) || assumption.pods.size > 0) continue;
      this.#assumptions = this.#assumptions.filter((other) => other !== assumption);
      const claim = this.claims.get(assumption.claim);
      if (claim) this.#track(uidOf(claim.name));
      else this.#end(assumption.claim);
    }
  }

  /** The pools of a class that a node can draw on, by class and nodeTopology. */
  poolsOn(node: NodeLine, className: string): string[] {
    const reached = [...this.capacities.values()].filter(
      (one) => one.class === className && one.topology !== undefined && labelsMatch(one.topology, node.labels),
    );
    return [...new Set(reached.map(poolOf))];
  }

  /** Whether one of the capacity objects is the pool's. */
  isOf(capacities: readonly string[], pool: string): boolean {
    return capacities.some((name) => {
      const line = this.capacities.get(name);
      return line !== undefined && poolOf(line) === pool;
    });
  }

  /** The newest object speaks for the pool; of two of one age, the first by name. */
  newestOf(pool: string): CapacityLine | undefined {
    const all = [...this.capacities.values()].filter((one) => one.topology !== undefined && poolOf(one) === pool);
    return all.sort((a, b) => compare(b.created, a.created) || compare(a.name, b.name))[0];
  }

  /** What the pool has altogether: a maximum above the capacity is believed. Undefined where nothing is published. */
  totalOf(pool: string): bigint | undefined {
    const { capacity, max } = this.newestOf(pool) ?? {};
    if (capacity === undefined || max === undefined) return capacity ?? max;
    return [capacity, max].sort(compare)[1];
  }

  #heldBesides(pod: string, claims: readonly string[]): Held[] {
    return this.#holds
      .filter((hold) => hold.pod !== pod)
      .flatMap(({ items }) => items.filter(({ claim }) => !claims.includes(claim)));
  }

  /** What is assumed for a claim ends what any Pod holds for it. */
  #unhold(claim: string): void {
    for (const hold of this.#holds) hold.items = hold.items.filter((item) => item.claim !== claim);
  }

  #release(pod: string): void {
    this.#holds = this.#holds.filter((hold) => hold.pod !== pod);
  }

  #volumeSeen(line: VolumeLine): void {
    const { name, claimUid } = line;
    const before = this.volumes.get(name)?.claimUid;
    this.volumes.set(name, line);
    if (before !== claimUid) this.#track(before);
    // Whoever has it now, nobody is promised it any more.
    const isPromised = ({ claim, target }: Assumption): boolean => {
      if (!("volume" in target) || target.volume !== name) return true;
      return line.claim === undefined || (claimUid === undefined && line.claim === claim);
    };
    this.#assumptions = this.#assumptions.filter(isPromised);
    if (claimUid === undefined) return;
    this.#settle(claimUid.slice(1), line);
  }

  #claimSeen(claim: ClaimLine): void {
    const before = this.claims.get(claim.name);
    this.claims.set(claim.name, claim);
    const assumption = this.assumptionOf(claim.name);
    const isWritten = assumption && (isBound(claim) || claim.selected === assumption.node);
    if (isWritten && "pool" in assumption.target) {
      this.#assumptions = this.#assumptions.filter((other) => other !== assumption);
    }
    this.#trackClaim(claim, before);
  }

  /** What a claim, as it is now, says of capacity: what was told to a provisioner, and not made yet, is in flight. */
  #track(uid: string | undefined): void {
    const claim = this.claims.get(uid?.slice(1) ?? "");
    if (claim) this.#trackClaim(claim, claim);
  }

  /** @param before  the claim as it was known; undefined when it is new */
  #trackClaim(claim: ClaimLine, before: ClaimLine | undefined): void {
    const assumption = this.assumptionOf(claim.name);
    if (isBound(claim)) this.#settle(claim.name, this.volumes.get(claim.volume ?? ""));
    else if (assumption && "pool" in assumption.target && assumption.node !== claim.selected) return;
    else if (claim.selected === undefined) this.#end(claim.name);
    else this.#trackSelected(claim, claim.selected, before);
  }

  #trackSelected(claim: ClaimLine, selected: string, before: ClaimLine | undefined): void {
    const demand = this.#demands.find((one) => one.claim === claim.name);
    const made = [...this.volumes.values()].find(({ claimUid }) => claimUid === uidOf(claim.name));
    if (!demand && made && before?.selected === selected) return;
    const node = this.nodes.get(selected);
    const isElsewhere = made?.madeBy !== undefined && node && !termsMatch(made.terms, node);
    if (demand?.node !== selected && !(demand && isElsewhere)) this.#demand(claim, selected, sizeOf(claim), undefined);
    if (made) this.#settle(claim.name, made);
    else if (demand) Object.assign(demand, { settlingSince: undefined, volume: undefined });
  }

  #demand(claim: ClaimLine, node: string, bytes: bigint, pool: string | undefined): void {
    this.#end(claim.name);
    const firstDrop = this.#drops.length;
    this.#demands.push({
      claim: claim.name,
      class: classOf(claim),
      node,
      bytes,
      pool,
      firstDrop,
      settlingSince: undefined,
      volume: undefined,
    });
  }

  /** @param volume  undefined where none is known, and none will be asked for again */
  #settle(claim: string, volume: VolumeLine | undefined): void {
    const demand = this.#demands.find((one) => one.claim === claim);
    if (!demand) return;
    // What was made by hand takes nothing.
    const made = volume?.madeBy === undefined ? undefined : volume;
    const node = this.nodes.get(demand.node);
    if (made && node && !termsMatch(made.terms, node)) {
      this.#end(claim);
      this.#move(demand, made);
      return;
    }
    if (made) demand.volume = made.name;
    if (made && made.bytes > demand.bytes) demand.bytes = made.bytes;
    if (demand.settlingSince !== undefined) return;
    demand.settlingSince = this.now;
    // A drop settles in the order in which the volumes came.
    this.#demands = [...this.#demands.filter((other) => other !== demand), demand];
  }

  /** A volume that was made elsewhere counts there, where what is published is older: on any node that reaches it. */
  #move({ claim, class: className }: Demand, made: VolumeLine): void {
    const written = (line: ObjectLine | undefined): number => (line ? this.#written.lastIndexOf(line) : -1);
    const places = [...this.nodes.values()]
      .filter((node) => termsMatch(made.terms, node) && this.poolsOn(node, className).length > 0)
      .map((node) => {
        const older = this.poolsOn(node, className).filter((pool) => written(this.newestOf(pool)) < written(made));
        return { node: node.name, pools: older };
      });
    const on = this.#choices.nodeOfDemand(claim);
    const place = places.find(({ node, pools }) => (on === undefined ? pools.length === 0 : node === on));
    this.notes.add(place ? "demand that moved" : "demand that ended elsewhere");
    if (on === undefined && (place || places.length === 0)) return;
    const chosen = this.#choices.poolOfDemand(claim);
    const pool = place?.pools.find((one) => this.isOf(chosen, one));
    if (on === undefined || pool === undefined)
      throw new Error(`demand of ${claim} does not count where its volume is`);
    const firstDrop = this.#drops.length;
    const { bytes } = made;
    const [settlingSince, volume] = [this.now, made.name];
    this.#demands.push({ claim, class: className, node: on, bytes, pool, firstDrop, settlingSince, volume });
  }

  #end(claim: string): void {
    this.#demands = this.#demands.filter((demand) => demand.claim !== claim);
  }

  #dropsSince({ pool, firstDrop }: Demand): { left: bigint }[] {
    return this.#drops.filter((one, nth) => one.pool === pool && nth >= firstDrop);
  }

  #isCovered(demand: Demand): boolean {
    return this.#dropsSince(demand).reduce((sum, { left }) => sum + left, 0n) >= demand.bytes;
  }

  /** A drop that covers it is used up, the oldest first: they can be of the fewest demands. */
  #conclude(demand: Demand): void {
    let { bytes } = demand;
    for (const one of this.#isCovered(demand) ? this.#dropsSince(demand) : []) {
      const [used = 0n] = [one.left, bytes].sort(compare);
      one.left -= used;
      bytes -= used;
    }
    this.#end(demand.claim);
  }

  #place(): void {
    for (const demand of this.#demands) {
      const node = this.nodes.get(demand.node);
      // One whose pool is published no more follows its node.
      if (!node || (demand.pool !== undefined && this.newestOf(demand.pool))) continue;
      const pools = this.poolsOn(node, demand.class);
      if (pools.length === 0) continue;
      demand.firstDrop = this.#drops.length;
      if (pools.length === 1) {
        demand.pool = pools[0];
        continue;
      }
      const chosen = this.#choices.poolOfDemand(demand.claim);
      const [pool, other] = pools.filter((one) => this.isOf(chosen, one));
      // Its pool may have lost its last object, or another pool one to it, with the line that made the core place it.
      if (chosen.length === 0 || other !== undefined) throw new UnknownPool(demand.claim);
      if (pool === undefined) throw new Error(`demand of ${demand.claim} is in no pool of ${node.name}`);
      demand.pool = pool;
    }
  }

  /** A value that falls from one word to the next of the object that speaks for a pool, while demands are in flight. */
  #publish(line: CapacityLine): void {
    const pool = poolOf(line);
    const before = this.newestOf(pool)?.name === line.name ? (this.totalOf(pool) ?? 0n) : undefined;
    this.capacities.set(line.name, line);
    if (before === undefined || this.newestOf(pool)?.name !== line.name) return;
    const drop = before - (this.totalOf(pool) ?? 0n);
    if (drop > 0n) this.#drops.push({ pool, left: drop });
  }
}

function poolOf({ class: className, topology = [] }: CapacityLine): string {
  const parts = topology.map(({ key, operator, values }) => `${key} ${operator} ${[...values].sort().join("|")}`);
  return [className, ...parts].join(", ");
}

export function compare(a: string | bigint, b: string | bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
