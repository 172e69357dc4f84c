/** The scale subresource: the one number of a workload that other tools turn. */
import { type ApiObject, at, isObject, type JsonObject, type JsonValue, numberAt, textAt } from "./json.ts";
import { badRequest } from "./status.ts";

export function getScale({ metadata, spec, status }: ApiObject): JsonObject {
  const { name, namespace = "", uid = "", resourceVersion = "", creationTimestamp = "" } = metadata;
  const labels = at(spec, "selector", "matchLabels");
  const selector = isObject(labels) ? Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`) : [];
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(spec, "replicas") ?? 0 },
    status: { replicas: numberAt(status, "replicas") ?? 0, selector: selector.join(",") },
  };
}

/** The workload with the replicas of `scale`, and its resourceVersion as the precondition it is. */
export function scaled(workload: ApiObject, scale: JsonObject): JsonObject {
  const replicas = numberAt(scale, "spec", "replicas") ?? 0;
  if (!Number.isInteger(replicas) || replicas < 0)
    throw badRequest("spec.replicas: must be greater than or equal to 0");
  const resourceVersion = textAt(scale, "metadata", "resourceVersion");
  const metadata = { ...workload.metadata, ...(resourceVersion === "" ? {} : { resourceVersion }) };
  const spec: JsonValue = { ...(isObject(workload.spec) ? workload.spec : {}), replicas };
  return { ...workload, metadata, spec } as unknown as JsonObject;
}
