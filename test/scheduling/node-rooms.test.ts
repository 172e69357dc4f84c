/** What can be provisioned from on the node that is looked at: looked up once a class, told apart by who may take it. */
import { expect, test } from "vitest";
import { nodeName } from "../../src/scheduling/names.ts";
import { NodeRooms } from "../../src/scheduling/node-rooms.ts";
import type { Open } from "../../src/scheduling/open-claim.ts";
import { openClaims } from "../support/open-claims.ts";
import { World } from "../support/world.ts";
import { size } from "./ledger.ts";

/** Node a has 10Gi, of which another Pod holds 4Gi; node b has 10Gi. */
function makeRooms(): { rooms: NodeRooms; open: readonly Open[]; begin: (node: string, avoid: boolean) => void } {
  const world = new World();
  for (const line of [
    ...["node a", "node b", "driver csi.example capacity"],
    ...["csi", "other"].map((name) => `class ${name} provisioner=csi.example`),
    ...["capacity a csi a 10Gi", "capacity b csi b 10Gi", "capacity c other a 20Gi"],
    ...["pvc x 5Gi class=csi", "pvc y 5Gi class=csi", "pvc z 5Gi class=other", "pvc w 4Gi class=csi", "hold q a : w"],
  ]) {
    world.apply(line);
  }
  const open = openClaims(world, "x", "y", "z");
  const rooms = new NodeRooms(world.state, new Set(open.map(({ claim }) => claim.uid)));
  const begin = (node: string, avoid: boolean): void => {
    const entry = world.state.topologies.nodes.get(nodeName(node));
    if (entry) rooms.begin(entry, avoid);
  };
  return { rooms, open, begin };
}

const freeIn = (rooms: NodeRooms, open: Open | undefined): unknown => open && rooms.of(open).map(({ free }) => free);

test("it is of the node that was looked at last, and looked up once a class", () => {
  const { rooms, open, begin } = makeRooms();
  const [x, y, z] = open as [Open, Open, Open];
  begin("a", false);
  const first = rooms.of(x);
  expect([freeIn(rooms, x), freeIn(rooms, z)]).toEqual([[size("10Gi")], [size("20Gi")]]);
  expect([rooms.of(x), rooms.of(y)].every((again) => again === first)).toBe(true);
  begin("b", false);
  expect([freeIn(rooms, x), freeIn(rooms, z)]).toEqual([[size("10Gi")], []]);
  expect([rooms.whyNot(x, false), rooms.whyNot(z, false)]).toEqual([undefined, "noCapacityPublished"]);
});

test("what another Pod holds is left alone where that is asked, and told once", () => {
  const { rooms, open, begin } = makeRooms();
  const [x, , z] = open as [Open, Open, Open];
  expect(rooms.takeAvoided()).toBe(false);
  const steps: Record<string, { node: string; avoid: boolean; of: Open; free: string; avoided: boolean }> = {
    "it is held": { node: "a", avoid: true, of: x, free: "6Gi", avoided: true },
    "nobody minds": { node: "a", avoid: false, of: x, free: "10Gi", avoided: false },
    "nobody holds it on the node": { node: "b", avoid: true, of: x, free: "10Gi", avoided: false },
    "nobody holds it of the class": { node: "a", avoid: true, of: z, free: "20Gi", avoided: false },
  };
  for (const [name, { node, avoid, of, free, avoided }] of Object.entries(steps)) {
    begin(node, avoid);
    expect(freeIn(rooms, of), name).toEqual([size(free)]);
    expect([rooms.takeAvoided(), rooms.takeAvoided()], name).toEqual([avoided, false]);
  }
});

test("asked before any node was looked at is an error of the caller", () => {
  const { rooms, open } = makeRooms();
  expect(() => rooms.of(open[0] as Open)).toThrow("asked before any node was looked at");
});
