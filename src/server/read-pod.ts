/** The Pod of a request, in our own terms. */
import { translate } from "../apis/kubernetes.ts";
import type { Pod } from "../scheduling/objects.ts";

export type ReadPod =
  | { readonly ok: true; readonly pod: Pod }
  /** `text` is what kube-scheduler is told. */
  | { readonly ok: false; readonly text: string };

export function readPod(raw: object | undefined): ReadPod {
  if (!raw) return { ok: false, text: "the request has no Pod" };
  const read = translate("pod", raw);
  return read.ok
    ? { ok: true, pod: read.object }
    : { ok: false, text: `the Pod cannot be read: ${read.field}: ${read.problem}` };
}
