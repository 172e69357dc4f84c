/**
 * The numbers and names behind each refusal, which the wire texts leave out (departure D13). Read-only and slower than a
 * decision, but it asks the same planner, so that it always agrees with what filter says of the same state.
 */
import { driverText } from "./drivers.ts";
import { decide, filterNodes, verdictOn } from "./filter.ts";
import { affinityText } from "./hints.ts";
import { whyNot } from "./matching.ts";
import { affinityOn, type BoundClaim, reachesBound } from "./migration.ts";
import { type ClaimKey, compareText, type NodeName } from "./names.ts";
import type { Claim, Pod, Volume } from "./objects.ts";
import type { Open } from "./open-claim.ts";
import type { ClaimExplanation, Explanation, NodeExplanation, NodeVerdicts, Plan, PlannedClaim } from "./plan.ts";
import type { Diagnosis, Planner } from "./planner.ts";
import { totalOf } from "./pools.ts";
import type { Room } from "./provisioning.ts";
import { addBytes, type Bytes, formatBytes, subtractBytes, zero } from "./quantity.ts";
import { type NodeReason, nodeReasons } from "./reasons.ts";
import { contendedMax, scoreMax, scoreNodes } from "./score.ts";
import type { ClusterState } from "./state.ts";
import { type Stuck, suggestForNodes, suggestForPod } from "./suggest.ts";
import type { NodeEntry, Topology } from "./topology.ts";

/** Volumes listed for a claim on a node; the rest are counted in a last line. */
const refusedVolumesMax = 20;

/**
 * Explains the Pod on the given nodes, or on every known node. Changes nothing. Throws nothing.
 *
 * @param offered  the nodes that what would help is to be about; absent: all that are explained
 */
export function explainPod(
  state: ClusterState,
  pod: Pod,
  nodes?: readonly NodeName[],
  offered?: readonly NodeName[],
): Explanation {
  const names = [...new Set(nodes ?? state.topologies.nodes.keys())].sort(compareText);
  const verdict = filterNodes(state, pod, names);
  switch (verdict.kind) {
    case "free":
      return {
        pod: pod.key,
        schedulable: names.length > 0,
        nodes: names.map((node) => ({ ...fitting(node), claims: [] })),
      };
    case "fault": {
      const { object, problem } = verdict;
      const reason = `${object.kind} ${object.key} cannot be read: ${problem}`;
      return { ...refusedEverywhere(pod, names, reason), suggestion: `Mend ${object.kind} ${object.key}: ${problem}` };
    }
    case "refused":
      return {
        ...refusedEverywhere(pod, names, verdict.text),
        suggestion: suggestForPod(state, verdict.reason, verdict.claim),
      };
    case "judged":
      return explainNodes(state, pod, verdict.nodes, new Set(offered ?? names));
  }
}

function fitting(node: NodeName): NodeExplanation {
  return { node, fits: true, contended: false, score: 0 };
}

function refusedEverywhere(pod: Pod, names: readonly NodeName[], reason: string): Explanation {
  const nodes = names.map((node) => ({ node, fits: false, contended: false, score: 0, reason, resolvable: false }));
  return { pod: pod.key, schedulable: false, reason, nodes };
}

function explainNodes(
  state: ClusterState,
  pod: Pod,
  verdicts: NodeVerdicts,
  offered: ReadonlySet<NodeName>,
): Explanation {
  const scores = new Map(scoreNodes(verdicts).map(({ node, score }) => [node, score]));
  const decided = decide(state, pod, (planner, sorted) => {
    const doctor = new Doctor(state, planner);
    const stuck: Stuck[] = [];
    const nodes = verdicts.names.map((node, index): NodeExplanation => {
      const contended = verdicts.contended(index);
      // An empty list says that all are equal: each is as good as the best.
      const score = scores.size > 0 ? (scores.get(node) ?? 0) : contended ? contendedMax : scoreMax;
      const verdict = verdictOn(state, sorted, planner, node);
      if (verdict.fits) return { node, fits: true, contended, score, claims: explainPlan(verdict.plan) };
      const entry = state.topologies.nodes.get(node);
      const refused = { node, fits: false, contended: false, score: 0, reason: verdict.text, resolvable: false };
      if (!entry) return refused;
      const { claims, ...found } = doctor.examine(entry, verdict.refusals[0]?.reason);
      if (offered.has(node)) stuck.push({ node, ...found });
      return { ...refused, claims };
    });
    return { nodes, stuck };
  });
  if (decided.kind !== "judged") throw new Error("the verdict changed while it was explained");
  const { nodes, stuck } = decided.nodes;
  const schedulable = verdicts.feasibleCount > 0;
  const helped = nodes.some(({ node, fits }) => fits && offered.has(node));
  const suggestion = helped ? undefined : suggestForNodes(state, stuck);
  return { pod: pod.key, schedulable, nodes, ...(suggestion !== undefined && { suggestion }) };
}

function explainPlan({ claims }: Plan): ClaimExplanation[] {
  return claims.map(explainPlanned);
}

function explainPlanned(planned: PlannedClaim): ClaimExplanation {
  const claim = planned.claim.key;
  switch (planned.kind) {
    case "bound":
      return { claim, bound: planned.volume.name };
    case "static":
      return { claim, volume: planned.volume.name };
    case "provision":
      return { claim, provision: planned.class.name };
  }
}

/** Looks at nodes that refuse one Pod; lists the volumes of its classes once for all of them. */
class Doctor {
  readonly #state: ClusterState;
  readonly #planner: Planner;
  readonly #volumes = new Map<Topology, Volume[]>();

  constructor(state: ClusterState, planner: Planner) {
    this.#state = state;
    this.#planner = planner;
    const classes = new Set(planner.open.map(({ class: { name } }) => name));
    for (const name of state.volumes.names()) {
      const id = state.volumes.id(name);
      const topology = id === undefined ? undefined : state.volumes.topologyOf(id);
      if (id === undefined || !topology) continue;
      const volume = state.volumes.at(id);
      if (!classes.has(volume.class)) continue;
      const here = this.#volumes.get(topology);
      if (here) here.push(volume);
      else this.#volumes.set(topology, [volume]);
    }
  }

  examine(entry: NodeEntry, reason: NodeReason | undefined): { claims: ClaimExplanation[] } & Omit<Stuck, "node"> {
    const claims: ClaimExplanation[] = [];
    const troubles: Stuck["troubles"][number][] = [];
    const pinnedBy: Claim[] = [];
    for (const bound of this.#planner.bound) {
      const { claim, topology } = bound;
      const explained = this.#examineBound(entry, bound);
      claims.push(explained);
      if ("refused" in explained) {
        troubles.push({ claim, reason: topology ? "volumeNodeConflict" : "boundVolumeMissing" });
      } else if (topology !== this.#state.topologies.everywhere) pinnedBy.push(claim);
    }
    const diagnoses = this.#planner.diagnose(entry);
    const takenBy = new Map(
      diagnoses.flatMap(({ volume, open }) => (volume === undefined ? [] : [[volume, open.claim.key]])),
    );
    const alone = diagnoses.every((diagnosis) => diagnosis.reason === undefined);
    for (const diagnosis of diagnoses) {
      // Every claim fits alone, and the node still refuses: together they exceed what the pool has free.
      const isShort = reason === "notEnoughSpace" || reason === "capacityAssumed";
      const together = alone && isShort && diagnosis.volume === undefined ? reason : undefined;
      const trouble = diagnosis.reason ?? together;
      if (trouble) {
        const isFull = trouble === "notEnoughSpace" || trouble === "claimTooLarge";
        const short = isFull ? this.#shortfall(entry, diagnosis.open) : undefined;
        troubles.push({ claim: diagnosis.open.claim, reason: trouble, ...(short !== undefined && { short }) });
      }
      claims.push(this.#examineOpen(entry, diagnosis, trouble, takenBy));
    }
    claims.sort((a, b) => compareText(a.claim, b.claim));
    return { claims, troubles, pinnedBy };
  }

  #examineBound(entry: NodeEntry, bound: BoundClaim): ClaimExplanation {
    const { key, volumeName = "" as never } = bound.claim;
    if (reachesBound(this.#state, entry, bound)) return { claim: key, bound: volumeName };
    const volume = this.#state.volumes.get(volumeName);
    const why = volume
      ? `bound to it, and its node affinity does not match: ${affinityText(affinityOn(this.#state, entry.node, volume))}`
      : "bound to it, and it does not exist";
    return { claim: key, refused: [{ volume: volumeName, why }] };
  }

  #examineOpen(
    entry: NodeEntry,
    { open, volume }: Diagnosis,
    trouble: NodeReason | undefined,
    takenBy: ReadonlyMap<number, ClaimKey>,
  ): ClaimExplanation {
    const { claim } = open;
    if (volume !== undefined) return { claim: claim.key, volume: this.#state.volumes.at(volume).name };
    if (trouble === undefined) return { claim: claim.key, provision: open.class.name };
    const refused = this.#reachable(entry, claim).map((candidate) => ({
      volume: candidate.name as string,
      why: this.#whyOut(candidate, claim, takenBy),
    }));
    const listed = refused.slice(0, refusedVolumesMax);
    if (refused.length > listed.length) {
      listed.push({ volume: `(${refused.length - listed.length} more)`, why: "out for reasons like these" });
    }
    const provisioning = this.#whyNoProvisioning(entry, open, trouble);
    return { claim: claim.key, refused: [...listed, ...provisioning] };
  }

  #reachable(entry: NodeEntry, claim: Claim): Volume[] {
    const found: Volume[] = [];
    for (const topology of [this.#state.topologies.everywhere, ...entry.topologies]) {
      for (const volume of this.#volumes.get(topology) ?? []) if (volume.class === claim.class) found.push(volume);
    }
    for (const id of this.#state.volumes.referringTo(claim.key) ?? []) {
      const volume = this.#state.volumes.at(id);
      if (!found.includes(volume)) found.push(volume);
    }
    return found.sort((a, b) => compareText(a.name, b.name));
  }

  #whyOut(volume: Volume, claim: Claim, takenBy: ReadonlyMap<number, ClaimKey>): string {
    const namedBy = this.#state.volumes.keptFor(volume.name);
    const why = whyNot(claim, volume, namedBy);
    if (why !== undefined) return why;
    const assumed = this.#state.reservations.assumedFor(volume.name);
    if (assumed) return `assumed for claim ${assumed.claim}`;
    const sibling = takenBy.get(this.#state.volumes.id(volume.name) ?? -1);
    if (sibling !== undefined) return `needed by claim ${sibling} of the same Pod`;
    return volume.claimRef ? "reserved for the claim, but not reachable from this node" : "settled elsewhere";
  }

  /** One line on why no new volume can be made; none where the class is static and volumes say it all. */
  #whyNoProvisioning(entry: NodeEntry, open: Open, trouble: NodeReason): { volume: string; why: string }[] {
    const why = this.#provisioningText(entry, open, trouble);
    return why === undefined ? [] : [{ volume: "(new)", why }];
  }

  /** The Pod's claims that draw on the pools of this one. */
  #together({ class: { name } }: Open): readonly Open[] {
    const { pools } = this.#state;
    return this.#planner.open.filter((other) => pools.groupOf(other.class.name) === pools.groupOf(name));
  }

  /** What they ask. */
  #asked(open: Open): Bytes {
    return this.#together(open).reduce((sum, { bytes }) => addBytes(sum, bytes), zero);
  }

  /** What would have to be freed; undefined where no room takes so large a volume. */
  #shortfall(entry: NodeEntry, open: Open): Bytes | undefined {
    const asked = this.#asked(open);
    const largeEnough = this.#planner
      .rooms(entry, open)
      .filter(({ offer: { newest } }) => (newest?.maximumVolumeSize ?? open.bytes) >= open.bytes);
    const missing = largeEnough.map(({ free }) => subtractBytes(asked, free));
    return missing.filter((bytes) => bytes > 0n).sort((a, b) => (a < b ? -1 : 1))[0];
  }

  #provisioningText(entry: NodeEntry, open: Open, trouble: NodeReason): string | undefined {
    const { name, provisioner } = open.class;
    if (trouble === "selectedOtherNode") {
      const node = open.assumption?.node ?? open.selectedNode;
      return `being provisioned or bound on node ${node}`;
    }
    if (open.never === "noMatchingVolume") {
      const isStatic = provisioner === "" || provisioner === "kubernetes.io/no-provisioner";
      return isStatic ? undefined : `no driver named ${driverText(provisioner)}`;
    }
    if (open.never === "selectorNotProvisionable") return "a claim with a selector cannot be provisioned";
    if (trouble === "topologyNotAllowed") return `allowedTopologies of class ${name} exclude the node`;
    if (trouble === "driverMissing") return `driver ${driverText(provisioner)} is not registered on the node`;
    if (nodeReasons[trouble] !== nodeReasons.notEnoughSpace) return undefined;
    const rooms = this.#planner.rooms(entry, open);
    if (trouble === "provisioningBackoff") return restText(entry.node.name, open, rooms);
    if (rooms.length === 0) {
      const none = this.#state.pools.nodes.whyNone(entry.node, name);
      if (none !== undefined) return `no capacity for class ${name}: ${none}`;
      const anywhere = this.#state.pools.offersFor(name).size > 0;
      return `no capacity published for class ${name} ${anywhere ? "on this node" : "anywhere"}`;
    }
    const together =
      this.#together(open).length > 1 ? ` (${formatBytes(this.#asked(open))} with the Pod's other claims)` : "";
    const pools = rooms.map(({ pool, limit, free }) => {
      const shown = free < 0n ? zero : free;
      return `${formatBytes(shown)} free of ${formatBytes(totalOf(pool))}, largest volume ${formatBytes(limit)}`;
    });
    return `needs ${formatBytes(open.bytes)}${together}: ${pools.join("; ")}`;
  }
}

function restText(name: NodeName, { resting }: Open, rooms: readonly Room[]): string | undefined {
  const rest =
    resting.find(({ node }) => node === name) ??
    resting.find(({ pool }) => rooms.some((room) => room.pool.key === pool));
  if (!rest) return undefined;
  const { node, refusals, sinceMs, leftMs } = rest;
  const what = node === name ? "this node" : `node ${node}, which draws on the same capacity,`;
  const times = refusals === 1 ? "" : `, ${refusals} times in a row`;
  const seconds = (ms: number): number => Math.ceil(ms / 1000);
  return `the provisioner refused ${what} ${seconds(sinceMs)} s ago${times}; tried again in ${seconds(leftMs)} s`;
}
