/** Space that the claims of a Pod lack on a node, where classes that draw on the same pools are judged together. For explanations. */
import type { ClassName } from "./names.ts";
import type { Claim } from "./objects.ts";
import { isUnderway, type Open } from "./open-claim.ts";
import { type Item, pack } from "./packing.ts";
import type { Planner } from "./planner.ts";
import { leastPublished, type Pool, publishedOf, totalOf } from "./pools.ts";
import type { Room } from "./provisioning.ts";
import {
  addBytes,
  atLeastZero,
  type Bytes,
  compareBytes,
  largerBytes,
  smallerBytes,
  subtractBytes,
  zero,
} from "./quantity.ts";
import type { NodeReason } from "./reasons.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";

/** The largest volume that a pool makes of a class, where a claim asks for more: bytes. */
export interface Limit {
  readonly class: ClassName;
  readonly is: Bytes;
  readonly asked: Bytes;
}

/** What claims lack together: a trouble of the node that they are looked at on. */
export interface Shortage {
  readonly reason: NodeReason;
  readonly claims: readonly Claim[];
  /** For which nothing is published. */
  readonly class?: ClassName;
  /** What the claims ask in all. */
  readonly bytes: Bytes;
  /** What the nearest pool lacks of it: not above zero where it has the space. Absent where space is not what is missing. */
  readonly short?: Bytes;
  /** The largest volumes of the nearest pool that are too small, a class at most once. */
  readonly limits?: readonly Limit[];
}

type OpenItem = Item & { readonly open: Open };

/** What one pool lacks. */
interface Lack {
  readonly short: Bytes;
  readonly limits: readonly Limit[];
}

/**
 * What keeps claims from being provisioned on the node, as far as capacity goes. Whoever mends all of it finds that they fit.
 * A class for which nothing is published is taken to draw on what its siblings draw on, once its own object is there.
 *
 * @param opens  claims that no volume serves and whose class has its capacity published
 * @param added  claims whose volumes people are asked to add: where volumes are deducted from what a node has, these will be
 */
export function shortagesOn(
  state: ClusterState,
  planner: Planner,
  entry: NodeEntry,
  { opens, added }: { readonly opens: readonly Open[]; readonly added: readonly Claim[] },
): Shortage[] {
  const shortages: Shortage[] = [];
  for (const [group, ofPools] of Map.groupBy(opens, (open) => state.pools.groupOf(open.class.name))) {
    const items = ofPools.map((open) => ({ open, bytes: open.bytes, rooms: planner.rooms(entry, open) }));
    const coming = added.filter((claim) => state.pools.groupOf(claim.class) === group);
    const less = sumOf(coming.map(({ request = zero }) => ({ bytes: request })));
    const silent = new Set(items.flatMap(({ open, rooms }) => (rooms.length === 0 ? [open.class.name] : [])));
    for (const name of silent) {
      shortages.push({ reason: "noCapacityPublished", class: name, claims: claimsOf(items), bytes: sumOf(items) });
    }
    const asked = items
      .filter(({ open, rooms }) => rooms.length === 0 || !isUnderway(open))
      .map((item) =>
        item.rooms.length > 0 ? item : { ...item, rooms: roomsOfSiblings(state, planner, entry, item.open) },
      );
    if (!asked.some(({ rooms }) => rooms.length > 0)) continue;
    const left = withFree(asked, less, ({ free }) => free);
    if (!pack(left)) shortages.push(shortage(state, planner, left, less));
  }
  return shortages;
}

/** What another class publishes of the pools that this one draws on. How large its volumes may be says nothing of this one's. */
function roomsOfSiblings(state: ClusterState, planner: Planner, entry: NodeEntry, open: Open): readonly Room[] {
  const group = state.pools.groupOf(open.class.name);
  return [state.topologies.everywhere, ...entry.topologies]
    .flatMap(({ pools }) => [...pools.keys()])
    .filter((name) => state.pools.groupOf(name) === group)
    .slice(0, 1)
    .flatMap((name) => planner.rooms(entry, { ...open, class: { ...open.class, name } }))
    .map((room) => ({ ...room, limit: open.bytes }));
}

/** Of the pools that could take all the claims, the one that lacks least. */
function shortage(state: ClusterState, planner: Planner, items: readonly OpenItem[], less: Bytes): Shortage {
  const unpromised = withFree(items, less, ({ pool }) => withoutOthers(state, planner, pool));
  const [nearest] = sharedPools(items)
    .map((pool) => lackOf(pool, items))
    .sort((a, b) => compareBytes(distanceOf(a), distanceOf(b)));
  return {
    reason: pack(unpromised) ? "capacityAssumed" : "notEnoughSpace",
    claims: claimsOf(items),
    bytes: sumOf(items),
    ...nearest,
  };
}

/** Pools that all the claims can draw on; any where there is none, which a configuration in order rules out. */
function sharedPools(items: readonly OpenItem[]): readonly Pool[] {
  const [first = [], ...rest] = items.map(({ rooms }) => rooms.map(({ pool }) => pool));
  const shared = first.filter((pool) => rest.every((pools) => pools.includes(pool)));
  return shared.length > 0 ? shared : first;
}

/** @param less  what volumes that people add will take, where volumes are deducted */
function withFree(items: readonly OpenItem[], less: Bytes, freeOf: (room: Room) => Bytes): OpenItem[] {
  const change = (room: Room): Room => ({
    ...room,
    free: room.pool.used ? subtractBytes(freeOf(room), less) : freeOf(room),
  });
  return items.map((item) => ({ ...item, rooms: item.rooms.map(change) }));
}

function lackOf(pool: Pool, items: readonly OpenItem[]): Lack {
  const limits = new Map<ClassName, Limit>();
  let free = zero;
  let areAllHeard = true;
  for (const { open, bytes, rooms } of items) {
    const room = rooms.find((other) => other.pool === pool);
    if (!room) continue;
    free = room.free;
    const { name } = open.class;
    // The room of a sibling.
    if (room.offer.class !== name) areAllHeard = false;
    else if (
      room.offer.newest.maximumVolumeSize !== undefined &&
      bytes > largerBytes(room.limit, limits.get(name)?.asked ?? zero)
    ) {
      limits.set(name, { class: name, is: room.limit, asked: bytes });
    }
  }
  // What a class will publish that says nothing yet is not known to be more.
  const more = areAllHeard ? subtractBytes(publishedWith(pool, limits), leastPublished(pool)) : zero;
  return { short: subtractBytes(subtractBytes(sumOf(items), free), more), limits: [...limits.values()] };
}

/**
 * What the pool publishes once the largest volumes have grown: it has at least as much in all (decision 10). An object without
 * a size counts as one that says nothing is left.
 */
function publishedWith(pool: Pool, limits: ReadonlyMap<ClassName, Limit>): Bytes {
  const published = [...pool.offers.values()].flatMap((offer) => {
    return [largerBytes(publishedOf(offer), limits.get(offer.class)?.asked ?? zero)];
  });
  return published.reduce((least, bytes) => smallerBytes(least, bytes));
}

/** Bytes to grow by, all in all. */
export function distanceOf({ short = zero, limits = [] }: Pick<Shortage, "short" | "limits">): Bytes {
  return limits.reduce((sum, { is, asked }) => addBytes(sum, subtractBytes(asked, is)), atLeastZero(short));
}

/** What the pool would have if nothing of it were promised to other Pods. */
function withoutOthers(state: ClusterState, planner: Planner, pool: Pool): Bytes {
  const own = planner.open.map(({ claim }) => state.pools.demandOf(claim.uid));
  return own.reduce(
    (left, demand) => (demand?.pool === pool ? subtractBytes(left, demand.bytes) : left),
    totalOf(pool),
  );
}

function claimsOf(items: readonly OpenItem[]): Claim[] {
  return items.map(({ open }) => open.claim);
}

function sumOf(items: readonly { readonly bytes: Bytes }[]): Bytes {
  return items.map(({ bytes }) => bytes).reduce(addBytes, zero);
}
