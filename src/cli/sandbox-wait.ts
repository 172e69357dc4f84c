/** When `berth sandbox` is done: every pod has its node, or nothing has changed for a while. */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Pod, StatefulSet } from "../sandbox/objects.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { CommandIo } from "./io.ts";

const lookEveryMs: Milliseconds = 100;
/** Longer than any controller's own steps. A pod's next try may be further off: without a change it ends as the last did. */
const quietMs: Milliseconds = 5_000;

/** Resolves to the exit code: 0 if every pod has a node, else 1, having said why. */
export async function untilPlaced(sandbox: Sandbox, { runtime, signal, stdout }: CommandIo): Promise<number> {
  const agent = sandbox.startAgent("sandbox");
  const pods = agent.informer("pods");
  const sets = agent.informer("statefulsets");
  await Promise.all([pods.synced, sets.synced]);
  let seen = sandbox.api.resourceVersion;
  let since = runtime.now();
  while (!signal.aborted) {
    await runtime.sleep(lookEveryMs, signal);
    const version = sandbox.api.resourceVersion;
    if (version !== seen) since = runtime.now();
    else if (sandbox.isIdle && unplaced(pods.values()).length === 0 && [...sets.values()].every(isWhole)) return 0;
    else if (runtime.now() - since > quietMs) break;
    seen = version;
  }
  for (const pod of unplaced(pods.values())) {
    const { name, namespace } = pod.metadata;
    const said = pod.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message;
    stdout.write(`Pod ${namespace}/${name} has no node: ${said ?? "no scheduler has tried it"}\n`);
  }
  return 1;
}

function unplaced(pods: Iterable<Pod>): Pod[] {
  return [...pods].filter(({ spec }) => !spec.nodeName);
}

function isWhole({ spec, status }: StatefulSet): boolean {
  const { readyReplicas = 0 } = (status ?? {}) as { readyReplicas?: number };
  return readyReplicas >= (spec.replicas ?? 1);
}
