/** `GET /debug/explain/{namespace}/{pod}`: why the Pod is where it is, or nowhere. Changes nothing. */
import { translate } from "../apis/kubernetes.ts";
import type { HttpReply } from "../runtime/runtime.ts";
import type { Answer } from "../scheduling/answer.ts";
import { type NodeName, podKey } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { NodePlacing } from "../scheduling/placing.ts";
import type { Slices } from "./explain-slices.ts";
import { printExplanation } from "./explain-text.ts";
import type { Handler, Params, Parts } from "./parts.ts";
import { placingsOf } from "./placing.ts";
import { failureReply, jsonReply, textReply } from "./replies.ts";

/** What the server knows of a Pod beside the core's verdict on the nodes as they are now. */
export interface PodReport extends Answer {
  /** When this was said. */
  readonly at: string;
  /** The node that the Pod is on, or goes to. */
  readonly assignedTo?: NodeName;
  /** Why all of this may be out of date. */
  readonly notReady?: string;
  /** Absent when kube-scheduler never asked about the Pod since Berth started. */
  readonly asked?: {
    readonly tries: number;
    readonly firstAt: string;
    readonly lastAt: string;
    readonly outcome: string;
    readonly offeredNodes: number;
    readonly feasibleNodes: number;
    readonly told?: string;
  };
  /** Nodes that fit now and were not among those that the last filter call named. */
  readonly feasibleNotOffered?: readonly NodeName[];
  /** Why kube-scheduler does not offer nodes that the volumes are on. Absent where there are none. */
  readonly placings?: readonly NodePlacing[];
  readonly reservations: { readonly held: readonly object[]; readonly assumed: readonly object[] };
}

export function explainRoute(parts: Parts, slices: Slices): Handler {
  return async (request, signal, params): Promise<HttpReply> => {
    const key = podKey(params.get("namespace") ?? "", params.get("pod") ?? "");
    const { state } = parts.cluster;
    const pod = state.get("pod", key);
    if (!pod) return unknownPod(parts, params, signal);
    const report = await explainNow(parts, slices, pod, placingsOf, signal);
    if (!report) return failureReply(503, "the caller has gone");
    const wantsText = /\btext\/plain\b/.test(request.headers["accept"] ?? "");
    return wantsText ? textReply(200, printExplanation(report)) : jsonReply(`${JSON.stringify(report)}\n`);
  };
}

/** Undefined where the caller has gone. */
export async function explainNow(
  parts: Parts,
  slices: Slices,
  pod: Pod,
  placings: typeof placingsOf,
  signal: AbortSignal,
): Promise<PodReport | undefined> {
  const { state } = parts.cluster;
  // What would help is said of the nodes that were offered: a disk on one that kube-scheduler keeps out helps nobody.
  const offered = parts.memory.remembered(pod.uid)?.offered;
  const explained = await slices.explain(state, pod, offered ? { offered } : {}, signal);
  if (!explained) return undefined;
  const notOffered = feasibleNotOffered(parts, pod, explained.fitting);
  const ask = { state, pod, offered: offered && new Set(offered), notOffered };
  const placed = await placings(parts.pods, ask, signal);
  return { ...reportOn(parts, pod, explained.answer, notOffered), ...(placed.length > 0 && { placings: placed }) };
}

/** One that is not pending, or that nobody has. */
async function unknownPod({ cluster, pods, runtime }: Parts, params: Params, signal: AbortSignal): Promise<HttpReply> {
  const [namespace, name] = [params.get("namespace") ?? "", params.get("pod") ?? ""];
  const key = podKey(namespace, name);
  const problem = cluster.state.problem("pod", key);
  if (problem !== undefined) return failureReply(404, `pod "${key}" cannot be read: ${problem}`);
  const listed = await pods.named(namespace, name, signal);
  const read = translate("pod", listed.ok ? listed.pods[0] : undefined);
  const found = read.ok ? read.object : undefined;
  if (found && (found.nodeName !== undefined || found.finished)) {
    return jsonReply(`${JSON.stringify(placedReport(found, isoTime(runtime.wallTime())))}\n`);
  }
  const readiness = cluster.readiness();
  if (!readiness.ready) return failureReply(503, `not ready: ${readiness.why}`);
  if (found) return failureReply(503, `pod "${key}" exists, and has not reached Berth yet: ask again`);
  return failureReply(404, `pod "${key}" is not among the pending Pods that Berth knows`);
}

/** Berth keeps no Pods that run: of these there is nothing to be found out. */
function placedReport({ key, nodeName, finished }: Pod, at: string): PodReport {
  const notes = [finished ? "the Pod has ended" : `the Pod is assigned to node ${nodeName}`];
  return {
    pod: key,
    at,
    schedulable: true,
    ...(nodeName !== undefined && { assignedTo: nodeName }),
    nodes: [],
    groups: [],
    claims: [],
    notes,
    reservations: { held: [], assumed: [] },
  };
}

function reportOn(parts: Parts, pod: Pod, answer: Answer, notOffered: readonly NodeName[] | undefined): PodReport {
  const { cluster, memory, runtime } = parts;
  const asked = memory.asked(pod.uid);
  const readiness = cluster.readiness();
  const { holds, assumptions } = cluster.state.reservations.dump();
  return {
    ...answer,
    ...(pod.nodeName !== undefined && { assignedTo: pod.nodeName }),
    ...(!readiness.ready && { notReady: readiness.why }),
    at: isoTime(runtime.wallTime()),
    notes: [...notesOn(parts, pod), ...answer.notes],
    ...(asked && {
      asked: {
        tries: asked.tries,
        firstAt: isoTime(asked.firstAtMs),
        lastAt: isoTime(asked.lastAtMs),
        outcome: asked.outcome,
        offeredNodes: asked.offeredCount,
        feasibleNodes: asked.feasibleCount,
        ...(asked.text !== undefined && { told: asked.text }),
      },
    }),
    ...(notOffered && { feasibleNotOffered: notOffered }),
    reservations: {
      held: holds.filter((hold) => hold.pod === pod.uid),
      assumed: assumptions.filter(({ pods }) => pods.includes(pod.uid)),
    },
  };
}

/** Undefined where the last call is forgotten or never was. */
function feasibleNotOffered({ memory }: Parts, pod: Pod, fitting: readonly NodeName[]): NodeName[] | undefined {
  const remembered = memory.remembered(pod.uid);
  if (!remembered) return undefined;
  const offered = new Set(remembered.offered);
  return fitting.filter((node) => !offered.has(node));
}

function notesOn({ cluster, memory, config }: Parts, pod: Pod): string[] {
  const readiness = cluster.readiness();
  const started = isoTime(memory.startedAtMs);
  const notes: string[] = [];
  if (!readiness.ready) notes.push(`Berth is not ready, so what follows may be out of date: ${readiness.why}`);
  if (!memory.asked(pod.uid) && pod.claims.length > 0)
    notes.push(`never asked about this Pod since start (${started})`);
  if (pod.schedulerName !== config.schedulerName) {
    notes.push(
      `the Pod names scheduler "${pod.schedulerName}", and "${config.schedulerName}" is the one that asks Berth`,
    );
  }
  return notes;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
