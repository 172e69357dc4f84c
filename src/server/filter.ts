/** `POST /v1/filter`: which of the named nodes can hold the Pod's volumes. Writes no API object. */
import { type AskedNodes, decodeExtenderArgs } from "../apis/extender.ts";
import { encodeAllPassed, encodeFilterError, encodeFilterResult } from "../apis/extender-replies.ts";
import type { LogFields } from "../log.ts";
import type { NodeName } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { NodeVerdicts } from "../scheduling/plan.ts";
import type { NodeReason } from "../scheduling/reasons.ts";
import { holdFeasible } from "./holds.ts";
import { type Judgement, judge } from "./judge.ts";
import { type CallRecord, startCall } from "./observe.ts";
import type { Handler, Parts } from "./parts.ts";
import { readPod } from "./read-pod.ts";
import { jsonReply } from "./replies.ts";

export function filterVerb(parts: Parts): Handler {
  return async (request, signal) => {
    const call = startCall(parts, "filter", request);
    parts.memory.filterSeen();
    const decoded = decodeExtenderArgs(request.body);
    if (!decoded.ok) return call.undecodable(decoded.problem);

    const read = readPod(decoded.value.pod);
    const asked = decoded.value.nodes;
    if (!read.ok) return jsonReply(malformed(call, read.text));
    if (!asked) return jsonReply(malformed(call, "the request has neither NodeNames nor Nodes"));
    if (asked.names.length === 0) {
      call.answered("infeasible", { pod: read.pod.key, nodes: 0 });
      return jsonReply(encodeAllPassed(asked));
    }

    parts.binder.filterSeen(read.pod.uid);
    parts.waker.asked(read.pod.uid);
    const judgement = await judge(parts, read.pod, asked.names, signal);
    const encoded = encode(asked, judgement);
    if (judgement.kind !== "free") keep(parts, read.pod, asked, judgement);
    observe(parts, call, read.pod, asked, judgement);
    return jsonReply(encoded);
  };
}

function malformed(call: CallRecord, text: string): string {
  call.failed("malformed", text, {});
  return encodeFilterError(text);
}

function encode(asked: AskedNodes, judgement: Judgement): Uint8Array | string {
  switch (judgement.kind) {
    case "free":
      return encodeAllPassed(asked);
    case "error":
      return encodeFilterError(judgement.text);
    case "refused":
      return encodeFilterResult(named(asked, [...new Set(asked.names)]), () => judgement.text);
    case "judged":
      return encodeFilterResult(named(asked, judgement.verdicts.names), (index) => judgement.verdicts.text(index));
  }
}

/** With each name once. */
function named(asked: AskedNodes, names: readonly NodeName[]): AskedNodes {
  return asked.form === "NodeNames" ? { form: asked.form, names } : asked;
}

/** What the call leaves behind: holds, and the memory for prioritize and explain. */
function keep(parts: Parts, pod: Pod, asked: AskedNodes, judgement: Exclude<Judgement, { kind: "free" }>): void {
  const { memory, cluster } = parts;
  const verdicts = judgement.kind === "judged" ? judgement.verdicts : undefined;
  holdFeasible(parts, pod, verdicts);
  const isRefused = judgement.kind === "refused" || verdicts?.feasibleCount === 0;
  // After an Error kube-scheduler asks again by itself.
  if (isRefused && pod.nodeName === undefined) parts.waker.refused(pod);
  else parts.waker.answered(pod.uid);
  const told = {
    outcome: verdicts && verdicts.feasibleCount > 0 ? "feasible" : verdicts ? "infeasible" : judgement.kind,
    feasibleCount: verdicts?.feasibleCount ?? 0,
    ...("text" in judgement && { text: judgement.text }),
  };
  const { generation } = cluster.state;
  memory.remember(pod.uid, told, { offered: asked.names, generation, ...(verdicts && { verdicts }) });
}

function observe(parts: Parts, call: CallRecord, pod: Pod, asked: AskedNodes, judgement: Judgement): void {
  const about = { pod: pod.key, podUid: pod.uid, nodes: asked.names.length };
  switch (judgement.kind) {
    case "free":
      call.answered("free", { ...about, feasible: asked.names.length });
      break;
    case "error":
      call.failed(judgement.cause, judgement.text, about);
      break;
    case "refused":
      parts.metrics.podsRefused.inc({ reason: judgement.reason });
      call.answered("infeasible", { ...about, feasible: 0, reason: judgement.reason });
      break;
    case "judged":
      observeNodes(parts, call, about, judgement.verdicts);
      break;
  }
}

function observeNodes({ metrics, log }: Parts, call: CallRecord, about: LogFields, verdicts: NodeVerdicts): void {
  const { feasibleCount: feasible } = verdicts;
  const refused = countReasons(verdicts);
  for (const [reason, count] of refused) metrics.nodesRefused.inc({ reason }, count);
  if (log.isDebug) log.debug({ verb: "filter", ...about, perNode: textsByNode(verdicts) }, "Refused nodes");
  const fields = { ...about, feasible, refused: Object.fromEntries(refused) };
  call.answered(feasible > 0 ? "feasible" : "infeasible", fields);
}

/** Counted here and added to the metric once a reason: a counter costs 0.2 µs, and there may be 15,000 nodes. */
export function countReasons(verdicts: NodeVerdicts): ReadonlyMap<NodeReason, number> {
  const counts = new Map<NodeReason, number>();
  for (let index = 0; index < verdicts.names.length; index++) {
    const reason = verdicts.reason(index);
    if (reason) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}

function textsByNode(verdicts: NodeVerdicts): Record<string, string> {
  return Object.fromEntries(
    verdicts.names.flatMap((name, index) => (verdicts.fits(index) ? [] : [[name, verdicts.text(index)]])),
  );
}
