/** Puts handlers together into one `Exchange`: all that a listener, or the simulation, needs to know of the server. */
import type { Exchange } from "../runtime/runtime.ts";
import type { Handler, Params } from "./parts.ts";
import { failureReply } from "./replies.ts";

export interface Route {
  readonly method: "GET" | "POST";
  /** Segments in braces match any one segment and name it, e.g. "/debug/explain/{namespace}/{pod}". */
  readonly path: string;
  readonly handle: Handler;
}

export function routed(routes: readonly Route[]): Exchange {
  const patterns = routes.map((route) => ({ ...route, segments: route.path.split("/") }));
  return async (request, signal) => {
    const segments = pathOf(request.path).split("/");
    const allowed: string[] = [];
    for (const { method, segments: pattern, handle } of patterns) {
      const params = match(pattern, segments);
      if (!params) continue;
      if (method === request.method) return handle(request, signal, params);
      allowed.push(method);
    }
    if (allowed.length === 0) return failureReply(404, "no such path");
    const reply = failureReply(405, `this path takes ${allowed.join(" and ")}`);
    return { ...reply, headers: { ...reply.headers, allow: allowed.join(", ") } };
  };
}

/** Without the query. */
export function pathOf(target: string): string {
  return target.replace(/[?#].*$/s, "");
}

function match(pattern: readonly string[], segments: readonly string[]): Params | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params = new Map<string, string>();
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? "";
    if (!expected.startsWith("{")) {
      if (expected !== segment) return undefined;
      continue;
    }
    const value = decodeSegment(segment);
    if (!value) return undefined;
    params.set(expected.slice(1, -1), value);
  }
  return params;
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
