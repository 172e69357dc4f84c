/** What the run has shown, as lines, and the bounds of requirement 2 beside it. */
import { type Budget, quantile } from "../measure.ts";
import { type CacheBench, type Phase, p99Of } from "./bench.ts";

export function boundsOf({ phases, events }: CacheBench): readonly Budget[] {
  const { sync, quiet, relist } = phases;
  const longest = Math.max(...Object.values(phases).map(({ blockedMs }) => blockedMs));
  return [
    { name: "synced in", is: sync.seconds, max: 15, unit: "s" },
    { name: "resident after the sync", is: sync.afterMib, max: 700, unit: "MiB" },
    { name: "longest block of the event loop", is: longest, max: 50, unit: "ms" },
    {
      name: "peak of the relist, against what was resident before",
      is: relist.peakMib / relist.beforeMib,
      max: 2,
      unit: "×",
    },
    { name: "filter's p99 among events, against quiet", is: p99Of(phases.events) / p99Of(quiet), max: 2, unit: "×" },
    { name: "events not sent in time", is: events.wanted - events.sent, max: 0, unit: "events" },
    { name: "events not taken over", is: events.sent - events.takenOver, max: 0, unit: "events" },
    { name: "events behind at the end", is: events.lateMs, max: 1_000, unit: "ms" },
  ];
}

export function tableOf(bench: CacheBench): string {
  const { size, synced, phases, events, troubles, streamsLists } = bench;
  const what = `${size.nodes} nodes, ${size.nodes * size.disksPerNode} volumes, as many claims, ${size.pods} pending Pods`;
  const lists = synced
    .filter(({ objects }) => objects > 0)
    .map(
      ({ kind, objects, afterMs }) =>
        `  ${kind.padEnd(10)}${String(objects).padStart(8)} objects after ${(afterMs / 1_000).toFixed(2)} s`,
    );
  return `${[
    `${what}; ${streamsLists ? "lists are streamed" : "lists come in pages"}`,
    ...lists,
    "",
    row("", [
      "s",
      "CPU s",
      "blocked",
      "of CPU",
      "garbage",
      "MiB before",
      "peak",
      "after",
      "calls",
      "p50 ms",
      "p99 ms",
      "most ms",
    ]),
    ...Object.values(phases).map(rowOf),
    `${events.sent} events in ${size.seconds} s, all taken over ${events.lateMs.toFixed(0)} ms after the last`,
    ...troubles.slice(0, 5).map((line) => `told by Berth: ${line}`),
  ].join("\n")}\n`;
}

function rowOf({ name, seconds, callsMs, ...phase }: Phase): string {
  const calls =
    callsMs.length === 0
      ? ["", "", "", ""]
      : [String(callsMs.length), ...[0.5, 0.99, 1].map((share) => quantile(callsMs, share).toFixed(1))];
  const mib = [phase.beforeMib, phase.peakMib, phase.afterMib].map((value) => value.toFixed(0));
  return row(name, [
    seconds.toFixed(1),
    phase.cpuSeconds.toFixed(1),
    phase.blockedMs.toFixed(1),
    phase.blockedCpuMs.toFixed(1),
    phase.collectedMs.toFixed(1),
    ...mib,
    ...calls,
  ]);
}

function row(name: string, cells: readonly string[]): string {
  return `${name.padEnd(10)}${cells.map((cell) => cell.padStart(11)).join("")}`;
}
