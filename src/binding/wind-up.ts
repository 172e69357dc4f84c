/** What is left to do when a bind ends without the Pod on its node: take back, keep, let go, and say so. */
import { planNode } from "../scheduling/filter.ts";
import type { BindRun } from "./bind-run.ts";
import type { Commitment } from "./commitment.ts";
import { type BindEnd, withoutPercent } from "./endings.ts";
import { lookAfter, releasePromises, withoutLost } from "./promises.ts";
import { rollBack } from "./roll-back.ts";

/** @returns the text for kube-scheduler; never throws */
export async function windUp(run: BindRun, end: BindEnd): Promise<string> {
  const useless = toTakeBack(run, end);
  const notes = useless.length > 0 ? await rollBack(run, useless) : [];
  // A run that was stopped before it wrote let go at once, and a newer run may have promises of the same Pod by now.
  if (run.hasWritten || !run.isStopped) lookAfter(run, releasePromises(run));
  return [end.message, ...notes].join("; ");
}

/**
 * Timeout, hang-up, lost leadership and every doubt undo nothing: the next try finds what is written. Only a Pod that will
 * not come, or a node that has no plan for it any more, make the writes useless (decision 17).
 */
function toTakeBack(run: BindRun, { ending }: BindEnd): readonly Commitment[] {
  switch (ending) {
    case "podGone":
    case "podElsewhere":
      return run.commitments;
    case "astray":
    case "refused":
    case "writeFailed":
      return run.commitments.length > 0 && hasPlan(run) ? run.commitments.filter(isUseless) : run.commitments;
    case "behind":
    case "unreadable":
    case "readFailed":
    case "timedOut":
    case "detached":
    case "superseded":
    case "overloaded":
    case "stopping":
    case "lostLead":
    case "fault":
      return [];
    default:
      return ending satisfies never;
  }
}

/** The next try goes on from what is written, but from nothing of what went astray: its claim is another, or has another volume. */
function isUseless({ progress }: Commitment): boolean {
  return progress === "lost";
}

/** Whether the node could hold the Pod after all, with what is written and what is free. */
function hasPlan(run: BindRun): boolean {
  const { pod, subject, world } = run;
  if (!pod) return true;
  const verdict = withoutLost(run, () => planNode(world.cluster.state, pod, subject.node));
  // What cannot be read, or has not been seen, may fit: a doubt undoes nothing.
  if (verdict.kind === "fault") return true;
  return verdict.kind === "judged" && (verdict.nodes.fits || verdict.doubts.length > 0);
}

/** The event on the Pod, where people look first. A Pod that is gone, or a run that makes room for a newer one, needs none. */
export function tellPod(run: BindRun, ending: BindEnd["ending"] | "bound", text: string): void {
  const { subject, world } = run;
  const about = { namespace: subject.namespace, pod: subject.name, podUid: subject.uid };
  if (ending === "bound") {
    const served = run.commitments.filter(({ planned }) => planned.kind !== "bound");
    if (served.length === 0) return;
    const claims = served.map(({ claim }) => claim.key).join(", ");
    const note = `Bound claims ${claims} for node ${subject.node}`;
    world.events.record({ ...about, type: "Normal", reason: "BerthVolumesBound", note });
    return;
  }
  if (["podGone", "detached", "superseded", "stopping", "lostLead", "overloaded"].includes(ending)) return;
  const note = withoutPercent(`Not bound to node ${subject.node}: ${text}`);
  world.events.record({ ...about, type: "Warning", reason: "BerthBindFailed", note });
}
