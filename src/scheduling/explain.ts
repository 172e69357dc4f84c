/**
 * The numbers and names behind each refusal, which the wire texts leave out (departure D13). Read-only and slower than a
 * decision, but it asks the same planner, so that it always agrees with what filter says of the same state.
 */
import { type SortedClaims, sortClaims } from "./claims.ts";
import { claimsOn, VolumeLists } from "./examine.ts";
import { decide, filterNodes, verdictOn } from "./filter.ts";
import { reachesBound } from "./migration.ts";
import { compareText, type NodeName } from "./names.ts";
import { groupNodes, type NodeGroup, oneGroup } from "./node-groups.ts";
import type { Pod } from "./objects.ts";
import type {
  ClaimExplanation,
  Explanation,
  NodeExplanation,
  NodeVerdicts,
  Plan,
  PlannedClaim,
  PodVerdict,
} from "./plan.ts";
import type { Planner } from "./planner.ts";
import { contendedMax, scoreMax, scoreNodes } from "./score.ts";
import type { ClusterState } from "./state.ts";
import { type Elsewhere, isPinned, nearest, suggestForNodes, suggestForPod } from "./suggest.ts";
import { PromisedVolumes, type Stuck, troublesOn } from "./troubles.ts";

/** Of which nodes, and how many of them. */
export interface ExplainOptions {
  /** Absent: every known node. */
  readonly nodes?: readonly NodeName[];
  /** The nodes that what would help is to be about; absent: all that are explained. */
  readonly offered?: readonly NodeName[];
  /** Nodes that are shown; the others are counted. Absent: all are shown. */
  readonly shownMax?: number;
}

/** An explanation, and what its limits may have left out. */
export interface Explained {
  readonly explanation: Explanation;
  /** All nodes that fit, shown or not. */
  readonly fitting: readonly NodeName[];
  /** All nodes, shown or not, by what is said of them. */
  readonly groups: readonly NodeGroup[];
  /** The node that what would help is about, shown or not; absent where it is about none, or about one that was not offered. */
  readonly nearest?: NodeName;
}

/** What one step looks at nodes with; it must not outlive the step. */
interface Look {
  readonly planner: Planner;
  readonly sorted: SortedClaims;
  readonly promises: PromisedVolumes;
}

/** Nodes looked at between two pauses: well under a turn's fair share, whatever their volumes. */
const stepNodes = 32;
/** Nodes that were not offered and are looked at for a way out. */
const elsewhereMax = 100;

/** Explains the Pod in one go. Changes nothing. Throws nothing. */
export function explainPod(state: ClusterState, pod: Pod, options: ExplainOptions = {}): Explanation {
  const steps = explainInSteps(state, pod, options);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value.explanation;
  }
}

/**
 * The same in steps of a few milliseconds each, so that whoever must not be held up can let others go first in between. What
 * is said of a node is true at its step; the generation tells whether the cluster changed in between.
 */
export function* explainInSteps(
  state: ClusterState,
  pod: Pod,
  options: ExplainOptions,
): Generator<undefined, Explained> {
  const names = [...new Set(options.nodes ?? state.topologies.nodes.keys())].sort(compareText);
  const verdict = filterNodes(state, pod, names);
  if (verdict.kind !== "judged") return explainPodVerdict(state, pod, names, verdict, options.shownMax);
  yield;
  const explained = yield* new NodesExplainer(state, pod, verdict.nodes, options).run();
  // No pause lies between the look that found another verdict and this one.
  return explained ?? (yield* explainInSteps(state, pod, options));
}

/** One verdict for all nodes. */
function explainPodVerdict(
  state: ClusterState,
  pod: Pod,
  names: readonly NodeName[],
  verdict: Exclude<PodVerdict<NodeVerdicts>, { kind: "judged" }>,
  shownMax: number | undefined,
): Explained {
  const shown = names.slice(0, shownMax);
  const omitted = names.length - shown.length;
  switch (verdict.kind) {
    case "free": {
      const nodes = shown.map((node) => ({ node, fits: true, contended: false, score: 0, claims: [] }));
      const left = omitted > 0 ? { omitted: { nodes: omitted, fits: omitted } } : {};
      const explanation = { pod: pod.key, schedulable: names.length > 0, nodes, ...left };
      return { explanation, fitting: names, groups: oneGroup(names, undefined) };
    }
    case "fault": {
      const { object, problem } = verdict;
      const reason = `${object.kind} ${object.key} cannot be read: ${problem}`;
      const suggestion = `Mend ${object.kind} ${object.key}: ${problem}`;
      return refusedEverywhere(pod, names, omitted, reason, suggestion);
    }
    case "refused": {
      const suggestion = suggestForPod(state, verdict.reason, verdict.claim);
      return refusedEverywhere(pod, names, omitted, verdict.text, suggestion);
    }
  }
}

function refusedEverywhere(
  pod: Pod,
  names: readonly NodeName[],
  omitted: number,
  reason: string,
  suggestion: string,
): Explained {
  const shown = names.slice(0, names.length - omitted);
  const nodes = shown.map((node) => ({ node, fits: false, contended: false, score: 0, reason, resolvable: false }));
  const left = omitted > 0 ? { omitted: { nodes: omitted, fits: 0 } } : {};
  const explanation = { pod: pod.key, schedulable: false, reason, nodes, ...left, suggestion };
  return { explanation, fitting: [], groups: oneGroup(names, reason) };
}

/** Node by node, once the Pod has a verdict on each. */
class NodesExplainer {
  readonly #state: ClusterState;
  readonly #pod: Pod;
  readonly #verdicts: NodeVerdicts;
  readonly #shown: ReadonlySet<number>;
  readonly #offered: ReadonlySet<NodeName>;
  readonly #scores: ReadonlyMap<NodeName, number>;
  readonly #lists: VolumeLists;
  readonly #nodes: NodeExplanation[] = [];
  #nearest: Stuck | undefined;

  constructor(state: ClusterState, pod: Pod, verdicts: NodeVerdicts, { offered, shownMax }: ExplainOptions) {
    this.#state = state;
    this.#pod = pod;
    this.#verdicts = verdicts;
    this.#shown = chooseShown(verdicts, shownMax ?? verdicts.names.length);
    this.#offered = new Set(offered ?? verdicts.names);
    this.#scores = new Map(scoreNodes(verdicts).map(({ node, score }) => [node, score]));
    this.#lists = new VolumeLists(state);
  }

  /** Undefined where the Pod as a whole is judged otherwise by now. */
  *run(): Generator<undefined, Explained | undefined> {
    const { names, feasibleCount } = this.#verdicts;
    const sorted = sortClaims(this.#state, this.#pod);
    if (sorted.kind !== "sorted") return undefined;
    yield* this.#lists.fill(new Set(sorted.delayed.map(({ class: { name } }) => name)));
    for (let from = 0; from < names.length; from += stepNodes) {
      if (!this.#explain(from, Math.min(from + stepNodes, names.length))) return undefined;
      yield;
    }
    const fitting = names.filter((_, index) => this.#verdicts.fits(index));
    const helped = fitting.some((node) => this.#offered.has(node));
    const stuck = this.#nearest ? [this.#nearest] : [];
    const suggestion = helped ? undefined : suggestForNodes(this.#state, stuck, () => this.#elsewhere());
    const omitted = names.length - this.#nodes.length;
    const fits = feasibleCount - this.#nodes.filter((node) => node.fits).length;
    const explanation = {
      pod: this.#pod.key,
      schedulable: feasibleCount > 0,
      nodes: this.#nodes,
      ...(omitted > 0 && { omitted: { nodes: omitted, fits: Math.max(fits, 0) } }),
      ...(suggestion !== undefined && { suggestion }),
    };
    const near = suggestion === undefined || (this.#nearest && isPinned(this.#nearest)) ? undefined : this.#nearest;
    return { explanation, fitting, groups: groupNodes(this.#verdicts), ...(near && { nearest: near.node }) };
  }

  /** One step; no pause may lie within, for the Pod's own holds are set aside. False where the Pod is judged otherwise by now. */
  #explain(from: number, to: number): boolean {
    const look = (planner: Planner, sorted: SortedClaims): void => {
      const promises = new PromisedVolumes(this.#state, planner);
      for (let index = from; index < to; index++) this.#explainNode(index, { planner, sorted, promises });
    };
    return decide(this.#state, this.#pod, look).kind === "judged";
  }

  #explainNode(index: number, { planner, sorted, promises }: Look): void {
    const node = this.#verdicts.names[index];
    const isShown = this.#shown.has(index);
    if (node === undefined || (!isShown && (this.#verdicts.fits(index) || !this.#offered.has(node)))) return;
    const verdict = verdictOn(this.#state, sorted, planner, node);
    if (verdict.fits) {
      if (isShown) this.#nodes.push(this.#fitting(index, node, verdict.plan));
      return;
    }
    const entry = this.#state.topologies.nodes.get(node);
    const stuck = entry && troublesOn(this.#state, planner, entry, promises);
    if (stuck && this.#offered.has(node)) this.#nearest = nearest([...(this.#nearest ? [this.#nearest] : []), stuck]);
    if (!isShown) return;
    const refused = { node, fits: false, contended: false, score: 0, reason: verdict.text, resolvable: false };
    const claims = entry && stuck && claimsOn(this.#state, planner, this.#lists, entry, stuck);
    this.#nodes.push({ ...refused, ...(claims && { claims }) });
  }

  #fitting(index: number, node: NodeName, { contended, claims }: Plan): NodeExplanation {
    // An empty list of scores says that all are equal: each is as good as the best.
    const equal = this.#verdicts.contended(index) ? contendedMax : scoreMax;
    const score = this.#scores.size > 0 ? (this.#scores.get(node) ?? 0) : equal;
    return { node, fits: true, contended, score, claims: claims.map(explainPlanned) };
  }

  /** The first node that was not offered and fits; else the nearest of those that the bound volumes allow. */
  #elsewhere(): Elsewhere | undefined {
    const decided = decide(this.#state, this.#pod, (planner) => this.#look(planner));
    return decided.kind === "judged" ? decided.nodes : undefined;
  }

  #look(planner: Planner): Elsewhere | undefined {
    const stuck: Stuck[] = [];
    const promises = new PromisedVolumes(this.#state, planner);
    const others = [...this.#state.topologies.nodes.values()]
      .filter(({ node }) => !this.#offered.has(node.name))
      .sort((a, b) => compareText(a.node.name, b.node.name));
    for (const entry of others) {
      if (!planner.bound.every((bound) => reachesBound(this.#state, entry, bound))) continue;
      if (planner.plan(entry.id).refusals.length === 0) return { node: entry.node.name };
      if (stuck.length < elsewhereMax) stuck.push(troublesOn(this.#state, planner, entry, promises));
    }
    const best = nearest(stuck.filter((one) => !isPinned(one)));
    return best && { node: best.node, stuck: best };
  }
}

/** The nodes shown where not all are: of those that fit, and of those with each reason, the first by name in turn. */
function chooseShown(verdicts: NodeVerdicts, max: number): Set<number> {
  const groups = new Map<string, number[]>();
  for (let index = 0; index < verdicts.names.length; index++) {
    const key = verdicts.reason(index) ?? "fits";
    const group = groups.get(key);
    if (group) group.push(index);
    else groups.set(key, [index]);
  }
  const shown = new Set<number>();
  for (let turn = 0; shown.size < Math.min(max, verdicts.names.length); turn++) {
    for (const group of groups.values()) {
      const index = group[turn];
      if (index !== undefined && shown.size < max) shown.add(index);
    }
  }
  return shown;
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
