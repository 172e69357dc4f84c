/** Which node is the nearest to holding a Pod: the one with the least to mend. */
import { expect, test } from "vitest";
import { nodeName } from "../../src/scheduling/names.ts";
import { parseBytes, zero } from "../../src/scheduling/quantity.ts";
import type { NodeReason } from "../../src/scheduling/reasons.ts";
import { nearest } from "../../src/scheduling/suggest.ts";
import type { Stuck } from "../../src/scheduling/troubles.ts";

function stuck(name: string, ...troubles: readonly (readonly [NodeReason, string])[]): Stuck {
  const asked = troubles.map(([reason, size]) => ({ reason, claims: [], bytes: parseBytes(size) ?? zero }));
  return { node: nodeName(name), troubles: asked, bound: [], diagnoses: [] };
}

const rows: Record<string, { nodes: readonly Stuck[]; is: string | undefined }> = {
  "none of none": { nodes: [], is: undefined },
  "none of which nobody knows what to mend": { nodes: [stuck("a")], is: undefined },
  "the one of which somebody knows what to mend": {
    nodes: [stuck("a"), stuck("b", ["noMatchingVolume", "5Gi"])],
    is: "b",
  },
  "the one with the fewest things to mend, however large": {
    nodes: [
      stuck("a", ["noMatchingVolume", "1Gi"], ["noMatchingVolume", "1Gi"]),
      stuck("b", ["noMatchingVolume", "9Gi"]),
    ],
    is: "b",
  },
  "of as many things, the one with the fewest bytes": {
    nodes: [stuck("a", ["noMatchingVolume", "9Gi"]), stuck("b", ["noMatchingVolume", "1Gi"])],
    is: "b",
  },
  "of nodes that are alike, the first by name": {
    nodes: [stuck("b", ["noMatchingVolume", "1Gi"]), stuck("a", ["noMatchingVolume", "1Gi"])],
    is: "a",
  },
  "one where something can be done, before one where nothing can": {
    nodes: [
      stuck("a", ["volumeNodeConflict", "0"]),
      stuck("b", ["noMatchingVolume", "9Gi"], ["noMatchingVolume", "9Gi"]),
    ],
    is: "b",
  },
};

test.for(Object.entries(rows))("the nearest is %s", ([, { nodes, is }]) => {
  expect([nearest(nodes)?.node, nearest(nodes.toReversed())?.node]).toEqual([is, is]);
});
