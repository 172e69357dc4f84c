/** What a Pod asks of its node besides volumes. Read for explanations alone: the cache keeps none of it. */
import type { PodDemands, Toleration } from "../scheduling/placing.ts";
import { parseThousandths } from "../scheduling/quantity.ts";
import { labelSelector, requirement } from "../scheduling/selectors.ts";
import {
  amount,
  child,
  entries,
  Fault,
  type Fields,
  field,
  list,
  object,
  present,
  requiredText,
  text,
} from "./fields.ts";
import { readNodeSelector } from "./selectors.ts";

export type ReadDemands =
  | { readonly ok: true; readonly demands: PodDemands; readonly nodeName: string | undefined }
  | { readonly ok: false; readonly field: string; readonly problem: string };

/** Never throws. */
export function readDemands(raw: unknown): ReadDemands {
  try {
    const fields = object(raw, "(the object)");
    const spec = child(fields, "spec", "spec");
    return { ok: true, demands: demandsOf(fields, spec), nodeName: text(spec, "nodeName", "spec.nodeName") };
  } catch (thrown) {
    if (thrown instanceof Fault) return { ok: false, field: thrown.field, problem: thrown.problem };
    return { ok: false, field: "(the object)", problem: `cannot be read: ${thrown}` };
  }
}

function demandsOf(fields: Fields, spec: Fields): PodDemands {
  const metadata = child(fields, "metadata", "metadata");
  const namespace = text(metadata, "namespace", "metadata.namespace") ?? "default";
  const name = requiredText(metadata, "name", "metadata.name");
  const phase = text(child(fields, "status", "status"), "phase", "status.phase");
  const affinity = child(child(spec, "affinity", "spec.affinity"), "nodeAffinity", "spec.affinity.nodeAffinity");
  const at = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
  const required = present(affinity, "requiredDuringSchedulingIgnoredDuringExecution", at);
  const selects = entries(spec, "nodeSelector", "spec.nodeSelector").flatMap(
    ([key, value]) => requirement(key, "In", [value]) ?? [],
  );
  const priority = field(spec, "priority");
  return {
    pod: `${namespace}/${name}`,
    uid: text(metadata, "uid", "metadata.uid") ?? `pod/${namespace}/${name}`,
    requests: requestsOf(spec),
    tolerations: list(spec, "tolerations", "spec.tolerations").map(readToleration),
    ...(selects.length > 0 && { nodeSelector: labelSelector(selects) }),
    ...(required && { nodeAffinity: readNodeSelector(required, at) }),
    priority: typeof priority === "number" ? priority : 0,
    preempts: text(spec, "preemptionPolicy", "spec.preemptionPolicy") !== "Never",
    finished: phase === "Succeeded" || phase === "Failed",
  };
}

function readToleration(raw: unknown, index: number): Toleration {
  const path = `spec.tolerations[${index}]`;
  const toleration = object(raw, path);
  const key = text(toleration, "key", `${path}.key`);
  const effect = text(toleration, "effect", `${path}.effect`);
  return {
    ...(key !== undefined && { key }),
    operator: text(toleration, "operator", `${path}.operator`) ?? "Equal",
    value: text(toleration, "value", `${path}.value`) ?? "",
    ...(effect !== undefined && { effect }),
  };
}

type Sums = Map<string, bigint>;

/**
 * Containers run side by side, init containers one after the other, those that restart beside all that follow them. Each Pod takes
 * one of the node's "pods".
 *
 * @see kubernetes staging/src/k8s.io/component-helpers/resource/helpers.go, PodRequests
 */
function requestsOf(spec: Fields): Sums {
  const sums: Sums = new Map();
  for (const container of containersOf(spec, "containers")) add(sums, container.requests);
  const beside: Sums = new Map();
  const starting: Sums = new Map();
  for (const { requests, restarts } of containersOf(spec, "initContainers")) {
    if (restarts) {
      add(sums, requests);
      add(beside, requests);
      raise(starting, beside);
    } else {
      const now = new Map(requests);
      add(now, beside);
      raise(starting, now);
    }
  }
  raise(sums, starting);
  const ofPod = child(child(spec, "resources", "spec.resources"), "requests", "spec.resources.requests");
  for (const [resource, asked] of readAmounts(ofPod, "spec.resources.requests")) sums.set(resource, asked);
  add(sums, readAmounts(child(spec, "overhead", "spec.overhead"), "spec.overhead"));
  return sums.set("pods", 1_000n);
}

function containersOf(spec: Fields, name: string) {
  return list(spec, name, `spec.${name}`).map((raw, index) => {
    const path = `spec.${name}[${index}]`;
    const container = object(raw, path);
    const resources = child(container, "resources", `${path}.resources`);
    // What the API server fills in: who limits and does not ask, asks for the limit.
    const limits = readAmounts(child(resources, "limits", `${path}.resources.limits`), `${path}.resources.limits`);
    const asked = readAmounts(child(resources, "requests", `${path}.resources.requests`), `${path}.resources.requests`);
    const restarts = field(container, "restartPolicy") === "Always";
    return { requests: new Map([...limits, ...asked]), restarts };
  });
}

function readAmounts(fields: Fields, path: string): Sums {
  return new Map(
    Object.entries(fields).map(([resource, value]) => {
      const read = parseThousandths(amount(value) ?? "");
      if (read === undefined) throw new Fault(path, "not a quantity");
      return [resource, read];
    }),
  );
}

function add(sums: Sums, more: ReadonlyMap<string, bigint>): void {
  for (const [resource, asked] of more) sums.set(resource, (sums.get(resource) ?? 0n) + asked);
}

function raise(sums: Sums, least: ReadonlyMap<string, bigint>): void {
  for (const [resource, asked] of least) if (asked > (sums.get(resource) ?? 0n)) sums.set(resource, asked);
}
