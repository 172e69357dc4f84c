/** `npm run bench -- core`: filter in process, at growing sizes. Ratios are what counts; machines are shared and noisy. */
import { filterNodes } from "../src/scheduling/filter.ts";
import { type Shape, syntheticCluster } from "./synthetic.ts";

const shapes: readonly Shape[] = [
  { nodes: 500, volumesPerNode: 10, claims: 3 },
  { nodes: 5_000, volumesPerNode: 10, claims: 1 },
  { nodes: 5_000, volumesPerNode: 10, claims: 3 },
  { nodes: 5_000, volumesPerNode: 100, claims: 3 },
  { nodes: 5_000, volumesPerNode: 10, claims: 8 },
];

for (const shape of shapes) {
  const { state, pod, names } = syntheticCluster(shape);
  const times: number[] = [];
  for (let round = 0; round < 60; round++) {
    const start = performance.now();
    const verdict = filterNodes(state, pod, names);
    times.push(performance.now() - start);
    if (verdict.kind !== "judged" || verdict.nodes.feasibleCount !== names.length) throw new Error("every node fits");
  }
  times.sort((a, b) => a - b);
  process.stdout.write(
    `${shape.nodes} nodes × ${shape.volumesPerNode} volumes × ${shape.claims} claims: p50 ${times[30]?.toFixed(2)} ms, p99 ${times[59]?.toFixed(2)} ms\n`,
  );
}
