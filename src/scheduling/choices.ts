/** A Pod's open claims on one node: what each may take, which way serves all of them, and why none does. */
import { assign } from "./assignment.ts";
import type { Candidates } from "./candidates.ts";
import type { Open } from "./open-claim.ts";
import type { NodeReason } from "./reasons.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";
import type { VolumeId } from "./volume-table.ts";

/** Chosen instead of a volume. */
export const provisioned = -1;

/** A claim's ways on one node: forced to one volume or to provisioning, or free to choose among candidates. */
export interface Way {
  readonly open: Open;
  readonly candidates: readonly VolumeId[];
  readonly forced: "volume" | "provision" | undefined;
}

/** The same, once it is known whether the claim could be provisioned. */
export interface Choice extends Way {
  /** Why the claim cannot be provisioned; undefined where it can, or need not be. */
  readonly blocked: NodeReason | undefined;
}

/** Assignments found before, by the pattern of who may take what: nodes of one kind repeat it, so it is searched once a call. */
export type Patterns = Map<string, readonly number[]>;

/**
 * Exact assignment; claims that cannot be provisioned first, then large ones.
 *
 * @param bySize  indices of the claims, the largest first
 * @returns       per claim its volume, or `provisioned`
 */
export function matchChoices(
  { volumes }: ClusterState,
  choices: readonly Choice[],
  bySize: readonly number[],
  patterns: Patterns,
): VolumeId[] {
  const all = new Set<VolumeId>();
  for (const { candidates } of choices) for (const id of candidates) all.add(id);
  const ranked = [...all].sort((a, b) => volumes.compare(a, b));
  const rankOf = new Map(ranked.map((id, rank) => [id, rank]));
  const candidates = choices.map((choice) => choice.candidates.map((id) => rankOf.get(id) ?? 0));
  const mustBeStatic = (index: number): boolean =>
    choices[index]?.forced === "volume" || choices[index]?.blocked !== undefined;
  const order = [...bySize.filter((index) => mustBeStatic(index)), ...bySize.filter((index) => !mustBeStatic(index))];
  const pattern = `${order.join()} ${candidates.join(" ")}`;
  const ranks = patterns.get(pattern) ?? assign(candidates, order, ranked.length);
  patterns.set(pattern, ranks);
  return ranks.map((rank) => ranked[rank] ?? provisioned);
}

/** The node whose claims could not all be served. */
export interface Unserved {
  readonly state: ClusterState;
  readonly entry: NodeEntry;
  readonly candidates: Candidates;
  readonly choices: readonly Choice[];
  readonly bySize: readonly number[];
  readonly patterns: Patterns;
}

/** Why the claim at `index` got nothing: tells a disk that is missing from one that a sibling claim or another Pod has. */
export function whyUnserved(
  { state, entry, candidates, choices, bySize, patterns }: Unserved,
  index: number,
): NodeReason {
  const choice = choices[index];
  const reason = choice?.blocked ?? "noMatchingVolume";
  if (!choice || (reason !== "noMatchingVolume" && reason !== "selectorNotProvisionable")) return reason;
  const isAlone = choice.candidates.length === 0;
  if (state.reservations.assumptionCount === 0) return isAlone ? reason : "notEnoughVolumes";
  const assumedFor = ({ open, forced }: Choice): readonly VolumeId[] =>
    forced ? [] : candidates.assumedThatSuit(entry, open);
  if (isAlone) return assumedFor(choice).length === 0 ? reason : "volumeAssumed";
  // Asked again as if nothing were assumed, so that whoever reads the reason learns whether to wait or to add a disk.
  const wider = choices.map((other) => ({
    ...other,
    candidates: [...other.candidates, ...assumedFor(other)].sort((a, b) => state.volumes.compare(a, b)),
  }));
  const volumes = matchChoices(state, wider, bySize, patterns);
  const serves = volumes.every((volume, position) => volume !== provisioned || !wider[position]?.blocked);
  return serves ? "volumeAssumed" : "notEnoughVolumes";
}
