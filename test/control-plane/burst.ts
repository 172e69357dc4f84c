/** Pods of two claims each that come at once, over just as many disks as they have claims. */
import type { Given } from "../support/given.ts";
import type { RealStage } from "./real-stage.ts";

export interface Burst {
  /** Its class, its disks, an even number on each node, and its claims. */
  readonly storage: Given;
  readonly pods: Given;
}

/** @param name  of its namespace and of its class: the disks of one burst are nothing to another */
export function burstOf(name: string, nodes: readonly string[], count: number): Burst {
  if (count % nodes.length !== 0) throw new Error(`${count} Pods cannot share the disks of ${nodes.length} nodes`);
  const pods = Array.from({ length: count }, (_, index) => `${name}-p${index}`);
  const claims = pods.flatMap(claimsOf);
  const storage = { class: name, size: "10Gi" };
  const disks = claims.map((_, index) => [`${name}-d${index}`, { ...storage, on: nodes[index % nodes.length] }]);
  return {
    storage: {
      classes: { [name]: "wait" },
      volumes: Object.fromEntries(disks),
      claims: Object.fromEntries(claims.map((claim) => [`${name}/${claim}`, storage])),
    },
    pods: { pods: Object.fromEntries(pods.map((pod) => [`${name}/${pod}`, { claims: claimsOf(pod), cpu: "1m" }])) },
  };
}

export function claimsOf(pod: string): string[] {
  return [`${pod}-a`, `${pod}-b`];
}

export interface WaitingPod {
  readonly name: string;
  /** What its PodScheduled condition says. */
  readonly message: string;
}

/** Those of the namespace that are on no node. */
export async function waitingPods(stage: RealStage, namespace: string): Promise<WaitingPod[]> {
  const selector = encodeURIComponent("spec.nodeName=");
  const path = `/api/v1/namespaces/${namespace}/pods?fieldSelector=${selector}`;
  const { status, body } = await stage.call("GET", path);
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  return (body as { items: Pod[] }).items.map((pod) => ({ name: pod.metadata.name, message: messageOf(pod) }));
}

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly message?: string }[] };
}

function messageOf({ status }: Pod): string {
  return status?.conditions?.find(({ type }) => type === "PodScheduled")?.message ?? "nothing is said of it";
}
