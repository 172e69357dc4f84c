/** What there is of each class and where: the words of docs/capacity.md, by example, and that no byte is counted twice or lost. */
import { expect, test } from "vitest";
import {
  type CapacityFilter,
  type CapacityRow,
  capacityByClass,
  capacityByPlace,
} from "../../src/scheduling/capacity-view.ts";
import { className, nodeName } from "../../src/scheduling/names.ts";
import { formatBytes } from "../../src/scheduling/quantity.ts";
import { Random } from "../oracle/random.ts";
import { World } from "../support/world.ts";

function given(...lines: string[]): World {
  const world = new World();
  for (const line of lines) world.apply(line);
  return world;
}

function run(steps: Generator<undefined, CapacityRow[]>): CapacityRow[] {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const byPlace = (world: World, filter: CapacityFilter = {}) => run(capacityByPlace(world.state, filter));
const byClass = (world: World, filter: CapacityFilter = {}) => run(capacityByClass(world.state, filter));

/** "local n1: 10 = 1 + 2 + 3 + 4, largest 3", in gibibytes: bound, reserved, free, stranded. */
function told({ class: name, on, total, bound, reserved, free, stranded, largest }: CapacityRow): string {
  const place = on.everywhere ? "*" : on.count > on.nodes.length ? `${on.count} nodes` : on.nodes.join("+");
  const [all, ...parts] = [total, bound, reserved, free, stranded].map((bytes) => formatBytes(bytes));
  return `${name} ${place}: ${all} = ${parts.join(" + ")}, largest ${formatBytes(largest)}`;
}

const nodes = (...names: string[]): string[] => names.map((name) => `node ${name}`);

const fates: Record<string, { given: string[]; want: string; surplus?: string }> = {
  "a free volume": { given: ["pv a 10Gi on=n1"], want: "10Gi = 0 + 0 + 10Gi + 0, largest 10Gi" },
  "a bound one, and what its claim did not ask for": {
    given: ["pv a 10Gi on=n1 for=x uid=ux phase=Bound", "pvc x 4Gi volume=a"],
    want: "10Gi = 10Gi + 0 + 0 + 0, largest 0",
    surplus: "6Gi",
  },
  "one that the PV controller is binding": {
    given: ["pv a 10Gi on=n1 for=x uid=ux phase=Available", "pvc x 4Gi volume=a half"],
    want: "10Gi = 0 + 10Gi + 0 + 0, largest 0",
  },
  "one that is reserved by name for a claim that may come": {
    given: ["pv a 10Gi on=n1 for=later phase=Available"],
    want: "10Gi = 0 + 10Gi + 0 + 0, largest 0",
  },
  "one that a pending claim names": {
    given: ["pv a 10Gi on=n1", "pvc x 4Gi volume=a half"],
    want: "10Gi = 0 + 10Gi + 0 + 0, largest 0",
  },
  "one that is promised": {
    given: ["pv a 10Gi on=n1", "pvc x 4Gi", "assume p n1 : x"],
    want: "10Gi = 0 + 10Gi + 0 + 0, largest 0",
  },
  "one that is held": {
    given: ["pv a 10Gi on=n1", "pvc x 4Gi", "hold p n1 : x"],
    want: "10Gi = 0 + 10Gi + 0 + 0, largest 0",
  },
  "a released one": {
    given: ["pv a 10Gi on=n1 for=gone uid=old phase=Released"],
    want: "10Gi = 0 + 0 + 0 + 10Gi, largest 0",
  },
  "one of a claim that was made anew under its name": {
    given: ["pv a 10Gi on=n1 for=x uid=old phase=Released", "pvc x 4Gi"],
    want: "10Gi = 0 + 0 + 0 + 10Gi, largest 0",
  },
  "a failed one": { given: ["pv a 10Gi on=n1 phase=Failed"], want: "10Gi = 0 + 0 + 0 + 10Gi, largest 0" },
  "one that is being deleted": { given: ["pv a 10Gi on=n1 deleting"], want: "10Gi = 0 + 0 + 0 + 10Gi, largest 0" },
};

test.for(Object.entries(fates))("%s", ([, { given: lines, want, surplus = "0" }]) => {
  const rows = byPlace(given(...nodes("n1", "n2"), ...lines));
  expect(rows.map(told)).toEqual([`local n1: ${want}`]);
  expect(rows.map((row) => formatBytes(row.surplus))).toEqual([surplus]);
});

test("what is free where no Pod can go is stranded: no such node, NotReady, cordoned", () => {
  const world = given(
    ...nodes("n1"),
    "pv a 1Gi on=gone",
    "pv b 2Gi on=n1",
    "class csi provisioner=csi.example",
    "driver csi.example capacity",
    "capacity c csi n1 30Gi",
  );
  expect(byPlace(world).map(told)).toEqual([
    "csi n1: 30Gi = 0 + 0 + 30Gi + 0, largest 30Gi",
    "local : 1Gi = 0 + 0 + 0 + 1Gi, largest 0",
    "local n1: 2Gi = 0 + 0 + 2Gi + 0, largest 2Gi",
  ]);
  const node = world.state.get("node", "n1");
  if (!node) throw new Error("no node");
  for (const change of [{ unschedulable: true }, { ready: false }]) {
    world.state.set("node", "n1", { ...node, ...change });
    expect(byPlace(world, { node: nodeName("n1") }).map(told)).toEqual([
      "csi n1: 30Gi = 0 + 0 + 0 + 30Gi, largest 0",
      "local n1: 2Gi = 0 + 0 + 0 + 2Gi, largest 0",
    ]);
  }
});

test("what is published and the volumes made of it are one place; promised and held is reserved; one volume has its limit", () => {
  const world = given(
    ...nodes("n1"),
    "class csi provisioner=csi.example",
    "driver csi.example capacity",
    "csinode n1 csi.example",
    "capacity c csi n1 100Gi max=40Gi",
    "pv made 7Gi on=n1 class=csi for=y uid=uy phase=Bound made=csi.example",
    "pvc y 7Gi class=csi volume=made",
    "pvc x 10Gi class=csi",
    "pvc w 5Gi class=csi",
    "assume p n1 : x",
    "hold q n1 : w",
  );
  expect(byPlace(world).map(told)).toEqual(["csi n1: 107Gi = 7Gi + 15Gi + 85Gi + 0, largest 40Gi"]);
});

test("a volume that several nodes reach is one row, and counts for each node that asks", () => {
  const shared = "pv z 5Gi at=zone:a";
  const world = given("node n1 zone=a", "node n2 zone=a", "node n3 zone=b", shared, "pv net 9Gi", "pv own 1Gi on=n3");
  expect(byPlace(world).map(told)).toEqual([
    "local *: 9Gi = 0 + 0 + 9Gi + 0, largest 9Gi",
    "local n1+n2: 5Gi = 0 + 0 + 5Gi + 0, largest 5Gi",
    "local n3: 1Gi = 0 + 0 + 1Gi + 0, largest 1Gi",
  ]);
  const onNode = (node: string) => byPlace(world, { node: nodeName(node) }).map(({ on }) => on.nodes.join("+"));
  expect([onNode("n2"), onNode("n3")]).toEqual([
    ["", "n1+n2"],
    ["", "n3"],
  ]);
  expect(byClass(world).map(({ on, volumes, total }) => [on, volumes, formatBytes(total)])).toEqual([
    [{ everywhere: true, count: 3, nodes: [] }, 3, "15Gi"],
  ]);
});

test("a row a class sums its places, and its largest is the largest of any", () => {
  const world = given(
    ...nodes("n1", "n2", "n3", "n4", "n5"),
    ...["n1", "n2", "n3", "n4"].flatMap((name, index) => [`pv a${name} ${index + 1}Gi on=${name}`]),
    "pv f 8Gi on=n5 class=fast",
  );
  expect(byClass(world).map(told)).toEqual([
    "fast n5: 8Gi = 0 + 0 + 8Gi + 0, largest 8Gi",
    "local 4 nodes: 10Gi = 0 + 0 + 10Gi + 0, largest 4Gi",
  ]);
  expect(byClass(world, { class: className("fast") })).toHaveLength(1);
});

test("over random states each byte is counted once, by place as by class", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new Random(seed);
    const names = ["n1", "n2", "n3"];
    const world = given(...nodes(...names), "class csi provisioner=csi.example", "driver csi.example capacity");
    let bytes = 0n;
    for (let index = 0; index < 12; index++) {
      const gibibytes = random.int(1, 9);
      const phase = random.pick(["Available", "Available", "Failed", "Released"]);
      const where = random.pick(["", ...names.map((name) => ` on=${name}`), " on=gone"]);
      const claim = random.once(3) ? ` for=c${index} uid=uc${index}` : "";
      world.apply(`pv v${index} ${gibibytes}Gi class=${random.pick(["local", "csi"])} phase=${phase}${where}${claim}`);
      if (claim !== "" && random.once(2)) world.apply(`pvc c${index} 1Gi volume=v${index}`);
      bytes += BigInt(gibibytes) << 30n;
    }
    for (const name of random.some(names)) {
      const gibibytes = random.int(1, 9);
      world.apply(`capacity c-${name} csi ${name} ${gibibytes}Gi`);
      bytes += BigInt(gibibytes) << 30n;
    }
    for (const rows of [byPlace(world), byClass(world)]) {
      let all = 0n;
      for (const { total, bound, reserved, free, stranded, largest, surplus } of rows) {
        expect({ seed, sum: bound + reserved + free + stranded }).toEqual({ seed, sum: total });
        expect({ seed, isWithin: largest <= free && surplus <= bound }).toEqual({ seed, isWithin: true });
        all += total;
      }
      expect({ seed, all }).toEqual({ seed, all: bytes });
    }
  }
});
