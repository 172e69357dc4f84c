/** Which nodes and claims a matrix shows of thousands: some of each kind of answer, the most helpful kinds first. */
import type { ClaimKey, NodeName } from "../../scheduling/names.ts";
import type { ClaimExplanation, NodeExplanation } from "../../scheduling/plan.ts";

/** Nodes that are told the same, but for the names of volumes. */
export interface RowGroup {
  readonly shown: readonly NodeExplanation[];
  /** Of all nodes that were explained, those like them that are not shown. */
  readonly left: number;
}

export interface Rows {
  readonly groups: readonly RowGroup[];
  /** Whole groups that are not shown, and their nodes. */
  readonly groupsLeft: number;
  readonly nodesLeft: number;
}

/** Of one group: of few groups more. */
const shownOfGroup = { few: 5, many: 2 };
const fewGroups = 3;

/** Those that fit first, then the nearest, then those with the fewest claims in trouble, then the most frequent. */
export function chooseRows(nodes: readonly NodeExplanation[], nearest: NodeName | undefined, rowsMax: number): Rows {
  const sorted = nodes.toSorted((a, b) => Number(b.node === nearest) - Number(a.node === nearest));
  const isNear = (group: readonly NodeExplanation[]): boolean => group[0]?.node === nearest;
  const groups = [...Map.groupBy(sorted, signatureOf).values()].sort(
    (a, b) => Number(isNear(b)) - Number(isNear(a)) || farness(a) - farness(b) || b.length - a.length,
  );
  const shown = groups.slice(0, rowsMax);
  const wanted = groups.length <= fewGroups ? shownOfGroup.few : shownOfGroup.many;
  const perGroup = Math.max(1, Math.min(wanted, Math.floor(rowsMax / Math.max(1, shown.length))));
  // A row that says "1 more" takes the room of that one.
  const countOf = (group: readonly unknown[]): number => (group.length === perGroup + 1 ? group.length : perGroup);
  const left = groups.slice(rowsMax);
  return {
    groups: shown.map((group) => ({
      shown: group.slice(0, countOf(group)),
      left: Math.max(0, group.length - countOf(group)),
    })),
    groupsLeft: left.length,
    nodesLeft: left.reduce((sum, group) => sum + group.length, 0),
  };
}

function farness([first]: readonly NodeExplanation[]): number {
  if (first?.fits) return first.contended ? 1 : 0;
  const { claims } = first ?? {};
  if (!claims) return Number.MAX_SAFE_INTEGER;
  return 1 + claims.filter((one) => "refused" in one).length;
}

/** Claims in trouble on the most nodes first: a phone shows the first alone. */
export function chooseColumns(
  claims: readonly ClaimKey[],
  groups: readonly RowGroup[],
  columnsMax: number,
): readonly ClaimKey[] {
  const troubles = new Map<ClaimKey, number>();
  for (const { shown } of groups) {
    for (const { claims: explained = [] } of shown) {
      for (const one of explained) {
        if ("refused" in one) troubles.set(one.claim, (troubles.get(one.claim) ?? 0) + 1);
      }
    }
  }
  return claims.toSorted((a, b) => (troubles.get(b) ?? 0) - (troubles.get(a) ?? 0)).slice(0, columnsMax);
}

/** "too small: 1Gi of 5Gi" without what differs from volume to volume. */
export function kindOfWhy(why: string): string {
  return why.replace(/:.*$/s, "");
}

/** What is in the way of a claim, each kind once with how often, in the order of the first. */
export function kindsOfWhy(refused: readonly { readonly volume: string; readonly why: string }[]): Map<string, number> {
  const kinds = new Map<string, number>();
  for (const { why } of refused) kinds.set(kindOfWhy(why), (kinds.get(kindOfWhy(why)) ?? 0) + 1);
  return kinds;
}

function signatureOf({ fits, contended, reason, claims }: NodeExplanation): string {
  return JSON.stringify([fits, contended, reason, claims?.map(cellSignature)]);
}

function cellSignature(explained: ClaimExplanation): unknown {
  if ("bound" in explained) return "bound";
  if ("volume" in explained) return "volume";
  if ("provision" in explained) return "provision";
  return [...kindsOfWhy(explained.refused).keys()].sort();
}
