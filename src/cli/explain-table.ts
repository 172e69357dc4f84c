/** An explanation at a glance: the verdict, each claim, the nodes by what is said of them, what would help. */

import type { Answer } from "../scheduling/answer.ts";
import type { ClaimReport, VolumeCandidate } from "../scheduling/candidates.ts";
import { counted } from "../scheduling/counted.ts";
import { holderText } from "../scheduling/holders.ts";
import type { Meeting } from "../scheduling/meeting.ts";
import type { NodeGroup } from "../scheduling/node-groups.ts";
import type { Reach } from "../scheduling/places.ts";
import { type NodePlacing, notLookedAt } from "../scheduling/placing.ts";
import type { NodeExplanation } from "../scheduling/plan.ts";
import type { PodReport } from "../server/explain.ts";
import { claimLines } from "../server/explain-text.ts";
import { wrap } from "./wrap.ts";

/** Of a claim's candidates, of a node's reasons, and of nodes that are not offered. */
const volumesMax = 3;
const reasonsMax = 3;

type Told = Answer & Partial<Pick<PodReport, "at" | "asked" | "feasibleNotOffered" | "assignedTo" | "placings">>;

/** Ends with a newline. */
export function explainTable(report: Told): string {
  const sections = [
    verdictLines(report),
    report.claims.flatMap(claimSection),
    report.meeting ? meetingLines(report.meeting) : [],
    report.reason === undefined ? report.groups.flatMap((group) => groupLines(group, report.nodes)) : [],
    (report.placings ?? []).flatMap(placingLines),
    helpLines(report),
  ];
  const filled = sections.filter((lines) => lines.length > 0);
  return `${filled.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function verdictLines({ pod, groups, reason, assignedTo, at, asked }: Told): string[] {
  const total = groups.reduce((sum, { nodes }) => sum + nodes, 0);
  const fitting = groups.filter(({ fits }) => fits).reduce((sum, { nodes }) => sum + nodes, 0);
  const placed = assignedTo === undefined ? undefined : `is on node ${assignedTo}`;
  const verdict = placed ?? (fitting === 0 ? `fits none of ${counted(total, "node")}` : fittingText(fitting, total));
  return [
    ...wrap(`Pod ${pod} ${verdict}`),
    ...(reason === undefined ? [] : wrap(`On every node: ${reason}`)),
    ...(asked
      ? wrap(
          `kube-scheduler asked ${counted(asked.tries, "time")}, last at ${asked.lastAt}: ${counted(asked.offeredNodes, "node")} offered, ${asked.feasibleNodes} feasible`,
        )
      : []),
    ...(at === undefined ? [] : [`As of ${at}`]),
  ];
}

function fittingText(fitting: number, total: number): string {
  return `fits ${fitting.toLocaleString("en-US")} of ${counted(total, "node")}`;
}

function claimSection(report: ClaimReport): string[] {
  const { claim, class: name, asks, volume, on, volumes, pools, nearest } = report;
  const what = `${asks ?? "no size"} of class "${name}"`;
  if (volume !== undefined) {
    const where = on ? onText(on) : "which does not exist";
    return wrap(`Claim ${claim}: has volume ${volume}, ${where}`);
  }
  const lines = wrap(`Claim ${claim}: needs ${what}`);
  if (nearest) {
    const { needs, largest, short } = nearest;
    const of = nearest.volume === undefined ? "" : ` (${nearest.volume})`;
    lines.push(...wrap(`needs ${needs}, largest free ${onText(nearest.on)} is ${largest}${of}: ${short} short`, "  "));
  }
  if (volumes && (volumes.count > 0 || !pools)) {
    lines.push(
      ...wrap(
        `${counted(volumes.count, "volume")} would do, ${volumes.free.toLocaleString("en-US")} of them free`,
        "  ",
      ),
    );
    const taken = volumes.first.filter(({ holder, why }) => holder ?? why);
    const shown = (volumes.free > 0 ? volumes.first : taken).slice(0, volumesMax);
    lines.push(...shown.flatMap((candidate) => wrap(candidateText(candidate), "    ")));
    const left = volumes.count - shown.length;
    if (left > 0 && shown.length > 0) lines.push(`    and ${left.toLocaleString("en-US")} more`);
  }
  if (pools) {
    const roomy = pools.fitting.toLocaleString("en-US");
    lines.push(...wrap(`${counted(pools.count, "pool")}, ${roomy} with room for it`, "  "));
    const shown = pools.fitting === 0 ? pools.first.slice(0, volumesMax) : [];
    for (const { on: where, free, total, largest, promised } of shown) {
      const said = promised === "0" ? "" : `, ${promised} promised`;
      lines.push(...wrap(`${onText(where)}: ${free} free of ${total}, largest volume ${largest}${said}`, "    "));
    }
  }
  return lines;
}

function candidateText({ volume, size, on, holder, why }: VolumeCandidate): string {
  return `${volume} ${size} ${onText(on)}: ${holder ? holderText(holder) : (why ?? "free")}`;
}

function onText({ everywhere, count, nodes }: Reach): string {
  if (everywhere) return "on every node";
  if (count === 0) return "on no node";
  const more = count - nodes.length;
  return `on ${nodes.join(", ")}${more > 0 ? ` and ${counted(more, "more node", "more nodes")}` : ""}`;
}

function meetingLines({ alone, apart, leftOut }: Meeting): string[] {
  const lines = ["Its claims, each alone:"];
  for (const { claim, nodes, first } of alone) {
    const where = nodes === 0 ? "fits no node" : `fits ${onText({ count: nodes, nodes: first }).replace(/^on /, "")}`;
    lines.push(...wrap(`${claim} ${where}`, "  "));
  }
  for (const { claims, inCommon, firstInCommon } of apart) {
    const why =
      inCommon === 0
        ? "no node reaches what both need"
        : `each fits ${onText({ count: inCommon, nodes: firstInCommon }).replace(/^on /, "")} alone, and they need the same there`;
    lines.push(...wrap(`${claims.join(" and ")} cannot meet: ${why}`, "  "));
  }
  if (apart.length === 0 && alone.every(({ nodes }) => nodes > 0)) {
    lines.push("  each two of them fit some node, all together none");
  }
  if (leftOut > 0) lines.push(`  ${leftOut} more were not looked at in pairs`);
  return lines;
}

function groupLines(group: NodeGroup, nodes: readonly NodeExplanation[]): string[] {
  const { fits, contended, nodes: count, first } = group;
  const names = `${first.join(", ")}${count > first.length ? ", …" : ""}`;
  const held = contended ? ", on what other Pods hold" : "";
  const lines = wrap(`${counted(count, "node")}: ${fits ? `fits${held}` : group.reason} (${names})`);
  const example = nodes.find(({ node }) => node === first[0]);
  const details = (example?.claims ?? []).flatMap(claimLines);
  if (details.length > 0 && count > 1) lines.push(...wrap(`of ${first[0]}:`, "  "));
  lines.push(...details.slice(0, reasonsMax).flatMap((line) => wrap(line, "    ")));
  if (details.length > reasonsMax)
    lines.push(`    and ${counted(details.length - reasonsMax, "more line")} in -o json`);
  return lines;
}

/** What of kube-scheduler's own keeps the Pod off a node. */
export function placingLines({ node, because, obstacles, priority, unknown }: NodePlacing): string[] {
  const why = because === "pinned" ? "to which bound volumes pin the Pod" : "where its volumes would fit";
  const lines = wrap(`kube-scheduler has not offered ${node}, ${why}:`);
  for (const obstacle of obstacles) {
    lines.push(...wrap(obstacle.says, "  "));
    if (obstacle.kind !== "resource" || obstacle.holders.length === 0) continue;
    const holders = obstacle.holders.map(({ pod, holds, priority: its }) => `${pod} (${holds}, priority ${its})`);
    const more = obstacle.holdersLeft > 0 ? [`${obstacle.holdersLeft} more`] : [];
    lines.push(...wrap(`held by ${[...holders, ...more].join(", ")}`, "    "));
  }
  if (obstacles.length === 0 && unknown === undefined) {
    lines.push(...wrap(`nothing that is looked at keeps the Pod away: ${notLookedAt}`, "  "));
  }
  if (priority) {
    const { says, victims = [], victimsLeft = 0 } = priority;
    const who =
      victims.length === 0 ? "" : ` (${[...victims, ...(victimsLeft > 0 ? [`${victimsLeft} more`] : [])].join(", ")})`;
    lines.push(...wrap(`${says}${who}; PodDisruptionBudgets are not looked at`, "  "));
  }
  if (unknown !== undefined) lines.push(...wrap(`not known: ${unknown}`, "  "));
  return lines;
}

function helpLines({ suggestion, notes, feasibleNotOffered = [] }: Told): string[] {
  const names = feasibleNotOffered.slice(0, 3).join(", ");
  const more = feasibleNotOffered.length > 3 ? ` and ${feasibleNotOffered.length - 3} more` : "";
  return [
    ...(suggestion === undefined ? [] : wrap(`Would help: ${suggestion}`)),
    ...(feasibleNotOffered.length === 0 ? [] : wrap(`Would do, but kube-scheduler did not offer: ${names}${more}`)),
    ...notes.flatMap((note) => wrap(`Note: ${note}`)),
  ];
}
