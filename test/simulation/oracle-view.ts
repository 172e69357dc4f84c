/** The cluster as the naive oracle of test/oracle reads it: what may be asked of it at a moment when nothing is on its way. */
import type { Body } from "../binding/world.ts";
import { type Answer, Naive } from "../oracle/naive.ts";
import type { ObjectLine } from "../oracle/script.ts";
import { claimsOf, giOf, isBound, selectedNode } from "./cluster.ts";
import type { Server } from "./server.ts";

const gi = 1024n ** 3n;
const modes: Readonly<Record<string, string>> = { ReadWriteOnce: "RWO" };

/** One pool a node and class: nothing is left to choose. */
const noChoices = {
  poolOfDemand: () => [],
  nodeOfDemand: () => undefined,
  poolsOfPlan: () => new Map<string, readonly string[]>(),
};

export function oracleOf(server: Server): Naive {
  const naive = new Naive(noChoices);
  for (const line of linesOf(server)) naive.apply(line);
  return naive;
}

/** What the oracle says of the Pod, on every node. */
export function askOracle(naive: Naive, pod: Body): Answer {
  const claims = claimsOf(pod).map((key) => key.slice(key.indexOf("/") + 1));
  const ephemeral = new Set(
    (pod.spec.volumes ?? [])
      .filter((one: Body) => one.ephemeral)
      .map((one: Body) => `${pod.metadata.name}-${one.name}`),
  );
  const mounted = claims.map((name) => (ephemeral.has(name) ? `~${name.slice(pod.metadata.name.length + 1)}` : name));
  return naive.filter({ pod: pod.metadata.name, claims: mounted });
}

function* linesOf(server: Server): Generator<ObjectLine> {
  // The oracle knows a class "local" from the start.
  const hasLocal = server.get("storageclasses", "local") !== undefined;
  if (!hasLocal) yield { verb: "class", name: "local", provisioner: "gone", mode: "Immediate", topologies: [] };
  for (const { metadata } of server.all("nodes")) yield { verb: "node", name: metadata.name, labels: metadata.labels };
  for (const { metadata, provisioner, volumeBindingMode: mode } of server.all("storageclasses")) {
    yield { verb: "class", name: metadata.name, provisioner, mode, topologies: [] };
  }
  for (const { metadata, spec } of server.all("csidrivers")) {
    yield { verb: "driver", name: metadata.name, capacity: spec.storageCapacity === true };
  }
  for (const { metadata, spec } of server.all("csinodes")) {
    yield { verb: "csinode", name: metadata.name, drivers: spec.drivers.map(({ name }: Body) => name) };
  }
  for (const volume of server.all("persistentvolumes")) yield volumeLine(server, volume);
  // What is published is of after the volumes were made.
  for (const object of server.all("csistoragecapacities")) yield capacityLine(object);
  for (const claim of server.all("persistentvolumeclaims")) yield claimLine(server, claim);
}

function capacityLine({ metadata, storageClassName, capacity, nodeTopology }: Body): ObjectLine {
  const topology = Object.entries(nodeTopology.matchLabels).map(([key, value]) => {
    return { key, operator: "In" as const, values: [String(value)] };
  });
  const created = metadata.creationTimestamp;
  return {
    verb: "capacity",
    name: metadata.name,
    class: storageClassName,
    topology,
    capacity: BigInt(capacity),
    created,
  };
}

function volumeLine(server: Server, { metadata, spec, status }: Body): ObjectLine {
  const { claimRef } = spec;
  const claim = claimRef && server.get("persistentvolumeclaims", `${claimRef.namespace}/${claimRef.name}`);
  const uid = claimRef?.uid === claim?.metadata.uid ? `u${claimRef?.name}` : "another";
  const madeBy = metadata.annotations?.["pv.kubernetes.io/provisioned-by"];
  const terms = spec.nodeAffinity?.required.nodeSelectorTerms.map(({ matchExpressions }: Body) => ({
    labels: matchExpressions,
    fields: [],
  }));
  return {
    verb: "pv",
    name: metadata.name,
    bytes: BigInt(giOf(spec.capacity.storage)) * gi,
    class: spec.storageClassName,
    modes: spec.accessModes.map((mode: string) => modes[mode]),
    block: false,
    phase: status?.phase ?? "",
    ...(terms && { terms }),
    ...(claimRef && { claim: claimRef.name, ...(claimRef.uid !== undefined && { claimUid: uid }) }),
    labels: metadata.labels ?? {},
    attributes: "",
    deleting: metadata.deletionTimestamp !== undefined,
    ...(madeBy !== undefined && { madeBy }),
  };
}

function claimLine(server: Server, claim: Body): ObjectLine {
  const { metadata, spec, status } = claim;
  const selected = metadata.annotations?.[selectedNode];
  const [owner] = metadata.ownerReferences ?? [];
  const pod = owner && server.get("pods", `${metadata.namespace}/${owner.name}`);
  return {
    verb: "pvc",
    name: metadata.name,
    bytes: BigInt(giOf(spec.resources.requests.storage)) * gi,
    class: spec.storageClassName,
    modes: spec.accessModes.map((mode: string) => modes[mode]),
    block: false,
    ...(spec.volumeName !== undefined && { volume: spec.volumeName }),
    half: spec.volumeName !== undefined && !isBound(claim),
    ...(selected !== undefined && { selected }),
    attributes: "",
    deleting: metadata.deletionTimestamp !== undefined,
    lost: status?.phase === "Lost",
    ...(owner && { owner: owner.uid === pod?.metadata.uid ? `u${owner.name}` : "another" }),
  };
}
