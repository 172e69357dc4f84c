/** `GET /debug/pods/{namespace}/{pod}`: why the Pod is where it is, or nowhere, node by node. Changes nothing. */

import type { HttpReply } from "../../runtime/runtime.ts";
import { counted } from "../../scheduling/counted.ts";
import { podKey, splitKey } from "../../scheduling/names.ts";
import type { Pod } from "../../scheduling/objects.ts";
import type { NodeExplanation } from "../../scheduling/plan.ts";
import { explainNow, isoTime, type PodReport } from "../explain.ts";
import type { Slices } from "../explain-slices.ts";
import type { Handler, Parts } from "../parts.ts";
import { claimsSection } from "./claims.ts";
import { boundedReply, type Page, pageReply } from "./document.ts";
import { clipped, listText, nameMax } from "./format.ts";
import { type Html, html } from "./html.ts";
import { type MatrixSize, matrixSection } from "./matrix.ts";
import { placingsSection, RememberedPlacings } from "./placings.ts";

/** Of the matrix; less where names are very long. */
const sizes: readonly MatrixSize[] = [
  { rows: 48, columns: 12, lines: 8 },
  { rows: 24, columns: 8, lines: 3 },
  { rows: 8, columns: 6, lines: 2 },
  { rows: 2, columns: 3, lines: 1 },
];
const notesMax = 12;
/** Of a sentence that names many things. */
const sentenceMax = 2_000;

export function podRoute(parts: Parts, slices: Slices): Handler {
  const placings = new RememberedPlacings(parts.runtime);
  return async (_request, signal, params): Promise<HttpReply> => {
    const key = podKey(params.get("namespace") ?? "", params.get("pod") ?? "");
    const { state } = parts.cluster;
    const pod = state.get("pod", key);
    if (!pod) return pageReply(404, unknownPage(parts, key, state.problem("pod", key)));
    const report = await explainNow(parts, slices, pod, placings.of, signal);
    const nearest = report && (await nearestOf(report, parts, slices, pod, signal));
    if (!report || !nearest) return pageReply(503, messagePage(parts, "Gone", "The caller has gone."));
    return boundedReply(sizes, (size) =>
      podPage(parts, pod, { ...report, nodes: [...nearest, ...report.nodes] }, size),
    );
  };
}

/** Of thousands of nodes the one that what would help is about may not be among those that were explained. */
async function nearestOf(
  { nearest, nodes }: PodReport,
  { cluster }: Parts,
  slices: Slices,
  pod: Pod,
  signal: AbortSignal,
): Promise<readonly NodeExplanation[] | undefined> {
  if (nearest === undefined || nodes.some(({ node }) => node === nearest)) return [];
  const explained = await slices.explain(cluster.state, pod, { nodes: [nearest] }, signal);
  return explained?.answer.nodes.filter(({ claims }) => claims !== undefined);
}

function unknownPage(parts: Parts, key: string, problem: string | undefined): Page {
  const says =
    problem === undefined
      ? "It is not among the pending Pods that Berth knows: it may run already, have ended, or never have been."
      : `It cannot be read: ${clipped(problem)}`;
  return messagePage(parts, `Pod ${clipped(key)}`, says);
}

function messagePage({ runtime }: Parts, title: string, says: string): Page {
  return {
    title: `${title} · Berth`,
    at: isoTime(runtime.wallTime()),
    main: html`<main>
<h1>${title}</h1>
<p id="verdict" class="verdict" role="status">${says}</p>
</main>`,
  };
}

function podPage(parts: Parts, pod: Pod, report: PodReport, size: MatrixSize): Page {
  const { namespace, name } = splitKey(pod.key);
  const { state } = parts.cluster;
  const hasMatrix = report.reason === undefined && report.nodes.length > 0 && pod.claims.length > 0;
  return {
    title: `${name} · Berth`,
    at: report.at,
    main: html`<main>
<h1 class="${name.length > nameMax ? "long" : ""}"><span class="ns">Pod <bdi>${namespace}/</bdi></span><bdi>${name}</bdi></h1>
${verdict(report)}${askedSection(report)}${claimsSection(state, pod, report)}${placingsSection(report.placings ?? [])}${
  hasMatrix &&
  matrixSection(
    state,
    {
      claims: pod.claims.map(({ claim }) => claim),
      nodes: report.nodes,
      ...(report.omitted && { omitted: report.omitted }),
      nearest: report.nearest,
      notOffered: new Set(report.feasibleNotOffered),
    },
    size,
  )
}</main>`,
  };
}

function verdict(report: PodReport): Html {
  const { suggestion, notes, feasibleNotOffered = [] } = report;
  const { kind, says } = verdictOf(report);
  return html`<section id="said" aria-label="Verdict">
<p id="verdict" class="verdict ${kind}" role="status">${marks[kind]} ${clipped(says, sentenceMax)}</p>
${
  suggestion !== undefined &&
  html`<p id="helps" class="helps"><b>Would help:</b> ${clipped(suggestion, sentenceMax)}</p>
`
}${
  feasibleNotOffered.length > 0 &&
  html`<p id="not-offered">Not offered by kube-scheduler, though the volumes fit: ${listText(feasibleNotOffered)}.</p>
`
}${
  notes.length > 0 &&
  html`<ul id="notes" class="notes">${notes.slice(0, notesMax).map((note) => html`<li>${clipped(note, sentenceMax)}</li>`)}</ul>
`
}</section>
`;
}

/** `wait`: kube-scheduler keeps from it what would fit. */
const marks = { good: "✓", wait: "!", bad: "✗" } as const;

/** In one sentence. */
function verdictOf(report: PodReport): { readonly kind: keyof typeof marks; readonly says: string } {
  const { nodes, omitted, reason, feasibleNotOffered = [] } = report;
  const all = nodes.length + (omitted?.nodes ?? 0);
  const fitting = nodes.filter(({ fits }) => fits).length + (omitted?.fits ?? 0);
  if (reason !== undefined) return { kind: "bad", says: `No node fits: ${reason}` };
  if (all === 0) return { kind: "bad", says: "No node fits: Berth knows of no node." };
  const fit = `Its volumes fit on ${fitting.toLocaleString("en-US")} of ${counted(all, "node")}`;
  if (fitting > 0 && feasibleNotOffered.length >= fitting) {
    return { kind: "wait", says: `${fit}, but kube-scheduler did not offer ${fitting === 1 ? "it" : "them"}.` };
  }
  if (fitting > 0) return { kind: "good", says: `${fit}.` };
  return { kind: "bad", says: `None of ${counted(all, "node")} can hold all its volumes.` };
}

function askedSection({ asked, at }: PodReport): Html | undefined {
  if (!asked) return undefined;
  const { tries, firstAt, lastAt, offeredNodes, feasibleNodes, told } = asked;
  return html`<dl id="asked" class="facts">
<div><dt>kube-scheduler asked</dt><dd>${tries > 1 && html`${tries.toLocaleString("en-US")} times since <time datetime="${firstAt}">${timeText(firstAt, at)}</time>, last `}at <time datetime="${lastAt}">${timeText(lastAt, at)}</time></dd></div>
<div><dt>and was told</dt><dd>${told === undefined ? `${feasibleNodes.toLocaleString("en-US")} of ${counted(offeredNodes, "node")} fit` : clipped(told)}</dd></div>
</dl>
`;
}

/** "12:34:56", of another day "2026-01-01 12:34:56". */
function timeText(at: string, now: string): string {
  return at.slice(0, 10) === now.slice(0, 10) ? at.slice(11, 19) : at.slice(0, 19).replace("T", " ");
}
