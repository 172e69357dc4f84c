/** Why one claim cannot be provisioned on one node, of pools whose amounts are given (VB §2.2 F4; departures D3, D18; FR-032). */
import { expect, test } from "vitest";
import { capacityKey, className, nodeName } from "../../src/scheduling/names.ts";
import type { Pool, Published } from "../../src/scheduling/pools.ts";
import { type Provision, provisionOf, type Room, whyNotProvision } from "../../src/scheduling/provisioning.ts";
import { zero } from "../../src/scheduling/quantity.ts";
import { World } from "../support/world.ts";
import { size } from "./ledger.ts";

const csi = className("csi");

/** GiB; all are plenty unless said otherwise. */
interface Amounts {
  readonly key?: string;
  readonly limit?: number;
  readonly total?: number;
  readonly free?: number;
}

interface Asked {
  /** Where the class is allowed and the driver is registered, unless said otherwise. */
  readonly on?: string;
  readonly isUnderway?: boolean;
  readonly provision?: Partial<Provision>;
}

const world = new World();
for (const line of [
  ...["node a zone=1", "node b zone=1", "node c zone=1", "node d zone=2"],
  ...["csinode a csi.example", "csinode c other.example", "csinode d csi.example"],
  ...["class csi provisioner=csi.example topology=zone:1", "driver csi.example capacity", "pvc x 10Gi class=csi"],
]) {
  world.apply(line);
}

function roomOf({ key = "k", limit = 99, total = 99, free = 99 }: Amounts): Room {
  const newest: Published = {
    key: capacityKey(nodeName("a"), csi),
    resourceVersion: "1",
    createdAt: "",
    capacity: size(`${total}Gi`),
  };
  const offers: Pool["offers"] = new Map();
  const topology = world.state.topologies.everywhere;
  const pool: Pool = { key, topology, offers, demands: new Set(), promised: zero, held: zero, holds: 0 };
  const offer = { class: csi, pool, objects: new Map([["o", newest]]), newest };
  offers.set(csi, offer);
  return { offer, pool, limit: size(`${limit}Gi`), free: size(`${free}Gi`) };
}

/** "" where the claim, of 10Gi, can be provisioned. */
function why(pools: readonly Amounts[], { on = "a", isUnderway = false, provision = {} }: Asked = {}): string {
  const claim = world.state.get("claim", "d/x");
  const entry = world.state.topologies.nodes.get(nodeName(on));
  const storageClass = world.state.get("class", csi);
  if (!claim || !entry || !storageClass) throw new Error("no such claim, node or class");
  const asked = { provision: { ...provisionOf(world.state, claim, storageClass), ...provision }, isUnderway };
  return whyNotProvision(world.state, entry, asked, () => pools.map(roomOf)) ?? "";
}

const small = { limit: 9 };
const short = { total: 9, free: 9 };
const promised = { total: 10, free: 9 };

const amounts: Record<string, { pools: readonly Amounts[]; says: string }> = {
  "there is just enough": { pools: [{ limit: 10, total: 10, free: 10 }], says: "" },
  "nothing is published": { pools: [], says: "noCapacityPublished" },
  "no single volume may be as large": { pools: [small], says: "claimTooLarge" },
  "there is less than it asks": { pools: [short], says: "notEnoughSpace" },
  "there would be just enough, but for what is promised": { pools: [promised], says: "capacityAssumed" },
  "one of two pools has room": { pools: [short, {}], says: "" },
  "the space is short in one pool, and another gives no volume as large": {
    pools: [small, short],
    says: "notEnoughSpace",
  },
  "it is promised in one pool, and another gives no volume as large": {
    pools: [small, promised],
    says: "capacityAssumed",
  },
  "it is promised in one pool and short in another": { pools: [short, promised], says: "capacityAssumed" },
};

test.for(Object.entries(amounts))("of amounts: %s", ([, { pools, says }]) => {
  expect([why(pools), why(pools.toReversed())]).toEqual([says, says]);
});

const places: Record<string, { pools: readonly Amounts[]; asked: Asked; says: string }> = {
  "a node that the class does not allow comes before its amounts": {
    pools: [],
    asked: { on: "d" },
    says: "topologyNotAllowed",
  },
  "a node without any driver comes before its amounts": { pools: [], asked: { on: "b" }, says: "driverMissing" },
  "a node with another driver": { pools: [{}], asked: { on: "c" }, says: "driverMissing" },
  "a driver that is registered nowhere is missed nowhere": {
    pools: [{}],
    asked: { on: "b", provision: { needsDriver: false } },
    says: "",
  },
  "what no node can ever do comes first": {
    pools: [],
    asked: { on: "d", provision: { never: "selectorNotProvisionable" } },
    says: "selectorNotProvisionable",
  },
  "what is underway may have taken its bytes already": { pools: [short], asked: { isUnderway: true }, says: "" },
  "what is underway needs a pool": { pools: [], asked: { isUnderway: true }, says: "noCapacityPublished" },
  "what is underway needs none where none is published": {
    pools: [],
    asked: { isUnderway: true, provision: { needsCapacity: false } },
    says: "",
  },
};

test.for(Object.entries(places))("of places: %s", ([, { pools, asked, says }]) => {
  expect(why(pools, asked)).toBe(says);
});

const k = new Set(["k"]);
const rests: Record<string, { pools: readonly Amounts[]; asked: Asked; says: string }> = {
  "the node that was refused": {
    pools: [{}],
    asked: { provision: { restingNodes: new Set([nodeName("a")]) } },
    says: "provisioningBackoff",
  },
  "not another node": { pools: [{}], asked: { provision: { restingNodes: new Set([nodeName("b")]) } }, says: "" },
  "all nodes of a pool that was refused": {
    pools: [{}],
    asked: { provision: { restingPools: k } },
    says: "provisioningBackoff",
  },
  "not where there is another pool": {
    pools: [{}, { key: "other" }],
    asked: { provision: { restingPools: k } },
    says: "",
  },
  "not where nothing is published any more": {
    pools: [],
    asked: { provision: { restingPools: k, needsCapacity: false } },
    says: "",
  },
  "full comes first": { pools: [short], asked: { provision: { restingPools: k } }, says: "notEnoughSpace" },
};

test.for(Object.entries(rests))("what rests: %s", ([, { pools, asked, says }]) => {
  expect(why(pools, asked)).toBe(says);
});
