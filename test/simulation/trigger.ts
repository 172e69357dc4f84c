/** Lets things happen just before or just after a Berth's write, which is when they are worst. */
import type { HttpRequest } from "../../src/runtime/runtime.ts";
import { nearTo } from "./near.ts";
import type { Action, Occasion, WriteKind } from "./plan.ts";
import type { Write } from "./server.ts";
import type { World } from "./world.ts";

export class Trigger {
  readonly #world: World;
  readonly #counts = new Map<string, number>();
  readonly #waiting: Action[];

  constructor(world: World) {
    this.#world = world;
    this.#waiting = world.plan.actions.filter(({ at }) => "write" in at);
    world.server.beforeWrite = (by, request) => {
      const kind = by.startsWith("berth") ? kindOf(request) : undefined;
      if (kind) this.#pull(kind, "before", request);
    };
  }

  /** A bind call is about to be sent. */
  asks(request: HttpRequest): void {
    this.#pull("bind call", "before", request);
  }

  wrote({ by, request, status }: Write): void {
    const kind = by.startsWith("berth") && status < 300 ? kindOf(request) : undefined;
    if (!kind) return;
    const { writes } = this.#world.stats;
    writes.set(kind, (writes.get(kind) ?? 0) + 1);
    this.#pull(kind, "after", request);
  }

  #pull(kind: Occasion, when: "before" | "after", request: HttpRequest): void {
    if (this.#world.weather.isCalm) return;
    const name = `${when} ${kind}`;
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    const { operator, server } = this.#world;
    for (const { at, act } of this.#waiting) {
      if (!("write" in at) || at.write !== kind || at.when !== when || at.nth !== nth) continue;
      const near = at.near ? nearTo(server, request) : undefined;
      if (at.laterMs === undefined) operator.act(act, near);
      else this.#world.later(at.laterMs, () => operator.act(act, near));
    }
  }
}

/** What a request of a Berth would write; undefined for what is no write of a bind. */
export function kindOf({ method, path, body }: HttpRequest): WriteKind | undefined {
  if (method === "POST" && path.endsWith("/binding")) return "binding";
  if (method !== "PATCH") return undefined;
  if (path.includes("/persistentvolumeclaims/")) return "selectedNode";
  if (!path.includes("/persistentvolumes/")) return undefined;
  return JSON.parse(String(body)).spec?.claimRef?.uid ? "claimRef" : "release";
}
