/** The list of pending Pods, one below the other: a table would not fit a phone. */
import { counted } from "../../scheduling/counted.ts";
import { splitKey } from "../../scheduling/names.ts";
import type { Pod } from "../../scheduling/objects.ts";
import { countReasons } from "../filter.ts";
import type { Parts } from "../parts.ts";
import { ageText, clipped, listText, nameText } from "./format.ts";
import { type Html, html } from "./html.ts";
import { type PendingPod, type PendingPods, type Standing, standings } from "./pending.ts";
import { nodePhrases } from "./phrases.ts";

const reasonsShown = 3;

const words: Readonly<Record<Standing, { readonly badge: string; readonly count: string }>> = {
  refused: { badge: "✗ no node fits", count: "no node fits" },
  error: { badge: "! error", count: "error" },
  unasked: { badge: "? not asked", count: "not asked about" },
  gated: { badge: "‖ gated", count: "gated" },
  fits: { badge: "✓ fits", count: "fits" },
  binding: { badge: "→ being bound", count: "being bound" },
};

export function podsSection(parts: Parts, { counts, first, count }: PendingPods): Html {
  const summary = standings.filter((standing) => counts[standing] > 0);
  return html`<section id="pods" aria-labelledby="pods-title">
<h2 id="pods-title">Pending Pods with volumes</h2>
<p id="pods-count" role="status">${count === 0 ? "None: no Pod with volumes waits." : counted(count, "Pod")}${summary.map(
    (standing) =>
      html` <span class="badge ${standing}">${counts[standing].toLocaleString("en-US")} ${words[standing].count}</span>`,
  )}</p>
<ol class="pods">
${first.map((one) => podItem(parts, one))}</ol>
${count > first.length && html`<p class="more">${counted(count - first.length, "more Pod")} not shown.</p>`}
</section>
`;
}

function podItem(parts: Parts, one: PendingPod): Html {
  const { pod, standing, asked } = one;
  const now = parts.runtime.wallTime();
  return html`<li data-key="${pod.uid}">
<span class="badge ${standing}">${words[standing].badge}</span>
<span class="name">${podLink(pod)}</span>
<span class="says">${says(parts, one)}</span>
<span class="meta">${counted(pod.claims.length, "claim")}${
    asked &&
    html` · waits ${ageText(now - asked.firstAtMs)} · asked ${asked.tries.toLocaleString("en-US")}×, ${ageText(
      now - asked.lastAtMs,
    )} ago`
  }</span>
</li>
`;
}

/** The name is what people look for, so the namespace steps back. */
export function podLink({ key }: Pick<Pod, "key">): Html {
  const { namespace, name } = splitKey(key);
  return html`<a href="/debug/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}"><span class="ns"><bdi>${namespace}</bdi>/</span>${nameText(name)}</a>`;
}

function says(parts: Parts, { pod, standing, asked }: PendingPod): string {
  switch (standing) {
    case "binding":
      return `on node ${parts.binder.runningOn(pod.uid) ?? ""}`;
    case "gated":
      return "kube-scheduler does not try it before its scheduling gates are removed";
    case "unasked":
      return pod.schedulerName === parts.config.schedulerName
        ? "kube-scheduler has not asked about it since Berth started"
        : `not asked about since Berth started; it names scheduler ${pod.schedulerName}`;
    case "fits":
      return `${asked?.feasibleCount.toLocaleString("en-US")} of ${counted(asked?.offeredCount ?? 0, "node")}`;
    case "error":
      return clipped(asked?.text ?? "");
    case "refused":
      return refusal(parts, pod, asked);
  }
}

function refusal({ memory }: Parts, pod: Pod, asked: PendingPod["asked"]): string {
  if (asked?.text !== undefined) return clipped(asked.text);
  const of = counted(asked?.offeredCount ?? 0, "node");
  const verdicts = memory.remembered(pod.uid)?.verdicts;
  if (!verdicts) return `none of ${of}`;
  const reasons = [...countReasons(verdicts)].sort(([, one], [, other]) => other - one);
  const [only] = reasons;
  if (only && reasons.length === 1) return `${nodePhrases[only[0]]}, on all of ${of}`;
  const told = reasons.map(([reason, count]) => `${count.toLocaleString("en-US")} × ${nodePhrases[reason]}`);
  return `${listText(told, told.length, reasonsShown)}, of ${of}`;
}
