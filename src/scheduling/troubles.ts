/**
 * What stands in the way on a node that refuses a Pod: all of it, where a refusal names the first thing only. Somebody who
 * mends everything named here finds that the Pod fits.
 */
import { driverOf } from "./drivers.ts";
import { whyNot } from "./matching.ts";
import { type BoundClaim, reachesBound } from "./migration.ts";
import type { ClassName, NodeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import { isUnderway, type Open } from "./open-claim.ts";
import type { Diagnosis } from "./outcome.ts";
import { type Item, pack } from "./packing.ts";
import type { Planner } from "./planner.ts";
import { type Pool, totalOf } from "./pools.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { NodeReason } from "./reasons.ts";
import { matchesNode } from "./selectors.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";

export interface Limit {
  readonly class: ClassName;
  readonly is: Bytes;
  readonly asked: Bytes;
}

/** One thing to be mended, on one node. */
export interface Trouble {
  readonly reason: NodeReason;
  /** One claim, or all that are to be provisioned from one class. */
  readonly claims: readonly Claim[];
  /** What the claims ask in all. */
  readonly bytes: Bytes;
  /** What the nearest pool lacks of it; absent where space is not what is missing. */
  readonly short?: Bytes;
  /** The largest volume that the nearest pool makes of a class, where that is less than the largest claim. */
  readonly limits?: readonly Limit[];
  /** The claim names this node to a provisioner that it does not have: existing volumes are not looked at. */
  readonly isStray?: true;
}

/** A node that refuses. */
export interface Stuck {
  readonly node: NodeName;
  readonly troubles: readonly Trouble[];
  readonly bound: readonly BoundClaim[];
  /** How each open claim fares beside its siblings. */
  readonly diagnoses: readonly Diagnosis[];
}

/** Reasons that a whole class has on a node: its claims are judged together. */
const ofClass: ReadonlySet<NodeReason | undefined> = new Set<NodeReason | undefined>([
  undefined,
  "topologyNotAllowed",
  "driverMissing",
  "noCapacityPublished",
  "claimTooLarge",
  "notEnoughSpace",
  "capacityAssumed",
  "provisioningBackoff",
]);

export function troublesOn(state: ClusterState, planner: Planner, entry: NodeEntry): Stuck {
  const troubles: Trouble[] = [];
  for (const bound of planner.bound) {
    if (reachesBound(state, entry, bound)) continue;
    const reason = bound.topology ? "volumeNodeConflict" : "boundVolumeMissing";
    troubles.push({ reason, claims: [bound.claim], bytes: zero });
  }
  const diagnoses = planner.diagnose(entry);
  const toProvision: Open[] = [];
  for (const { open, volume, reason } of diagnoses) {
    if (volume !== undefined) continue;
    const isStray = open.never !== undefined && isUnderway(open);
    if (reason === "provisioningBackoff" || (reason && !ofClass.has(reason))) {
      troubles.push({ reason, claims: [open.claim], bytes: open.bytes, ...(isStray && { isStray }) });
    }
    if (ofClass.has(reason)) toProvision.push(open);
  }
  const waiting = waitingInVain(state, planner, entry, troubles);
  for (const [index, trouble] of troubles.entries()) {
    if (waiting.has(trouble)) troubles[index] = { ...trouble, reason: "noMatchingVolume" };
  }
  troubles.push(...provisioningTroubles(state, planner, entry, toProvision));
  return { node: entry.node.name, troubles, bound: planner.bound, diagnoses };
}

/** Claims that wait for volumes promised to other Pods, beyond what these volumes can serve. */
function waitingInVain(
  state: ClusterState,
  planner: Planner,
  entry: NodeEntry,
  troubles: readonly Trouble[],
): Set<Trouble> {
  const waiting = troubles.filter(({ reason }) => reason === "volumeAssumed");
  if (waiting.length < 2) return new Set();
  const promised = state.reservations.dump().assumptions.flatMap(({ target }) => {
    const id = target.kind === "volume" ? state.volumes.id(target.volume) : undefined;
    const topology = id === undefined ? undefined : state.volumes.topologyOf(id);
    return id !== undefined && topology && state.topologies.reaches(entry, topology) ? [state.volumes.at(id)] : [];
  });
  const own = new Set(planner.open.map(({ claim }) => claim.key));
  const wanted = waiting.map(({ claims: [claim] }) =>
    promised.filter(({ name }) => {
      const volume = state.volumes.get(name);
      const isOurs = own.has(state.reservations.assumedFor(name)?.claim ?? ("" as never));
      return claim && volume && !isOurs && whyNot(claim, volume, state.volumes.keptFor(name)) === undefined;
    }),
  );
  const takers = new Map<Volume, number>();
  const take = (index: number, tried: Set<Volume>): boolean =>
    (wanted[index] ?? []).some((volume) => {
      if (tried.has(volume)) return false;
      tried.add(volume);
      const taker = takers.get(volume);
      if (taker !== undefined && !take(taker, tried)) return false;
      takers.set(volume, index);
      return true;
    });
  return new Set(waiting.filter((_, index) => !take(index, new Set())));
}

function provisioningTroubles(
  state: ClusterState,
  planner: Planner,
  entry: NodeEntry,
  opens: readonly Open[],
): Trouble[] {
  const troubles: Trouble[] = [];
  const { node } = entry;
  const drivers = state.get("csiNode", node.name)?.drivers ?? [];
  for (const ofOne of Map.groupBy(opens, (open) => open.class.name).values()) {
    const [first] = ofOne;
    if (!first) continue;
    const all = { claims: ofOne.map(({ claim }) => claim), bytes: sumOf(ofOne) };
    if (!matchesNode(first.class.allowedTopologies, node.labels, node.name)) {
      troubles.push({ reason: "topologyNotAllowed", ...all });
    }
    if (first.needsDriver && !drivers.includes(driverOf(first.class.provisioner))) {
      troubles.push({ reason: "driverMissing", ...all });
    }
    const isSilent = ofOne.some(({ needsCapacity }) => needsCapacity) && planner.rooms(entry, first).length === 0;
    if (isSilent) troubles.push({ reason: "noCapacityPublished", ...all });
  }
  // Classes that share pools are judged together, as the planner does.
  const fresh = opens.filter(
    (open) => open.needsCapacity && !isUnderway(open) && planner.rooms(entry, open).length > 0,
  );
  for (const ofPools of Map.groupBy(fresh, (open) => state.pools.groupOf(open.class.name)).values()) {
    const items = ofPools.map((open) => ({ open, bytes: open.bytes, rooms: planner.rooms(entry, open) }));
    if (!pack(items)) troubles.push(shortage(state, planner, items));
  }
  return troubles;
}

type OpenItem = Item & { readonly open: Open };

/** Of the pools that could take all the claims, the one that lacks least. */
function shortage(state: ClusterState, planner: Planner, items: readonly OpenItem[]): Trouble {
  const bytes = sumOf(items);
  const [nearest] = (items[0]?.rooms ?? []).map(({ pool, free }) => lackOf(pool, free, items)).sort(compareLack);
  const isTooLarge = items.some((item) => item.rooms.every(({ limit }) => limit < item.bytes));
  const unpromised = items.map((item) => ({
    ...item,
    rooms: item.rooms.map((room) => ({ ...room, free: withoutOthers(state, planner, room.pool) })),
  }));
  const isPromised = pack(unpromised) !== undefined;
  return {
    reason: isTooLarge ? "claimTooLarge" : isPromised ? "capacityAssumed" : "notEnoughSpace",
    claims: items.map(({ open }) => open.claim),
    bytes,
    ...(nearest && nearest.short > 0n && { short: nearest.short }),
    ...(nearest && nearest.limits.length > 0 && { limits: nearest.limits }),
  };
}

interface Lack {
  readonly short: Bytes;
  readonly limits: readonly Limit[];
}

function lackOf(pool: Pool, free: Bytes, items: readonly OpenItem[]): Lack {
  const limits = new Map<ClassName, Limit>();
  let grown = zero;
  for (const { open, bytes, rooms } of items) {
    const room = rooms.find((one) => one.pool === pool);
    if (room?.offer.newest?.maximumVolumeSize === undefined || room.limit >= bytes) continue;
    const { name } = open.class;
    if ((limits.get(name)?.asked ?? zero) < bytes) limits.set(name, { class: name, is: room.limit, asked: bytes });
    // A pool whose largest volume grows has at least that much in all (decision 10).
    const more = subtractBytes(bytes, totalOf(pool));
    if (more > grown) grown = more;
  }
  return { short: subtractBytes(subtractBytes(sumOf(items), free), grown), limits: [...limits.values()] };
}

function compareLack(a: Lack, b: Lack): number {
  const [far, near] = [a, b].map(({ short, limits }) =>
    limits.reduce((sum, { is, asked }) => addBytes(sum, subtractBytes(asked, is)), short > 0n ? short : zero),
  );
  return far === near || far === undefined || near === undefined ? 0 : far < near ? -1 : 1;
}

/** What the pool would have if nothing of it were promised to other Pods. */
function withoutOthers(state: ClusterState, planner: Planner, pool: Pool): Bytes {
  const own = planner.open.filter(isUnderway).map(({ claim }) => state.pools.demandOf(claim.uid));
  return own.reduce(
    (left, demand) => (demand?.pool === pool ? subtractBytes(left, demand.bytes) : left),
    totalOf(pool),
  );
}

function sumOf(items: readonly { readonly bytes: Bytes }[]): Bytes {
  return items.map(({ bytes }) => bytes).reduce(addBytes, zero);
}
