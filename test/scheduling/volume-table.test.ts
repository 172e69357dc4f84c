/** Volumes that are kept for one claim, the order of volumes, and what is counted of them. */
import { expect, test } from "vitest";
import { className, nodeName, volumeName } from "../../src/scheduling/names.ts";
import { World } from "../support/world.ts";

function given(...lines: string[]): World {
  const world = new World();
  for (const line of ["node a", ...lines]) world.apply(line);
  return world;
}

const volume = "pv v 10Gi on=a modes=RWO,ROX vac=gold";

const naming: Record<string, { claim: string; keeps: boolean }> = {
  "that it suits": { claim: "10Gi modes=RWO vac=gold", keeps: true },
  "that asks for no size": { claim: "- vac=gold", keeps: true },
  "that it is too small for": { claim: "11Gi vac=gold", keeps: false },
  "of another class": { claim: "10Gi class=other vac=gold", keeps: false },
  "of the other volume mode": { claim: "10Gi block vac=gold", keeps: false },
  "with an access mode that it lacks": { claim: "10Gi modes=RWO,RWX vac=gold", keeps: false },
  "with other attributes": { claim: "10Gi vac=silver", keeps: false },
  "with no attributes": { claim: "10Gi", keeps: false },
  "that is being deleted": { claim: "10Gi vac=gold deleting", keeps: false },
};

test.for(Object.entries(naming))("a volume named by a pending claim %s", ([, { claim, keeps }]) => {
  const world = given("class other", volume, "pvc y 5Gi vac=gold", `pvc named ${claim} volume=v half`);
  const fits = (): boolean => world.fitting(world.pod("p", "y")).length === 1;
  expect(world.state.volumes.keptFor(volumeName("v"))).toBe(keeps ? "d/named" : undefined);
  expect(fits()).toBe(!keeps);
  world.apply(volume);
  expect(fits()).toBe(!keeps);
  world.state.delete("claim", "d/named");
  expect(fits()).toBe(true);
});

test("volumes come by size to the byte, then by name, however large they are", () => {
  const world = given();
  const sizes = {
    c: "9007199254740993",
    d: "9007199254740992",
    b: "9007199254740992",
    a: "9007199254740994",
    e: "1Gi",
  };
  for (const [name, size] of Object.entries(sizes)) world.apply(`pv ${name} ${size} on=a`);
  const { volumes } = world.state;
  const ids = Object.keys(sizes).map((name) => volumes.id(volumeName(name)) ?? -1);
  const sorted = ids.sort((x, y) => volumes.compare(x, y)).map((id) => volumes.at(id).name);
  expect(sorted).toEqual(["e", "b", "d", "c", "a"]);
  for (const x of ids)
    for (const y of ids) expect(Math.sign(volumes.compare(x, y)) + Math.sign(volumes.compare(y, x))).toBe(0);
  expect(ids.map((id) => volumes.compare(id, id))).toEqual([0, 0, 0, 0, 0]);
});

test("volumes are counted by class and topology, taken or free, as they come, change, are promised and go", () => {
  const world = given();
  const counted = (): unknown => [...(world.state.volumes.census.of(className("local"))?.values() ?? [])];
  const steps: readonly (readonly [string, unknown])[] = [
    ["pv v 10 on=a", [{ count: 1, free: 1, takenBytes: 0n }]],
    ["pv w 20 on=a for=other", [{ count: 2, free: 1, takenBytes: 20n }]],
    ["pv v 15 on=a", [{ count: 2, free: 1, takenBytes: 20n }]],
    ["pvc x 5", [{ count: 2, free: 1, takenBytes: 20n }]],
    ["assume p a : x", [{ count: 2, free: 0, takenBytes: 35n }]],
    ["pv v 16 on=a", [{ count: 2, free: 0, takenBytes: 36n }]],
    ["forget p", [{ count: 2, free: 1, takenBytes: 20n }]],
    ["pv w 20 on=a", [{ count: 2, free: 2, takenBytes: 0n }]],
    ["pv w 20 on=a for=other", [{ count: 2, free: 1, takenBytes: 20n }]],
    ["delete volume w", [{ count: 1, free: 1, takenBytes: 0n }]],
    ["delete volume nobody", [{ count: 1, free: 1, takenBytes: 0n }]],
    ["delete volume v", []],
  ];
  for (const [step, want] of steps) {
    world.apply(step);
    expect(counted(), step).toEqual(want);
  }
  expect(world.state.volumes.census.of(className("local"))).toBeUndefined();
  expect([...world.state.topologies.nodes.values()].map(({ topologies }) => topologies)).toEqual([[]]);
});

test("volumes are shared while several nodes reach them, or every node: not where one does, or none", () => {
  const world = new World();
  for (const line of ["node a", "node b", "pv v 1Gi at=kubernetes.io/hostname:a|b"]) world.apply(line);
  const isShared = (): boolean => world.state.volumes.free.sharedOf(className("local")) !== undefined;
  expect(isShared()).toBe(true);
  for (const [line, shared] of [
    ["delete node a", false],
    ["delete node b", false],
    ["node b", false],
    ["node a", true],
    ["delete volume v", false],
    ["pv v 1Gi", true],
    ["pv v 1Gi phase=Bound", false],
  ] as const) {
    world.apply(line);
    expect([line, isShared()]).toEqual([line, shared]);
  }
});

test("blocks of a class are kept while anything of it is free, and then given back", () => {
  const world = given("pv v 1Gi on=a", "pv w 1Gi on=a");
  const blocks = (): unknown => world.state.volumes.free.blocksOf(className("local"));
  const first = blocks();
  expect(first).toBeDefined();
  for (const line of ["delete volume v", "pv v 2Gi on=a", "delete volume w"]) {
    world.apply(line);
    expect(blocks(), line).toBe(first);
  }
  world.apply("delete volume v");
  expect(blocks()).toBeUndefined();
  world.apply("pv v 1Gi on=a");
  expect(blocks()).not.toBe(first);
});

test("once everything is listed, every node's blocks of the largest classes lie ready for the first decision", () => {
  const world = new World();
  const classes = ["c1", "c2", "c3", "c4", "c5"];
  for (const [less, name] of classes.entries()) {
    world.apply(`class ${name}`);
    for (let disk = 0; disk < 6 - less; disk++) world.apply(`pv ${name}-${disk} 1Gi on=a class=${name}`);
  }
  world.apply("node a");
  world.apply("node b");
  world.state.listed();
  const { volumes, topologies } = world.state;
  const lengths = classes.map((name) =>
    ["a", "b"].map((node) => {
      const id = topologies.nodes.get(nodeName(node))?.id ?? -1;
      return volumes.free.blocksOf(className(name))?.lengthOf(id);
    }),
  );
  expect(lengths).toEqual([
    [6, 0],
    [5, 0],
    [4, 0],
    [3, 0],
    [-1, -1],
  ]);
});

test("a number is free once its volume is gone, and there are as many as volumes", () => {
  const world = given(...Array.from({ length: 130 }, (_, nth) => `pv v${nth} ${nth + 1} on=a`));
  const { volumes } = world.state;
  const idOf = (name: string): number => volumes.id(volumeName(name)) ?? -1;
  for (let nth = 0; nth < 130; nth++) expect(volumes.size[idOf(`v${nth}`)]).toBe(nth + 1);
  const id = idOf("v7");
  world.apply("delete volume v7");
  expect(() => volumes.at(id)).toThrow(`no volume under number ${id}`);
  world.apply("pv w 10 on=a");
  expect(idOf("w")).toBe(id);
});
