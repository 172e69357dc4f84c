/**
 * A Pod's claims by what can be done with them, in upstream's order of checks: bound, unbound with delayed binding, or a
 * reason that holds on every node.
 *
 * @see VB §2.1; kubernetes pkg/scheduler/framework/plugins/volumebinding/{volume_binding,binder}.go, PreFilter and GetPodVolumeClaims
 */
import { driverOf } from "./drivers.ts";
import { type ClaimKey, compareText, splitKey } from "./names.ts";
import type { Claim, Kind, ObjectKey, Pod, PodClaim, StorageClass } from "./objects.ts";
import type { Doubt, PodVerdict } from "./plan.ts";
import { type PodReason, podReasons } from "./reasons.ts";
import type { ClusterState } from "./state.ts";

/** An unbound claim that waits for its Pod, with the class that says so. */
export interface DelayedClaim {
  readonly claim: Claim;
  readonly class: StorageClass;
}

/** A Pod whose claims can be placed, node by node. */
export interface SortedClaims {
  readonly kind: "sorted";
  /** In the Pod's order. */
  readonly bound: readonly Claim[];
  /** In name order. */
  readonly delayed: readonly DelayedClaim[];
}

type Ended = Exclude<PodVerdict<never>, { kind: "judged" }>;

/**
 * The first claim in the Pod's order that is missing, lost, being deleted or somebody else's ends it, then the first object that
 * cannot be read, then the first claim that only the PV controller can bind.
 *
 * @see VB §2.1
 */
export function sortClaims(state: ClusterState, pod: Pod): SortedClaims | Ended {
  if (pod.claims.length === 0) return { kind: "free" };
  const claims: Claim[] = [];
  for (const mounted of pod.claims) {
    const found = usableClaim(state, pod, mounted);
    if ("kind" in found) return found;
    claims.push(found);
  }
  return classify(state, pod, claims);
}

/** The claim itself, or why the Pod can go nowhere. */
function usableClaim(state: ClusterState, pod: Pod, { claim: key, ephemeral }: PodClaim): Claim | Ended {
  const problem = state.problem("claim", key);
  if (problem !== undefined) return fault("claim", key, problem);
  const claim = state.get("claim", key);
  if (!claim) {
    return refused(pod, key, ephemeral ? "claimAwaited" : "claimNotFound", { doubts: [{ kind: "claim", key }] });
  }
  if (claim.lost) return refused(pod, key, "claimLost", { volume: claim.volumeName ?? "" });
  if (claim.deleting) return refused(pod, key, "claimDeleting");
  if (ephemeral && claim.controllerUid !== pod.uid) return refused(pod, key, "claimNotOwned");
  return claim;
}

function classify(state: ClusterState, pod: Pod, claims: readonly Claim[]): SortedClaims | Ended {
  const bound: Claim[] = [];
  const delayed: DelayedClaim[] = [];
  let immediate: Ended | undefined;
  for (const claim of claims) {
    if (claim.volumeName !== undefined && claim.bindCompleted) {
      bound.push(claim);
      continue;
    }
    const found = delayedClass(state, pod, claim);
    if (found.kind === "fault") return found;
    if (found.kind === "delayed") delayed.push({ claim, class: found.class });
    else immediate ??= found;
  }
  if (immediate) return immediate;
  return { kind: "sorted", bound, delayed: delayed.sort((a, b) => compareText(a.claim.key, b.claim.key)) };
}

/** The class of a claim that waits for its Pod; else the PV controller must bind the claim. */
function delayedClass(
  state: ClusterState,
  pod: Pod,
  claim: Claim,
): { readonly kind: "delayed"; readonly class: StorageClass } | Ended {
  if (claim.class === "") return refused(pod, claim.key, "unboundImmediate");
  const problem = state.problem("class", claim.class);
  if (problem !== undefined) return fault("class", claim.class, problem);
  const found = state.get("class", claim.class);
  if (!found) {
    return refused(pod, claim.key, "unboundImmediate", { doubts: [{ kind: "class", key: claim.class }] });
  }
  if (found.bindingMode === undefined) return fault("class", found.name, "volumeBindingMode: not set");
  if (found.bindingMode === "Immediate") return refused(pod, claim.key, "unboundImmediate");
  if (claim.volumeName !== undefined) return refused(pod, claim.key, "bindInProgress");
  return unreadableDriver(state, found) ?? { kind: "delayed", class: found };
}

/** Whether capacity must be looked at is the driver's to say: without its word a full pool would pass for an endless one. */
function unreadableDriver(state: ClusterState, { name, provisioner }: StorageClass): Ended | undefined {
  const driver = driverOf(provisioner);
  const problem = state.problem("driver", driver);
  if (problem === undefined || state.provisioning.get(name) === "static") return undefined;
  return fault("driver", driver, problem);
}

/** An object that is there and cannot be read: an error of the call, not a refusal (decision 3). */
export function fault(kind: Kind, key: ObjectKey, problem: string): Extract<Ended, { kind: "fault" }> {
  return { kind: "fault", object: { kind, key }, problem };
}

function refused(
  pod: Pod,
  key: ClaimKey,
  reason: PodReason,
  { volume = "", doubts = [] }: { volume?: string; doubts?: readonly Doubt[] } = {},
): Ended {
  const { namespace, name } = splitKey(key);
  const text = podReasons[reason]({ namespace, claim: name, pod: splitKey(pod.key).name, volume });
  return { kind: "refused", reason, claim: key, text, doubts };
}
