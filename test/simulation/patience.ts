/** How long Pods have waited that could be placed. */
import type { Body } from "../binding/world.ts";
import { askOracle, oracleOf } from "./oracle-view.ts";
import type { World } from "./world.ts";

/** So soon each is. Without Berth's wakes kube-scheduler would try again after 300 s. */
const placedWithinMs = 290_000;

export class Patience {
  readonly #world: World;
  /** Since when each could be placed, by uid. */
  readonly #since = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Pods that wait although the oracle knows a node for them; none may have waited too long. */
  look(): Body[] {
    const { clock, judge } = this.#world;
    const waiting = placeable(this.#world);
    const uids = new Set(waiting.map(({ metadata }) => metadata.uid));
    for (const uid of this.#since.keys()) if (!uids.has(uid)) this.#since.delete(uid);
    for (const { metadata } of waiting) {
      const { uid, name } = metadata;
      // kube-scheduler waits for an answer for as long as a bind may take, and whoever lost the call does not say so.
      const since = this.#world.isLost(uid) ? clock.now : (this.#since.get(uid) ?? clock.now);
      this.#since.set(uid, since);
      const waitedMs = clock.now - since;
      if (waitedMs > placedWithinMs)
        judge.find("who can be placed is placed", `${name} has waited for ${waitedMs / 1000} s`);
    }
    return waiting;
  }
}

function placeable({ server }: World): Body[] {
  const waiting = server.all("pods").filter(({ spec, metadata }) => {
    return spec.nodeName === undefined && metadata.deletionTimestamp === undefined;
  });
  if (waiting.length === 0) return [];
  const naive = oracleOf(server);
  return waiting.filter((pod) => {
    const answer = askOracle(naive, pod);
    return answer.pod?.startsWith("every node")
      ? server.all("nodes").length > 0
      : answer.nodes.some(({ fits }) => fits);
  });
}
