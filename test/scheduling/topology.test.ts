/** Which nodes a selector means, as nodes and volumes come, change and go: what is kept in step is what a look at all would find. */
import { expect, test } from "vitest";
import { nodeName, volumeName } from "../../src/scheduling/names.ts";
import type { NodeEntry, Pin, Topology } from "../../src/scheduling/topology.ts";
import { makeNode, makePVC } from "../support/make.ts";
import { World } from "../support/world.ts";

const pinned: Record<string, { affinity: string; pins: readonly Pin[] | undefined }> = {
  "a value": { affinity: "zone:In:1", pins: [{ key: "zone", value: "1" }] },
  "each of two values": {
    affinity: "zone:In:1|2",
    pins: ["1", "2"].map((value) => ({ key: "zone", value })),
  },
  "the narrowest of several": { affinity: "zone:In:1|2,rack:In:r,row:In:3", pins: [{ key: "rack", value: "r" }] },
  "what is asked beside what is excluded": { affinity: "row:NotIn:3,zone:In:1", pins: [{ key: "zone", value: "1" }] },
  "a node's name": { affinity: "@metadata.name:In:a", pins: [{ key: "", value: "a" }] },
  "each of two terms": {
    affinity: "zone:In:1;rack:In:r",
    pins: [
      { key: "zone", value: "1" },
      { key: "rack", value: "r" },
    ],
  },
  "nothing where a term only excludes": { affinity: "zone:In:1;rack:NotIn:r", pins: undefined },
  "nothing where a key must be there": { affinity: "zone:Exists", pins: undefined },
  "nothing where a name is excluded": { affinity: "@metadata.name:NotIn:a", pins: undefined },
};

function topologyOf(world: World, name: string): Topology {
  const found = world.state.volumes.topologyOf(world.state.volumes.id(volumeName(name)) ?? -1);
  if (!found) throw new Error(`no volume ${name}`);
  return found;
}

test.for(Object.entries(pinned))("a selector is found by %s", ([, { affinity, pins }]) => {
  const world = new World();
  world.apply(`pv v 1Gi affinity=${affinity}`);
  expect(topologyOf(world, "v").pins).toEqual(pins);
});

test("a label selector is found by its narrowest values too, and one without any by none", () => {
  const world = new World();
  const pinsOf = (select: string): readonly Pin[] | undefined => {
    world.apply(`pvc x 1Gi select=${select}`);
    const selector = world.state.get("claim", "d/x")?.selector;
    return selector && world.state.topologies.ofLabelSelector(selector).pins;
  };
  expect(pinsOf("zone:In:1|2,rack:In:r")).toEqual([{ key: "rack", value: "r" }]);
  expect(pinsOf("zone:Exists")).toBeUndefined();
});

const steps: readonly string[] = [
  ...[
    "node a zone=1",
    "node b zone=2 rack=r",
    "node c",
    ...Object.values(pinned).map(({ affinity }, nth) => `pv v${nth} 1Gi affinity=${affinity}`),
  ],
  ...[
    "pv twin 1Gi affinity=zone:In:1",
    "node d zone=1 rack=r row=3",
    "node a zone=2",
    "node a zone=2 row=3",
    "node a row=3 zone=3",
  ],
  ...[
    "delete volume v0",
    "delete volume twin",
    "node e zone=1",
    "delete node b",
    "delete node nobody",
    "node b rack=q",
  ],
  ...[
    "pv v1 1Gi affinity=rack:In:q",
    "pv v6 1Gi affinity=rack:NotIn:q",
    "delete volume v7",
    "delete volume v8",
    "node f rack=q zone=1",
  ],
  ...[
    "delete node c",
    "node c zone=1",
    "pv v7 1Gi affinity=zone:Exists",
    "pv v8 1Gi",
    "delete volume v5",
    "node d rack=r",
  ],
  ...[
    "node a zone=1",
    "pv v0 1Gi affinity=zone:In:1",
    "delete node a",
    "node a",
    "node g zone=2",
    "pv late 1Gi affinity=row:In:9|3",
  ],
  ...["node g row=9", "delete volume late", "node h row=9", "delete volume v2", "node i rack=r row=3 zone=1"],
];

test("each node is in the topologies that match it and no other, after every change", () => {
  const world = new World();
  const { topologies, volumes } = world.state;
  for (const step of steps) {
    world.apply(step);
    const used = new Set([...volumes.names()].map((name) => topologyOf(world, name)));
    used.delete(topologies.everywhere);
    for (const entry of topologies.nodes.values()) {
      const meant = [...used].filter((topology) => topology.matches(entry.node));
      expect(new Set(entry.topologies), step).toEqual(new Set(meant));
      expect(entry.topologies, step).toHaveLength(meant.length);
      for (const topology of used) expect(topologies.reaches(entry, topology), step).toBe(meant.includes(topology));
      expect(topologies.reaches(entry, topologies.everywhere)).toBe(true);
      expect(topologies.numbers.at(entry.id), step).toBe(entry);
    }
    for (const { members } of used)
      for (const { node } of members) expect(topologies.nodes.get(node.name)?.node, step).toBe(node);
  }
});

test("a node that changes in other things than labels stays as it is", () => {
  const world = new World().add(makeNode("a", { x: "1", y: "2" }));
  const { nodes } = world.state.topologies;
  const entry = (): NodeEntry | undefined => nodes.get(nodeName("a"));
  const first = entry();
  world.add(makeNode("a", { y: "2", x: "1" }));
  expect(entry()).toBe(first);
  for (const labels of [{ x: "1", y: "3" }, { x: "1" }, { x: "1", z: "3" }] as Record<string, string>[]) {
    const before = entry();
    world.add(makeNode("a", labels));
    expect(entry()).not.toBe(before);
    expect(entry()?.node.labels.get("x")).toBe("1");
  }
});

test("a node's number is free once the node is gone", () => {
  const world = new World().add(makeNode("a"));
  const { nodes, numbers } = world.state.topologies;
  const id = nodes.get(nodeName("a"))?.id ?? -1;
  world.state.delete("node", "a");
  expect(() => numbers.at(id)).toThrow(`no node under number ${id}`);
  world.add(makeNode("b"));
  expect(nodes.get(nodeName("b"))?.id).toBe(id);
});

test("a change of members is told of before and after, and a selector that nothing refers to has no members", () => {
  const world = new World().add(makeNode("a"), makePVC("x", { selector: { matchLabels: { zone: "1" } } }));
  const { topologies } = world.state;
  const counts: number[] = [];
  const selector = world.state.get("claim", "d/x")?.selector;
  if (!selector) throw new Error("no selector");
  const topology = topologies.ofLabelSelector(selector);
  topologies.membersChange = ({ members }) => counts.push(members.size);
  world.add(makeNode("a", { zone: "1" }), makeNode("b", { zone: "1" }));
  world.state.delete("node", "a");
  expect(counts).toEqual([0, 1, 1, 2, 2, 1]);
  expect(topologies.ofLabelSelector(selector)).toBe(topology);
  topologies.release(topology);
  expect(topology.members.size).toBe(1);
  topologies.release(topology);
  expect(topology.members.size).toBe(0);
  expect(topologies.ofLabelSelector(selector)).not.toBe(topology);
});
