/** `npm run bench -- core`: filter in process, at growing sizes and in every way that a node can be decided, and its scores. */
import { filterNodes } from "../src/scheduling/filter.ts";
import { className } from "../src/scheduling/names.ts";
import type { Claim, Volume } from "../src/scheduling/objects.ts";
import { scoreNodes } from "../src/scheduling/score.ts";
import { defaultScoring, strategies } from "../src/scheduling/scoring.ts";
import { labelSelector, requirement } from "../src/scheduling/selectors.ts";
import { type Bench, measure, ratio, type Subject } from "./measure.ts";
import { gib, type Shape, syntheticCluster } from "./synthetic.ts";

/** Each asks for the same size with access modes of its own, so that all want the same volume and none will do for all. */
const unlike = (place: number): Partial<Claim> => ({ request: gib(1), accessModes: [1, 4, 5][place % 3] ?? 1 });
const inThreeClasses = (place: number): Partial<Claim & Volume> => ({ class: className(`local-${place % 3}`) });
const fast = requirement("tier", "In", ["fast"]);

const shapesOf = (
  nodes: number,
): readonly (Omit<Shape, "nodes"> & { name: string; nodes?: number; fitting?: number })[] => [
  { name: "3 claims on a tenth of the nodes", nodes: nodes / 10, volumesPerNode: 10, claims: 3 },
  { name: "3 claims", volumesPerNode: 10, claims: 3 },
  { name: "3 claims, ten times the volumes", volumesPerNode: 100, claims: 3 },
  {
    name: "3 claims, 1,000 assumed, 1,000 Pods hold",
    volumesPerNode: 10,
    claims: 3,
    promises: { assumptions: 1_000, holders: 1_000, from: 6 },
  },
  {
    name: "3 claims, as many promises in the way",
    volumesPerNode: 10,
    claims: 3,
    promises: { assumptions: 1_000, holders: 1_000, from: 0 },
  },
  { name: "1 claim", volumesPerNode: 10, claims: 1 },
  { name: "8 claims", volumesPerNode: 10, claims: 8 },
  { name: "3 claims of one size", volumesPerNode: 10, claims: 3, claim: () => ({ request: gib(1) }) },
  { name: "3 unlike claims compete", volumesPerNode: 10, claims: 3, claim: unlike, volume: () => ({ accessModes: 7 }) },
  { name: "3 claims in 3 classes", volumesPerNode: 10, claims: 3, claim: inThreeClasses, volume: inThreeClasses },
  {
    name: "3 claims with selectors",
    volumesPerNode: 10,
    claims: 3,
    claim: () => ({ selector: labelSelector(fast ? [fast] : []) }),
  },
  {
    name: "3 claims, a tenth of the nodes fits",
    volumesPerNode: 10,
    claims: 3,
    tenthGib: 100,
    claim: () => ({ request: gib(50) }),
    fitting: 0.1,
  },
  { name: "3 claims, no node fits", volumesPerNode: 10, claims: 3, claim: () => ({ request: gib(50) }), fitting: 0 },
  {
    name: "3 claims provisioned",
    volumesPerNode: 0,
    claims: 3,
    claim: () => ({ class: className("csi") }),
    poolsGib: [100],
  },
];

export function benchCore({ nodes, rounds }: { readonly nodes: number; readonly rounds: number }): Bench {
  const subjects = shapesOf(nodes).map(({ name, fitting = 1, ...shape }): Subject => {
    const { state, pod, names } = syntheticCluster({ nodes, ...shape });
    return {
      name,
      call: () => {
        const verdict = filterNodes(state, pod, names);
        const feasible = verdict.kind === "judged" ? verdict.nodes.feasibleCount : -1;
        if (feasible !== names.length * fitting) throw new Error(`${name}: ${feasible} nodes fit`);
      },
    };
  });
  const scoring = scoringSubjects(nodes);
  const rows = measure([...subjects, ...scoring], rounds);
  const [tenth, plain, tenfold, promised] = rows;
  const [unscored, byDefault, ...byOthers] = rows.slice(-scoring.length);
  const dearest = Math.max(...byOthers.map((row) => ratio(unscored, row)));
  const budgets = [
    { name: `${nodes} nodes × 10 volumes × 3 claims, p50`, is: plain?.p50Ms ?? 0, max: 1.5, unit: "ms" as const },
    { name: "ten times the volumes", is: ratio(plain, tenfold), max: 1.3, unit: "×" as const },
    { name: "ten times the nodes", is: ratio(tenth, plain), max: 12, unit: "×" as const },
    { name: "promises outstanding", is: ratio(plain, promised), max: 1.1, unit: "×" as const },
    { name: "filter and score, the default", is: ratio(unscored, byDefault), max: 1.75, unit: "×" as const },
    { name: "filter and score, any strategy", is: dearest, max: 3, unit: "×" as const },
  ];
  return { title: `filter, ${nodes} nodes of 10 volumes unless told otherwise`, rows, budgets };
}

/** Filter alone, then with what prioritize asks next, the default strategy first. Volumes of many sizes, so that nodes differ. */
function scoringSubjects(nodes: number): Subject[] {
  return [undefined, ...strategies].map((strategy) => {
    const { state, pod, names } = syntheticCluster({
      nodes,
      volumesPerNode: 10,
      claims: 3,
      volume: (disk, node) => ({ capacity: gib(1 + disk + ((node * 7_919) % 97)) }),
      promises: { assumptions: nodes / 10, holders: 0, from: 9 },
      ...(strategy && { scoring: { ...defaultScoring, strategy } }),
    });
    return {
      name: strategy ? `3 claims, scored by ${strategy}` : "3 claims, not scored",
      call: () => {
        const verdict = filterNodes(state, pod, names);
        const scored = verdict.kind === "judged" && strategy ? scoreNodes(verdict.nodes).length : names.length;
        if (scored !== names.length) throw new Error(`${strategy}: ${scored} nodes are scored`);
      },
    };
  });
}
