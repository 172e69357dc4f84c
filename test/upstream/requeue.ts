/**
 * VB §8.16: requeue hints. They are kube-scheduler's; an extender's refusals wake on any event of these kinds (VB §6.2). What
 * remains for us: where upstream would queue, the next filter answers anew; where it would skip, the answer is the same to the byte.
 */
import { describe, expect } from "vitest";
import type { Pod } from "../../src/scheduling/objects.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeMigratedNode,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";
import { World } from "../support/world.ts";
import { ask, type NodeAnswer, scenario, texts } from "./support.ts";

/** The answer on node "n" after each step, from the first state on. */
function story(world: World, pod: Pod, ...steps: (Raw | (() => void))[]): (NodeAnswer | undefined)[] {
  const answers = [ask(world, pod)["n"]];
  for (const step of steps) {
    if (typeof step === "function") step();
    else world.add(step);
    answers.push(ask(world, pod)["n"]);
  }
  return answers;
}

const csi = (facts: Parameters<typeof makeClass>[1] = {}): Raw =>
  makeClass("csi", { provisioner: "csi.example", ...facts });
const claim = makePVC("x", { class: "csi", request: "1Gi" });
const fits = ["x=+csi"];

describe("VB 8.16: events after which a Pod is looked at again", () => {
  scenario(178, "core", "a CSINode that comes, or lists a plugin", () => {
    const gce = "kubernetes.io/gce-pd";
    const zone = [{ matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: ["z1"] }] }];
    const source = { gcePersistentDisk: { pdName: "disk" } };
    const world = new World().add(makeNode("n", { "topology.gke.io/zone": "z1" }), makePVC("x", { volume: "v" }));
    world.add(makePV("v", { terms: zone, source, claim: "x", claimUid: "ux" }));
    const answers = story(
      world,
      world.pod("p", "x"),
      makeCsiNode("n"),
      makeMigratedNode("n", "kubernetes.io/aws-ebs"),
      makeMigratedNode("n", "kubernetes.io/aws-ebs", gce),
      makeMigratedNode("n", "kubernetes.io/aws-ebs", gce),
      () => world.state.delete("csiNode", "n"),
      makeMigratedNode("n", gce),
    );
    expect(answers).toEqual([texts.node, texts.node, texts.node, ["x==v"], ["x==v"], texts.node, ["x==v"]]);
  });
  scenario(179, "core", "a claim of that namespace and name, also an ephemeral volume's", () => {
    const world = new World().add(makeNode("n"), makePV("v"));
    const missing = 'persistentvolumeclaim "x" not found';
    expect(
      story(
        world,
        world.pod("p", "x"),
        makePVC("x", { namespace: "other" }),
        makePVC("y"),
        makePVC("p-x", { owner: "up" }),
        makePVC("x"),
      ),
    ).toEqual([missing, missing, missing, missing, ["x=v"]]);
    const awaited = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "q-x"';
    expect(
      story(world, world.pod("q", "~x"), makePVC("q-y", { owner: "uq" }), makePVC("q-x", { owner: "uq" })),
    ).toEqual([awaited, awaited, ["q-x=v"]]);
  });
  scenario(180, "core", "a class that comes, or changes its allowedTopologies", () => {
    const topology = (zone: string) => ({
      topologies: [{ matchLabelExpressions: [{ key: "zone", values: [zone] }] }],
    });
    const world = new World().add(makeNode("n", { zone: "z1" }), claim);
    const answers = story(
      world,
      world.pod("p", "x"),
      csi(topology("z2")),
      csi(topology("z2")),
      csi(topology("z1")),
      csi(),
    );
    expect(answers).toEqual([texts.immediate, texts.bind, texts.bind, fits, fits]);
  });
  scenario(181, "core", "capacity that comes or grows; less or as much changes nothing", () => {
    const world = new World().add(makeNode("n"), csi(), makeDriver("csi.example", true));
    world.add(makePVC("x", { class: "csi", request: "50Gi" }));
    let version = 0;
    const capacity = (size?: string, max?: string): Raw =>
      makeCapacity("c", {
        class: "csi",
        on: "n",
        version: String(++version),
        ...(size !== undefined && { capacity: size }),
        ...(max !== undefined && { max }),
      });
    const answers = story(
      world,
      world.pod("p", "x"),
      capacity(),
      capacity("20Gi"),
      capacity("20Gi"),
      capacity("10Gi"),
      capacity("100Gi"),
      capacity("100Gi", "20Gi"),
      capacity("100Gi"),
      capacity("20Gi"),
      capacity("20Gi", "100Gi"),
    );
    const no = texts.space;
    expect(answers).toEqual([no, no, no, no, no, fits, no, fits, no, fits]);
  });
  scenario(
    182,
    "core",
    "a driver that no longer publishes capacity: Pods with claims wait for that, inline volumes never do",
    () => {
      const world = new World().add(makeNode("n"), csi(), claim, makeDriver("csi.example", true));
      const inline = world.read(makePod("q", [], { volumes: [{ name: "v", csi: { driver: "csi.example" } }] }));
      // Upstream wakes only the Pod with the inline volume, which its own filter never refused (VB §6.1).
      expect(ask(world, inline)).toEqual({ n: [] });
      const on = makeDriver("csi.example", true);
      const answers = story(
        world,
        world.pod("p", "x"),
        on,
        makeDriver("csi.example", false),
        on,
        makeDriver("csi.example"),
      );
      expect(answers).toEqual([texts.space, texts.space, fits, texts.space, fits]);
      expect(ask(world, inline)).toEqual({ n: [] });
    },
  );
});
