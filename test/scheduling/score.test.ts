/** What decides before what, of nodes whose numbers are given: by the strategy, and within one of its levels by quiet disks. */
import { expect, test } from "vitest";
import { nodeName } from "../../src/scheduling/names.ts";
import type { NodeVerdicts } from "../../src/scheduling/plan.ts";
import { scoreNodes } from "../../src/scheduling/score.ts";
import { defaultScoring, type Strategy } from "../../src/scheduling/scoring.ts";

interface Row {
  /** Unless said otherwise. */
  readonly fits?: false;
  readonly provisions?: number;
  readonly surplus?: number;
  readonly percent?: number;
  readonly busy?: number;
}

function verdicts(strategy: Strategy, rows: readonly Row[]): NodeVerdicts {
  const at = (field: "provisions" | "surplus" | "percent" | "busy") => (index: number) => rows[index]?.[field] ?? 0;
  const fits = (index: number): boolean => index < rows.length && rows[index]?.fits !== false;
  return {
    names: rows.map((_, index) => nodeName(`n${index}`)),
    feasibleCount: rows.filter((_, index) => fits(index)).length,
    fits,
    contended: () => false,
    provisions: at("provisions"),
    surplus: at("surplus"),
    percent: at("percent"),
    busyDisks: at("busy"),
    scoring: { ...defaultScoring, strategy },
    verdict: () => ({ fits: false, refusals: [], text: "" }),
    text: () => "",
    reason: () => undefined,
  };
}

const refused = { fits: false } as const;

const tables: Record<string, { strategy?: Strategy; rows: readonly Row[]; scores: readonly string[] }> = {
  "where nobody fits there is no opinion": { rows: [refused, refused], scores: [] },
  "of the only one that fits there is no opinion": { rows: [refused, { surplus: 5 }], scores: [] },
  "of nodes that are alike there is no opinion": { rows: [{ surplus: 5 }, refused, { surplus: 5 }], scores: [] },
  "who does not fit has no score, and moves nobody's": {
    rows: [refused, { surplus: 5 }, refused, { surplus: 2 }, refused],
    scores: ["n1=2", "n3=10"],
  },
  "who provisions less comes first, and of those who provision alike who wastes less": {
    rows: [{ surplus: 5 }, { surplus: 2 }, { provisions: 1 }, { provisions: 1, surplus: 9 }],
    scores: ["n0=7", "n1=10", "n2=4", "n3=2"],
  },
  "of those who waste alike, whose disks nobody else uses": {
    rows: [{ surplus: 2, busy: 1 }, { surplus: 2 }, { surplus: 5 }, { surplus: 5, busy: 1 }],
    scores: ["n0=7", "n1=10", "n2=4", "n3=2"],
  },
  "of those who are as full, whose disks nobody else uses": {
    strategy: "spread",
    rows: [{ percent: 20, busy: 1 }, { percent: 20 }, { percent: 50 }, { percent: 50, busy: 1 }],
    scores: ["n0=7", "n1=10", "n2=4", "n3=2"],
  },
  "of whom nothing is known comes last, after the full": {
    strategy: "spread",
    rows: [{ percent: 100 }, { percent: -1 }, { percent: 0 }],
    scores: ["n0=6", "n1=2", "n2=10"],
  },
};

test.for(Object.entries(tables))("%s", ([, { strategy = "least-surplus", rows, scores }]) => {
  expect(scoreNodes(verdicts(strategy, rows)).map(({ node, score }) => `${node}=${score}`)).toEqual(scores);
});
