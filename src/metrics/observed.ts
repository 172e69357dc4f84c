/** Gauges that are read when somebody scrapes: `server/` sets them then, or once. */
import { Gauge, type Registry } from "prom-client";

const prefix = "berth";

export function observed(registers: Registry[]) {
  return {
    ...ofThisBerth(registers),
    sinceLastFilter: new Gauge({
      name: `${prefix}_last_filter_age_seconds`,
      help: "Seconds since the last filter call, or since start before the first: grows without end where kube-scheduler is not configured to ask.",
      registers,
    }),
    ready: new Gauge({
      name: `${prefix}_ready`,
      help: "1 when every watch is synced and fresh, no stop is under way and, where the answers are the leader's, this Berth leads.",
      registers,
    }),
    kindAge: new Gauge({
      name: `${prefix}_watch_age_seconds`,
      help: "Seconds since the watch of a kind last said anything.",
      labelNames: ["kind"],
      registers,
    }),
    kindObjects: new Gauge({
      name: `${prefix}_cache_objects`,
      help: "Objects in the cache, those set aside as unreadable included.",
      labelNames: ["kind"],
      registers,
    }),
    unreadableCapacities: new Gauge({
      name: `${prefix}_node_capacities_unreadable`,
      help: "Values for capacity that nodes carry and that cannot be read: on such a node nothing of the class is provisioned.",
      registers,
    }),
    bindsInProgress: new Gauge({
      name: `${prefix}_binds_in_progress`,
      help: "Binds that wait or write.",
      registers,
    }),
    assumptions: new Gauge({
      name: `${prefix}_assumptions`,
      help: "Claims promised whose writes the watch has not shown yet.",
      registers,
    }),
    holds: new Gauge({
      name: `${prefix}_holds`,
      help: "Pods that softly hold volumes between filter and bind.",
      registers,
    }),
  };
}

function ofThisBerth(registers: Registry[]) {
  return {
    podsWaiting: new Gauge({
      name: `${prefix}_pods_waiting`,
      help: "Pods whose last filter call refused every node: they wait until something changes.",
      registers,
    }),
    limit: new Gauge({
      name: `${prefix}_limit`,
      help: "What is configured as the most, of what each limit counts.",
      labelNames: ["limit"],
      registers,
    }),
    buildInfo: new Gauge({
      name: `${prefix}_build_info`,
      help: "1, with the version as a label.",
      labelNames: ["version"],
      registers,
    }),
  };
}
