/** What an update may not change, kind by kind. Sources: pkg/apis/{core,apps,storage,scheduling}/validation. */
import { parseBytes } from "../../scheduling/quantity.ts";
import { type ApiObject, at, cloneJson, equalJson, isObject, type JsonObject, listAt, textAt } from "./json.ts";
import type { FieldError } from "./status.ts";
import { sourcesOf, wrong } from "./validation.ts";

const forbid = (field: string, message: string): FieldError => ({ field, type: "Forbidden", message });

function specOf(object: ApiObject): JsonObject {
  return isObject(object.spec) ? cloneJson(object.spec) : {};
}

/** Makes `next` equal to `before` in `field`, so that what still differs is what was not allowed to change. */
function allow(next: JsonObject, before: JsonObject, field: string): void {
  if (Object.hasOwn(before, field)) next[field] = before[field] ?? null;
  else delete next[field];
}

function allowImages(next: JsonObject, before: JsonObject, field: string): void {
  const old = listAt(before, field);
  for (const [index, container] of listAt(next, field).entries()) {
    const same = old[index];
    if (isObject(container) && isObject(same)) allow(container, same, "image");
  }
}

function isSubset(part: readonly unknown[], whole: readonly unknown[]): boolean {
  return part.every((one) => whole.some((other) => equalJson(one, other)));
}

export function checkPodUpdate(next: ApiObject, before: ApiObject): FieldError[] {
  const wanted = specOf(next);
  const old = specOf(before);
  const gated = listAt(old, "schedulingGates").length > 0;
  const errors: FieldError[] = [];
  if (!isSubset(listAt(wanted, "schedulingGates"), listAt(old, "schedulingGates"))) {
    errors.push(forbid("spec.schedulingGates", "only deletion is allowed"));
  }
  if (!isSubset(listAt(old, "tolerations"), listAt(wanted, "tolerations"))) {
    errors.push(forbid("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"));
  }
  allowImages(wanted, old, "containers");
  allowImages(wanted, old, "initContainers");
  for (const field of ["schedulingGates", "tolerations", "activeDeadlineSeconds"]) allow(wanted, old, field);
  // A gated pod may still be told more closely where to go.
  if (gated) for (const field of ["nodeSelector", "affinity"]) allow(wanted, old, field);
  if (!equalJson(wanted, old)) {
    const message =
      "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    errors.push(forbid("spec", message));
  }
  return errors;
}

export function checkVolumeUpdate(next: ApiObject, before: ApiObject): FieldError[] {
  const errors: FieldError[] = [];
  const sources = new Set([...sourcesOf(next.spec), ...sourcesOf(before.spec)]);
  if ([...sources].some((source) => !equalJson(at(next.spec, source), at(before.spec, source)))) {
    const message = "spec.persistentvolumesource is immutable after creation";
    errors.push(forbid("spec.persistentvolumesource", message));
  }
  if (textAt(next.spec, "volumeMode") !== textAt(before.spec, "volumeMode")) {
    errors.push(wrong("spec.volumeMode", textAt(next.spec, "volumeMode"), "field is immutable"));
  }
  const affinity = at(before.spec, "nodeAffinity");
  if (isObject(affinity) && !equalJson(affinity, at(next.spec, "nodeAffinity"))) {
    errors.push(wrong("spec.nodeAffinity", at(next.spec, "nodeAffinity") ?? null, "field is immutable"));
  }
  return errors;
}

export function checkClaimUpdate(next: ApiObject, before: ApiObject): FieldError[] {
  const wanted = specOf(next);
  const old = specOf(before);
  const errors: FieldError[] = [];
  // A claim is bound once, and gets a class later than its creation only if it had none.
  if (textAt(old, "volumeName") === "") allow(wanted, old, "volumeName");
  if (at(old, "storageClassName") === undefined) allow(wanted, old, "storageClassName");
  if (textAt(before.status, "phase") === "Bound") {
    const asked = parseBytes(textAt(wanted, "resources", "requests", "storage")) ?? 0n;
    const had = parseBytes(textAt(old, "resources", "requests", "storage")) ?? 0n;
    if (asked < had) {
      const message = "field can not be less than status.capacity";
      errors.push(forbid("spec.resources.requests.storage", message));
    }
    allow(wanted, old, "resources");
    allow(wanted, old, "volumeAttributesClassName");
  }
  if (!equalJson(wanted, old)) {
    const message =
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    errors.push(forbid("spec", message));
  }
  return errors;
}

export function checkStorageClassUpdate(next: ApiObject, before: ApiObject): FieldError[] {
  const fixed = ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"];
  const changed = fixed.filter((field) => !equalJson(at(next, field), at(before, field)));
  return changed.map((field) => forbid(field, `updates to ${field} are forbidden.`));
}

export function checkCapacityUpdate(next: ApiObject, before: ApiObject): FieldError[] {
  const changed = ["nodeTopology", "storageClassName"].filter(
    (field) => !equalJson(at(next, field), at(before, field)),
  );
  return changed.map((field) => wrong(field, at(next, field) ?? null, "field is immutable"));
}

export function checkPriorityClassUpdate(next: ApiObject, before: ApiObject): FieldError[] {
  if (at(next, "value") === at(before, "value")) return [];
  return [forbid("value", "may not be changed in an update.")];
}

export function checkStatefulSetUpdate(next: ApiObject, before: ApiObject): FieldError[] {
  const wanted = specOf(next);
  const old = specOf(before);
  const free = ["replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"];
  for (const field of [...free, "persistentVolumeClaimRetentionPolicy", "minReadySeconds"]) allow(wanted, old, field);
  if (equalJson(wanted, old)) return [];
  const message =
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  return [forbid("spec", message)];
}

export function checkWorkloadUpdate(next: ApiObject, before: ApiObject): FieldError[] {
  if (equalJson(at(next.spec, "selector"), at(before.spec, "selector"))) return [];
  return [wrong("spec.selector", at(next.spec, "selector") ?? null, "field is immutable")];
}
