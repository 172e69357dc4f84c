/** Why kube-scheduler does not offer nodes that a Pod's volumes are on: what the API says now of the Pod and of the Pods there. */
import { readDemands } from "../apis/pod-demands.ts";
import type { PodList } from "../cluster/pod-lists.ts";
import { type NodeName, splitKey } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import { pinnedNodes } from "../scheduling/pinned.ts";
import { type NodePlacing, type PodDemands, placingOn } from "../scheduling/placing.ts";
import type { ClusterState } from "../scheduling/state.ts";

/** Who asks the API for Pods, or a file. Never rejects. */
export interface PodSource {
  onNode(node: NodeName, signal: AbortSignal): Promise<PodList>;
  named(namespace: string, name: string, signal: AbortSignal): Promise<PodList>;
}

/** Each costs a list of the node's Pods. */
const nodesMax = 3;

export interface PlacingAsk {
  readonly state: ClusterState;
  readonly pod: Pod;
  /** The Pod as the API writes it; absent: it is asked for. */
  readonly raw?: unknown;
  /** Nodes of kube-scheduler's last call; absent where there was none. */
  readonly offered?: ReadonlySet<NodeName> | undefined;
  /** Nodes that hold all volumes and were not offered. */
  readonly notOffered?: readonly NodeName[] | undefined;
}

/** At most three nodes: those that bound volumes pin the Pod to, then those that would do; none that was offered. */
export async function placingsOf(pods: PodSource, ask: PlacingAsk, signal: AbortSignal): Promise<NodePlacing[]> {
  const { state, pod, offered, notOffered = [] } = ask;
  if (pod.nodeName !== undefined || pod.claims.length === 0) return [];
  const pinned = pinnedNodes(state, pod).filter((node) => !offered?.has(node));
  const others = notOffered.filter((node) => !pinned.includes(node));
  const nodes = [...pinned, ...others].slice(0, nodesMax);
  if (nodes.length === 0) return [];
  const demands = await demandsOf(pods, ask, signal);
  const placings: NodePlacing[] = [];
  for (const name of nodes) {
    const because = pinned.includes(name) ? "pinned" : "fits";
    placings.push(
      typeof demands === "string"
        ? { node: name, because, obstacles: [], unknown: demands }
        : await placing(pods, state, { name, because }, demands, signal),
    );
  }
  return placings;
}

/** Why it is not known, where it is not. */
async function demandsOf(pods: PodSource, { pod, raw }: PlacingAsk, signal: AbortSignal): Promise<PodDemands | string> {
  let found = raw;
  if (found === undefined) {
    const { namespace, name } = splitKey(pod.key);
    const listed = await pods.named(namespace, name, signal);
    if (!listed.ok) return `the Pod could not be read: ${listed.why}`;
    [found] = listed.pods;
    if (found === undefined) return "the Pod is gone";
  }
  const read = readDemands(found);
  return read.ok ? read.demands : `the Pod cannot be read: ${read.field}: ${read.problem}`;
}

async function placing(
  pods: PodSource,
  state: ClusterState,
  { name, because }: { readonly name: NodeName; readonly because: NodePlacing["because"] },
  demands: PodDemands,
  signal: AbortSignal,
): Promise<NodePlacing> {
  const listed = await pods.onNode(name, signal);
  const node = state.get("node", name);
  if (!node) return { node: name, because, obstacles: [], unknown: "the node is gone" };
  if (!listed.ok) {
    return { ...placingOn(node, because, demands, undefined), unknown: `its Pods could not be listed: ${listed.why}` };
  }
  const read = listed.pods.map(readDemands);
  const occupants = read.flatMap((one) => (one.ok ? [one.demands] : []));
  const unreadable = read.length - occupants.length;
  const unknown = [
    ...(listed.isWhole ? [] : [`only its first ${listed.pods.length} Pods were looked at`]),
    ...(unreadable === 0 ? [] : [`${unreadable} of its Pods cannot be read`]),
  ].join("; ");
  return { ...placingOn(node, because, demands, occupants), ...(unknown !== "" && { unknown }) };
}
