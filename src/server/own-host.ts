/**
 * On loopback nobody is asked who he is, and a browser reaches loopback for every site that it shows: one that lets its own name point
 * to 127.0.0.1 would read what stands here as its own (DNS rebinding). The name that was asked for gives it away.
 */
import { isLoopback } from "../config/values.ts";
import type { Config } from "../config.ts";
import type { Exchange } from "../runtime/runtime.ts";
import { failureReply } from "./replies.ts";
import { pathOf } from "./router.ts";

/** Names and addresses that no foreign DNS decides on. */
const ownHost = /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i;

/** Metrics and probes hold no names of objects, and come through proxies under any name. */
const open: ReadonlySet<string> = new Set(["/metrics", "/livez", "/readyz"]);

export function underOwnHost({ debugListen, debugTls }: Config, exchange: Exchange): Exchange {
  if (debugTls || !isLoopback(debugListen.host)) return exchange;
  return async (request, signal) => {
    const host = request.headers["host"] ?? "localhost";
    if (ownHost.test(host) || open.has(pathOf(request.path))) return exchange(request, signal);
    return failureReply(421, "asked for under a name that is not its own: use localhost or an address");
  };
}
