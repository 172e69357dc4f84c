/** An explanation for people: one paragraph for all nodes that say the same. */
import type { NodeName } from "../scheduling/names.ts";
import type { ClaimExplanation, Explanation, NodeExplanation } from "../scheduling/plan.ts";
import { printable } from "../scheduling/printable.ts";
import type { PodReport } from "./explain.ts";

/** Names printed of a group; the count says the rest. */
const namesMax = 3;

/** The report as text, without a newline at its end. */
export function printExplanation(report: Explanation & Partial<PodReport>): string {
  const { nodes: left, fits: leftFitting } = report.omitted ?? { nodes: 0, fits: 0 };
  const fitting = report.nodes.filter(({ fits }) => fits).length + leftFitting;
  const lines = [`Pod ${report.pod}: ${fitting} of ${report.nodes.length + left} nodes fit`];
  if (report.at !== undefined) lines.push(`As of ${report.at}`);
  lines.push(...askedLines(report));
  for (const note of report.notes ?? []) lines.push(`Note: ${note}`);
  if (report.reason !== undefined) lines.push(`On every node: ${report.reason}`);
  if (report.suggestion !== undefined) lines.push(`Would help: ${report.suggestion}`);
  const notOffered = report.feasibleNotOffered ?? [];
  if (notOffered.length > 0) {
    lines.push(`Feasible, but not offered by kube-scheduler when it last asked: ${listNames(notOffered)}`);
  }
  // A reason of the Pod's own says all there is to say about every node.
  if (report.reason === undefined) for (const group of groupNodes(report.nodes)) lines.push("", ...groupLines(group));
  if (left > 0) lines.push("", `${left} more nodes are not shown; ${leftFitting} of them fit`);
  return lines.map(printable).join("\n");
}

function askedLines({ asked }: Partial<PodReport>): string[] {
  if (!asked) return [];
  const times = asked.tries === 1 ? "once" : `${asked.tries} times, first at ${asked.firstAt}`;
  const told = asked.told === undefined ? "" : `: ${asked.told}`;
  return [
    `Asked ${times}, last at ${asked.lastAt}: ${asked.offeredNodes} nodes offered, ${asked.feasibleNodes} feasible (${asked.outcome}${told})`,
  ];
}

/** Nodes with the same verdict down to the volumes named, in the order of their first. */
function groupNodes(nodes: readonly NodeExplanation[]): NodeExplanation[][] {
  const groups = new Map<string, NodeExplanation[]>();
  for (const explained of nodes) {
    const { node: _, ...verdict } = explained;
    const key = JSON.stringify(verdict);
    const group = groups.get(key);
    if (group) group.push(explained);
    else groups.set(key, [explained]);
  }
  return [...groups.values()];
}

function groupLines(group: readonly NodeExplanation[]): string[] {
  const [first] = group;
  if (!first) return [];
  const names = listNames(group.map(({ node }) => node));
  const contended = first.contended ? ", on volumes or capacity that other Pods hold" : "";
  const verdict = first.fits ? `fits, score ${first.score}${contended}` : `refused: ${first.reason ?? ""}`;
  return [`${names}: ${verdict}`, ...(first.claims ?? []).flatMap(claimLines).map((line) => `  ${line}`)];
}

/** How one claim is served, or each volume that is not for it. Not empty. */
export function claimLines(explained: ClaimExplanation): string[] {
  const { claim } = explained;
  if ("volume" in explained) return [`${claim}: volume ${explained.volume}`];
  if ("provision" in explained) return [`${claim}: to be provisioned, class ${explained.provision}`];
  if ("bound" in explained) return [`${claim}: bound to ${explained.bound}`];
  if (explained.refused.length === 0) return [`${claim}: no volume of its class reaches the node`];
  return explained.refused.map(({ volume, why }) => `${claim}: ${volume}: ${why}`);
}

function listNames(names: readonly NodeName[]): string {
  if (names.length <= namesMax) return names.join(", ");
  return `${names.slice(0, namesMax).join(", ")} and ${names.length - namesMax} more (${names.length} nodes)`;
}
