/** What keeps kube-scheduler from nodes that the Pod's volumes are on, or would fit on. */
import { LRUCache } from "lru-cache";
import type { Runtime } from "../../runtime/runtime.ts";
import type { PodUid } from "../../scheduling/names.ts";
import { type NodePlacing, notLookedAt, type Obstacle } from "../../scheduling/placing.ts";
import { cacheClock } from "../cache-clock.ts";
import { placingsOf } from "../placing.ts";
import { clipped, nameText } from "./format.ts";
import { type Html, html } from "./html.ts";

const podsMax = 100;
/** A page that is looked at is asked for all the time, and each look lists the Pods of three nodes. */
const rememberedMs = 30_000;

/** Asks the API once for all who look at a Pod meanwhile. */
export class RememberedPlacings {
  readonly #known: LRUCache<PodUid, readonly NodePlacing[]>;

  constructor(runtime: Pick<Runtime, "now">) {
    this.#known = new LRUCache({ max: podsMax, ttl: rememberedMs, ...cacheClock(runtime) });
  }

  readonly of: typeof placingsOf = async (pods, ask, signal) => {
    const known = this.#known.get(ask.pod.uid);
    if (known) return [...known];
    const found = await placingsOf(pods, ask, signal);
    if (!signal.aborted && found.length > 0) this.#known.set(ask.pod.uid, found);
    return found;
  };
}

export function placingsSection(placings: readonly NodePlacing[]): Html | undefined {
  if (placings.length === 0) return undefined;
  return html`<section id="placings" aria-labelledby="placings-title">
<h2 id="placings-title">Not offered by kube-scheduler</h2>
${placings.map(
  ({
    node,
    because,
    obstacles,
    priority,
    unknown,
  }) => html`<div class="placing" data-key="${node}"><p><b>${nameText(node)}</b> <span class="where">${
    because === "pinned" ? "bound volumes are there" : "the volumes would fit there"
  }</span></p>
<ul>${obstacles.map(obstacleItem)}${
    obstacles.length === 0 &&
    unknown === undefined &&
    html`<li>Nothing that is looked at keeps the Pod away: ${notLookedAt}.</li>`
  }${priority && html`<li>${clipped(priority.says)}; PodDisruptionBudgets are not looked at</li>`}${
    unknown !== undefined && html`<li>Not known: ${clipped(unknown)}</li>`
  }</ul></div>
`,
)}</section>
`;
}

function obstacleItem(obstacle: Obstacle): Html {
  const holders = obstacle.kind === "resource" ? obstacle.holders : [];
  return html`<li>${clipped(obstacle.says)}${
    holders.length > 0 &&
    html`<br><span class="where">held by ${holders.map(({ pod, holds }, index) => html`${index > 0 && ", "}${nameText(pod)} (${holds})`)}${
      obstacle.kind === "resource" && obstacle.holdersLeft > 0 && ` and ${obstacle.holdersLeft} more`
    }</span>`
  }</li>`;
}
