/**
 * How a plan stands by what the watch shows: every claim bound as planned, not yet, or astray. Pure: asked again at every
 * change of an object the plan stands on.
 *
 * @see VB §4.3; kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go, checkBindings
 */

import { affinityOn } from "../scheduling/migration.ts";
import type { NodeName, VolumeName } from "../scheduling/names.ts";
import type { Claim, Node, Volume } from "../scheduling/objects.ts";
import { matchesNode } from "../scheduling/selectors.ts";
import type { ClusterState } from "../scheduling/state.ts";
import { isLaterVersion } from "../scheduling/versions.ts";
import { type Commitment, isAtLeast } from "./commitment.ts";

export type Standing =
  | { readonly kind: "bound" }
  | { readonly kind: "pending"; readonly waitingFor: string }
  | {
      readonly kind: "astray";
      readonly why: string;
      readonly commitment?: Commitment;
      /** The provisioner gave the claim back: its last event may say why. */
      readonly isRefusal?: boolean;
    };

const bound: Standing = { kind: "bound" };

export function standingOf(state: ClusterState, name: NodeName, commitments: readonly Commitment[]): Standing {
  const node = state.get("node", name);
  if (!node) return { kind: "astray", why: `node ${name} does not exist any more` };
  let pending: Standing | undefined;
  for (const commitment of commitments) {
    const standing = standingOfClaim(state, node, commitment);
    if (standing.kind === "astray") return { ...standing, commitment };
    if (standing.kind === "pending") pending ??= standing;
  }
  return pending ?? bound;
}

function standingOfClaim(state: ClusterState, node: Node, commitment: Commitment): Standing {
  const { planned } = commitment;
  const { key, uid } = commitment.claim;
  const problem = state.problem("claim", key);
  if (problem !== undefined) return astray(`claim ${key} cannot be read: ${problem}`);
  const claim = state.get("claim", key);
  if (!claim) return astray(`claim ${key} was deleted`);
  if (claim.uid !== uid) return astray(`claim ${key} was deleted and created anew`);
  if (claim.deleting) return astray(`claim ${key} is being deleted`);
  if (claim.lost) return astray(`claim ${key} has lost its volume ${claim.volumeName ?? ""}`);
  switch (planned.kind) {
    case "bound":
      return ofBound(state, node, claim, planned.volume);
    case "static":
      return ofStatic(state, node, claim, { commitment, planned: planned.volume });
    case "provision":
      return ofProvision(state, node, claim, commitment);
    default:
      return planned satisfies never;
  }
}

function ofBound(state: ClusterState, node: Node, claim: Claim, planned: Volume): Standing {
  const found = findPlanned(state, planned);
  if (typeof found === "string") return astray(found);
  if (claim.volumeName !== planned.name)
    return astray(`claim ${claim.key} is no longer bound to volume ${planned.name}`);
  return reaches(state, node, found) ? bound : astray(unreachable(found, node));
}

function ofStatic(
  state: ClusterState,
  node: Node,
  claim: Claim,
  { commitment, planned }: { readonly commitment: Commitment; readonly planned: Volume },
): Standing {
  const { name } = planned;
  const volume = findPlanned(state, planned);
  if (typeof volume === "string") return astray(volume);
  const isOurs = volume.claimRef?.uid === claim.uid;
  if (isOurs) commitment.seen = volume.resourceVersion;
  else if (isShown(volume.resourceVersion, commitment)) {
    const by = volume.claimRef;
    return astray(
      by && (by.uid !== undefined || by.claim !== claim.key)
        ? `volume ${name} was taken by claim ${by.claim}`
        : `the claimRef of volume ${name} was reset`,
    );
  }
  // Departure D11: upstream asks only whether the claim is bound to something.
  if (claim.volumeName !== undefined && claim.volumeName !== name) {
    return astray(`claim ${claim.key} was bound to volume ${claim.volumeName} instead of ${name}`);
  }
  if (!reaches(state, node, volume)) return astray(unreachable(volume, node));
  if (isOurs && claim.volumeName === name && claim.bindCompleted) return bound;
  if (volume.deleting) return astray(`volume ${name} is being deleted`);
  return pending(`claim ${claim.key} is not bound to volume ${name} yet`);
}

function ofProvision(state: ClusterState, node: Node, claim: Claim, commitment: Commitment): Standing {
  if (claim.volumeName !== undefined) return ofProvisioned(state, node, claim, claim.volumeName);
  if (claim.selectedNode === node.name) commitment.seen = claim.resourceVersion;
  else if (isShown(claim.resourceVersion, commitment)) {
    if (claim.selectedNode !== undefined) {
      return astray(`selected-node of claim ${claim.key} was changed to ${claim.selectedNode}`);
    }
    return {
      kind: "astray",
      why: `provisioning of claim ${claim.key} on node ${node.name} was refused`,
      isRefusal: true,
    };
  }
  return pending(`the volume of claim ${claim.key} is not provisioned yet`);
}

/** A volume that the watch has not shown yet is awaited, as upstream does; claims and volumes arrive in any order (FR-052). */
function ofProvisioned(state: ClusterState, node: Node, claim: Claim, name: VolumeName): Standing {
  const volume = state.get("volume", name);
  if (!volume) return pending(`volume ${name} of claim ${claim.key} has not reached the cache yet`);
  if (!reaches(state, node, volume)) {
    return astray(
      `claim ${claim.key} was bound to volume ${name}, which node ${node.name} cannot reach (node affinity)`,
    );
  }
  const isBound = claim.bindCompleted && volume.claimRef?.uid === claim.uid;
  return isBound ? bound : pending(`claim ${claim.key} is not bound to volume ${name} yet`);
}

/** The very volume that was planned, or what became of it. */
function findPlanned(state: ClusterState, planned: Volume): Volume | string {
  const { name, uid } = planned;
  const problem = state.problem("volume", name);
  if (problem !== undefined) return `volume ${name} cannot be read: ${problem}`;
  const volume = state.get("volume", name);
  if (!volume) return `volume ${name} was deleted`;
  return volume.uid === uid ? volume : `volume ${name} was deleted and created anew`;
}

/** Whether the watch is past our write, and so would show it; or did, be it that no version is known. */
function isShown(now: string, { version, seen }: Commitment): boolean {
  if (version === undefined) return seen !== undefined;
  return isAtLeast(now, version) || (seen !== undefined && !isLaterVersion(version, seen));
}

/** By the affinity that counts on the node: that of a bound in-tree volume is its CSI driver's there (scenario 130). */
export function reaches(state: ClusterState, node: Node, volume: Volume): boolean {
  return matchesNode(affinityOn(state, node, volume), node.labels, node.name);
}

function unreachable({ name }: Volume, node: Node): string {
  return `the node affinity of volume ${name} does not match node ${node.name} any more`;
}

function pending(waitingFor: string): Standing {
  return { kind: "pending", waitingFor };
}

function astray(why: string): Standing {
  return { kind: "astray", why };
}
