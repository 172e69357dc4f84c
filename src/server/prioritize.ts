/** `POST /v1/prioritize`: which of the nodes hold the Pod's volumes best. An opinion, never a fault: `[]` says there is none. */
import { decodeExtenderArgs, type HostPriority } from "../apis/extender.ts";
import { encodeHostPriorities } from "../apis/extender-replies.ts";
import type { NodeName } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { NodeVerdicts } from "../scheduling/plan.ts";
import { scoreMax, scoreNodes } from "../scheduling/score.ts";
import { holdBest } from "./holds.ts";
import { decideNow } from "./judge.ts";
import { startCall } from "./observe.ts";
import type { Handler, Parts } from "./parts.ts";
import { readPod } from "./read-pod.ts";
import { jsonReply } from "./replies.ts";

const noOpinion = encodeHostPriorities([]);

export function prioritizeVerb(parts: Parts): Handler {
  return async (request) => {
    const call = startCall(parts, "prioritize", request);
    const decoded = decodeExtenderArgs(request.body);
    if (!decoded.ok) return call.undecodable(decoded.problem);

    const read = readPod(decoded.value.pod);
    const names = decoded.value.nodes?.names ?? [];
    if (!read.ok) {
      call.failed("malformed", read.text, {});
      return jsonReply(noOpinion);
    }
    const about = { pod: read.pod.key, podUid: read.pod.uid, nodes: names.length };
    if (read.pod.claims.length === 0) {
      call.answered("free", about);
      return jsonReply(noOpinion);
    }
    const verdicts = recall(parts, read.pod, names) ?? compute(parts, read.pod, names);
    const priorities = verdicts ? prioritize(parts, read.pod, verdicts, names.length) : [];
    call.answered(priorities.length > 0 ? "scored" : "equal", about);
    return jsonReply(encodeHostPriorities(priorities));
  };
}

/** The verdicts of the filter call before, where they are of the same state and of just these nodes. */
function recall({ memory, cluster }: Parts, pod: Pod, names: readonly NodeName[]): NodeVerdicts | undefined {
  const remembered = memory.remembered(pod.uid);
  const verdicts = remembered?.verdicts;
  // What is remembered of a lead that is over is nobody's answer (FR-064).
  if (!cluster.readiness().ready) return undefined;
  if (!verdicts || remembered.generation !== cluster.state.generation) return undefined;
  if (verdicts.feasibleCount !== names.length) return undefined;
  // kube-scheduler passes on what filter passed, in the same order.
  let next = 0;
  for (const [index, name] of verdicts.names.entries()) {
    if (verdicts.fits(index) && name !== names[next++]) return undefined;
  }
  return verdicts;
}

function compute(parts: Parts, pod: Pod, names: readonly NodeName[]): NodeVerdicts | undefined {
  const verdict = decideNow(parts, pod, names);
  return "kind" in verdict && verdict.kind === "judged" ? verdict.nodes : undefined;
}

/**
 * One entry a node, for a node left out counts as 0; none at all when every node is as good as the next.
 *
 * @param askedCount  fewer than the verdicts when these are filter's: the nodes that it passed
 */
function prioritize(parts: Parts, pod: Pod, verdicts: NodeVerdicts, askedCount: number): HostPriority[] {
  const scores = scoreNodes(verdicts);
  holdBest(parts, pod, verdicts, scores);
  const areFeasible = verdicts.feasibleCount === askedCount;
  if (scores.length === 0 && (areFeasible || verdicts.feasibleCount === 0)) return [];
  const priorities: HostPriority[] = [];
  let next = 0;
  for (const [index, Host] of verdicts.names.entries()) {
    // Without scores the feasible are equal, but some nodes have stopped fitting since filter.
    if (verdicts.fits(index)) priorities.push({ Host, Score: scores[next++]?.score ?? scoreMax });
    else if (!areFeasible) priorities.push({ Host, Score: 0 });
  }
  return priorities;
}
