/** The two faces of Berth, each one `Exchange`: what kube-scheduler calls, and what people and Prometheus read. */
import type { Exchange } from "../runtime/runtime.ts";
import { bindVerb } from "./bind.ts";
import { Calls } from "./calls.ts";
import { explainRoute } from "./explain.ts";
import { claimRoute } from "./explain-claim.ts";
import { filterVerb } from "./filter.ts";
import { healthRoutes, metricsRoute } from "./health.ts";
import type { Parts } from "./parts.ts";
import { preemptVerb } from "./preempt.ts";
import { prioritizeVerb } from "./prioritize.ts";
import { type Route, routed } from "./router.ts";
import { simulateRoute } from "./simulate.ts";
import { stateRoute } from "./state-page.ts";

export interface Server {
  readonly extender: Exchange;
  readonly debug: Exchange;
  readonly calls: Calls;
}

/** Puts the routes together; starts nothing and listens nowhere. */
export function createServer(parts: Parts): Server {
  const calls = new Calls(parts);
  const { bodyBytesMax, bindBodyBytesMax } = parts.config.limits;
  const health = healthRoutes(parts, () => calls.draining);
  const verbs: readonly Route[] = [
    { method: "POST", path: "/v1/filter", handle: calls.admit("filter", bodyBytesMax, filterVerb(parts)) },
    { method: "POST", path: "/v1/prioritize", handle: calls.admit("prioritize", bodyBytesMax, prioritizeVerb(parts)) },
    { method: "POST", path: "/v1/preempt", handle: calls.admit("preempt", bodyBytesMax, preemptVerb(parts)) },
    { method: "POST", path: "/v1/bind", handle: calls.admit("bind", bindBodyBytesMax, bindVerb(parts)) },
  ];
  const pages: readonly Route[] = [
    metricsRoute(parts),
    { method: "GET", path: "/debug/explain/{namespace}/{pod}", handle: explainRoute(parts) },
    { method: "GET", path: "/debug/claim/{namespace}/{claim}", handle: claimRoute(parts) },
    { method: "GET", path: "/debug/state", handle: stateRoute(parts) },
    { method: "POST", path: "/debug/simulate", handle: simulateRoute(parts) },
  ];
  return { extender: routed([...verbs, ...health]), debug: routed([...pages, ...health]), calls };
}
