/** The subresources by which pods are placed and evicted. Source: pkg/registry/core/pod/storage/storage.go. */
import type { Version } from "./collection.ts";
import { type DeleteContext, readDeleteOptions, remove } from "./deletion.ts";
import { type ApiObject, at, ensureObject, isObject, type JsonObject, listAt, textAt } from "./json.ts";
import { getResource } from "./resources.ts";
import { badRequest, conflict, invalid, notFound } from "./status.ts";
import { parseVersion } from "./store.ts";
import { timestamp, type WriteContext } from "./write.ts";

const binding = { group: "", plural: "pods/binding" };

/** Assigns the pod to the Binding's node. @throws ApiError 409 when the pod is not free to be assigned, 404 when gone */
export function bindPod(
  context: WriteContext,
  o: { namespace: string; name: string; body: JsonObject; dryRun: boolean },
): void {
  const { store, runtime } = context;
  const pods = getResource("pods");
  const named = textAt(o.body, "metadata", "name");
  const name = o.name === "" ? named : o.name;
  if (named !== "" && named !== name) throw badRequest("name in URL does not match name in Binding object");
  const node = readTarget(o.body, name);

  const current = store.find(pods, o.namespace, name);
  if (!current) throw notFound(pods, name);
  refuseOtherPod(current, o.body);
  const pod = parseVersion(current);
  refuseAssigned(pod);
  if (o.dryRun) return;

  ensureObject(pod, "spec")["nodeName"] = node;
  const annotations = at(o.body, "metadata", "annotations");
  if (isObject(annotations))
    pod.metadata.annotations = { ...pod.metadata.annotations, ...(annotations as Record<string, string>) };
  const status = ensureObject(pod, "status");
  delete status["nominatedNodeName"];
  const others = listAt(status, "conditions").filter((condition) => textAt(condition, "type") !== "PodScheduled");
  const lastTransitionTime = timestamp(runtime.wallTime());
  status["conditions"] = [...others, { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime }];
  if (pod.metadata.generation !== undefined) pod.metadata.generation++;
  store.write(pods, pod);
}

function readTarget(body: JsonObject, name: string): string {
  const kind = textAt(body, "target", "kind");
  const node = textAt(body, "target", "name");
  if (kind !== "" && kind !== "Node") {
    const message = 'supported values: "Node"';
    throw invalid("", "Binding", name, [{ field: "target.kind", type: "Unsupported value", value: kind, message }]);
  }
  if (node === "") throw invalid("", "Binding", name, [{ field: "target.name", type: "Required value", message: "" }]);
  return node;
}

function refuseOtherPod({ namespace, name, uid, resourceVersion }: Version, body: JsonObject): void {
  const wantedUid = textAt(body, "metadata", "uid");
  const wantedVersion = textAt(body, "metadata", "resourceVersion");
  let failed = "";
  if (wantedUid !== "" && wantedUid !== uid) failed = `UID in precondition: ${wantedUid}, UID in object meta: ${uid}`;
  else if (wantedVersion !== "" && wantedVersion !== String(resourceVersion)) {
    failed = `ResourceVersion in precondition: ${wantedVersion}, ResourceVersion in object meta: ${resourceVersion}`;
  }
  if (failed === "") return;
  const key = `/registry/pods/${namespace}/${name}`;
  const why = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${failed}`;
  throw conflict(binding, name, why);
}

function refuseAssigned({ metadata, spec }: ApiObject): void {
  const { name } = metadata;
  const node = textAt(spec, "nodeName");
  let why = "";
  if (metadata.deletionTimestamp) why = `pod ${name} is being deleted, cannot be assigned to a host`;
  else if (node !== "") why = `pod ${name} is already assigned to node ${JSON.stringify(node)}`;
  else if (listAt(spec, "schedulingGates").length > 0) why = `pod ${name} has non-empty .spec.schedulingGates`;
  if (why !== "") throw conflict(binding, name, why);
}

/** Deletes the pod. Disruption budgets are not looked at: no controller here counts what they allow. */
export function evictPod(
  context: DeleteContext,
  o: { namespace: string; name: string; body: JsonObject; dryRun: boolean },
): void {
  const resource = getResource("pods");
  const deleteOptions = at(o.body, "deleteOptions");
  const options = readDeleteOptions(isObject(deleteOptions) ? deleteOptions : undefined, new URLSearchParams());
  const target = { resource, namespace: o.namespace, name: o.name, subresource: "" };
  remove(context, target, { ...options, dryRun: options.dryRun || o.dryRun });
}
