/** `GET /debug/`: whether Berth is well, who waits, and what is left. Bounded, and made in one turn: it only counts what is kept. */
import { counted } from "../../scheduling/counted.ts";
import { type Kind, kinds } from "../../scheduling/objects.ts";
import { isoTime } from "../explain.ts";
import type { Handler, Parts } from "../parts.ts";
import { boundedReply, type Page } from "./document.ts";
import { ageText } from "./format.ts";
import { type Html, html } from "./html.ts";
import { type PendingPods, pendingPods } from "./pending.ts";
import { podsSection } from "./pods-list.ts";
import { classesSection, poolsSection, reservationsSection } from "./storage.ts";

/** Rows of each list; fewer where their names are very long. */
const sizes = [
  { pods: 100, reservations: 20, places: 12 },
  { pods: 30, reservations: 10, places: 8 },
  { pods: 10, reservations: 3, places: 3 },
  { pods: 2, reservations: 1, places: 1 },
] as const;

const kindNames: Readonly<Record<Kind, string>> = {
  node: "Nodes",
  volume: "PersistentVolumes",
  claim: "PersistentVolumeClaims",
  class: "StorageClasses",
  driver: "CSIDrivers",
  csiNode: "CSINodes",
  capacity: "CSIStorageCapacities",
  pod: "Pods, pending",
};

export function overviewRoute(parts: Parts): Handler {
  return async () => {
    parts.cluster.state.pools.update();
    return boundedReply(sizes, (size) => overview(parts, size));
  };
}

function overview(parts: Parts, size: (typeof sizes)[number]): Page {
  const pending = pendingPods(parts, size.pods);
  const { state } = parts.cluster;
  return {
    title: `${pending.counts.refused > 0 ? `(${pending.counts.refused}) ` : ""}Berth`,
    at: isoTime(parts.runtime.wallTime()),
    main: html`<main>
<h1 class="unseen">Berth: overview</h1>
${healthSection(parts, pending)}${podsSection(parts, pending)}<section id="storage" aria-labelledby="storage-title">
<h2 id="storage-title">What is left</h2>
${poolsSection(state, size.places)}${classesSection(state, size.places)}${
  state.volumes.count === 0 && state.pools.all().next().done && html`<p>No volumes, and no capacity published.</p>`
}</section>
${reservationsSection(parts, size.reservations)}${kindsSection(parts)}</main>`,
  };
}

interface Tile {
  readonly term: string;
  readonly value: string | Html;
  readonly more?: string;
  readonly kind?: "good" | "bad";
}

function healthSection({ cluster, leadership, memory, runtime }: Parts, { counts }: PendingPods): Html {
  const readiness = cluster.readiness();
  const { reservations } = cluster.state;
  const role: Record<string, unknown> = { ...leadership.describe() };
  const holder = typeof role["holder"] === "string" && role["holder"] !== "" ? `Lease held by ${role["holder"]}` : "";
  const tiles: Tile[] = [
    readiness.ready
      ? {
          term: "Berth is",
          value: "✓ ready",
          more: `up ${ageText(runtime.wallTime() - memory.startedAtMs)}`,
          kind: "good",
        }
      : { term: "Berth is", value: "✗ not ready", kind: "bad" },
    { term: "Leads", value: String(role["role"] ?? role["mode"] ?? ""), more: String(role["problem"] ?? holder) },
    {
      term: "No node fits",
      value: counted(counts.refused, "Pod"),
      ...(counts.refused > 0 && { kind: "bad" }),
    },
    { term: "Promised", value: counted(reservations.assumptionCount, "claim") },
    { term: "Held", value: `for ${counted(reservations.holds.count, "Pod")}` },
    {
      term: "kube-scheduler asked",
      ...(memory.size === 0
        ? { value: "not yet", more: "about a Pod with volumes" }
        : { value: `${ageText(memory.sinceLastFilter())} ago` }),
    },
  ];
  return html`<section id="health" aria-label="Health">
${
  !readiness.ready &&
  html`<p id="not-ready" class="verdict bad" role="status">✗ Not ready, so what follows may be out of date: ${readiness.why}</p>
`
}<dl class="tiles">
${tiles.map(
  ({
    term,
    value,
    more,
    kind,
  }) => html`<div class="tile ${kind ?? ""}"><dt>${term}</dt><dd>${value}${more && html` <small>${more}</small>`}</dd></div>
`,
)}</dl>
</section>
`;
}

function kindsSection({ cluster, config }: Parts): Html {
  const ages = cluster.ages();
  return html`<section id="kinds" aria-labelledby="kinds-title">
<h2 id="kinds-title">What Berth knows, and when the API was last heard of it</h2>
<dl class="kinds">
${kinds.map((kind) => {
  const age = ages[kind];
  const isStale = age === undefined || age > config.cache.staleAfterMs;
  return html`<div><dt>${kindNames[kind]}</dt><dd>${cluster.state.size(kind).toLocaleString("en-US")} <small>${age === undefined ? "never" : `${ageText(age)} ago`}</small>${isStale && html` <span class="badge error">! stale</span>`}</dd></div>
`;
})}</dl>
</section>
`;
}
