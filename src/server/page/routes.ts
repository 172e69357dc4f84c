/** The pages for people with a browser. */
import type { Slices } from "../explain-slices.ts";
import type { Handler, Parts } from "../parts.ts";
import type { Route } from "../router.ts";
import { assetRoutes } from "./assets.ts";
import { overviewRoute } from "./overview.ts";
import { podRoute } from "./pod.ts";

/** All below /debug/, so that one rule of RBAC grants them with the rest. */
const toOverview: Handler = async () => ({
  status: 302,
  headers: { location: "/debug/", "cache-control": "no-store" },
  body: "",
});

export function pageRoutes(parts: Parts, slices: Slices): readonly Route[] {
  return [
    { method: "GET", path: "/", handle: toOverview },
    { method: "GET", path: "/debug", handle: toOverview },
    { method: "GET", path: "/debug/", handle: overviewRoute(parts) },
    { method: "GET", path: "/debug/pods/{namespace}/{pod}", handle: podRoute(parts, slices) },
    ...assetRoutes(),
  ];
}
