/** What `berth check-storage` reads of objects beyond what decisions use. What cannot be read is not there. */
import { type NodeName, nodeName, type VolumeName, volumeName } from "../scheduling/names.ts";
import { type Bytes, parseBytes } from "../scheduling/quantity.ts";
import type { StorageFacts } from "../scheduling/storage-check.ts";
import type { Manifest } from "./manifests.ts";

export function storageFacts(manifests: readonly Manifest[]): StorageFacts {
  const retained = new Set<VolumeName>();
  const rootBytes = new Map<NodeName, Bytes>();
  for (const { object } of manifests) {
    const name = textAt(object, "metadata", "name");
    if (name === undefined) continue;
    // The API server fills in Retain.
    const isKept = textAt(object, "spec", "persistentVolumeReclaimPolicy") !== "Delete";
    if (object["kind"] === "PersistentVolume" && isKept) retained.add(volumeName(name));
    if (object["kind"] !== "Node") continue;
    const root = parseBytes(textAt(object, "status", "capacity", "ephemeral-storage") ?? "");
    if (root !== undefined) rootBytes.set(nodeName(name), root);
  }
  return { retained, rootBytes };
}

function textAt(object: unknown, ...path: readonly string[]): string | undefined {
  let at = object;
  for (const key of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return typeof at === "string" ? at : typeof at === "number" ? String(at) : undefined;
}
