/** Nodes by what is said of them: as many lines as there are answers, however many nodes. */
import { compareText, type NodeName } from "./names.ts";
import type { NodeVerdicts } from "./plan.ts";

/** Nodes that are told the same. */
export interface NodeGroup {
  readonly fits: boolean;
  /** They fit on what other Pods hold alone. */
  readonly contended: boolean;
  /** What kube-scheduler is told; absent where they fit. */
  readonly reason?: string;
  readonly nodes: number;
  /** The first by name. */
  readonly first: readonly NodeName[];
}

/** Names given of a group. */
const namesMax = 3;

/** Those that fit first, then the larger groups. */
export function groupNodes(verdicts: NodeVerdicts): NodeGroup[] {
  const groups = new Map<string, { -readonly [Field in keyof NodeGroup]: NodeGroup[Field] } & { first: NodeName[] }>();
  for (const [index, node] of verdicts.names.entries()) {
    const fits = verdicts.fits(index);
    const contended = verdicts.contended(index);
    const reason = fits ? undefined : verdicts.text(index);
    const key = `${fits} ${contended} ${reason}`;
    let group = groups.get(key);
    if (!group) {
      group = { fits, contended, ...(reason !== undefined && { reason }), nodes: 0, first: [] };
      groups.set(key, group);
    }
    group.nodes++;
    if (group.first.length < namesMax) group.first.push(node);
  }
  return [...groups.values()].sort(compareGroups);
}

/** One verdict for all. */
export function oneGroup(names: readonly NodeName[], reason: string | undefined): NodeGroup[] {
  if (names.length === 0) return [];
  const first = names.slice(0, namesMax);
  const fits = reason === undefined;
  return [{ fits, contended: false, ...(!fits && { reason }), nodes: names.length, first }];
}

function compareGroups(a: NodeGroup, b: NodeGroup): number {
  if (a.fits !== b.fits) return a.fits ? -1 : 1;
  if (a.contended !== b.contended) return a.contended ? 1 : -1;
  return b.nodes - a.nodes || compareText(a.reason ?? "", b.reason ?? "");
}
