/** Nodes and Pods, reduced to what decisions use. */
import { claimKey, nodeName, podKey, podUid } from "../scheduling/names.ts";
import type { Node, Pod, PodClaim, Taint } from "../scheduling/objects.ts";
import { labelSelector, requirement } from "../scheduling/selectors.ts";
import {
  amount,
  child,
  entries,
  Fault,
  type Fields,
  field,
  flag,
  isName,
  list,
  nameLengthMax,
  object,
  requiredText,
  shortText,
  shown,
  text,
} from "./fields.ts";
import { type Reading, readLabels, readVersioned } from "./storage.ts";

export function readNode(raw: Fields, { interning, nodeAnnotations }: Reading): Node {
  const metadata = child(raw, "metadata", "metadata");
  const spec = child(raw, "spec", "spec");
  const status = child(raw, "status", "status");
  const annotations = nodeAnnotations.size === 0 ? [] : entries(metadata, "annotations", "metadata.annotations");
  return {
    ...readVersioned(metadata),
    name: nodeName(interning.text(requiredText(metadata, "name", "metadata.name"))),
    labels: readLabels(metadata, interning),
    unschedulable: flag(spec, "unschedulable", "spec.unschedulable"),
    taints: list(spec, "taints", "spec.taints").map((taint, index) => readTaint(taint, `spec.taints[${index}]`)),
    ready: isReady(status),
    allocatable: new Map(
      Object.entries(child(status, "allocatable", "status.allocatable")).map(([key, value]) => [
        interning.text(key),
        interning.text(readAmount(value, `status.allocatable[${shown(key)}]`)),
      ]),
    ),
    annotations: new Map(annotations.filter(([key]) => nodeAnnotations.has(key))),
  };
}

function readAmount(value: unknown, path: string): string {
  const text = amount(value);
  if (text === undefined) throw new Fault(path, "not a quantity");
  return text;
}

function readTaint(raw: unknown, path: string): Taint {
  const taint = object(raw, path);
  return {
    key: requiredText(taint, "key", `${path}.key`),
    value: text(taint, "value", `${path}.value`) ?? "",
    effect: text(taint, "effect", `${path}.effect`) ?? "",
  };
}

function isReady(status: Fields): boolean {
  return list(status, "conditions", "status.conditions").some((raw, index) => {
    const condition = object(raw, `status.conditions[${index}]`);
    return field(condition, "type") === "Ready" && field(condition, "status") === "True";
  });
}

export function readPod(raw: Fields): Pod {
  const metadata = child(raw, "metadata", "metadata");
  const spec = child(raw, "spec", "spec");
  const namespace = requiredText(metadata, "namespace", "metadata.namespace");
  const name = requiredText(metadata, "name", "metadata.name");
  const node = shortText(spec, "nodeName", "spec.nodeName");
  const phase = text(child(raw, "status", "status"), "phase", "status.phase");
  const versioned = readVersioned(metadata);
  return {
    ...versioned,
    uid: podUid(versioned.uid),
    key: podKey(namespace, name),
    claims: readClaims(spec, namespace, name),
    ...(node !== undefined && { nodeName: nodeName(node) }),
    schedulerName: shortText(spec, "schedulerName", "spec.schedulerName") ?? "default-scheduler",
    finished: phase === "Succeeded" || phase === "Failed",
    gated: list(spec, "schedulingGates", "spec.schedulingGates").length > 0,
    ...readSelects(spec),
  };
}

/** Those of one Pod. Far beyond what any node can attach. */
const claimsMax = 1_000;
const selectedLabelsMax = 100;

/** Nothing here is worth refusing a Pod for: no decision reads it. */
function readSelects(spec: Fields): Pick<Pod, "nodeSelector"> {
  const all = Object.entries(child(spec, "nodeSelector", "spec.nodeSelector"));
  const wanted = all.slice(0, selectedLabelsMax).flatMap(([key, value]) => {
    const isShort = typeof value === "string" && key.length + value.length <= 2 * nameLengthMax;
    const read = isShort ? requirement(key, "In", [value]) : undefined;
    return read ? [read] : [];
  });
  return wanted.length === 0 ? {} : { nodeSelector: labelSelector(wanted) };
}

/** @see component-helpers storage/ephemeral/ephemeral.go, VolumeClaimName: "<pod>-<volume>" */
function readClaims(spec: Fields, namespace: string, pod: string): PodClaim[] {
  const found = new Map<string, PodClaim>();
  for (const [index, raw] of list(spec, "volumes", "spec.volumes").entries()) {
    const path = `spec.volumes[${index}]`;
    const volume = object(raw, path);
    const hasClaim = field(volume, "persistentVolumeClaim") !== undefined;
    const isEphemeral = field(volume, "ephemeral") !== undefined;
    if (hasClaim && isEphemeral) throw new Fault(path, "is both a claim and ephemeral");
    if (!hasClaim && !isEphemeral) continue;
    const source = child(volume, "persistentVolumeClaim", `${path}.persistentVolumeClaim`);
    const claimName = isEphemeral
      ? `${pod}-${requiredText(volume, "name", `${path}.name`)}`
      : requiredText(source, "claimName", `${path}.persistentVolumeClaim.claimName`);
    if (!isName(claimName)) throw new Fault(path, "names a claim that cannot exist");
    const claim = claimKey(namespace, claimName);
    // A claim mounted twice is one claim (departure D2). Where either mount is ephemeral, its owner is checked.
    found.set(claim, { claim, ephemeral: isEphemeral || (found.get(claim)?.ephemeral ?? false) });
  }
  if (found.size > claimsMax) throw new Fault("spec.volumes", `name more than ${claimsMax} claims`);
  return [...found.values()];
}
