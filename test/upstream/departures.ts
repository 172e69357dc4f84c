/** Departures on purpose (design.md §4, decision 15) that no numbered scenario of VB §8 shows. Upstream's answer stands beside ours. */
import { describe, expect } from "vitest";
import { explainPod } from "../../src/scheduling/explain.ts";
import { World as BindWorld } from "../binding/world.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";
import { World } from "../support/world.ts";
import { ask, departure, expectDeparture, type NodeAnswer, texts } from "./support.ts";

describe("departures", () => {
  departure("D7", "of equal volumes upstream takes any, Berth the first by name, however they came", () => {
    const names = ["b", "c", "a"];
    const orders = [names, names.toReversed(), names.toSorted()];
    const answers = orders.map((order) => {
      const world = new World().add(makeNode("n"), makePVC("x"), ...order.map((name) => makePV(name, { on: "n" })));
      return JSON.stringify(ask(world, world.pod("p", "x")));
    });
    // Upstream keeps the first of the smallest in the order of a Go map, which is random: VB §3.3.
    expectDeparture({ upstream: names.length, berth: new Set(answers).size, want: 1 });
    expect(answers[0]).toBe(JSON.stringify({ n: ["x=a"] }));
  });
  departure("D8", "upstream reads all volumes of the class for each node; Berth reads what the node reaches", () => {
    const world = new World().add(makeNode("n"), makePVC("x"), makePV("here", { on: "n" }));
    for (let other = 0; other < 100; other++) world.add(makePV(`v${other}`, { on: `far${other}`, capacity: "5Gi" }));
    const { topologies } = world.state;
    const reached = [topologies.everywhere, ...([...topologies.nodes.values()][0]?.topologies ?? [])];
    const read = reached.flatMap(({ slabs }) => [...slabs.values()].flatMap((slab) => [...slab]));
    expectDeparture({ upstream: world.state.volumes.count, berth: read.length, want: 1 });
    expect(ask(world, world.pod("p", "x"))).toEqual({ n: ["x=here"] });
  });
  departure("D10", "upstream looks once a second and first after one; Berth answers with the change", async () => {
    const world = new BindWorld();
    await world.nodes("n1");
    await world.pv("a", { on: "n1" });
    await world.pvc("x");
    const pod = await world.pod("p", ["x"]);
    await world.start();
    const bind = world.bind(pod, "n1");
    await world.runtime.advance(50);
    await world.controlVolumes();
    expect(bind.answer).toBe("ok");
    expectDeparture({ upstream: 1_000, berth: bind.at, want: 50 });
  });
  departure("D13", "one text on the wire for several causes, as upstream; the cause of each claim in explain", () => {
    const world = new World().add(makeNode("n1"), makeNode("n2"), makeNode("n3"), makePVC("x", { request: "10Gi" }));
    world.add(makePV("small", { on: "n1", capacity: "4Gi" }), makePV("block", { on: "n2", volumeMode: "Block" }));
    const pod = world.pod("p", "x");
    expect(ask(world, pod)).toEqual({ n1: texts.bind, n2: texts.bind, n3: texts.bind });
    // Upstream says no more than the text, which is one for three causes.
    const causes = explainPod(world.state, pod).nodes.map(({ claims }) => claims);
    expectDeparture({ upstream: 1, berth: new Set(causes.map((claims) => JSON.stringify(claims))).size, want: 3 });
    expect(causes).toEqual([
      [{ claim: "d/x", refused: [{ volume: "small", why: "too small: 4Gi of 10Gi" }] }],
      [{ claim: "d/x", refused: [{ volume: "block", why: "volumeMode Block, the claim asks for Filesystem" }] }],
      [{ claim: "d/x", refused: [] }],
    ]);
  });
  departure("D15", "a free volume that another pending claim names is kept for it (FR-011)", () => {
    const world = new World().add(makeNode("n"), makePV("named", { on: "n" }), makePVC("x"));
    world.add(makePVC("other", { volume: "named", halfBound: true }));
    const berth = ask(world, world.pod("p", "x"))["n"];
    expectDeparture<NodeAnswer>({ upstream: ["x=named"], berth, want: texts.bind });
  });
  departure(
    "D16",
    "a claim with a selector is never left to a provisioner, which would refuse it for ever (FR-017)",
    () => {
      const world = new World().add(makeNode("n"), makeClass("csi", { provisioner: "csi.example" }));
      world.add(makeDriver("csi.example"), makePVC("x", { class: "csi", selector: { matchLabels: { disk: "ssd" } } }));
      const pod = world.pod("p", "x");
      expectDeparture<NodeAnswer>({ upstream: ["x=+csi"], berth: ask(world, pod)["n"], want: texts.bind });
      expect(world.reasons(pod, "n")).toEqual(["selectorNotProvisionable"]);
    },
  );
  departure("D17", "of several capacity objects of one class and topology the newest counts (FR-038)", () => {
    const world = new World().add(makeNode("n"), makeClass("csi", { provisioner: "csi.example" }));
    world.add(makeDriver("csi.example", true), makePVC("x", { class: "csi", request: "100Gi" }));
    world.add(makeCapacity("old", { class: "csi", on: "n", capacity: "800Gi", created: "2026-01-01T00:00:00Z" }));
    world.add(makeCapacity("new", { class: "csi", on: "n", capacity: "20Gi", created: "2026-02-01T00:00:00Z" }));
    const berth = ask(world, world.pod("p", "x"))["n"];
    expectDeparture<NodeAnswer>({ upstream: ["x=+csi"], berth, want: texts.space });
  });
  departure("D18", "a node whose provisioner has just refused a claim rests for it (FR-040)", () => {
    const world = new World().add(makeNode("n"), makeClass("csi", { provisioner: "csi.example" }));
    const claim = (selectedNode?: string): Raw =>
      makePVC("x", { class: "csi", ...(selectedNode !== undefined && { selectedNode }) });
    world.add(claim("n"), claim());
    const pod = world.pod("p", "x");
    expectDeparture<NodeAnswer>({ upstream: ["x=+csi"], berth: ask(world, pod)["n"], want: texts.space });
    expect(world.reasons(pod, "n")).toEqual(["provisioningBackoff"]);
    world.now += 5_000;
    expect(ask(world, pod)).toEqual({ n: ["x=+csi"] });
  });
  departure("D19", "a node without the class's driver is refused where other nodes have it (FR-032)", () => {
    const world = new World().add(makeNode("n1"), makeNode("n2"), makeClass("csi", { provisioner: "csi.example" }));
    world.add(makeCsiNode("n1", "csi.example"), makePVC("x", { class: "csi" }));
    // Upstream does not look at CSINode for volumes that do not exist yet: VB §2.2 F4.
    expectDeparture<Record<string, NodeAnswer>>({
      upstream: { n1: ["x=+csi"], n2: ["x=+csi"] },
      berth: ask(world, world.pod("p", "x")),
      want: { n1: ["x=+csi"], n2: texts.bind },
    });
  });
  departure(
    "D20",
    "nothing is left to a provisioner that nobody runs, where the class has volumes made by hand",
    () => {
      const world = new World().add(
        makeNode("n1"),
        makeNode("n2"),
        makeClass("disks", { provisioner: "made.up/local" }),
      );
      world.add(makePVC("x", { class: "disks" }), makePV("a", { on: "n1", class: "disks" }));
      // Upstream: any provisioner but no-provisioner may make it, wherever the topology allows: VB §2.2 F4b.
      expectDeparture<Record<string, NodeAnswer>>({
        upstream: { n1: ["x=a"], n2: ["x=+disks"] },
        berth: ask(world, world.pod("p", "x")),
        want: { n1: ["x=a"], n2: texts.bind },
      });
    },
  );
  departure("D21", "a class that names an in-tree plugin is judged by the CSI driver that serves it", () => {
    const world = new World().add(makeNode("n1"), makeNode("n2"));
    world.add(makeClass("old", { provisioner: "kubernetes.io/gce-pd" }), makeDriver("pd.csi.storage.gke.io", true));
    world.add(makePVC("x", { class: "old", request: "10Gi" }));
    for (const [on, capacity] of [
      ["n1", "40Gi"],
      ["n2", "4Gi"],
    ] as const) {
      world.add(makeCapacity(`c-${on}`, { class: "old", on, capacity }));
    }
    // Upstream looks for a CSIDriver of the plugin's name, finds none, and asks for no capacity: VB §2.2 F4e.
    expectDeparture<Record<string, NodeAnswer>>({
      upstream: { n1: ["x=+old"], n2: ["x=+old"] },
      berth: ask(world, world.pod("p", "x")),
      want: { n1: ["x=+old"], n2: texts.space },
    });
  });
});
