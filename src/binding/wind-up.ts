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
    const note = placedNote(run);
    if (note !== undefined) world.events.record({ ...about, type: "Normal", reason: "BerthVolumesBound", note });
    return;
  }
  if (["podGone", "detached", "superseded", "stopping", "lostLead", "overloaded"].includes(ending)) return;
  const note = withoutPercent(`Not bound to node ${subject.node}: ${text}`);
  world.events.record({ ...about, type: "Warning", reason: "BerthBindFailed", note });
}

/** Which volumes, and how long it took. Nothing to say of a Pod whose claims were bound before, and which waited for nothing. */
function placedNote({ subject, world, commitments, startedAt }: BindRun): string | undefined {
  const { runtime } = world;
  const calls = world.filterCalls?.(subject.uid);
  const served = commitments.filter(({ planned }) => planned.kind !== "bound");
  if (commitments.length === 0 || (served.length === 0 && (calls?.tries ?? 0) <= 1)) return undefined;
  const list = (all: readonly Commitment[], nameOf: (one: Commitment) => string): string => all.map(nameOf).join(", ");
  const told = served.length > 0 ? served : commitments;
  const says = [
    `${served.length > 0 ? "Bound claims" : "Placed with bound claims"} ${list(told, ({ claim }) => claim.key)} for node ${subject.node}`,
    `to volumes ${list(told, (one) => volumeOf(world, one))}`,
    `in ${seconds(runtime.now() - startedAt)}`,
  ].join(" ");
  if (!calls) return says;
  const since = seconds(Math.max(0, runtime.wallTime() - calls.firstAtMs));
  return `${says}; asked about ${calls.tries === 1 ? "once" : `${calls.tries} times`}, first ${since} ago`;
}

function volumeOf({ cluster }: BindRun["world"], { claim, planned }: Commitment): string {
  if (planned.kind !== "provision") return planned.volume.name;
  return cluster.state.get("claim", claim.key)?.volumeName ?? `a new one of class ${planned.class.name}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
