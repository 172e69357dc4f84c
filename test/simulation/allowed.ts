/** The list of what a Berth may write, to the last field. */
import type { HttpRequest } from "../../src/runtime/runtime.ts";
import type { Body } from "../binding/world.ts";

interface Rule {
  readonly method: string;
  readonly path: RegExp;
  readonly type: string;
  /** Every shape that the body may have: fields by their path, in order. */
  readonly shapes: readonly string[];
}

const merge = "application/merge-patch+json";
const json = "application/json";
const precondition = "metadata.uid metadata.resourceVersion";
const reference = ["apiVersion", "kind", "namespace", "name", "uid", "resourceVersion"].map(
  (field) => `spec.claimRef.${field}`,
);
const mark = "metadata.annotations.pv.kubernetes.io/bound-by-controller";
const condition = ["type", "status", "reason", "message", "lastProbeTime", "lastTransitionTime"];
const binding = ["apiVersion", "kind", "metadata.namespace", "metadata.name", "metadata.uid"];
const target = ["target.apiVersion", "target.kind", "target.name"];

const rules: readonly Rule[] = [
  {
    method: "PATCH",
    path: /^\/api\/v1\/persistentvolumes\/[^/]+$/,
    type: merge,
    shapes: [
      [precondition, ...reference].join(" "),
      [precondition, mark, ...reference].join(" "),
      [precondition, mark, "spec.claimRef"].join(" "),
      [precondition, "spec.claimRef.uid spec.claimRef.resourceVersion"].join(" "),
    ],
  },
  {
    method: "PATCH",
    path: /^\/api\/v1\/namespaces\/[^/]+\/persistentvolumeclaims\/[^/]+$/,
    type: merge,
    shapes: [`${precondition} metadata.annotations.volume.kubernetes.io/selected-node`],
  },
  {
    method: "POST",
    path: /^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/binding$/,
    type: json,
    shapes: [[...binding, ...target].join(" ")],
  },
  {
    method: "PATCH",
    path: /^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/status$/,
    type: "application/strategic-merge-patch+json",
    shapes: [["metadata.uid", ...condition.map((field) => `status.conditions.0.${field}`)].join(" ")],
  },
];
const events = /^\/apis\/events\.k8s\.io\/v1\/namespaces\/[^/]+\/events$/;
const event = /^\/apis\/events\.k8s\.io\/v1\/namespaces\/[^/]+\/events\/[^/]+$/;
const leases = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-system\/leases(\/berth)?$/;

/** Why the request is none that a Berth may make; undefined where it is. */
export function whyNotAllowed({ method, path, headers, body }: HttpRequest): string | undefined {
  if (method === "POST" && events.test(path)) return undefined;
  if (method === "PATCH" && event.test(path)) {
    const fields = fieldsOf(JSON.parse(String(body))).join(" ");
    return fields === "series.count series.lastObservedTime" ? undefined : `fields ${fields}`;
  }
  if ((method === "POST" || method === "PUT") && leases.test(path)) return undefined;
  const rule = rules.find((one) => one.method === method && one.path.test(path));
  if (!rule) return "no such write";
  if (headers["content-type"] !== rule.type) return `type ${headers["content-type"]}`;
  const shape = fieldsOf(JSON.parse(String(body))).join(" ");
  return rule.shapes.includes(shape) ? undefined : `fields ${shape}`;
}

function fieldsOf(value: Body, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, inside]) => fieldsOf(inside, path === "" ? name : `${path}.${name}`));
}
