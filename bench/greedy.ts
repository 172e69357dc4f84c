/**
 * `npm run bench -- greedy`: how often matching claim by claim, as kube-scheduler's VolumeBinding does, refuses a node that holds all
 * claims of a Pod. Random nodes by the seed; nothing is timed.
 */
import { planNode } from "../src/scheduling/filter.ts";
import { nodeName } from "../src/scheduling/names.ts";
import { greedyMatch } from "../test/support/greedy.ts";
import { makeNode, makePod, makePV, makePVC } from "../test/support/make.ts";
import { mulberry32 } from "../test/support/mulberry32.ts";
import { World } from "../test/support/world.ts";

export interface GreedyRow {
  readonly claims: number;
  /** Free volumes of a node. */
  readonly volumes: number;
  /** Percent of the claims that ask for a label, which half of the volumes carry. */
  readonly selecting: number;
  readonly nodes: number;
  /** Nodes on which an assignment exists. */
  readonly exact: number;
  /** Of these, nodes that matching claim by claim refuses. */
  readonly refused: number;
  /** Nodes that it serves, and Berth does not: none, or one of both is wrong. */
  readonly missed: number;
}

export interface GreedySize {
  /** Random nodes a row. */
  readonly nodes: number;
  readonly seed: number;
}

const sizeMaxGib = 10;
const ssd = { disk: "ssd" };

export function benchGreedy({ nodes, seed }: GreedySize): GreedyRow[] {
  const random = mulberry32(seed);
  return [10, 5].flatMap((volumes) =>
    [0, 50].flatMap((selecting) => [2, 3, 4].map((claims) => rowOf({ claims, volumes, selecting, nodes }, random))),
  );
}

type Of = Pick<GreedyRow, "claims" | "volumes" | "selecting" | "nodes">;

function rowOf(of: Of, random: () => number): GreedyRow {
  const counts = { exact: 0, refused: 0, missed: 0 };
  for (let node = 0; node < of.nodes; node++) {
    const { exact, greedy } = answersOn(of, random);
    if (exact) counts.exact++;
    if (exact && !greedy) counts.refused++;
    if (greedy && !exact) counts.missed++;
  }
  return { ...of, ...counts };
}

function answersOn({ claims: count, volumes: free, selecting }: Of, random: () => number) {
  const size = (): string => `${1 + Math.floor(random() * sizeMaxGib)}Gi`;
  const names = Array.from({ length: count }, (_, index) => `c${index}`);
  const claims = names.map((name) =>
    makePVC(name, { request: size(), ...(random() * 100 < selecting && { selector: { matchLabels: ssd } }) }),
  );
  const volumes = Array.from({ length: free }, (_, index) =>
    makePV(`v${index}`, { on: "n", capacity: size(), ...(random() < 0.5 && { labels: ssd }) }),
  );
  const world = new World().add(makeNode("n"), ...claims, ...volumes);
  const verdict = planNode(world.state, world.pod("p", ...names), nodeName("n"));
  const matched = greedyMatch(makePod("p", names), claims, volumes, "n");
  return {
    exact: verdict.kind === "judged" && verdict.nodes.fits,
    greedy: [...matched.values()].every((volume) => volume !== undefined),
  };
}

export function greedyTable(rows: readonly GreedyRow[], { seed, nodes }: GreedySize): string {
  const head = `greedy: ${nodes} random nodes a row, free volumes of 1 to ${sizeMaxGib}Gi, half of them labelled; seed ${seed}`;
  const lines = rows.map(({ claims, volumes, selecting, exact, refused }) => {
    const share = exact === 0 ? 0 : (100 * refused) / exact;
    const cells = [volumes, claims, `${selecting} %`, exact, refused, `${share.toFixed(1)} %`];
    return cells.map((cell) => String(cell).padStart(12)).join("");
  });
  const titles = ["volumes", "claims", "selecting", "nodes serve", "refused", "of those"];
  return [head, titles.map((title) => title.padStart(12)).join(""), ...lines, ""].join("\n");
}
