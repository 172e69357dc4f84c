/** One claim of a plan on its way into the API. */
import type { NodeName } from "../scheduling/names.ts";
import type { Claim, Volume } from "../scheduling/objects.ts";
import type { PlannedClaim } from "../scheduling/plan.ts";
import { isLaterVersion } from "../scheduling/versions.ts";

/**
 *          write sent              answered, or read back as ours
 *   open ────────────▶ in doubt ──────────────────────────────────▶ ours ──▶ lost
 *    │                    │  read back, and the version it stood on is past      ▲
 *    │                    └──────────────────▶ open                              │
 *    └───────────────────────────────────────────────────────────────────────────┘
 *      somebody else has the volume, or what the plan stands on is gone
 */
export type Progress = "open" | "inDoubt" | "ours" | "lost";

export interface Commitment {
  readonly planned: PlannedClaim;
  /** As read live before the first write. */
  claim: Claim;
  progress: Progress;
  /** This run wrote it, as far as is known; else it was found as wanted. */
  wrote: boolean;
  /** The volume named the claim, without its uid, before we wrote. */
  wasReserved: boolean;
  /** The written object's resourceVersion, or that of the read that found it so. */
  version: string | undefined;
  /** The newest version in which the watch has shown it: older ones than the write are of an earlier life. */
  seen: string | undefined;
  /** An earlier run of the Pod promised it, and its write may be on the way. */
  readonly isInherited: boolean;
}

export type StaticCommitment = Commitment & { readonly planned: Extract<PlannedClaim, { kind: "static" }> };
export type ProvisionCommitment = Commitment & { readonly planned: Extract<PlannedClaim, { kind: "provision" }> };

export function isStatic(commitment: Commitment): commitment is StaticCommitment {
  return commitment.planned.kind === "static";
}

export function isProvision(commitment: Commitment): commitment is ProvisionCommitment {
  return commitment.planned.kind === "provision";
}

export function commitmentOf(
  planned: PlannedClaim,
  { claim, node, isInherited }: { readonly claim: Claim; readonly node: NodeName; readonly isInherited: boolean },
): Commitment {
  const found = isWritten(planned, node);
  const version = planned.kind === "static" ? planned.volume.resourceVersion : planned.claim.resourceVersion;
  return {
    planned,
    claim,
    progress: found ? "ours" : "open",
    wrote: false,
    // By a user. A claimRef with the mark is a binder's own, perhaps ours from an earlier try: it is taken back whole.
    wasReserved:
      planned.kind === "static" && planned.volume.claimRef !== undefined && !planned.volume.boundByController,
    version: found ? version : undefined,
    seen: found ? version : undefined,
    isInherited,
  };
}

/** Whether the API says it already: after a restart, or where an earlier try was cut off. */
export function isWritten(planned: PlannedClaim, node: NodeName): boolean {
  switch (planned.kind) {
    case "bound":
      return true;
    case "static":
      return planned.volume.claimRef?.uid === planned.claim.uid;
    case "provision":
      return planned.claim.selectedNode === node;
    default:
      return planned satisfies never;
  }
}

/** Whether a version is the other or a later one; where they are no integers, only whether it is the same. */
export function isAtLeast(version: string, other: string): boolean {
  return version === other || isLaterVersion(version, other) === true;
}

/**
 * Whether a volume that changed under our write still serves the claim as planned: everything that the choice looked at is
 * as it was. Status messages, finalizers, unrelated labels and annotations are no reason to plan anew.
 */
export function isHarmless(planned: Volume, live: Volume, claim: Claim): boolean {
  const sameRef = live.claimRef?.claim === planned.claimRef?.claim && live.claimRef?.uid === planned.claimRef?.uid;
  return (
    sameRef &&
    !live.deleting &&
    live.class === planned.class &&
    live.capacity === planned.capacity &&
    live.mode === planned.mode &&
    live.accessModes === planned.accessModes &&
    live.attributesClass === planned.attributesClass &&
    live.affinity?.identity === planned.affinity?.identity &&
    (live.phase === planned.phase || live.phase === "Available") &&
    (claim.selector === undefined || sameLabels(live.labels, planned.labels))
  );
}

function sameLabels(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}
