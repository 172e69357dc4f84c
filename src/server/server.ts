/** The two faces of Berth, each one `Exchange`: what kube-scheduler calls, and what people and Prometheus read. */
import type { Verb } from "../metrics.ts";
import type { Admission, Exchange, HttpReply, RequestHead } from "../runtime/runtime.ts";
import { bindVerb } from "./bind.ts";
import { Callers } from "./callers.ts";
import { Calls, pathOfVerb } from "./calls.ts";
import { capacityRoute } from "./capacity-page.ts";
import { DebugGuard } from "./debug-guard.ts";
import { explainRoute } from "./explain.ts";
import { claimRoute } from "./explain-claim.ts";
import { Slices } from "./explain-slices.ts";
import { filterVerb } from "./filter.ts";
import { healthRoutes, metricsRoute } from "./health.ts";
import { underOwnHost } from "./own-host.ts";
import { pageRoutes } from "./page/routes.ts";
import type { Handler, Parts } from "./parts.ts";
import { preemptVerb } from "./preempt.ts";
import { prioritizeVerb } from "./prioritize.ts";
import { type Route, routed } from "./router.ts";
import { simulateRoute } from "./simulate.ts";
import { stateRoute } from "./state-page.ts";

export interface Server {
  readonly extender: Exchange;
  readonly debug: Exchange;
  /** For the listener of `extender`, which asks before it reads a body. */
  readonly admit: (head: RequestHead) => Admission;
  /** The same for the listener of `debug`; left out, all come in. */
  readonly admitDebug?: (head: RequestHead) => Promise<Admission>;
  readonly calls: Calls;
}

/** Puts the routes together; starts nothing and listens nowhere. */
export function createServer(parts: Parts): Server {
  const calls = new Calls(parts);
  const { bodyBytesMax, bindBodyBytesMax } = parts.config.limits;
  const verb = (name: Verb, bodyMax: number, handle: Handler): Route => ({
    method: "POST",
    path: pathOfVerb(name),
    handle: partingUnlessLeading(parts, calls.admit(name, bodyMax, handle)),
  });
  const health = healthRoutes(parts, () => calls.draining);
  const verbs: readonly Route[] = [
    verb("filter", bodyBytesMax, filterVerb(parts)),
    verb("prioritize", bodyBytesMax, prioritizeVerb(parts)),
    verb("preempt", bodyBytesMax, preemptVerb(parts)),
    verb("bind", bindBodyBytesMax, bindVerb(parts)),
  ];
  const slices = new Slices(parts.runtime);
  const pages: readonly Route[] = [
    metricsRoute(parts),
    { method: "GET", path: "/debug/explain/{namespace}/{pod}", handle: explainRoute(parts, slices) },
    { method: "GET", path: "/debug/claim/{namespace}/{claim}", handle: claimRoute(parts) },
    { method: "GET", path: "/debug/capacity", handle: capacityRoute(parts, slices) },
    { method: "GET", path: "/debug/state", handle: stateRoute(parts) },
    { method: "POST", path: "/debug/simulate", handle: simulateRoute(parts, slices) },
    ...pageRoutes(parts, slices),
  ];
  const { tls, debugTls } = parts.config;
  const callers = tls && new Callers(parts, "extender", tls.allowedNames ?? []);
  const admit = (head: RequestHead): Admission => {
    const admission = callers?.refuse(head) ?? calls.enter(head);
    return admission.kind === "refused" ? { ...admission, reply: parting(parts, admission.reply) } : admission;
  };
  const guard = debugTls && new DebugGuard(parts, debugTls.allowedNames ?? []);
  return {
    extender: routed([...verbs, ...health]),
    debug: underOwnHost(parts.config, routed([...pages, ...health])),
    admit,
    ...(guard && { admitDebug: (head: RequestHead) => guard.admit(head) }),
    calls,
  };
}

/**
 * With its answer a Berth that does not lead ends the caller's connection. A Service chooses for new connections alone: those that
 * stand stay with a Berth that is ready no more, and kube-scheduler would ask it for ever.
 */
function parting({ leadership }: Parts, reply: HttpReply): HttpReply {
  return leadership.readiness().ready ? reply : { ...reply, headers: { ...reply.headers, connection: "close" } };
}

function partingUnlessLeading(parts: Parts, handle: Handler): Handler {
  return async (request, signal, params) => parting(parts, await handle(request, signal, params));
}
