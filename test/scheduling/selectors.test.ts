/** Selectors as the API has them: what is refused when it is read, and what matches. */
import { expect, test } from "vitest";
import { nodeName } from "../../src/scheduling/names.ts";
import {
  labelSelector,
  matchesLabels,
  matchesNode,
  nodeSelector,
  type Requirement,
  requirement,
} from "../../src/scheduling/selectors.ts";

type Asked = readonly [key: string, operator: string, values?: readonly string[]];

function read([key, operator, values = []]: Asked): Requirement {
  const compiled = requirement(key, operator, values);
  if (!compiled) throw new Error(`${key} ${operator} ${values} is refused`);
  return compiled;
}

const long = "9".repeat(18);

const refused: Record<string, Asked> = {
  "an unknown operator": ["zone", "Equals", ["a"]],
  "In without values": ["zone", "In", []],
  "NotIn without values": ["zone", "NotIn", []],
  "Exists with a value": ["zone", "Exists", ["a"]],
  "DoesNotExist with a value": ["zone", "DoesNotExist", ["a"]],
  "Gt without a value": ["cpus", "Gt", []],
  "Gt with two values": ["cpus", "Gt", ["1", "2"]],
  "Lt with a text": ["cpus", "Lt", ["many"]],
  "Lt with a fraction": ["cpus", "Lt", ["1.5"]],
  "Lt with a number in a text": ["cpus", "Lt", ["x1"]],
  "Lt with a space": ["cpus", "Lt", [" 1"]],
  "a number of 65 bits": ["cpus", "Gt", ["9223372036854775808"]],
  "a negative number of 65 bits": ["cpus", "Gt", ["-9223372036854775809"]],
};

test.for(Object.entries(refused))("refused: %s", ([, [key, operator, values = []]]) => {
  expect(requirement(key, operator, values)).toBeUndefined();
});

const labels = new Map([
  ["zone", "a"],
  ["cpus", "16"],
  ["arch", "arm64"],
]);

const requirements: readonly (readonly [asked: Asked, holds: boolean])[] = [
  [["zone", "In", ["a", "b"]], true],
  [["zone", "In", ["b"]], false],
  [["rack", "In", ["a"]], false],
  [["zone", "NotIn", ["b"]], true],
  [["zone", "NotIn", ["a", "b"]], false],
  [["rack", "NotIn", ["a"]], true],
  [["zone", "Exists"], true],
  [["rack", "Exists"], false],
  [["zone", "DoesNotExist"], false],
  [["rack", "DoesNotExist"], true],
  [["cpus", "Gt", ["15"]], true],
  [["cpus", "Gt", ["16"]], false],
  [["cpus", "Gt", ["-16"]], true],
  [["cpus", "Gt", ["+15"]], true],
  [["cpus", "Gt", ["-9223372036854775808"]], true],
  [["cpus", "Lt", ["17"]], true],
  [["cpus", "Lt", ["16"]], false],
  [["cpus", "Lt", ["9223372036854775807"]], true],
  [["cpus", "Lt", [long]], true],
  [["arch", "Gt", ["0"]], false],
  [["arch", "Lt", [long]], false],
  [["rack", "Gt", ["0"]], false],
  [["rack", "Lt", [long]], false],
];

test.for(requirements)("a label of %j: %s", ([asked, want]) => {
  expect(matchesLabels(labelSelector([read(asked)]), labels)).toBe(want);
});

test("all requirements of a label selector must hold, and none at all holds for everything", () => {
  const both = [read(["zone", "In", ["a"]]), read(["arch", "In", ["amd64"]])];
  expect(matchesLabels(labelSelector(both), labels)).toBe(false);
  expect(matchesLabels(labelSelector(both.slice(0, 1)), labels)).toBe(true);
  expect(matchesLabels(labelSelector([]), labels)).toBe(true);
  expect(matchesLabels(undefined, labels)).toBe(true);
});

interface AskedTerm {
  readonly labels?: readonly Asked[];
  readonly fields?: readonly Asked[];
}

const inZone = (zone: string): Asked => ["zone", "In", [zone]];
const named = (...names: string[]): Asked => ["metadata.name", "In", names];

const terms: Record<string, { terms: readonly AskedTerm[]; matches: boolean }> = {
  "no term matches no node": { terms: [], matches: false },
  "an empty term matches no node": { terms: [{}], matches: false },
  "one term of two is enough": { terms: [{ labels: [inZone("b")] }, { labels: [inZone("a")] }], matches: true },
  "no term holds": { terms: [{ labels: [inZone("b")] }, { labels: [inZone("c")] }], matches: false },
  "all labels of a term must hold": { terms: [{ labels: [inZone("a"), ["rack", "Exists"]] }], matches: false },
  "the node's own name": { terms: [{ fields: [named("n", "m")] }], matches: true },
  "another node's name": { terms: [{ fields: [named("m")] }], matches: false },
  "another field than the name": { terms: [{ fields: [["spec.unschedulable", "In", ["n"]]] }], matches: false },
  "all fields of a term must hold": {
    terms: [{ fields: [named("n"), ["metadata.name", "NotIn", ["n"]]] }],
    matches: false,
  },
  "a label holds, the field does not": { terms: [{ labels: [inZone("a")], fields: [named("m")] }], matches: false },
  "the field holds, a label does not": { terms: [{ labels: [inZone("b")], fields: [named("n")] }], matches: false },
  "label and field hold": { terms: [{ labels: [inZone("a")], fields: [named("n")] }], matches: true },
};

function selectorOf(asked: readonly AskedTerm[]): ReturnType<typeof nodeSelector> {
  return nodeSelector(
    asked.map((term) => ({ labels: term.labels?.map(read) ?? [], fields: term.fields?.map(read) ?? [] })),
  );
}

test.for(Object.entries(terms))("a node in zone a: %s", ([, { terms: asked, matches }]) => {
  expect(matchesNode(selectorOf(asked), labels, nodeName("n"))).toBe(matches);
});

test("without a selector every node matches", () => {
  expect(matchesNode(undefined, labels, nodeName("n"))).toBe(true);
});

test("equal selectors have one identity, whatever the order of their values; others do not", () => {
  const identity = (...asked: AskedTerm[]): string => selectorOf(asked).identity;
  expect(identity({ fields: [named("b", "a")] })).toBe(identity({ fields: [named("a", "b")] }));
  expect(identity({ fields: [named("a")] })).not.toBe(identity({ labels: [named("a")] }));
  expect(identity({ labels: [inZone("a")] })).not.toBe(identity({ labels: [["zone", "NotIn", ["a"]]] }));
  expect(identity({ labels: [inZone("a")] })).not.toBe(identity({ labels: [["rack", "In", ["a"]]] }));
  expect(labelSelector([read(["zone", "In", ["b", "a"]])]).identity).toBe(
    labelSelector([read(["zone", "In", ["a", "b"]])]).identity,
  );
  expect(labelSelector([read(["zone", "In", ["a"]])]).identity).not.toBe(labelSelector([]).identity);
});
