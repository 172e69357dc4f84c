/** What the API server fills in before it validates: the defaults this project's subjects read, and no more. */
import {
  type ApiObject,
  at,
  ensureObject,
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  setDefault,
} from "./json.ts";

/** Quantities may be written as numbers; the API keeps and shows texts. */
function numbersToTexts(amounts: JsonValue | undefined): void {
  if (!isObject(amounts)) return;
  for (const name of Object.keys(amounts)) {
    if (typeof amounts[name] === "number") amounts[name] = String(amounts[name]);
  }
}

export function fillInPod(pod: ApiObject): void {
  if (isObject(pod.spec)) fillInPodSpec(pod.spec);
  const status = ensureObject(pod, "status");
  setDefault(status, "phase", "Pending");
}

function fillInPodSpec(spec: JsonObject): void {
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "terminationGracePeriodSeconds", 30);
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "securityContext", {});
  for (const container of [...listAt(spec, "containers"), ...listAt(spec, "initContainers")]) {
    if (isObject(container)) fillInContainer(container);
  }
  numbersToTexts(at(spec, "overhead"));
  for (const volume of listAt(spec, "volumes")) {
    const template = at(volume, "ephemeral", "volumeClaimTemplate");
    if (isObject(template)) fillInClaimSpec(template["spec"]);
  }
}

function fillInContainer(container: JsonObject): void {
  const resources = ensureObject(container, "resources");
  numbersToTexts(resources["limits"]);
  numbersToTexts(resources["requests"]);
  setDefault(container, "imagePullPolicy", "IfNotPresent");
  for (const port of listAt(container, "ports")) if (isObject(port)) setDefault(port, "protocol", "TCP");
  if (!isObject(resources["limits"])) return;
  // A limit without a request asks for as much as it allows.
  const requests = ensureObject(resources, "requests");
  for (const [name, amount] of Object.entries(resources["limits"])) setDefault(requests, name, amount);
}

function fillInClaimSpec(spec: JsonValue | undefined): void {
  if (!isObject(spec)) return;
  setDefault(spec, "volumeMode", "Filesystem");
  numbersToTexts(at(spec, "resources", "requests"));
  numbersToTexts(at(spec, "resources", "limits"));
}

export function fillInClaim(claim: ApiObject): void {
  fillInClaimSpec(claim.spec);
  setDefault(ensureObject(claim, "status"), "phase", "Pending");
}

export function fillInVolume(volume: ApiObject): void {
  const { spec } = volume;
  if (isObject(spec)) {
    setDefault(spec, "persistentVolumeReclaimPolicy", "Retain");
    setDefault(spec, "volumeMode", "Filesystem");
    numbersToTexts(spec["capacity"]);
  }
  setDefault(ensureObject(volume, "status"), "phase", "Pending");
}

export function fillInNode(node: ApiObject): void {
  ensureObject(node, "spec");
  const status = ensureObject(node, "status");
  numbersToTexts(status["capacity"]);
  numbersToTexts(status["allocatable"]);
  // What a node can give is all it has, unless it says otherwise.
  if (isObject(status["capacity"])) setDefault(status, "allocatable", { ...status["capacity"] });
}

export function fillInStorageClass(storageClass: ApiObject): void {
  const fields = storageClass as unknown as JsonObject;
  setDefault(fields, "reclaimPolicy", "Delete");
  setDefault(fields, "volumeBindingMode", "Immediate");
}

export function fillInCsiDriver(driver: ApiObject): void {
  const spec = ensureObject(driver, "spec");
  setDefault(spec, "attachRequired", true);
  setDefault(spec, "podInfoOnMount", false);
  setDefault(spec, "storageCapacity", false);
  setDefault(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  setDefault(spec, "requiresRepublish", false);
  setDefault(spec, "seLinuxMount", false);
  setDefault(spec, "volumeLifecycleModes", ["Persistent"]);
}

export function fillInPriorityClass(priorityClass: ApiObject): void {
  setDefault(priorityClass as unknown as JsonObject, "preemptionPolicy", "PreemptLowerPriority");
}

export function fillInSecret(secret: ApiObject): void {
  const fields = secret as unknown as JsonObject;
  setDefault(fields, "type", "Opaque");
  const texts = fields["stringData"];
  if (!isObject(texts)) return;
  const data = ensureObject(secret, "data");
  for (const [key, text] of Object.entries(texts)) data[key] = Buffer.from(String(text)).toString("base64");
  delete fields["stringData"];
}

export function fillInService(service: ApiObject): void {
  const spec = ensureObject(service, "spec");
  setDefault(spec, "type", "ClusterIP");
  setDefault(spec, "sessionAffinity", "None");
  for (const port of listAt(spec, "ports")) {
    if (!isObject(port)) continue;
    setDefault(port, "protocol", "TCP");
    setDefault(port, "targetPort", at(port, "port") ?? 0);
  }
  ensureObject(ensureObject(service, "status"), "loadBalancer");
}

export function fillInWorkload(workload: ApiObject): void {
  const { spec, kind } = workload;
  if (!isObject(spec)) return;
  if (kind !== "DaemonSet") setDefault(spec, "replicas", 1);
  if (kind !== "ReplicaSet") setDefault(spec, "revisionHistoryLimit", 10);
  const podSpec = at(spec, "template", "spec");
  if (isObject(podSpec)) fillInPodSpec(podSpec);
  if (kind === "StatefulSet") fillInStatefulSetSpec(spec);
  if (kind === "DaemonSet") {
    setDefault(spec, "updateStrategy", { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
  }
  if (kind === "Deployment") {
    setDefault(spec, "strategy", { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } });
    setDefault(spec, "progressDeadlineSeconds", 600);
  }
  ensureObject(workload, "status");
}

function fillInStatefulSetSpec(spec: JsonObject): void {
  setDefault(spec, "podManagementPolicy", "OrderedReady");
  setDefault(spec, "updateStrategy", { type: "RollingUpdate", rollingUpdate: { partition: 0 } });
  setDefault(spec, "persistentVolumeClaimRetentionPolicy", { whenDeleted: "Retain", whenScaled: "Retain" });
  for (const template of listAt(spec, "volumeClaimTemplates")) {
    if (!isObject(template)) continue;
    template["kind"] = "PersistentVolumeClaim";
    template["apiVersion"] = "v1";
    fillInClaimSpec(template["spec"]);
    setDefault(ensureObject(template, "status"), "phase", "Pending");
  }
}
