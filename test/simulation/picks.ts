/** What people and other programs may lay hands on. */
import type { Body } from "../binding/world.ts";
import { isBound, selectedNode } from "./cluster.ts";

const bindCompleted = "pv.kubernetes.io/bind-completed";

export function keyOf({ metadata: { name, namespace: inside } }: Body): string {
  return inside === undefined ? name : `${inside}/${name}`;
}

export function isFree({ metadata, spec }: Body): boolean {
  return spec.claimRef === undefined && metadata.deletionTimestamp === undefined;
}

/** By a binder, for a claim: to take a volume from its provisioner's claim would leave that claim without one for ever. */
export function isReserved({ spec, status }: Body): boolean {
  return spec.csi === undefined && spec.claimRef?.uid !== undefined && status?.phase !== "Bound";
}

/**
 * Not while a provisioner's volume waits to be bound: the claim stays selected, its provisioner has made what was asked for and is
 * told of nothing until its informer is filled anew, an hour later, and the bind rightly waits for it.
 *
 * @param claim  that the volume names
 */
export function isDeletable({ spec, status }: Body, claim: Body): boolean {
  if (spec.csi === undefined || status?.phase === "Released") return true;
  return status?.phase === "Bound" && (claim?.metadata.uid !== spec.claimRef?.uid || isBound(claim));
}

export function isSelected({ metadata }: Body): boolean {
  const { annotations = {} } = metadata;
  return annotations[selectedNode] !== undefined && annotations[bindCompleted] === undefined;
}
