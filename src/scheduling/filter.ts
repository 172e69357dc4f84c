/**
 * Which nodes can hold a Pod's volumes.
 *
 * @see VB §2; kubernetes pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, PreFilter and Filter
 */
import { fault, type SortedClaims, sortClaims } from "./claims.ts";
import { busyDisksGauge } from "./disk-use.ts";
import { percentGauge } from "./gauges.ts";
import type { NodeName } from "./names.ts";
import { compareText } from "./names.ts";
import type { Pod } from "./objects.ts";
import { type Outcome, provisioned } from "./outcome.ts";
import type { NodeVerdict, NodeVerdicts, Plan, PlannedClaim, PodVerdict } from "./plan.ts";
import { Planner } from "./planner.ts";
import { type NodeReason, nodeReasons } from "./reasons.ts";
import type { Scoring } from "./scoring.ts";
import type { ClusterState } from "./state.ts";

const reasonList = Object.keys(nodeReasons) as readonly NodeReason[];
const reasonNumber = new Map(reasonList.map((reason, index) => [reason, index]));

/**
 * A decision runs in one turn, and its cost grows with the square of the claims: without a limit, one Pod could hold up all
 * others. With it the worst case over 5,000 nodes stays within the time that kube-scheduler gives an extender.
 */
const unboundClaimsMax = 64;

/** Which of the named nodes can hold all claims of the Pod at once. Names asked twice are judged once. */
export function filterNodes(state: ClusterState, pod: Pod, nodes: readonly NodeName[]): PodVerdict<NodeVerdicts> {
  return decide(state, pod, (planner) => new FlatVerdicts(state, pod, planner, nodes));
}

/** The same for one node, for bind: the plan, or why there is none. The Pod's own hold does not count against it. */
export function planNode(state: ClusterState, pod: Pod, node: NodeName): PodVerdict<NodeVerdict> {
  return decide(state, pod, (planner, sorted) => verdictOn(state, sorted, planner, node));
}

/** Runs a decision on a settled ledger, without the Pod's own holds. */
export function decide<R>(
  state: ClusterState,
  pod: Pod,
  judge: (planner: Planner, sorted: SortedClaims) => R,
): PodVerdict<R> {
  const sorted = sortClaims(state, pod);
  if (sorted.kind !== "sorted") return sorted;
  if (sorted.delayed.length > unboundClaimsMax) {
    const problem = `it mounts ${sorted.delayed.length} unbound claims, and ${unboundClaimsMax} are planned at most`;
    return fault("pod", pod.key, problem);
  }
  for (const { volumeName } of sorted.bound) {
    const problem = volumeName === undefined ? undefined : state.problem("volume", volumeName);
    if (volumeName !== undefined && problem !== undefined) return fault("volume", volumeName, problem);
  }
  state.pools.update();
  const uids = sorted.delayed.map(({ claim }) => claim.uid);
  return state.reservations.holds.without(pod.uid, uids, () => {
    const planner = new Planner(state, sorted);
    return { kind: "judged", nodes: judge(planner, sorted), doubts: planner.doubts };
  });
}

/** The full verdict on one node, by a planner that a decision runs with. */
export function verdictOn(state: ClusterState, sorted: SortedClaims, planner: Planner, node: NodeName): NodeVerdict {
  const entry = state.topologies.nodes.get(node);
  if (!entry) return { fits: false, refusals: [{ reason: "nodeUnknown" }], text: nodeReasons.nodeUnknown };
  const outcome = planner.plan(entry.id);
  if (outcome.refusals.length === 0) return { fits: true, plan: planOf(state, sorted, planner, node, outcome) };
  const refusals = outcome.refusals.map(({ reason, claim }) => ({ reason, claim: claim.key }));
  return { fits: false, refusals, text: textOf(refusals.map(({ reason }) => reason)) };
}

function planOf(
  state: ClusterState,
  { bound }: SortedClaims,
  planner: Planner,
  node: NodeName,
  { contended, volumes, pools }: Outcome,
): Plan {
  const claims: PlannedClaim[] = [];
  for (const claim of bound) {
    const volume = claim.volumeName && state.volumes.get(claim.volumeName);
    if (volume) claims.push({ kind: "bound", claim, volume });
  }
  for (const [index, { claim, class: storageClass, bytes }] of planner.open.entries()) {
    const id = volumes[index] ?? provisioned;
    const pool = pools[index];
    if (id !== provisioned) claims.push({ kind: "static", claim, volume: state.volumes.at(id) });
    else claims.push({ kind: "provision", claim, class: storageClass, bytes, ...(pool && { pool: pool.key }) });
  }
  return { node, contended, claims: claims.sort((a, b) => compareText(a.claim.key, b.claim.key)) };
}

/** Upstream's texts, each once, in upstream's order, joined as upstream joins the reasons of one status. */
function textOf(reasons: readonly NodeReason[]): string {
  return [...new Set(reasons.map((reason) => nodeReasons[reason]))].join(", ");
}

class FlatVerdicts implements NodeVerdicts {
  readonly names: readonly NodeName[];
  readonly feasibleCount: number;
  /** 0 fits, else one more than the number of the first reason. */
  readonly #first: Uint8Array;
  readonly #texts = new Map<number, string>();
  readonly #contended: Uint8Array;
  readonly #provisions: Uint16Array;
  readonly #surplus: Float64Array;
  /** Both empty where nobody asks. */
  readonly #percents: Int8Array;
  readonly #busy: Uint8Array;
  readonly #state: ClusterState;
  readonly #pod: Pod;

  constructor(state: ClusterState, pod: Pod, planner: Planner, asked: readonly NodeName[]) {
    const { names, ids } = state.topologies.numbers.ask(asked);
    this.names = names;
    const count = names.length;
    const columns = new ArrayBuffer(12 * count);
    this.#surplus = new Float64Array(columns, 0, count);
    this.#provisions = new Uint16Array(columns, 8 * count, count);
    this.#first = new Uint8Array(columns, 10 * count, count);
    this.#contended = new Uint8Array(columns, 11 * count, count);
    this.#state = state;
    this.#pod = pod;
    const percentOf = percentGauge(state, planner.open);
    const busyOf = busyDisksGauge(state, planner.claimUids);
    this.#percents = new Int8Array(percentOf ? count : 0);
    this.#busy = new Uint8Array(busyOf ? count : 0);
    let feasible = 0;
    for (let index = 0; index < count; index++) {
      const id = ids[index] ?? -1;
      const outcome = id < 0 ? undefined : planner.plan(id);
      if (outcome?.refusals.length === 0) {
        feasible++;
        this.#fill(index, outcome, planner.asked);
        if (percentOf) this.#percents[index] = percentOf(id, outcome);
        if (busyOf) this.#busy[index] = busyOf(id, outcome);
      } else this.#refuse(index, outcome);
    }
    this.feasibleCount = feasible;
  }

  fits(index: number): boolean {
    return this.#first[index] === 0;
  }

  contended(index: number): boolean {
    return this.#contended[index] === 1;
  }

  provisions(index: number): number {
    return this.#provisions[index] ?? 0;
  }

  surplus(index: number): number {
    return this.#surplus[index] ?? 0;
  }

  percent(index: number): number {
    return this.#percents[index] ?? 0;
  }

  busyDisks(index: number): number {
    return this.#busy[index] ?? 0;
  }

  get scoring(): Scoring {
    return this.#state.scoring;
  }

  text(index: number): string {
    return this.#texts.get(index) ?? (this.fits(index) ? "" : nodeReasons[this.reason(index) ?? "nodeUnknown"]);
  }

  reason(index: number): NodeReason | undefined {
    return reasonList[(this.#first[index] ?? 0) - 1];
  }

  verdict(index: number): NodeVerdict {
    const name = this.names[index];
    if (name === undefined) throw new Error(`no node ${index} in this verdict`);
    const again = planNode(this.#state, this.#pod, name);
    return again.kind === "judged"
      ? again.nodes
      : { fits: false, refusals: [], text: "text" in again ? again.text : "" };
  }

  /** @param asked  bytes per open claim */
  #fill(index: number, { contended, volumes, sizes }: Outcome, asked: Float64Array): void {
    let surplus = 0;
    let provisions = 0;
    for (let claim = 0; claim < asked.length; claim++) {
      if (volumes[claim] === provisioned) provisions++;
      else surplus += (sizes[claim] ?? 0) - (asked[claim] ?? 0);
    }
    this.#contended[index] = contended ? 1 : 0;
    this.#surplus[index] = surplus;
    this.#provisions[index] = provisions;
  }

  #refuse(index: number, outcome: Outcome | undefined): void {
    const reasons = outcome?.refusals ?? [];
    this.#first[index] = 1 + (reasonNumber.get(reasons[0]?.reason ?? "nodeUnknown") ?? 0);
    // Two reasons at once are rare; one is found through the table.
    if (reasons.length > 1) this.#texts.set(index, textOf(reasons.map(({ reason }) => reason)));
  }
}
