/** What each node has for each claim. */
import { counted } from "../../scheduling/counted.ts";
import { type ClaimKey, type NodeName, splitKey } from "../../scheduling/names.ts";
import type { Node } from "../../scheduling/objects.ts";
import type { ClaimExplanation, NodeExplanation } from "../../scheduling/plan.ts";
import type { ClusterState } from "../../scheduling/state.ts";
import { clipped, nameText } from "./format.ts";
import { type Html, html } from "./html.ts";
import { chooseColumns, chooseRows, kindsOfWhy, type RowGroup } from "./matrix-rows.ts";

export interface MatrixSize {
  readonly rows: number;
  readonly columns: number;
  /** Volumes told of in one cell. */
  readonly lines: number;
}

export interface MatrixFacts {
  readonly claims: readonly ClaimKey[];
  readonly nodes: readonly NodeExplanation[];
  /** Nodes that were not explained, and how many of them fit. */
  readonly omitted?: { readonly nodes: number; readonly fits: number };
  /** Comes first. */
  readonly nearest: NodeName | undefined;
  /** Nodes that fit and were not offered by kube-scheduler. */
  readonly notOffered: ReadonlySet<NodeName>;
}

/** Kinds of trouble named in a cell. */
const kindsMax = 3;

export function matrixSection(state: ClusterState, facts: MatrixFacts, size: MatrixSize): Html {
  const { groups, groupsLeft, nodesLeft } = chooseRows(facts.nodes, facts.nearest, size.rows);
  const columns = chooseColumns(facts.claims, groups, size.columns);
  const { omitted } = facts;
  return html`<section id="matrix">
<div class="scroll" tabindex="0" role="region" aria-label="Nodes and claims"><table class="matrix">
<caption>Each claim on each node</caption>
<thead><tr><th scope="col">node</th>${columns.map((claim) => html`<th scope="col">${nameText(splitKey(claim).name)}</th>`)}</tr></thead>
${groups.map((group) => groupBody(state, facts, group, columns, size))}</table></div>
${
  columns.length < facts.claims.length &&
  html`<p class="more">${counted(facts.claims.length - columns.length, "more claim")} not shown: these are in trouble on the most nodes.</p>
`
}${
  groupsLeft > 0 &&
  html`<p class="more">${counted(nodesLeft, "more node")} with other answers not shown.</p>
`
}${
  omitted &&
  html`<p class="more">${counted(omitted.nodes, "more node")} not shown claim by claim; ${omitted.fits.toLocaleString("en-US")} of them fit.</p>
`
}</section>
`;
}

function groupBody(
  state: ClusterState,
  facts: MatrixFacts,
  { shown, left }: RowGroup,
  columns: readonly ClaimKey[],
  { lines }: MatrixSize,
): Html {
  const [first] = shown;
  return html`<tbody class="${first?.fits ? "fits" : "refused"}">
${shown.map((node) => nodeRow(state, facts, node, columns, lines))}${
  left > 0 &&
  html`<tr class="like"><th scope="row" colspan="${columns.length + 1}"><span>and ${counted(left, "more node")} like ${shown.length === 1 ? "this" : "these"}</span></th></tr>
`
}</tbody>
`;
}

function nodeRow(
  state: ClusterState,
  { notOffered, nearest }: MatrixFacts,
  { node, fits, contended, score, reason, claims = [] }: NodeExplanation,
  columns: readonly ClaimKey[],
  lines: number,
): Html {
  const byClaim = new Map(claims.map((one) => [one.claim, one]));
  const states = [
    ...(node === nearest ? ["nearest"] : []),
    ...(fits ? [`score ${score}`] : []),
    ...(contended ? ["held by other Pods"] : []),
    ...(notOffered.has(node) ? ["not offered"] : []),
    ...troublesOf(state.get("node", node)),
  ];
  return html`<tr data-key="${node}"><th scope="row"><span class="mark">${fits ? "✓" : "✗"}<span class="unseen">${fits ? " fits" : " refused"}</span></span> ${nameText(node)}${
    states.length > 0 && html` <span class="where">${states.join(", ")}</span>`
  }</th>${
    claims.length === 0
      ? html`<td class="no" colspan="${columns.length}">${clipped(reason ?? "")}</td>`
      : columns.map((claim) => cell(byClaim.get(claim), lines))
  }</tr>
`;
}

/** What keeps kube-scheduler from a node whatever its volumes. */
function troublesOf(node: Node | undefined): string[] {
  if (!node) return [];
  const taint = node.taints.find(({ effect }) => effect !== "PreferNoSchedule");
  return [
    ...(node.unschedulable ? ["cordoned"] : []),
    ...(node.ready ? [] : ["not ready"]),
    ...(taint && !node.unschedulable && node.ready ? [`taint ${clipped(taint.key, 60)}`] : []),
  ];
}

function cell(explained: ClaimExplanation | undefined, lines: number): Html {
  if (!explained) return html`<td class="none">–</td>`;
  if ("bound" in explained) return served(html`bound to ${nameText(explained.bound)}`);
  if ("volume" in explained) return served(nameText(explained.volume));
  if ("provision" in explained) return served(html`new volume of class ${nameText(explained.provision)}`);
  const { refused } = explained;
  const [only] = refused;
  if (!only) return html`<td class="no"><span class="mark">✗</span> no volume of its class</td>`;
  if (refused.length === 1) {
    return html`<td class="no"><span class="mark">✗</span> ${whyText(only)}</td>`;
  }
  const kinds = [...kindsOfWhy(refused)].slice(0, kindsMax);
  const told = kinds.map(([kind, count]) => `${clipped(kind, 80)}${count > 1 ? ` ×${count}` : ""}`);
  return html`<td class="no"><span class="mark">✗</span> ${told.join("; ")}<details><summary>each of them</summary><ul>${refused
    .slice(0, lines)
    .map(
      (one) => html`<li>${whyText(one)}</li>`,
    )}${refused.length > lines && html`<li>and ${refused.length - lines} more</li>`}</ul></details></td>`;
}

function served(what: Html): Html {
  return html`<td class="yes"><span class="mark">✓</span> ${what}</td>`;
}

function whyText({ volume, why }: { readonly volume: string; readonly why: string }): Html {
  return html`${volume === "(new)" ? "new volume" : nameText(volume)}: ${clipped(why)}`;
}
