/** `GET /debug/claim/{namespace}/{claim}`: what a claim waits for, in one sentence. Changes nothing. */
import type { HttpReply } from "../runtime/runtime.ts";
import { claimKey } from "../scheduling/names.ts";
import type { Claim } from "../scheduling/objects.ts";
import type { ClusterState } from "../scheduling/state.ts";
import { isoTime } from "./explain.ts";
import type { Handler, Parts } from "./parts.ts";
import { failureReply, jsonReply } from "./replies.ts";

export function claimRoute({ cluster, runtime }: Parts): Handler {
  return async (_request, _signal, params): Promise<HttpReply> => {
    const key = claimKey(params.get("namespace") ?? "", params.get("claim") ?? "");
    const { state } = cluster;
    const claim = state.get("claim", key);
    if (!claim) {
      const problem = state.problem("claim", key);
      if (problem !== undefined) return failureReply(404, `claim "${key}" cannot be read: ${problem}`);
      return failureReply(404, `claim "${key}" does not exist, as far as Berth knows`);
    }
    const readiness = cluster.readiness();
    const page = {
      claim: key,
      at: isoTime(runtime.wallTime()),
      says: sayOf(state, claim, podsOf(state, claim)),
      pods: podsOf(state, claim),
      ...(!readiness.ready && { notes: [`Berth is not ready, so this may be out of date: ${readiness.why}`] }),
    };
    return jsonReply(`${JSON.stringify(page)}\n`);
  };
}

/** Pending Pods that mount it: Berth knows no others. */
function podsOf(state: ClusterState, { key }: Claim): string[] {
  return [...state.keys("pod")]
    .filter((pod) => state.get("pod", pod)?.claims.some(({ claim }) => claim === key))
    .sort();
}

function sayOf(state: ClusterState, claim: Claim, pods: readonly string[]): string {
  const { volumeName, selectedNode } = claim;
  const [first] = pods;
  if (claim.lost) return `it has lost its volume ${volumeName ?? ""}`;
  if (claim.deleting) return "it is being deleted";
  if (volumeName !== undefined) {
    const problem = state.problem("volume", volumeName);
    if (problem !== undefined) return `volume ${volumeName}, which it names, cannot be read: ${problem}`;
    const isThere = state.volumes.get(volumeName) !== undefined;
    if (!isThere) return `volume ${volumeName}, which it names, does not exist`;
    return claim.bindCompleted
      ? `bound to volume ${volumeName}`
      : `the PV controller is binding it to volume ${volumeName}`;
  }
  if (claim.class === "") return "it has no class: the PV controller must find it a volume without one";
  const storageClass = state.get("class", claim.class);
  const problem = state.problem("class", claim.class);
  if (problem !== undefined) return `StorageClass ${claim.class} cannot be read: ${problem}`;
  if (!storageClass) return `StorageClass ${claim.class} does not exist`;
  if (storageClass.bindingMode !== "WaitForFirstConsumer") {
    return `class ${claim.class} binds at once: the PV controller or the provisioner must bind it, no scheduler does`;
  }
  if (selectedNode !== undefined) return `a volume is being provisioned for it on node ${selectedNode}`;
  if (first === undefined) return "waiting for a Pod; nothing is wrong";
  return `waiting for Pod ${first} to be placed: see /debug/explain/${first}`;
}
