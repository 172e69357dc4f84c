/** `npm run bench -- core`: filter in process, at growing sizes. The ratios are what counts: machines are shared and noisy. */
import { filterNodes } from "../src/scheduling/filter.ts";
import { type Shape, syntheticCluster } from "./synthetic.ts";

export interface Row {
  readonly name: string;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface CoreBench {
  readonly rows: readonly Row[];
  /** Ten times the volumes on the same nodes. */
  readonly volumesRatio: number;
  /** Ten times the nodes. */
  readonly nodesRatio: number;
}

/** Rounds of each shape take turns, so that a slow moment hits all of them. */
export function benchCore({ nodes, rounds }: { readonly nodes: number; readonly rounds: number }): CoreBench {
  const shapes: readonly Shape[] = [
    { nodes: nodes / 10, volumesPerNode: 10, claims: 3 },
    { nodes, volumesPerNode: 10, claims: 1 },
    { nodes, volumesPerNode: 10, claims: 3 },
    { nodes, volumesPerNode: 100, claims: 3 },
    { nodes, volumesPerNode: 10, claims: 8 },
    { nodes, volumesPerNode: 10, claims: 3, equal: true },
  ];
  const runs = shapes.map((shape) => ({ shape, cluster: syntheticCluster(shape), times: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    for (const { shape, cluster, times } of runs) {
      const begun = performance.now();
      const verdict = filterNodes(cluster.state, cluster.pod, cluster.names);
      times.push(performance.now() - begun);
      if (verdict.kind !== "judged" || verdict.nodes.feasibleCount !== shape.nodes) throw new Error("every node fits");
    }
  }
  const rows = runs.map(({ shape, times }) => rowOf(shape, times));
  const ratio = (a: number, b: number): number => (rows[a]?.p50Ms ?? 0) / (rows[b]?.p50Ms ?? 1);
  return { rows, volumesRatio: ratio(3, 2), nodesRatio: ratio(2, 0) };
}

function rowOf({ nodes, volumesPerNode, claims, equal }: Shape, times: number[]): Row {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const name = `${nodes} nodes × ${volumesPerNode} volumes × ${claims} ${equal ? "equal " : ""}claims`;
  return { name, p50Ms: at(0.5), p99Ms: at(0.99) };
}
