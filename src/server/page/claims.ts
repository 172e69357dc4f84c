/** The claims of one Pod: what each asks for, what it has, and what it could have. */

import type { ClaimReport, PoolCandidate, VolumeCandidate } from "../../scheduling/candidates.ts";
import { counted } from "../../scheduling/counted.ts";
import { holderText } from "../../scheduling/holders.ts";
import type { Meeting } from "../../scheduling/meeting.ts";
import { type ClaimKey, splitKey } from "../../scheduling/names.ts";
import type { Pod } from "../../scheduling/objects.ts";
import type { Reach } from "../../scheduling/places.ts";
import type { ClusterState } from "../../scheduling/state.ts";
import type { PodReport } from "../explain.ts";
import { clipped, listText, nameText } from "./format.ts";
import { type Html, html } from "./html.ts";
import { moreText } from "./storage.ts";

const claimsMax = 24;
const candidatesMax = 5;

export function claimsSection(state: ClusterState, { claims: mounted }: Pod, report: PodReport): Html | undefined {
  if (mounted.length === 0) return undefined;
  const reports = new Map(report.claims.map((one) => [one.claim, one]));
  const { meeting } = report;
  return html`<section id="claims">
<div class="scroll" tabindex="0" role="region" aria-label="Claims"><table class="claims">
<caption>Claims</caption>
<thead><tr><th scope="col">claim</th><th scope="col">has, or could have</th></tr></thead>
<tbody>
${mounted.slice(0, claimsMax).map(({ claim }) => claimRow(state, claim, reports.get(claim)))}</tbody>
</table></div>
${moreText(mounted.length - claimsMax, "claim", "claims")}${meeting && meetingList(meeting)}</section>
`;
}

function claimRow(state: ClusterState, key: ClaimKey, report: ClaimReport | undefined): Html {
  const name = nameText(splitKey(key).name);
  if (!report) {
    const problem = state.problem("claim", key);
    const says = problem === undefined ? "it does not exist" : `it cannot be read: ${clipped(problem)}`;
    return html`<tr data-key="${key}"><th scope="row">${name}</th><td class="no">✗ ${says}</td></tr>
`;
  }
  return html`<tr data-key="${key}"><th scope="row">${name} <span class="where">${report.asks ?? "no size"} of ${report.class === "" ? "no class" : html`class ${nameText(report.class)}`}</span></th><td>${has(state, report)}</td></tr>
`;
}

function has(state: ClusterState, report: ClaimReport): Html {
  const { claim, volume, on } = report;
  if (volume !== undefined) return html`${nameText(volume)}, ${on ? reachText(on) : "which does not exist"}`;
  const known = state.get("claim", claim);
  const promise = known && state.reservations.of(known.uid);
  if (promise) return html`promised on node ${nameText(promise.node)}`;
  if (known?.selectedNode !== undefined) return html`being provisioned on node ${nameText(known.selectedNode)}`;
  return couldHave(report);
}

function couldHave({ volumes, pools, nearest }: ClaimReport): Html {
  return html`${
    nearest &&
    html`<div class="miss"><span class="mark">✗</span> needs ${nearest.needs}, the largest free ${reachText(nearest.on)} is ${nearest.largest}${
      nearest.volume !== undefined && html` (${nameText(nearest.volume)})`
    }: <b>${nearest.short} short</b></div>`
  }${
    volumes &&
    (volumes.count > 0 || !pools) &&
    html`<div>${counted(volumes.count, "volume")} would do, ${volumes.free.toLocaleString("en-US")} free${candidates(volumes.first.map(volumeItem), volumes.count)}</div>`
  }${
    pools &&
    html`<div>${counted(pools.count, "pool")}, ${pools.fitting.toLocaleString("en-US")} with room${candidates(pools.first.map(poolItem), pools.count)}</div>`
  }`;
}

function candidates(items: readonly Html[], count: number): Html | undefined {
  if (items.length === 0) return undefined;
  const shown = items.slice(0, candidatesMax);
  return html`<details><summary>who has them</summary><ul>${shown.map((item) => html`<li>${item}</li>`)}${
    count > shown.length && html`<li>and ${(count - shown.length).toLocaleString("en-US")} more</li>`
  }</ul></details>`;
}

function volumeItem({ volume, size, on, holder, why }: VolumeCandidate): Html {
  return html`${nameText(volume)} ${size} ${reachText(on)}: ${clipped(holder ? holderText(holder) : (why ?? "free"))}`;
}

function poolItem({ on, free, total, largest, promised }: PoolCandidate): Html {
  return html`${reachText(on)}: ${free} free of ${total}, largest volume ${largest}${promised !== "0" && `, ${promised} promised`}`;
}

/** Which of several claims is at fault, and which two cannot meet. */
function meetingList({ alone, apart, leftOut }: Meeting): Html {
  const nameOf = (claim: ClaimKey): Html => nameText(splitKey(claim).name);
  const isAllTogether = apart.length === 0 && alone.every(({ nodes }) => nodes > 0);
  return html`<ul id="meeting" class="notes">
${apart.map(
  ({
    claims: [one, other],
    inCommon,
    firstInCommon,
  }) => html`<li><b>${nameOf(one)} and ${nameOf(other)} cannot meet:</b> ${
    inCommon === 0
      ? "no node reaches what both need"
      : `each fits ${clipped(listText(firstInCommon, inCommon))} alone, and they need the same there`
  }</li>
`,
)}${alone
  .filter(({ nodes }) => nodes === 0)
  .map(
    ({ claim }) => html`<li>${nameOf(claim)} alone fits no node</li>
`,
  )}${
  isAllTogether &&
  html`<li>Each two of its claims fit some node, all together none</li>
`
}${
  leftOut > 0 &&
  html`<li>${counted(leftOut, "more claim")} not looked at in pairs</li>
`
}</ul>
`;
}

function reachText({ everywhere, count, nodes }: Reach): string {
  if (everywhere) return "on every node";
  return count === 0 ? "on no node" : `on ${clipped(listText(nodes, count))}`;
}
