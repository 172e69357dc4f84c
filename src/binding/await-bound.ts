/**
 * The wait between the volume writes and the Binding: woken by the watch, never by a clock, until every claim is bound to what
 * was planned. Ends early when that cannot come true any more (VB §4.3, FR-077).
 */
import type { BindRun } from "./bind-run.ts";
import { isAssigned, whyGone } from "./check.ts";
import { BindEnd } from "./endings.ts";
import { type Standing, standingOf } from "./standing.ts";
import type { Watchpoint } from "./watchpoints.ts";

/** How often a Pod that the cache lacks is looked for past it, at most: no watch event tells of an object never seen. */
const absentPodCheckMaxMs = 30_000;
const nobodyWaits = "no caller waited for it any more";

/**
 * @returns "ready" when all claims are bound and somebody waits for the Pod; "assigned" when the Pod got to our node otherwise
 * @throws BindEnd when the plan went astray, the Pod is gone, or the run is to end
 */
export async function awaitBound(run: BindRun): Promise<"ready" | "assigned"> {
  let absentChecks = 0;
  let isConfirmed = false;
  for (;;) {
    run.check();
    if (run.isFree) {
      if (run.callers > 0) return "ready";
      // No event tells of it, and it has no volumes that a later bind could go on with: whoever comes next posts anew.
      throw new BindEnd("detached", nobodyWaits);
    }
    const standing = look(run);
    if (standing.kind === "astray") await goneAstray(run, standing);
    const pod = podAsCached(run);
    if (pod === "assigned") return "assigned";
    if (pod === "absent" && !isConfirmed) {
      if ((await findPod(run)) === "assigned") return "assigned";
      isConfirmed = true;
      absentChecks++;
      continue;
    }
    // Not posted while nobody waits: whoever joins next decides (decision 16).
    if (standing.kind === "bound" && run.callers > 0) return "ready";
    run.waitingFor = () => (standing.kind === "pending" ? standing.waitingFor : nobodyWaits);
    run.isUnattended = standing.kind === "bound";
    await run.change(
      pointsOf(run),
      pod === "absent" ? Math.min(absentPodCheckMaxMs, 1000 * 2 ** absentChecks) : undefined,
    );
    run.isUnattended = false;
    isConfirmed = false;
  }
}

function look(run: BindRun): Standing {
  return standingOf(run.world.cluster.state, run.subject.node, run.commitments);
}

async function goneAstray(run: BindRun, standing: Standing & { kind: "astray" }): Promise<never> {
  const { commitment, why } = standing;
  // A Pod that is gone explains all the rest, and decides what is taken back.
  const pod = await run.read("pod", run.subject.pod);
  const gone = "failed" in pod ? undefined : whyGone(run, pod.found ? pod.object : undefined);
  if ("found" in pod && pod.found) run.placedOn = pod.object.nodeName;
  if (commitment) commitment.progress = "lost";
  if (gone !== undefined) throw new BindEnd("podGone", gone);
  if (!standing.isRefusal || !commitment) throw new BindEnd("astray", why);
  // The watch may have shown neither our write nor that it was taken back: the node rests all the same (departure D18).
  run.world.cluster.state.provisionerRefused(commitment.claim.uid, run.subject.node);
  run.world.observer?.provisionerRefused?.();
  const warning = await run.world.writer.lastWarning(commitment.claim.key, commitment.claim.uid);
  throw new BindEnd("astray", warning === undefined ? why : `${why}: ${warning}`);
}

/** @throws BindEnd when the cache shows that the Pod is gone or elsewhere */
function podAsCached(run: BindRun): "there" | "absent" | "assigned" {
  const cached = run.world.cluster.state.get("pod", run.subject.pod);
  // Only pending Pods are cached: one that left is not gone for that (decision 21).
  if (!cached) return "absent";
  const gone = whyGone(run, cached);
  if (gone !== undefined) throw new BindEnd("podGone", gone);
  return isAssigned(run, cached) ? "assigned" : "there";
}

/** The Pod past the cache. @throws BindEnd when it is gone or elsewhere */
export async function findPod(run: BindRun): Promise<"open" | "assigned"> {
  const live = await run.readSurely("pod", run.subject.pod);
  const gone = whyGone(run, live);
  if (gone !== undefined || !live) throw new BindEnd("podGone", gone ?? "");
  return isAssigned(run, live) ? "assigned" : "open";
}

/** Everything the plan stands on. Of a claim to provision, the volume too, once the claim names it. */
function pointsOf(run: BindRun): Watchpoint[] {
  const { state } = run.world.cluster;
  const points: Watchpoint[] = [
    { kind: "pod", key: run.subject.pod },
    { kind: "node", key: run.subject.node },
  ];
  for (const { planned, claim } of run.commitments) {
    points.push({ kind: "claim", key: claim.key });
    const volume = planned.kind === "provision" ? state.get("claim", claim.key)?.volumeName : planned.volume.name;
    if (volume !== undefined) points.push({ kind: "volume", key: volume });
  }
  return points;
}
