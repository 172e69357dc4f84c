/** `POST /v1/bind`: commits the choice of node. Answers when the Pod is bound, or cannot be, or `binding.timeout` is over. */
import { decodeBindingArgs } from "../apis/extender.ts";
import { encodeBindingResult } from "../apis/extender-replies.ts";
import { nameLengthMax } from "../apis/fields.ts";
import { startCall } from "./observe.ts";
import type { Handler, Parts } from "./parts.ts";
import { jsonReply } from "./replies.ts";

export function bindVerb(parts: Parts): Handler {
  return async (request, signal) => {
    const call = startCall(parts, "bind", request);
    const decoded = decodeBindingArgs(request.body);
    if (!decoded.ok) return call.undecodable(decoded.problem);

    const { PodName: podName, PodNamespace: podNamespace, PodUID: podUid, Node: node } = decoded.value;
    const about = { pod: `${podNamespace}/${podName}`, podUid, node };
    const wrong = Object.entries(decoded.value).find(([, value]) => value === "" || value.length > nameLengthMax);
    if (wrong) {
      const [field, value] = wrong;
      const text = value === "" ? `the request has no ${field}` : `${field} is longer than ${nameLengthMax} characters`;
      call.failed("malformed", text, value === "" ? about : {});
      return jsonReply(encodeBindingResult(text));
    }

    const outcome = await parts.binder.bind({ podName, podNamespace, podUid, node }, signal, call.span);
    if (outcome.ok) call.answered("bound", about);
    else call.failed("bind", outcome.error, about);
    return jsonReply(encodeBindingResult(outcome.ok ? "" : outcome.error));
  };
}
