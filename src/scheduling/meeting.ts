/** Several claims of one Pod that no node serves together: which of them is at fault, and which two cannot meet. */
import { filterNodes } from "./filter.ts";
import { type ClaimKey, compareText, type NodeName } from "./names.ts";
import type { Pod, PodClaim } from "./objects.ts";
import type { ClusterState } from "./state.ts";

/** Claims that are looked at in pairs: of more, those that the fewest nodes serve. */
const claimsMax = 6;
const namesMax = 3;
/** Nodes judged between two pauses. */
const stepNodes = 500;

/** Where one claim could be, were it the Pod's only one. */
export interface ClaimAlone {
  readonly claim: ClaimKey;
  readonly nodes: number;
  /** The first by name. */
  readonly first: readonly NodeName[];
}

/** Two claims, each of which some node serves, and no node both. */
export interface ClaimsApart {
  readonly claims: readonly [ClaimKey, ClaimKey];
  /** Nodes that serve either: none where their volumes are on different nodes, some where they need the same volume or space. */
  readonly inCommon: number;
  readonly firstInCommon: readonly NodeName[];
}

/** How the claims of a Pod fare alone and in pairs, whatever kube-scheduler offered. */
export interface Meeting {
  /** By claim. */
  readonly alone: readonly ClaimAlone[];
  readonly apart: readonly ClaimsApart[];
  /** Claims that were not looked at in pairs. */
  readonly leftOut: number;
}

interface Reached {
  readonly claim: PodClaim;
  readonly nodes: ReadonlySet<NodeName>;
}

/** Asks the planner itself, so it agrees with what filter says. Yields between steps. Undefined where there is but one claim. */
export function* meetingOf(state: ClusterState, pod: Pod): Generator<undefined, Meeting | undefined> {
  if (pod.claims.length < 2) return undefined;
  const names = [...state.topologies.nodes.keys()].sort(compareText);
  const reached: Reached[] = [];
  for (const claim of pod.claims) reached.push({ claim, nodes: yield* nodesFor(state, pod, [claim], names) });
  const alone = reached.map(({ claim, nodes }) => ({
    claim: claim.claim,
    nodes: nodes.size,
    first: [...nodes].slice(0, namesMax),
  }));
  const placeable = reached.filter(({ nodes }) => nodes.size > 0).sort(compareReached);
  const looked = placeable.slice(0, claimsMax);
  const apart: ClaimsApart[] = [];
  for (const [index, one] of looked.entries()) {
    for (const other of looked.slice(index + 1)) {
      const inCommon = names.filter((name) => one.nodes.has(name) && other.nodes.has(name));
      const both = yield* nodesFor(state, pod, [one.claim, other.claim], inCommon);
      if (both.size > 0) continue;
      const claims = [one.claim.claim, other.claim.claim].sort(compareText) as [ClaimKey, ClaimKey];
      apart.push({ claims, inCommon: inCommon.length, firstInCommon: inCommon.slice(0, namesMax) });
    }
  }
  return {
    alone: alone.sort((a, b) => compareText(a.claim, b.claim)),
    apart: apart.sort((a, b) => compareText(a.claims.join(), b.claims.join())),
    leftOut: placeable.length - looked.length,
  };
}

function compareReached(a: Reached, b: Reached): number {
  return a.nodes.size - b.nodes.size || compareText(a.claim.claim, b.claim.claim);
}

function* nodesFor(
  state: ClusterState,
  pod: Pod,
  claims: readonly PodClaim[],
  names: readonly NodeName[],
): Generator<undefined, ReadonlySet<NodeName>> {
  const fitting = new Set<NodeName>();
  for (let from = 0; from < names.length; from += stepNodes) {
    const verdict = filterNodes(state, { ...pod, claims }, names.slice(from, from + stepNodes));
    if (verdict.kind !== "judged") return fitting;
    for (const [index, name] of verdict.nodes.names.entries()) if (verdict.nodes.fits(index)) fitting.add(name);
    yield;
  }
  return fitting;
}
