/** `/livez`, `/readyz` and `/metrics`. */
import type { HttpReply } from "../runtime/runtime.ts";
import { kinds } from "../scheduling/objects.ts";
import { InventoryPage } from "./inventory.ts";
import type { Handler, Parts, Readiness } from "./parts.ts";
import { textReply } from "./replies.ts";
import type { Route } from "./router.ts";

/** Alive is whoever answers: a cache that is behind is no reason to be restarted. */
const live: Handler = async () => textReply(200, "ok");

export function healthRoutes({ cluster }: Parts, isDraining: () => boolean): readonly Route[] {
  const ready: Handler = async () => {
    const readiness: Readiness = isDraining() ? { ready: false, why: "stopping" } : cluster.readiness();
    return readiness.ready ? textReply(200, "ok") : textReply(503, `not ready: ${readiness.why}`);
  };
  return [
    { method: "GET", path: "/livez", handle: live },
    { method: "GET", path: "/readyz", handle: ready },
  ];
}

export function metricsRoute(parts: Parts): Route {
  const inventory = new InventoryPage(parts);
  return { method: "GET", path: "/metrics", handle: () => scrape(parts, inventory) };
}

async function scrape(parts: Parts, inventory: InventoryPage): Promise<HttpReply> {
  const { cluster, binder, memory, metrics, waker } = parts;
  const taken = await inventory.text();
  const ages = cluster.ages();
  for (const kind of kinds) {
    metrics.kindObjects.set({ kind }, cluster.state.size(kind));
    const age = ages[kind];
    if (age !== undefined) metrics.kindAge.set({ kind }, age / 1000);
  }
  metrics.ready.set(cluster.readiness().ready ? 1 : 0);
  metrics.sinceLastFilter.set(memory.sinceLastFilter() / 1000);
  metrics.bindsInProgress.set(binder.inProgress().length);
  metrics.assumptions.set(cluster.state.reservations.assumptionCount);
  metrics.podsWaiting.set(waker.waiting());
  metrics.holds.set(cluster.state.reservations.holds.count);
  metrics.unreadableCapacities.set(cluster.state.pools.nodes.faultCount);
  const { contentType } = metrics.registry;
  return { status: 200, headers: { "content-type": contentType }, body: (await metrics.registry.metrics()) + taken };
}
