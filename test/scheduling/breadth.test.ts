/** The forms that volumes, claims and classes take in the field, each from an API object to the nodes that fit. */
import { expect, test } from "vitest";
import { makeClass, makeDriver, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

const rack = (...values: string[]) => ({ key: "rack", operator: "In", values });
const zone = (...values: string[]) => ({ key: "zone", operator: "In", values });
const rwop = "ReadWriteOncePod";
const network = { source: { nfs: { server: "nas", path: "/x" } } };

/** Nodes n1 (z1, r1), n2 (z1, r2) and n3 (z2, r1); claim x; "refused" where the Pod as a whole is. */
const forms: Record<string, { objects: Raw[]; want: readonly string[] | string; pod?: Raw }> = {
  "a generic ephemeral volume whose claim the Pod owns": {
    objects: [makePVC("p-x", { owner: "up" }), makePV("a", { on: "n1" })],
    pod: makePod("p", [], { volumes: [{ name: "x", ephemeral: {} }] }),
    want: ["n1"],
  },
  "a generic ephemeral volume whose claim is somebody else's": {
    objects: [makePVC("p-x"), makePV("a", { on: "n1" })],
    pod: makePod("p", [], { volumes: [{ name: "x", ephemeral: {} }] }),
    want: "PVC d/p-x was not created for pod d/p (pod is not owner)",
  },
  "a generic ephemeral volume whose claim is not there yet": {
    objects: [makePV("a", { on: "n1" })],
    pod: makePod("p", [], { volumes: [{ name: "x", ephemeral: {} }] }),
    want: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-x"',
  },
  "attributes classes that are equal": {
    objects: [
      makePVC("x", { attributesClass: "gold" }),
      makePV("a", { on: "n1", attributesClass: "gold" }),
      makePV("b", { on: "n2" }),
    ],
    want: ["n1"],
  },
  "ReadWriteOncePod, which ReadWriteOnce does not imply": {
    objects: [makePVC("x", { modes: [rwop] }), makePV("a", { on: "n1" }), makePV("b", { on: "n2", modes: [rwop] })],
    want: ["n2"],
  },
  "raw block": {
    objects: [
      makePVC("x", { volumeMode: "Block" }),
      makePV("a", { on: "n1" }),
      makePV("b", { on: "n2", volumeMode: "Block" }),
    ],
    want: ["n2"],
  },
  "the beta class annotation, on both sides, above the spec": {
    objects: [
      makePVC("x", { class: "other", betaClass: "local" }),
      makePV("a", { on: "n1", class: "other", betaClass: "local" }),
      makePV("b", { on: "n2", betaClass: "other" }),
    ],
    want: ["n1"],
  },
  "affinity to a rack in a zone: keys of a term are all asked": {
    objects: [makePVC("x"), makePV("a", { terms: [{ matchExpressions: [zone("z1"), rack("r1")] }] })],
    want: ["n1"],
  },
  "affinity of several terms: one is enough": {
    objects: [
      makePVC("x"),
      makePV("a", { terms: [{ matchExpressions: [rack("r2")] }, { matchExpressions: [zone("z2")] }] }),
    ],
    want: ["n2", "n3"],
  },
  "affinity to several zones": {
    objects: [makePVC("x"), makePV("a", { terms: [{ matchExpressions: [zone("z1", "z2"), rack("r1")] }] })],
    want: ["n1", "n3"],
  },
  "a network volume without affinity": { objects: [makePVC("x"), makePV("a", network)], want: ["n1", "n2", "n3"] },
  "a network volume with an empty affinity": {
    objects: [makePVC("x"), makePV("a", { ...network, affinity: {} })],
    want: ["n1", "n2", "n3"],
  },
  "a pair that was bound by hand from the volume's side": {
    objects: [makePVC("x"), makePV("a", { on: "n2", claim: "x", capacity: "900Gi" }), makePV("b", { on: "n1" })],
    want: ["n2"],
  },
  "a pair that was bound by hand from both sides and is not finished": {
    objects: [makePVC("x", { volume: "a", halfBound: true }), makePV("a", { on: "n2", claim: "x" })],
    want: "pod has unbound immediate PersistentVolumeClaims",
  },
  "a pair that is bound, in a class without a StorageClass": {
    objects: [
      makePVC("x", { class: "manual", volume: "a" }),
      makePV("a", { on: "n2", class: "manual", claim: "x", claimUid: "ux" }),
    ],
    want: ["n2"],
  },
  "a class without a StorageClass, not bound yet: the PV controller's work": {
    objects: [makePVC("x", { class: "manual" }), makePV("a", { on: "n2", class: "manual" })],
    want: "pod has unbound immediate PersistentVolumeClaims",
  },
  "a class whose provisioner nobody runs, with volumes made by hand": {
    objects: [
      makeClass("disks", { provisioner: "disks.example" }),
      makePVC("x", { class: "disks" }),
      makePV("a", { on: "n2", class: "disks" }),
    ],
    want: ["n2"],
  },
  "the same over disks that the static provisioner found": {
    objects: [
      makeClass("disks", { provisioner: "disks.example" }),
      makePVC("x", { class: "disks" }),
      makePV("a", {
        on: "n2",
        class: "disks",
        annotations: { "pv.kubernetes.io/provisioned-by": "local-volume-provisioner-n2-8a5e" },
      }),
    ],
    want: ["n2"],
  },
  "the same class once a driver of that name is there": {
    objects: [
      makeClass("disks", { provisioner: "disks.example" }),
      makeDriver("disks.example"),
      makePVC("x", { class: "disks" }),
      makePV("a", { on: "n2", class: "disks" }),
    ],
    want: ["n1", "n2", "n3"],
  },
  "an in-tree volume of a class that names the plugin": {
    objects: [
      makeClass("pd", { provisioner: "kubernetes.io/gce-pd" }),
      makePVC("x", { class: "pd" }),
      makePV("a", {
        class: "pd",
        source: { gcePersistentDisk: { pdName: "d" } },
        terms: [{ matchExpressions: [zone("z2")] }],
      }),
    ],
    want: ["n3"],
  },
};

test.for(Object.entries(forms))("%s", ([, { objects, want, pod: raw }]) => {
  const world = new World().add(
    makeNode("n1", { zone: "z1", rack: "r1" }),
    makeNode("n2", { zone: "z1", rack: "r2" }),
    makeNode("n3", { zone: "z2", rack: "r1" }),
    ...objects,
  );
  const pod = world.read(raw ?? makePod("p", ["x"]));
  if (typeof want === "string") {
    expect([world.fitting(pod), world.text(pod, "n1")]).toEqual([[], want]);
    return;
  }
  expect(world.fitting(pod)).toEqual(want);
  for (const node of want) expect(world.planned(pod, node)).toHaveLength(1);
});
