/** What a decision says: a plan for one node, or why there is none. */
import type { ClaimKey, ClassName, NodeName } from "./names.ts";
import type { Claim, Kind, ObjectKey, StorageClass, Volume } from "./objects.ts";
import type { Bytes } from "./quantity.ts";
import type { NodeReason, PodReason } from "./reasons.ts";
import type { Scoring } from "./scoring.ts";

/** A pool of capacity: one class in one topology segment, however often its object is deleted and made anew. */
export type PoolKey = string;

/** How one claim of a Pod is served on the planned node. */
export type PlannedClaim =
  /** Already bound: nothing to write. */
  | { readonly kind: "bound"; readonly claim: Claim; readonly volume: Volume }
  /** The volume's claimRef is to name the claim. */
  | { readonly kind: "static"; readonly claim: Claim; readonly volume: Volume }
  /** The claim's selected-node is to name the node. `pool` is absent where the driver publishes no capacity. */
  | {
      readonly kind: "provision";
      readonly claim: Claim;
      readonly class: StorageClass;
      readonly bytes: Bytes;
      readonly pool?: PoolKey;
    };

/** All claims of a Pod on one node, in the order of their names. */
export interface Plan {
  readonly node: NodeName;
  /** It takes a volume or capacity that another Pod holds: allowed, but the last choice. */
  readonly contended: boolean;
  readonly claims: readonly PlannedClaim[];
}

/** An object that the decision needed and the cache lacks. One live GET tells whether it is missing or we are behind. */
export interface Doubt {
  readonly kind: Kind;
  readonly key: ObjectKey;
}

export interface NodeRefusal {
  readonly reason: NodeReason;
  readonly claim?: ClaimKey;
}

export type NodeVerdict =
  | { readonly fits: true; readonly plan: Plan }
  /** In upstream's order; the first is the one counted. `text` is what kube-scheduler is told. */
  | { readonly fits: false; readonly refusals: readonly NodeRefusal[]; readonly text: string };

/** The verdict on one Pod, before any node is looked at or with every node's. */
export type PodVerdict<Nodes> =
  /** The Pod mounts no claim: every node passes. */
  | { readonly kind: "free" }
  /** The Pod touches an object that could not be read: an `Error`, naming it. */
  | { readonly kind: "fault"; readonly object: Doubt; readonly problem: string }
  /** Refused on every node. */
  | {
      readonly kind: "refused";
      readonly reason: PodReason;
      readonly claim: ClaimKey;
      readonly text: string;
      readonly doubts: readonly Doubt[];
    }
  | { readonly kind: "judged"; readonly nodes: Nodes; readonly doubts: readonly Doubt[] };

/**
 * The verdicts of one filter call, in the order of the names asked about, each name once. Kept in flat arrays: plans become
 * objects only where somebody asks.
 */
export interface NodeVerdicts {
  readonly names: readonly NodeName[];
  readonly feasibleCount: number;
  fits(index: number): boolean;
  /** Fits only on volumes or capacity that other Pods hold. */
  contended(index: number): boolean;
  /** Claims that would be provisioned; 0 where the node does not fit. */
  provisions(index: number): number;
  /** Bytes of the planned volumes beyond what their claims ask; 0 where the node does not fit. May round beyond 2^53. */
  surplus(index: number): number;
  /** What the strategy measures of the plan, 0..100; -1 where that is not known, and 0 where the strategy measures nothing. */
  percent(index: number): number;
  /** Volumes of the plan that lie on a disk which another claim uses. */
  busyDisks(index: number): number;
  /** How these nodes are to be ranked. */
  readonly scoring: Scoring;
  /** The full verdict as of now, with the plan or the refusals: planned anew, so it tells the truth whenever it is asked. */
  verdict(index: number): NodeVerdict;
  /** What kube-scheduler is told of a refused node; "" where it fits. */
  text(index: number): string;
  /** The first refusal's reason; undefined where it fits. */
  reason(index: number): NodeReason | undefined;
}

/** What `berth simulate` and `/debug/explain` print for one claim on one node. */
export type ClaimExplanation =
  | { readonly claim: ClaimKey; readonly volume: string }
  | { readonly claim: ClaimKey; readonly provision: ClassName }
  | { readonly claim: ClaimKey; readonly bound: string }
  | { readonly claim: ClaimKey; readonly refused: readonly { readonly volume: string; readonly why: string }[] };

export interface NodeExplanation {
  readonly node: NodeName;
  readonly fits: boolean;
  readonly contended: boolean;
  readonly score: number;
  /** What kube-scheduler is told. */
  readonly reason?: string;
  /** Always false where refused: evicting Pods frees no volume. */
  readonly resolvable?: boolean;
  readonly claims?: readonly ClaimExplanation[];
}

/** The stable JSON of `berth simulate -o json`: nodes and claims in name order, the same input gives the same bytes. */
export interface Explanation {
  readonly pod: string;
  readonly schedulable: boolean;
  /** The Pod-level reason, where one holds for every node. */
  readonly reason?: string;
  readonly nodes: readonly NodeExplanation[];
  /** Nodes that are not shown, and how many of them fit. Absent where all are shown. */
  readonly omitted?: { readonly nodes: number; readonly fits: number };
  /** The smallest change that would help. */
  readonly suggestion?: string;
}
