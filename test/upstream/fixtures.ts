/** The objects that VB §8 names, in its words and small letters; upstream's are in volumebinding/binder_test.go. */
import { makeClass, makeNode, makePV, makePVC, type Raw, type VolumeFacts } from "../support/make.ts";
import { World } from "../support/world.ts";

const provisioner = "test-provisioner";

/** A volume that node affinity keeps on the nodes with this nodeKey. */
export function pvAt(name: string, nodeKey: string, facts: VolumeFacts = {}): Raw {
  const terms = [{ matchExpressions: [{ key: "nodeKey", operator: "In", values: [nodeKey] }] }];
  return makePV(name, { class: "wait", terms, ...facts });
}

const classes = [
  makeClass("wait"),
  makeClass("waitp", { provisioner, topologies: [allowed("node1", "reference-value")] }),
  makeClass("topox", { provisioner, topologies: [allowed("reference-value")] }),
  makeClass("imm", { mode: "Immediate" }),
];

function allowed(...values: string[]) {
  return { matchLabelExpressions: [{ key: "nodeKey", values }] };
}

export const volumes = {
  pv1a: pvAt("pv1a", "node1", { capacity: "5G" }),
  pv1b: pvAt("pv1b", "node1", { capacity: "10G" }),
  pv2: pvAt("pv2", "node2", { capacity: "1G" }),
  pvBound: pvAt("pvbound", "node1", { capacity: "1G", claim: "b", claimUid: "ub" }),
  pvImm: pvAt("pvimm", "node1", { capacity: "1G", class: "imm", claim: "ib", claimUid: "uib" }),
};

export const claims = {
  u1: makePVC("u1", { request: "1G", class: "wait" }),
  u2: makePVC("u2", { request: "5G", class: "wait" }),
  pre: makePVC("pre", { request: "1G", class: "wait", volume: "pv1a", halfBound: true }),
  b: makePVC("b", { request: "1G", class: "wait", volume: "pvbound" }),
  iu: makePVC("iu", { request: "1G", class: "imm" }),
  ib: makePVC("ib", { request: "1G", class: "imm", volume: "pvimm" }),
  d1: makePVC("d1", { request: "1Gi", class: "waitp" }),
  d2: makePVC("d2", { request: "1Gi", class: "waitp" }),
  ds: makePVC("ds", { request: "1Gi", class: "waitp", selectedNode: "node1" }),
  np: makePVC("np", { request: "1Gi", class: "wait" }),
  tx: makePVC("tx", { request: "1Gi", class: "topox" }),
};

/** Both nodes, the classes and what the scenario adds. */
export function upstreamWorld(...objects: Raw[]): World {
  const nodes = [makeNode("node1", { nodeKey: "node1" }), makeNode("node2", { nodeKey: "node2" })];
  return new World().add(...classes, ...nodes, ...objects);
}
