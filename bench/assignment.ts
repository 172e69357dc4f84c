/**
 * `npm run bench -- assignment`: 16 claims onto the 200 volumes of one node, over inputs made to be hard. Each node of a family
 * is another random one of its kind, and is decided by itself, with all that a decision costs besides.
 */
import { filterNodes } from "../src/scheduling/filter.ts";
import { className } from "../src/scheduling/names.ts";
import type { Claim, Volume } from "../src/scheduling/objects.ts";
import { labelSelector, requirement } from "../src/scheduling/selectors.ts";
import { type Bench, bytesOf, rowOf } from "./measure.ts";
import { gib, type Shape, syntheticCluster } from "./synthetic.ts";

const claims = 16;
const volumesPerNode = 200;

type Family = Pick<Shape, "claim" | "volume" | "poolsGib" | "promises"> & { readonly volumesPerNode?: number };

/** Whole numbers below `below`, the same on every run. @see xorshift32, Marsaglia 2003 */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const having = (key: string, values: readonly string[]): Partial<Claim> => {
  const one = requirement(key, "In", values);
  return { selector: labelSelector(one ? [one] : []) };
};
const labelled = (key: string, value: string): Partial<Volume> => ({ labels: new Map([[key, value]]) });

function familiesOf(): Record<string, Family> {
  const roll = dice(20_261);
  const modes = (place: number): number => 1 + (place % 15);
  return {
    "all equal": { claim: () => ({ request: gib(1) }), volume: () => ({ capacity: gib(1) }) },
    "all equal, unlike claims": {
      claim: (place) => ({ request: gib(1), accessModes: modes(place) }),
      volume: () => ({ capacity: gib(1), accessModes: 15 }),
    },
    "growing sizes, each volume serves all": {
      claim: (place) => ({ request: gib(1 + ((place * 7) % 16)) }),
      volume: () => ({ capacity: gib(100 + roll(100)) }),
    },
    "nested intervals": {
      // Claim n has the volumes from the n-th smallest on, and those of the few that have its modes.
      claim: (place) => ({ request: gib(1 + place), accessModes: [1, 3, 7, 15][place % 4] ?? 1 }),
      volume: () => ({ capacity: gib(1 + roll(20)), accessModes: [1, 3, 7, 15][roll(4)] ?? 1 }),
    },
    "greedy traps": {
      // Claim n has volumes n and n + 1; the last has volume 0 alone, so that all have to move for it.
      claim: (place) => ({ request: gib(1), ...having("at", place < 15 ? [`${place}`, `${place + 1}`] : ["0"]) }),
      volume: (disk) => ({ capacity: gib(1 + disk), ...labelled("at", `${disk}`) }),
    },
    "one too many (Hall)": {
      // 15 volumes for 16 unlike claims: the last search goes over all of them in vain.
      claim: (place) => ({ request: gib(1), accessModes: modes(place) }),
      volume: (disk, node) => ({ capacity: gib(1 + roll(9)), accessModes: (disk * 7 + node) % 200 < 15 ? 15 : 0 }),
    },
    "selectors that interleave": {
      claim: (place) => ({
        request: gib(1 + (place % 3)),
        ...having(
          "color",
          [0, 1, 3].map((more) => `${(place + more) % 8}`),
        ),
      }),
      volume: () => ({ capacity: gib(1 + roll(4)), ...labelled("color", `${roll(8)}`) }),
    },
    "three classes": {
      claim: (place) => ({
        request: gib(1 + (place % 4)),
        accessModes: modes(place),
        class: className(`local-${place % 3}`),
      }),
      volume: () => ({ capacity: gib(1 + roll(8)), accessModes: 1 + roll(15), class: className(`local-${roll(3)}`) }),
    },
    "promised: one volume assumed, three held": {
      // The careful try leaves one claim unserved, so that there is a second.
      claim: (place) => ({ request: gib(1), accessModes: modes(place) }),
      volume: (disk) => ({ capacity: gib(1 + disk), accessModes: disk < 17 ? 15 : 0 }),
      promises: { assumptions: 1_000, holders: 1_000, from: 0 },
    },
    "pools that must be packed": {
      // 9 + 10 + … + 24 Gi are all that the pools have together.
      claim: (place) => ({ request: gib(9 + place), class: className("csi") }),
      poolsGib: [88, 88, 88],
      volumesPerNode: 0,
    },
    "pools that cannot be packed": {
      claim: (place) => ({ request: gib(9 + place), class: className("csi") }),
      poolsGib: [90, 90, 83],
      volumesPerNode: 0,
    },
    random: {
      claim: () => ({
        request: gib(1 + roll(50)),
        accessModes: 1 + roll(15),
        ...(roll(3) === 0 && having("color", [`${roll(4)}`])),
      }),
      volume: () => ({ capacity: gib(1 + roll(60)), accessModes: 1 + roll(15), ...labelled("color", `${roll(4)}`) }),
    },
  };
}

/** Of each node the least of its rounds counts: what it costs, and not what the machine did besides. */
export function benchAssignment({ nodes, rounds }: { readonly nodes: number; readonly rounds: number }): Bench {
  /** Of one node in a call that asks about all of them, by family. */
  const shares: number[] = [];
  const rows = Object.entries(familiesOf()).map(([name, family]) => {
    const { state, pod, names } = syntheticCluster({ volumesPerNode, ...family, nodes, claims });
    const least = names.map(() => Number.POSITIVE_INFINITY);
    const together: number[] = [];
    const decideOne = (): unknown => filterNodes(state, pod, names.slice(0, 1));
    for (let round = 0; round < rounds; round++) {
      for (const [index, node] of names.entries()) {
        const begun = performance.now();
        filterNodes(state, pod, [node]);
        least[index] = Math.min(least[index] ?? 0, performance.now() - begun);
      }
      const begun = performance.now();
      filterNodes(state, pod, names);
      together.push((performance.now() - begun) / nodes);
    }
    shares.push(rowOf(name, together, 0).p50Ms);
    return rowOf(
      name,
      least,
      bytesOf(() => void decideOne()),
    );
  });
  const budgets = [
    {
      name: `a node in a call over ${nodes}, p50 of the worst family`,
      is: Math.max(...shares),
      max: 0.1,
      unit: "ms" as const,
    },
    {
      name: "the worst node by itself",
      is: Math.max(...rows.map(({ mostMs }) => mostMs)),
      max: 5,
      unit: "ms" as const,
    },
  ];
  return { title: `${claims} claims × ${volumesPerNode} volumes, node by node`, rows, budgets };
}
