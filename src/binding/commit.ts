/**
 * From the plan to its writes: plan anew on the fresh state, promise all of it or nothing, write; plan the rest again where a
 * volume is lost on the way (design.md §7.2–7.4).
 */
import { planNode } from "../scheduling/filter.ts";
import type { Doubt, Plan } from "../scheduling/plan.ts";
import type { BindRun } from "./bind-run.ts";
import { type Checked, settleDoubts } from "./check.ts";
import {
  type Commitment,
  commitmentOf,
  isAtLeast,
  isProvision,
  isStatic,
  isWritten,
  type StaticCommitment,
} from "./commitment.ts";
import { BindEnd } from "./endings.ts";
import { releaseLost } from "./promises.ts";
import { claimVolume, selectNode } from "./volume-writes.ts";

type Open = Extract<Checked, { kind: "open" }>;

/** Each is answered by a foreign write to a volume that was free a moment ago. */
const plansMax = 8;

/** @throws BindEnd when the node cannot hold the Pod's volumes, or a write is refused for good */
export async function commitPlan(run: BindRun, checked: Open): Promise<void> {
  for (let plans = 1; ; plans++) {
    await makePlan(run, checked);
    run.phase = "writing";
    await allOf(run.commitments.filter(isStatic).map((commitment) => claimVolume(run, commitment)));
    const lost = run.commitments.filter(isStatic).filter(({ progress }) => progress === "lost");
    if (lost.length === 0) break;
    if (plans === plansMax) throw new BindEnd("astray", `volumes are taken by others as soon as they are chosen`);
    for (const commitment of lost) await seeLoss(run, commitment);
    releaseLost(run);
  }
  await allOf(run.commitments.filter(isProvision).map((commitment) => selectNode(run, commitment)));
}

/** Plans and promises in one turn. What is written already stays as it is: its promise, or the API, says so to the planner. */
async function makePlan(run: BindRun, checked: Open): Promise<void> {
  const { subject, world } = run;
  const { state } = world.cluster;
  run.check();
  const verdict = planNode(state, checked.pod, subject.node);
  switch (verdict.kind) {
    case "free":
      return;
    case "fault":
      throw new BindEnd(
        "unreadable",
        `${verdict.object.kind} ${verdict.object.key} cannot be read: ${verdict.problem}`,
      );
    case "refused":
      await settleDoubts(run, verdict.doubts);
      throw new BindEnd("refused", verdict.text);
    case "judged": {
      if (verdict.nodes.fits) return promise(run, checked, verdict.nodes.plan);
      const [first] = verdict.nodes.refusals;
      const unknown: Doubt[] = first?.reason === "nodeUnknown" ? [{ kind: "node", key: subject.node }] : [];
      await settleDoubts(run, [...verdict.doubts, ...unknown]);
      const why = first ? ` (${first.claim ? `claim ${first.claim}: ` : ""}${first.reason})` : "";
      throw new BindEnd("refused", `node ${subject.node} cannot hold the volumes: ${verdict.nodes.text}${why}`);
    }
    default:
      return verdict satisfies never;
  }
}

function promise(run: BindRun, checked: Open, plan: Plan): void {
  const { subject, world } = run;
  const { reservations } = world.cluster.state;
  const commitments = plan.claims.map((planned): Commitment => {
    const claim = checked.claims.get(planned.claim.key);
    if (claim?.uid !== planned.claim.uid) {
      throw new BindEnd("behind", `claim ${planned.claim.key} was created anew while the bind began`);
    }
    const known = run.commitments.find((earlier) => isSame(earlier, planned));
    if (known) return known;
    const isInherited = reservations.of(claim.uid)?.pods.has(subject.uid) ?? false;
    return commitmentOf(planned, { claim, node: subject.node, isInherited });
  });
  // What the watch shows as written needs no promise, and none would end it.
  const claims = plan.claims.filter((planned) => !isWritten(planned, subject.node));
  const outcome = reservations.assume(subject.uid, { ...plan, claims });
  if (!outcome.ok) throw new BindEnd("refused", outcome.why);
  run.commitments = commitments;
}

function isSame(earlier: Commitment, planned: Commitment["planned"]): boolean {
  if (earlier.progress === "lost" || earlier.claim.uid !== planned.claim.uid) return false;
  if (earlier.planned.kind !== planned.kind) return false;
  return earlier.planned.kind !== "static" || planned.kind !== "static"
    ? true
    : earlier.planned.volume.name === planned.volume.name && earlier.planned.volume.uid === planned.volume.uid;
}

/** Waits until the watch shows what took the volume from us, else the next plan would choose it again. */
async function seeLoss(run: BindRun, { planned: { volume }, version }: StaticCommitment): Promise<void> {
  const { runtime, cluster, watchpoints, options } = run.world;
  const isShown = (): boolean => {
    const cached = cluster.state.get("volume", volume.name);
    return cached?.uid !== volume.uid || (version !== undefined && isAtLeast(cached.resourceVersion, version));
  };
  const points = [{ kind: "volume", key: volume.name }] as const;
  const isSeen = await watchpoints.until({ runtime, signal: run.signal }, points, options.catchUpMs, isShown);
  run.check();
  if (!isSeen) throw new BindEnd("behind", `volume ${volume.name} was taken, and the cache has not seen by whom`);
}

/** Waits for all of them, whatever becomes of each: no write may be out when the run moves on. @throws the first failure */
async function allOf(writes: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(writes)) if (outcome.status === "rejected") throw outcome.reason;
}
