/** Classes, pools, and what is promised of them. */
import { counted } from "../../scheduling/counted.ts";
import { compareText, type PodUid } from "../../scheduling/names.ts";
import type { PoolKey } from "../../scheduling/plan.ts";
import { freeOf, largestOf, type Pool, totalOf } from "../../scheduling/pools.ts";
import { addBytes, type Bytes, compareBytes, zero } from "../../scheduling/quantity.ts";
import type { ClusterState } from "../../scheduling/state.ts";
import type { Topology } from "../../scheduling/topology.ts";
import type { Parts } from "../parts.ts";
import { ageText, listText, sizeText } from "./format.ts";
import { type Html, html } from "./html.ts";
import { podLink } from "./pods-list.ts";

/** Names of nodes that are looked through for the first ones. */
const lookedAtMax = 64;

/** Volumes of each class, however many: what is counted already. */
export function classesSection(state: ClusterState, shownMax: number): Html | undefined {
  const { census } = state.volumes;
  const rows = [...census.classes()].sort(compareText).map((name) => ({ name, ...sumOf(census.of(name)) }));
  if (rows.length === 0) return undefined;
  return html`<section id="volumes">
<div class="scroll" tabindex="0" role="region" aria-label="Volumes by class"><table>
<caption>Volumes by class</caption>
<thead><tr><th scope="col">class</th><th scope="col" class="number">volumes</th><th scope="col" class="number">free</th><th scope="col"><span class="unseen">share that is free</span></th><th scope="col" class="number">taken</th></tr></thead>
<tbody>
${rows.slice(0, shownMax).map(
  ({
    name,
    count,
    free,
    taken,
  }) => html`<tr data-key="${name}"><th scope="row"><bdi>${name === "" ? "(none)" : name}</bdi></th><td class="number">${count.toLocaleString("en-US")}</td><td class="number">${free.toLocaleString("en-US")}</td><td>${meter(free, count, `${free} of ${count} free`)}</td><td class="number">${sizeText(taken)}</td></tr>
`,
)}</tbody>
</table></div>
${moreText(rows.length - shownMax, "class", "classes")}
</section>
`;
}

function sumOf(tallies: ReturnType<ClusterState["volumes"]["census"]["of"]>) {
  let [count, free, taken] = [0, 0, zero];
  for (const tally of tallies?.values() ?? []) {
    count += tally.count;
    free += tally.free;
    taken = addBytes(taken, tally.takenBytes);
  }
  return { count, free, taken };
}

/** Those with the least room for one more volume first. */
export function poolsSection(state: ClusterState, shownMax: number): Html | undefined {
  const pools = [...state.pools.all()];
  if (pools.length === 0) return undefined;
  const room = new Map(pools.map((pool) => [pool, largestOf(pool)]));
  pools.sort((a, b) => compareBytes(room.get(a) ?? zero, room.get(b) ?? zero) || compareText(a.key, b.key));
  return html`<section id="pools">
<div class="scroll" tabindex="0" role="region" aria-label="Pools of capacity"><table>
<caption>Pools of capacity, the fullest first</caption>
<thead><tr><th scope="col">classes, where</th><th scope="col" class="number">free</th><th scope="col" class="number">of</th><th scope="col" class="number">largest volume</th><th scope="col" class="number">promised</th><th scope="col" class="number">held</th></tr></thead>
<tbody>
${pools.slice(0, shownMax).map((pool) => poolRow(state, pool, room.get(pool) ?? zero))}</tbody>
</table></div>
${moreText(pools.length - shownMax, "pool", "pools")}
</section>
`;
}

function poolRow(state: ClusterState, pool: Pool, largest: Bytes): Html {
  const [free, total] = [freeOf(pool), totalOf(pool)];
  const classes = listText([...pool.offers.keys()].sort(compareText));
  const where = placeText(state, pool.topology);
  return html`<tr data-key="${classes} ${where}"><th scope="row"><bdi>${classes}</bdi> <span class="where">${where}</span></th><td class="number">${sizeText(free)}</td><td class="number">${sizeText(total)}</td><td class="number">${sizeText(largest)}</td><td class="number">${amount(pool.promised)}</td><td class="number">${amount(pool.held)}</td></tr>
`;
}

function placeText({ topologies }: ClusterState, topology: Topology): string {
  if (topology === topologies.everywhere) return "on every node";
  const { members } = topology;
  if (members.size === 0) return "on no node";
  const names: string[] = [];
  for (const { node } of members) if (names.push(node.name) >= lookedAtMax) break;
  return `on ${listText(names.sort(compareText), members.size)}`;
}

/** Soft and hard promises, and binds: the oldest first. */
export function reservationsSection({ cluster, binder }: Parts, shownMax: number): Html {
  const { state } = cluster;
  const { holds, assumptions } = state.reservations.dump();
  const pods = podsByUid(state, [...assumptions.flatMap((one) => one.pods), ...holds.map(({ pod }) => pod)]);
  const rows = [
    ...assumptions.map(({ claim, node, pods: of, ageMs, target }) => ({
      id: `promise-${claim}`,
      kind: "promised",
      pods: of,
      what: target.kind === "volume" ? `volume ${target.volume}` : `${sizeText(target.bytes)} of class ${target.class}`,
      where: `for claim ${claim} on node ${node}`,
      ageMs,
    })),
    ...holds.map(({ pod, volumes, pools, ageMs }) => ({
      id: `hold-${pod}`,
      kind: "held",
      pods: [pod],
      what: heldText(state, volumes, pools),
      where: "until the Pod is bound or asked about again",
      ageMs,
    })),
  ];
  rows.sort((a, b) => b.ageMs - a.ageMs);
  return html`<section id="reservations" aria-labelledby="reservations-title">
<h2 id="reservations-title">Promised and held</h2>
<p>${counted(assumptions.length, "promise")}, ${counted(holds.length, "Pod")} holding, ${counted(binder.inProgress().length, "bind")} in progress.</p>
${
  rows.length > 0 &&
  html`<div class="scroll" tabindex="0" role="region" aria-label="Promised and held"><table>
<caption>A promise is nobody else's; what is held others avoid where they can</caption>
<thead><tr><th scope="col">Pod</th><th scope="col">has</th><th scope="col" class="number">for</th></tr></thead>
<tbody>
${rows.slice(0, shownMax).map(
  ({
    id,
    kind,
    pods: of,
    what,
    where,
    ageMs,
  }) => html`<tr data-key="${id}"><th scope="row">${of.slice(0, 3).map((uid) => nameOf(pods.get(uid), uid))}</th><td><span class="badge ${kind}">${kind}</span> <bdi>${what}</bdi> <span class="where">${where}</span></td><td class="number">${ageText(ageMs)}</td></tr>
`,
)}</tbody>
</table></div>
${moreText(rows.length - shownMax, "reservation", "reservations")}`
}
</section>
`;
}

function nameOf(pod: Parameters<typeof podLink>[0] | undefined, uid: PodUid): Html {
  return pod ? html`${podLink(pod)} ` : html`<bdi>${uid}</bdi> `;
}

/** Reservations know uids alone. */
function podsByUid(state: ClusterState, wanted: readonly PodUid[]) {
  const uids = new Set(wanted);
  const found = new Map<PodUid, { readonly key: Parameters<typeof podLink>[0]["key"] }>();
  if (uids.size === 0) return found;
  for (const key of state.keys("pod")) {
    const pod = state.get("pod", key);
    if (pod && uids.has(pod.uid)) found.set(pod.uid, pod);
  }
  return found;
}

function heldText(state: ClusterState, volumes: readonly string[], pools: readonly PoolKey[]): string {
  const places = pools.flatMap((key) => {
    const pool = state.pools.get(key);
    return pool ? [`${listText([...pool.offers.keys()])} ${placeText(state, pool.topology)}`] : [];
  });
  return [
    ...(volumes.length > 0 ? [`${volumes.length === 1 ? "volume" : "volumes"} ${listText(volumes)}`] : []),
    ...(places.length > 0 ? [`capacity of ${listText([...new Set(places)])}`] : []),
  ].join("; ");
}

/** Browsers draw it; the text is what a reader without one hears. */
function meter(value: number, of: number, text: string): Html {
  return html`<meter min="0" max="${Math.max(of, 1)}" value="${Math.max(0, value)}">${text}</meter>`;
}

function amount(bytes: Bytes): string {
  return bytes === zero ? "–" : sizeText(bytes);
}

export function moreText(count: number, one: string, many: string): Html | undefined {
  if (count <= 0) return undefined;
  return html`<p class="more">${counted(count, `more ${one}`, `more ${many}`)} not shown.</p>
`;
}
