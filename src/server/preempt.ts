/**
 * `POST /v1/preempt`: which candidates are worth evicting Pods on. kube-scheduler's dry run knows nothing of volumes, and no
 * eviction frees one: a node that filter refuses is dropped. So is a candidate without victims, which neither version of
 * kube-scheduler sends and which, returned, fails the whole preemption (decision 5). Victims are never changed.
 */
import { decodePreemptionArgs, type MetaVictims } from "../apis/extender.ts";
import { encodePreemptionResult } from "../apis/extender-replies.ts";
import type { NodeName } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import { decideNow } from "./judge.ts";
import { type CallRecord, startCall } from "./observe.ts";
import type { Handler, Parts } from "./parts.ts";
import { readPod } from "./read-pod.ts";
import { jsonReply } from "./replies.ts";

export function preemptVerb(parts: Parts): Handler {
  return async (request) => {
    const call = startCall(parts, "preempt", request);
    const decoded = decodePreemptionArgs(request.body);
    if (!decoded.ok) return call.undecodable(decoded.problem);

    const read = readPod(decoded.value.pod);
    const candidates = decoded.value.candidates ?? new Map<NodeName, MetaVictims>();
    if (!read.ok) {
      call.failed("malformed", read.text, {});
      return jsonReply(encodePreemptionResult([]));
    }
    const withVictims = [...candidates].filter(([, { Pods }]) => Pods.length > 0);
    const helped = helpedNodes(
      parts,
      call,
      read.pod,
      withVictims.map(([name]) => name),
    );
    if (!helped) return jsonReply(encodePreemptionResult([]));

    const kept = withVictims.filter(([name]) => helped.has(name));
    const about = { pod: read.pod.key, podUid: read.pod.uid, nodes: candidates.size, feasible: kept.length };
    call.answered(kept.length > 0 ? "kept" : "dropped", about);
    return jsonReply(encodePreemptionResult(kept));
  };
}

/**
 * The nodes whose volumes suit the Pod; undefined where that cannot be said. The answer is then "no candidate": the reply
 * has no room for an error, and to evict Pods for one that may not fit is the worse mistake. kube-scheduler asks again.
 */
function helpedNodes(
  parts: Parts,
  call: CallRecord,
  pod: Pod,
  names: readonly NodeName[],
): ReadonlySet<NodeName> | undefined {
  if (pod.claims.length === 0) return new Set(names);
  const verdict = decideNow(parts, pod, names);
  if ("cause" in verdict || verdict.kind === "fault") {
    const [cause, text] = "cause" in verdict ? [verdict.cause, verdict.text] : ["unreadable" as const, verdict.problem];
    call.failed(cause, text, { pod: pod.key, podUid: pod.uid, nodes: names.length });
    return undefined;
  }
  if (verdict.kind === "refused") return new Set();
  if (verdict.kind === "free") return new Set(names);
  return new Set(verdict.nodes.names.filter((_, index) => verdict.nodes.fits(index)));
}
