/** The Pod of a request, in our own terms. */
import { translate } from "../apis/kubernetes.ts";
import type { Pod } from "../scheduling/objects.ts";

export type ReadPod =
  | { readonly ok: true; readonly pod: Pod }
  /** `text` is what kube-scheduler is told. */
  | { readonly ok: false; readonly text: string };

export function readPod(raw: object | undefined): ReadPod {
  if (!raw) return { ok: false, text: "the request has no Pod" };
  const pod = translate("pod", raw);
  return "problem" in pod
    ? { ok: false, text: `the Pod cannot be read: ${pod.field}: ${pod.problem}` }
    : { ok: true, pod };
}
