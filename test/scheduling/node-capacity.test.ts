/** Capacity that nodes carry themselves: what is read, what is refused, and what settles it (design §6; decisions 10, 11, 27). */
import { expect, test } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import type { CapacitySource } from "../../src/scheduling/node-capacity.ts";
import { Ledger, pollMs, size, source } from "./ledger.ts";

const huge = "9007199254740993";

const readings: Record<string, { is: string; source?: Partial<CapacitySource>; free: bigint | string }> = {
  "whole bytes": { is: "1000", free: 1000n },
  "a quantity": { is: "1.5Gi", free: 3n << 29n },
  "blanks around it": { is: " 7 ", free: 7n },
  "more bytes than a double can tell apart": { is: huge, free: 9_007_199_254_740_993n },
  "a fraction of a byte is nobody's": { is: "0.9", free: 0n },
  "units of a size": { is: "20", source: { unit: size("1Gi") }, free: 20n << 30n },
  "a fraction of a unit": { is: "1.5", source: { unit: size("1Gi") }, free: 3n << 29n },
  "a number within JSON": { is: '{"vgs":[{"free":12}]}', source: { pointer: "/vgs/0/free" }, free: 12n },
  "a large number within JSON": { is: `{"a":${huge}}`, source: { pointer: "/a" }, free: 9_007_199_254_740_993n },
  "a quantity within JSON": { is: '{"a":{"b/c":"2Ki"}}', source: { pointer: "/a/b~1c" }, free: 2048n },
  "a key with a tilde": { is: '{"a~b":"2Ki"}', source: { pointer: "/a~0b" }, free: 2048n },
  "a pointer into a text": {
    is: '{"a":"57"}',
    source: { pointer: "/a/0" },
    free: "annotation example.com/lvm at /a/0 is not in the node's JSON, or is no size",
  },
  "a long text": { is: "x".repeat(99), free: `annotation example.com/lvm of the node is no size: "${"x".repeat(80)}"` },
  "no size": { is: "lots", free: 'annotation example.com/lvm of the node is no size: "lots"' },
  "an empty text": { is: "", free: 'annotation example.com/lvm of the node is no size: ""' },
  "a negative size": { is: "-5", free: 'annotation example.com/lvm of the node is no size: "-5"' },
  "broken JSON": {
    is: "{",
    source: { pointer: "/a" },
    free: "annotation example.com/lvm at /a is not in the node's JSON, or is no size",
  },
  "JSON without the value": {
    is: '{"a":null}',
    source: { pointer: "/a/constructor" },
    free: "annotation example.com/lvm at /a/constructor is not in the node's JSON, or is no size",
  },
  "JSON with something else there": {
    is: '{"a":[true]}',
    source: { pointer: "/a/0" },
    free: "annotation example.com/lvm at /a/0 is not in the node's JSON, or is no size",
  },
};

test("a node that does not say what it has is no fault, and is told of", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } }).node("a").claim("x", "lvm", "1");
  expect([ledger.reason("a", "x"), ledger.state.pools.nodes.faultCount]).toEqual(["noCapacityPublished", 0]);
  const [node] = explainPod(ledger.state, ledger.world.pod("p", "x")).nodes;
  expect(JSON.stringify(node?.claims)).toContain(
    "no capacity for class lvm: the node has no annotation example.com/lvm",
  );
});

test.for(Object.entries(readings))("an annotation with %s", ([, { is, source: more, free }]) => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm", more) } });
  ledger.node("a", { annotations: { lvm: is } }).claim("x", "lvm", "1");
  const pod = ledger.world.pod("p", "x");
  if (typeof free === "bigint") {
    expect(ledger.free("lvm", "a")).toEqual([free]);
    expect(ledger.state.pools.nodes.faultCount).toBe(0);
    return;
  }
  expect(ledger.free("lvm", "a")).toEqual([]);
  expect(ledger.reason("a", "x")).toBe("noCapacityPublished");
  expect(ledger.state.pools.nodes.faultCount).toBe(1);
  const [node] = explainPod(ledger.state, pod).nodes;
  expect(JSON.stringify(node?.claims)).toContain(JSON.stringify(`no capacity for class lvm: ${free}`).slice(1, -1));
  ledger.node("a");
  expect(ledger.state.pools.nodes.faultCount).toBe(0);
  expect(ledger.reason("a", "x")).toBe("noCapacityPublished");
});

test("a node without the value has no capacity, and that is no fault", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } });
  ledger.node("a", { annotations: { other: "5" } }).claim("x", "lvm", "1");
  expect(ledger.reason("a", "x")).toBe("noCapacityPublished");
  expect(ledger.state.pools.nodes.faultCount).toBe(0);
  expect(ledger.world.text(ledger.world.pod("p", "x"), "a")).toBe("node(s) did not have enough free storage");
});

test("capacity objects of a class that nodes speak for do not count", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } });
  ledger.node("a", { annotations: { lvm: "5" } }).object("c", "lvm", "a", "100Gi");
  expect(ledger.free("lvm", "a")).toEqual([5n]);
});

test("disks of one node are pools of their own", () => {
  const sources = { nvme: source("nvme"), ssd: source("ssd"), hdd: source("hdd", { from: "allocatable" }) };
  const ledger = new Ledger(["nvme", "ssd", "hdd"], { sources });
  ledger.node("a", { annotations: { nvme: "10Gi", ssd: "20Gi" }, allocatable: { hdd: "30Gi" } });
  for (const name of ["nvme", "ssd", "hdd"]) ledger.claim(name, name, "10Gi");
  expect(ledger.assume("a", "nvme", "ssd", "hdd")).toBe("promised");
  expect(["nvme", "ssd", "hdd"].map((name) => ledger.free(name, "a"))).toEqual([[0n], [size("10Gi")], [size("20Gi")]]);
});

test("what is free on a node settles as it is published anew", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } });
  const publish = (free: string): void => void ledger.node("a", { annotations: { lvm: free } });
  publish("100Gi");
  for (const name of ["x", "y"]) ledger.claim(name, "lvm", "60Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  expect(ledger.reason("a", "y")).toBe("capacityAssumed");

  // The same value again says nothing, and neither does the volume.
  publish("100Gi");
  ledger.claim("x", "lvm", "60Gi", { selectedNode: "a" }).volume("x", "lvm", "a", "60Gi");
  expect(ledger.free("lvm", "a")).toEqual([size("40Gi")]);

  publish("40Gi");
  expect(ledger.free("lvm", "a")).toEqual([size("40Gi")]);
  expect([...ledger.state.pools.demands()]).toEqual([]);

  publish("100Gi");
  expect(ledger.reason("a", "y")).toBe("");
});

test("a promise outlives a value that cannot be read for a while", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } });
  ledger
    .node("a", { annotations: { lvm: "10Gi" } })
    .claim("x", "lvm", "6Gi")
    .claim("y", "lvm", "6Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  ledger.node("a", { annotations: { lvm: "?" } });
  expect(ledger.reason("a", "y")).toBe("noCapacityPublished");
  ledger.node("a", { annotations: { lvm: "10Gi" } });
  expect(ledger.reason("a", "y")).toBe("capacityAssumed");
  ledger.state.delete("node", "a");
  ledger.node("a", { annotations: { lvm: "10Gi" } });
  expect(ledger.free("lvm", "a")).toEqual([size("4Gi")]);
});

test("of all that a node has, the volumes of the class are deducted, and a demand ends with its volume", () => {
  const ledger = new Ledger(["lvm", "other"], {
    sources: { lvm: source("lvm", { from: "allocatable", means: "total" }) },
  });
  ledger.node("a", { allocatable: { lvm: "100Gi" } }).node("b", { allocatable: { lvm: "100Gi" } });
  ledger.volume("elsewhere", "lvm", "b", "70Gi").volume("stranger", "other", "a", "70Gi");
  expect(ledger.free("lvm", "a")).toEqual([size("100Gi")]);

  ledger.claim("x", "lvm", "60Gi");
  expect(ledger.assume("a", "x")).toBe("promised");
  expect(ledger.free("lvm", "a")).toEqual([size("40Gi")]);
  // Provisioners round up.
  ledger.claim("x", "lvm", "60Gi", { selectedNode: "a" }).volume("x", "lvm", "a", "61Gi");
  expect(ledger.free("lvm", "a")).toEqual([size("39Gi")]);
  ledger.claim("y", "lvm", "40Gi").claim("z", "lvm", "39Gi");
  expect(ledger.reason("a", "y")).toBe("notEnoughSpace");
  expect(ledger.reason("a", "z")).toBe("");

  // It is there until it is gone, released or not.
  ledger.state.delete("claim", "d/x");
  expect(ledger.free("lvm", "a")).toEqual([size("39Gi")]);
  ledger.state.delete("volume", "pv-x");
  expect(ledger.free("lvm", "a")).toEqual([size("100Gi")]);
});

test("a volume that is seen before its claim's selected-node counts once", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm", { from: "allocatable", means: "total" }) } });
  ledger.node("a", { allocatable: { lvm: "100Gi" } }).volume("x", "lvm", "a", "60Gi");
  ledger.claim("x", "lvm", "60Gi", { selectedNode: "a" });
  expect(ledger.free("lvm", "a")).toEqual([size("40Gi")]);
});

test("a volume that grows, or moves to another class, takes what it is", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm", { from: "allocatable", means: "total" }) } });
  ledger
    .node("a", { allocatable: { lvm: "100Gi" } })
    .volume("x", "lvm", "a", "10Gi")
    .volume("x", "lvm", "a", "30Gi");
  expect(ledger.free("lvm", "a")).toEqual([size("70Gi")]);
  ledger.volume("x", "other", "a", "30Gi");
  expect(ledger.free("lvm", "a")).toEqual([size("100Gi")]);
});

test("a claim that is gone before its volume came is waited for by the clock", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm", { from: "allocatable", means: "total" }) } });
  ledger.node("a", { allocatable: { lvm: "100Gi" } }).claim("x", "lvm", "60Gi", { selectedNode: "a" });
  ledger.state.delete("claim", "d/x");
  expect(ledger.free("lvm", "a")).toEqual([size("40Gi")]);
  ledger.wait(2 * pollMs);
  expect(ledger.free("lvm", "a")).toEqual([size("100Gi")]);
});

test("a node that says the same again says it of the time when it said it first", () => {
  const ledger = new Ledger(["lvm"], { sources: { lvm: source("lvm") } }).node("a", { annotations: { lvm: "100Gi" } });
  ledger.state.listed();
  ledger.volume("x", "lvm", "a", "40Gi").node("a", { annotations: { lvm: "100Gi" } });
  ledger.claim("x", "lvm", "40Gi", { selectedNode: "a", volume: "pv-x" });
  expect(ledger.free("lvm", "a")).toEqual([size("60Gi")]);
});
