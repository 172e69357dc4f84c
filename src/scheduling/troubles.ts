/**
 * What stands in the way on a node that refuses a Pod: all of it, where a refusal names the first thing only. Somebody who
 * mends everything named here finds that the Pod fits.
 */
import { Matching } from "./bipartite.ts";
import { DiskUse } from "./disk-use.ts";
import { driverOf } from "./drivers.ts";
import { whyNot } from "./matching.ts";
import { type BoundClaim, reachesBound } from "./migration.ts";
import type { ClaimKey, NodeName } from "./names.ts";
import type { Claim, Volume } from "./objects.ts";
import { isSettled, isUnderway, type Open } from "./open-claim.ts";
import { type Diagnosis, provisioned } from "./outcome.ts";
import type { Planner } from "./planner.ts";
import { whyNotProvision } from "./provisioning.ts";
import { addBytes, compareBytes, zero } from "./quantity.ts";
import type { NodeReason } from "./reasons.ts";
import { matchesNode } from "./selectors.ts";
import { type Shortage, shortagesOn } from "./shortage.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry, Topology } from "./topology.ts";

/** One thing to be mended, on one node. */
export interface Trouble extends Shortage {
  /** The claim names this node to a provisioner that it does not have: existing volumes are not looked at. */
  readonly isStray?: true;
}

/** A node that refuses. */
export interface Stuck {
  readonly node: NodeName;
  readonly troubles: readonly Trouble[];
  readonly bound: readonly BoundClaim[];
  /** How each open claim fares beside its siblings. */
  readonly diagnoses: readonly Diagnosis[];
}

/** Reasons that a whole class has on a node: its claims are judged together. */
const ofClass: ReadonlySet<NodeReason | undefined> = new Set<NodeReason | undefined>([
  undefined,
  "topologyNotAllowed",
  "driverMissing",
  "noCapacityPublished",
  "claimTooLarge",
  "notEnoughSpace",
  "capacityAssumed",
  "provisioningBackoff",
]);

/** Mended by a volume that somebody adds. */
const byVolume: ReadonlySet<NodeReason> = new Set<NodeReason>([
  "noMatchingVolume",
  "notEnoughVolumes",
  "selectorNotProvisionable",
  "boundVolumeMissing",
]);

/** Volumes that other Pods are promised, by where they are reachable. Looked for once, and only if some node asks. */
export class PromisedVolumes {
  readonly #state: ClusterState;
  readonly #own: ReadonlySet<ClaimKey>;
  #byTopology: Map<Topology, Volume[]> | undefined;

  constructor(state: ClusterState, { open }: Planner) {
    this.#state = state;
    this.#own = new Set(open.map(({ claim }) => claim.key));
  }

  on({ topologies }: NodeEntry): Volume[] {
    this.#byTopology ??= this.#find();
    const all = this.#byTopology;
    return [this.#state.topologies.everywhere, ...topologies].flatMap((topology) => all.get(topology) ?? []);
  }

  #find(): Map<Topology, Volume[]> {
    const { volumes, reservations } = this.#state;
    const found = new Map<Topology, Volume[]>();
    for (const { claim, target } of reservations.dump().assumptions) {
      const id = target.kind === "volume" && !this.#own.has(claim) ? volumes.id(target.volume) : undefined;
      const topology = id === undefined ? undefined : volumes.topologyOf(id);
      if (id !== undefined && topology) found.set(topology, [...(found.get(topology) ?? []), volumes.at(id)]);
    }
    return found;
  }
}

/** @see departure D13 in docs/limits.md: a refusal names its first reason only */
export function troublesOn(state: ClusterState, planner: Planner, entry: NodeEntry, promises: PromisedVolumes): Stuck {
  const troubles: Trouble[] = [];
  for (const bound of planner.bound) {
    if (reachesBound(state, entry, bound)) continue;
    const reason = bound.topology ? "volumeNodeConflict" : "boundVolumeMissing";
    troubles.push({ reason, claims: [bound.claim], bytes: zero });
  }
  const diagnoses = crowdedOut(state, planner, entry, planner.diagnose(entry));
  const toProvision: Open[] = [];
  for (const { open, volume, reason } of diagnoses) {
    if (volume !== undefined) continue;
    const isStray = open.never !== undefined && isUnderway(open);
    if (reason === "provisioningBackoff" || (reason && !ofClass.has(reason))) {
      troubles.push({ reason, claims: [open.claim], bytes: open.bytes, ...(isStray && { isStray }) });
    }
    if (ofClass.has(reason)) toProvision.push(open);
  }
  const waiting = waitingInVain(state, promises, entry, troubles);
  for (const [index, trouble] of troubles.entries()) {
    if (waiting.has(trouble)) troubles[index] = { ...trouble, reason: "noMatchingVolume" };
  }
  const added = troubles.filter(({ reason }) => byVolume.has(reason)).flatMap(({ claims }) => claims);
  troubles.push(...provisioningTroubles(state, planner, entry, { opens: toProvision, added }));
  return { node: entry.node.name, troubles, bound: planner.bound, diagnoses };
}

/**
 * Directories of one file system promise its space more than once: claims beyond what it has go without, the largest first.
 *
 * @returns  the same diagnoses, in the same order, in which all volumes have room
 */
function crowdedOut(
  state: ClusterState,
  planner: Planner,
  entry: NodeEntry,
  diagnoses: readonly Diagnosis[],
): readonly Diagnosis[] {
  if (!state.disks.areShared) return diagnoses;
  const disks = new DiskUse(state, new Set(planner.open.map(({ claim }) => claim.uid)));
  // What is settled stays where it is, as the planner has it.
  const kept = diagnoses.map(({ open, volume }) => (isSettled(open) ? (volume ?? provisioned) : provisioned));
  const choice = { asked: planner.open, avoid: false, accept: () => true };
  const crowded = new Set<Open>();
  const free = diagnoses.flatMap(({ open, volume }, index) =>
    volume === undefined || isSettled(open) ? [] : [{ open, volume, index }],
  );
  for (const { open, volume, index } of free.sort((a, b) => compareBytes(a.open.bytes, b.open.bytes))) {
    if (!disks.search([{ index, candidates: [volume], canBeProvisioned: false }], kept, choice)) crowded.add(open);
  }
  return diagnoses.map((diagnosis): Diagnosis => {
    const { open } = diagnosis;
    if (!crowded.has(open)) return diagnosis;
    const rooms = planner.rooms(entry, open);
    const reason = whyNotProvision(state, entry, { provision: open, isUnderway: false }, () => rooms);
    return reason === undefined ? { open } : { open, reason };
  });
}

/** Claims that wait for volumes promised to other Pods, beyond what these volumes can serve. */
function waitingInVain(
  state: ClusterState,
  promises: PromisedVolumes,
  entry: NodeEntry,
  troubles: readonly Trouble[],
): Set<Trouble> {
  const waiting = troubles.filter(({ reason }) => reason === "volumeAssumed");
  const promised = promises.on(entry);
  const wishes = waiting.map(({ claims }) =>
    promised.flatMap((volume, right) => (claims.every((claim) => wouldSuit(state, claim, volume)) ? [right] : [])),
  );
  const starts = Int32Array.from([0, ...wishes.keys()], (_, left) => wishes.slice(0, left).flat().length);
  const matching = new Matching();
  matching.reset({ starts, to: Int32Array.from(wishes.flat()) }, promised.length);
  return new Set(waiting.filter((_, left) => !matching.add(left)));
}

function wouldSuit(state: ClusterState, claim: Claim, volume: Volume): boolean {
  return whyNot(claim, volume, state.volumes.keptFor(volume.name)) === undefined;
}

/** What the class itself, or its driver, has against the node; then what it lacks there. */
function provisioningTroubles(
  state: ClusterState,
  planner: Planner,
  entry: NodeEntry,
  { opens, added }: { readonly opens: readonly Open[]; readonly added: readonly Claim[] },
): Trouble[] {
  const troubles: Trouble[] = [];
  const { node } = entry;
  const drivers = state.get("csiNode", node.name)?.drivers ?? [];
  for (const ofOne of Map.groupBy(opens, (open) => open.class.name).values()) {
    const [first] = ofOne;
    if (!first) continue;
    const all = { claims: ofOne.map(({ claim }) => claim), bytes: ofOne.map(({ bytes }) => bytes).reduce(addBytes) };
    if (!matchesNode(first.class.allowedTopologies, node.labels, node.name)) {
      troubles.push({ reason: "topologyNotAllowed", ...all });
    }
    if (first.needsDriver && !drivers.includes(driverOf(first.class.provisioner))) {
      troubles.push({ reason: "driverMissing", ...all });
    }
  }
  const needy = opens.filter(({ needsCapacity }) => needsCapacity);
  return [...troubles, ...shortagesOn(state, planner, entry, { opens: needy, added })];
}
