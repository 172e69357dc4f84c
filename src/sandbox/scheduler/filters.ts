/**
 * The in-tree filters that run before any extender is asked, in kube-scheduler's order and with its words.
 * Source: pkg/scheduler/framework/plugins/{nodeunschedulable,nodename,tainttoleration,nodeaffinity,noderesources}.
 */
import { matchesNode } from "../match.ts";
import type { Node, Pod, Taint, Toleration } from "../objects.ts";
import { compileInterPodAffinity, type NodeTest } from "./inter-pod-affinity.ts";
import { requestsOf } from "./resources.ts";
import type { NodeState, Snapshot } from "./snapshot.ts";
import type { Code, Refusal, Rejector } from "./status.ts";

const unresolvable = (by: Rejector, ...reasons: string[]): Refusal => ({ code: "unresolvable", by, reasons });

/** The pod's in-tree filters over one snapshot; `undefined` where the node passes them all. */
export function compileFilters(pod: Pod, snapshot: Snapshot): NodeTest {
  const tests: NodeTest[] = [
    ({ node }) => checkUnschedulable(pod, node),
    ({ node }) => checkName(pod, node),
    ({ node }) => checkTaints(pod, node),
    ({ node }) => checkAffinity(pod, node),
    (state) => checkResources(pod, state),
    compileInterPodAffinity(pod, snapshot),
  ];
  return (state) => {
    for (const test of tests) {
      const refusal = test(state);
      if (refusal) return refusal;
    }
    return undefined;
  };
}

const cordon: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

function checkUnschedulable({ spec }: Pod, node: Node): Refusal | undefined {
  if (!node.spec?.unschedulable || (spec.tolerations ?? []).some((one) => tolerates(one, cordon))) return undefined;
  return unresolvable("NodeUnschedulable", "node(s) were unschedulable");
}

function checkName({ spec }: Pod, { metadata }: Node): Refusal | undefined {
  if (!spec.nodeName || spec.nodeName === metadata.name) return undefined;
  return unresolvable("NodeName", "node(s) didn't match the requested node name");
}

function checkTaints({ spec }: Pod, node: Node): Refusal | undefined {
  const taint = (node.spec?.taints ?? []).find(
    (one) =>
      (one.effect === "NoSchedule" || one.effect === "NoExecute") &&
      !(spec.tolerations ?? []).some((toleration) => tolerates(toleration, one)),
  );
  return taint && unresolvable("TaintToleration", "node(s) had untolerated taint(s)");
}

/** Source: api/core/v1/toleration.go ToleratesTaint. */
function tolerates({ key = "", operator = "Equal", value = "", effect = "" }: Toleration, taint: Taint): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (key === "" && operator !== "Exists") return false;
  return operator === "Exists" || value === (taint.value ?? "");
}

function checkAffinity({ spec }: Pod, node: Node): Refusal | undefined {
  const labels = node.metadata.labels ?? {};
  const isSelected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (isSelected && (!required || matchesNode(required, node))) return undefined;
  return unresolvable("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
}

/** A request beyond all the node has is unresolvable: no victim could make room for it. */
function checkResources(pod: Pod, { allocatable, requested, pods }: NodeState): Refusal | undefined {
  const reasons: string[] = [];
  let code: Code = "resolvable";
  if (pods.length + 1 > allocatable.pods) reasons.push("Too many pods");
  const wanted = requestsOf(pod);
  for (const [field, name] of [["milliCpu", "cpu"] as const, ["memoryBytes", "memory"] as const]) {
    if (wanted[field] === 0 || wanted[field] <= allocatable[field] - requested[field]) continue;
    reasons.push(`Insufficient ${name}`);
    if (wanted[field] > allocatable[field]) code = "unresolvable";
  }
  return reasons.length === 0 ? undefined : { code, reasons, by: "NodeResourcesFit" };
}
