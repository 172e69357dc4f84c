/** The cluster that is asked about: 100 nodes with local disks, a CSI driver with capacity, and Pods of every kind. */
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";

export const nodesDefault = 100;
export const driver = "csi.example";

export const nodeName = (index: number): string => `n${String(index + 1).padStart(3, "0")}`;

/** In an order in which each finds what it names. */
export function objectsOf(nodes: number): Raw[] {
  const names = Array.from({ length: nodes }, (_, index) => nodeName(index));
  return [
    makeClass("local"),
    makeClass("csi", { provisioner: driver }),
    makeClass("now", { mode: "Immediate", provisioner: driver }),
    makeDriver(driver, true),
    ...names.map((name, index) => makeNode(name, { "topology.kubernetes.io/zone": `z${index % 3}` })),
    ...names.map((name) => makeCsiNode(name, driver)),
    ...names.map((on) => makeCapacity(`room-${on}`, { class: "csi", on, capacity: "40Gi" })),
    ...names.flatMap((on) => [
      makePV(`disk-${on}-a`, { on, capacity: "10Gi" }),
      makePV(`disk-${on}-b`, { on, capacity: "20Gi" }),
    ]),
    ...["one", "two-a", "two-b", "shared"].map((name) => makePVC(name)),
    ...["room", "mixed-b"].map((name) => makePVC(name, { class: "csi" })),
    makePVC("mixed-a", { request: "15Gi" }),
    makePVC("at-once", { class: "now" }),
    makePVC("far-too-large", { request: "1Pi" }),
    makePVC("settled", { volume: "settled" }),
  ];
}

/** Made once its claim has a uid. */
export function settledVolume(claimUid: string): Raw {
  return makePV("settled", { on: nodeName(0), claim: "settled", claimUid });
}

/** Of the ephemeral claim. */
export const scratch = {
  accessModes: ["ReadWriteOnce"],
  storageClassName: "local",
  resources: { requests: { storage: "1Gi" } },
};

export const pods: readonly Raw[] = [
  makePod("no-claims", []),
  makePod("one", ["one"]),
  makePod("two", ["two-a", "two-b"]),
  makePod("room", ["room"]),
  makePod("mixed", ["mixed-a", "mixed-b"]),
  makePod("settled", ["settled"]),
  makePod("shared", ["shared"]),
  makePod("at-once", ["at-once"]),
  makePod("far-too-large", ["far-too-large"]),
  makePod("lost", ["nobody-made-it"]),
  makePod("own", [], { volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate: { spec: scratch } } }] }),
];
