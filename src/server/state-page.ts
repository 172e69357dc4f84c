/** `GET /debug/state`: what Berth believes, has promised and is doing. Bounded: it may be asked of a large cluster. */

import type { NodeSources } from "../scheduling/node-sources.ts";
import { kinds } from "../scheduling/objects.ts";
import { freeOf, limitOf, type Pool, publishedOf, totalOf } from "../scheduling/pools.ts";
import { isoTime } from "./explain.ts";
import type { Handler, Parts } from "./parts.ts";
import { jsonReply } from "./replies.ts";

/** Entries of one list; what is left out is counted. */
const entriesMax = 1_000;

export function stateRoute({ cluster, binder, leadership, memory, runtime }: Parts): Handler {
  return async () => {
    const { state } = cluster;
    const ages = cluster.ages();
    const { holds, assumptions } = state.reservations.dump();
    const page = {
      at: isoTime(runtime.wallTime()),
      startedAt: isoTime(memory.startedAtMs),
      readiness: cluster.readiness(),
      leaderElection: leadership.describe(),
      generation: state.generation,
      kinds: Object.fromEntries(kinds.map((kind) => [kind, { objects: state.size(kind), ageMs: ages[kind] ?? null }])),
      lastFilterAgeMs: memory.sinceLastFilter(),
      podsRemembered: memory.size,
      bindsInProgress: bounded(binder.inProgress()),
      assumptions: bounded(assumptions),
      holds: bounded(holds),
      rests: bounded(state.rests.dump()),
      pools: bounded(Array.from(state.pools.all(), (pool) => describePool(pool, state.pools.nodes))),
      unreadableNodeCapacities: state.pools.nodes.faultCount,
    };
    return jsonReply(`${JSON.stringify(page, printable)}\n`);
  };
}

function describePool(pool: Pool, nodes: NodeSources) {
  const { key, offers, used, promised, held, demands } = pool;
  return {
    pool: key,
    total: totalOf(pool),
    free: freeOf(pool),
    ...(used && { usedByVolumes: used() }),
    promised,
    held,
    demands: demands.size,
    sources: Array.from(offers.values(), (offer) => ({
      class: offer.class,
      source: nodes.nameOf(offer.class) ?? `CSIStorageCapacity ${offer.newest.key}`,
      published: publishedOf(offer),
      largestVolume: limitOf(offer),
    })),
  };
}

function bounded<T>(entries: readonly T[]): { readonly count: number; readonly first: readonly T[] } {
  return { count: entries.length, first: entries.slice(0, entriesMax) };
}

/** Sizes are bigints, which JSON lacks; as decimal text they stay exact. */
function printable(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
