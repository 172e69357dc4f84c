/** Which of many nodes and claims are shown. */
import { expect, test } from "vitest";
import { claimKey, type NodeName, nodeName } from "../../src/scheduling/names.ts";
import type { NodeExplanation } from "../../src/scheduling/plan.ts";
import { chooseColumns, chooseRows, kindsOfWhy } from "../../src/server/page/matrix-rows.ts";

const key = (name: string) => claimKey("d", name);

/** "-" is refused for want of volumes, anything else is the volume. */
function node(name: string, claims: Record<string, string>): NodeExplanation {
  const explained = Object.entries(claims).map(([claim, volume]) =>
    volume === "-"
      ? { claim: key(claim), refused: [{ volume: `${name}-disk`, why: `too small: ${name.length}Gi of 5Gi` }] }
      : { claim: key(claim), volume },
  );
  const fits = !Object.values(claims).includes("-");
  return { node: nodeName(name), fits, contended: false, score: 0, claims: explained, ...(!fits && { reason: "no" }) };
}

const shownOf = (nodes: readonly NodeExplanation[], nearest?: NodeName, rowsMax = 48) => {
  const { groups, groupsLeft, nodesLeft } = chooseRows(nodes, nearest, rowsMax);
  const rows = groups.map(
    ({ shown, left }) => `${shown.map((one) => one.node).join(" ")}${left > 0 ? ` +${left}` : ""}`,
  );
  return { rows, groupsLeft, nodesLeft };
};

test("nodes that are told the same but for volumes' names and sizes are one group", () => {
  const nodes = [node("n1", { a: "-" }), node("node-2", { a: "-" }), node("n3", { a: "disk" })];
  expect(shownOf(nodes).rows).toEqual(["n3", "n1 node-2"]);
});

test("those that fit come first, then the fewest claims in trouble, then the most frequent", () => {
  const nodes = [
    node("none", { a: "-", b: "-" }),
    node("b1", { a: "x", b: "-" }),
    node("a1", { a: "-", b: "x" }),
    node("a2", { a: "-", b: "x" }),
    node("both", { a: "x", b: "y" }),
  ];
  expect(shownOf(nodes).rows).toEqual(["both", "a1 a2", "b1", "none"]);
});

test("the nearest comes before all others, and with it its group", () => {
  const nodes = [node("a1", { a: "-", b: "x" }), node("b1", { a: "x", b: "-" }), node("b2", { a: "y", b: "-" })];
  expect(shownOf(nodes, nodeName("b2")).rows).toEqual(["b2 b1", "a1"]);
});

test("the nearest comes first though it fits worse, and is one of a smaller group", () => {
  const nodes = [node("a1", { a: "-", b: "x" }), node("a2", { a: "-", b: "x" }), node("none", { a: "-", b: "-" })];
  expect(shownOf(nodes, nodeName("none")).rows).toEqual(["none", "a1 a2"]);
});

test("of a large group some are shown and the others counted, but never one alone", () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => node(`n${index}`, { a: "-" }));
  expect(shownOf(many(5)).rows).toEqual(["n0 n1 n2 n3 n4"]);
  expect(shownOf(many(6)).rows).toEqual(["n0 n1 n2 n3 n4 n5"]);
  expect(shownOf(many(7)).rows).toEqual(["n0 n1 n2 n3 n4 +2"]);
});

test("of very many groups the first are shown with one node each, and the rest counted", () => {
  const nodes = Array.from({ length: 30 }, (_, index) =>
    node(
      `n${index}`,
      Object.fromEntries(Array.from({ length: 30 }, (_, claim) => [`c${claim}`, claim <= index ? "-" : "x"])),
    ),
  );
  const { rows, groupsLeft, nodesLeft } = shownOf(
    [...nodes, ...nodes.map((one) => ({ ...one, node: nodeName(`${one.node}x`) }))],
    undefined,
    10,
  );
  expect(rows).toHaveLength(10);
  expect(rows[0]).toBe("n0 n0x");
  expect({ groupsLeft, nodesLeft }).toEqual({ groupsLeft: 20, nodesLeft: 40 });
});

test("no node, no row", () => {
  expect(shownOf([])).toEqual({ rows: [], groupsLeft: 0, nodesLeft: 0 });
});

test("claims in trouble on the most nodes come first, and of many they alone are shown", () => {
  const nodes = [node("n1", { a: "x", b: "-", c: "x", d: "-" }), node("n2", { a: "x", b: "x", c: "x", d: "-" })];
  const claims = ["a", "b", "c", "d"].map(key);
  const { groups } = chooseRows(nodes, undefined, 48);
  expect(chooseColumns(claims, groups, 2)).toEqual(["d/d", "d/b"]);
  expect(chooseColumns(claims, groups, 4)).toEqual(["d/d", "d/b", "d/a", "d/c"]);
});

test("what is in the way is told once a kind, with how often", () => {
  const refused = ["too small: 1Gi of 5Gi", "in use", "too small: 2Gi of 5Gi"].map((why) => ({ volume: "v", why }));
  expect([...kindsOfWhy(refused)]).toEqual([
    ["too small", 2],
    ["in use", 1],
  ]);
});
