/** `POST /debug/simulate`: what filter would say of a Pod that need not exist. Takes the Pod's JSON; touches nothing. */
import { decodePod } from "../apis/extender.ts";
import type { Slices } from "./explain-slices.ts";
import { printExplanation } from "./explain-text.ts";
import type { Handler, Parts } from "./parts.ts";
import { placingsOf } from "./placing.ts";
import { readPod } from "./read-pod.ts";
import { failureReply, jsonReply, textReply } from "./replies.ts";

export function simulateRoute({ cluster, pods }: Parts, slices: Slices): Handler {
  return async (request, signal) => {
    const decoded = decodePod(request.body);
    if (!decoded.ok) return failureReply(400, decoded.problem);
    const read = readPod(decoded.value);
    if (!read.ok) return failureReply(400, read.text);
    const readiness = cluster.readiness();
    if (!readiness.ready) return failureReply(503, `not ready: ${readiness.why}`);
    const explained = await slices.explain(cluster.state, read.pod, {}, signal);
    if (!explained) return failureReply(503, "the caller has gone");
    const ask = { state: cluster.state, pod: read.pod, raw: decoded.value };
    const placings = await placingsOf(pods, ask, signal);
    const page = { ...explained.answer, ...(placings.length > 0 && { placings }) };
    const wantsText = /\btext\/plain\b/.test(request.headers["accept"] ?? "");
    return wantsText ? textReply(200, printExplanation(page)) : jsonReply(`${JSON.stringify(page)}\n`);
  };
}
