/**
 * The two writes by which a claim is served: a volume's claimRef, a claim's selected-node. Each stands on the version it read;
 * whatever goes wrong, the live object says what came of it.
 *
 * @see VB §4.2; kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go, bindAPIUpdate
 */
import type { NodeName } from "../scheduling/names.ts";
import type { Claim, Volume } from "../scheduling/objects.ts";
import { type BindRun, isTransient } from "./bind-run.ts";
import { checkAgain } from "./check.ts";
import { type Commitment, isHarmless, type ProvisionCommitment, type StaticCommitment } from "./commitment.ts";
import { BindEnd } from "./endings.ts";
import type { WriteOutcome } from "./ports.ts";
import { isPromised } from "./promises.ts";

type Failed = WriteOutcome & { ok: false };

/** Ends with the volume ours, or lost to somebody else. @throws BindEnd when the API refuses for good, or the run ends */
export async function claimVolume(run: BindRun, commitment: StaticCommitment): Promise<void> {
  const { claim } = commitment;
  let { volume } = commitment.planned;
  for (let tries = 0; isUndecided(commitment); tries++) {
    if (tries > 0) {
      checkAgain(run, claim);
      if (!promiseAgain(run, commitment, volume)) return;
    }
    const failed = await sendClaimRef(run, commitment, volume);
    if (!failed) return standsOn(run, commitment, commitment.version);
    if (!needsReading(failed)) {
      if (!isTransient(failed)) throw refused(`claimRef of volume ${volume.name}`, failed);
      await run.pause(tries, failed);
      continue;
    }
    const live = await run.readSurely("volume", volume.name);
    settle(commitment, live, volume);
    if (commitment.progress !== "lost") standsOn(run, commitment, live?.resourceVersion);
    if (!isUndecided(commitment) || !live) return;
    if (failed.status === 422 && live.resourceVersion === volume.resourceVersion) {
      throw refused(`claimRef of volume ${volume.name}`, failed);
    }
    if (failed.ambiguous || tries > 0) await run.pause(tries, failed);
    volume = live;
  }
}

/**
 * Before a write goes out again. The watch may have shown that it landed, which ended its promise, and then that somebody took it off: the
 * volume is free for everybody by now, or somebody else's. @returns whether it is still the claim's to have; else it is lost
 */
function promiseAgain(run: BindRun, commitment: StaticCommitment, { resourceVersion }: Volume): boolean {
  const { claim, planned } = commitment;
  if (isPromised(run, commitment)) return true;
  const { state } = run.world.cluster;
  const shown = state.get("volume", planned.volume.name);
  const by = shown?.claimRef;
  if (by?.uid === claim.uid) return true;
  const isAnothers = by !== undefined && (by.uid !== undefined || by.claim !== claim.key);
  const plan = { node: run.subject.node, contended: false, claims: [planned] };
  if (!isAnothers && state.reservations.assume(run.subject.uid, plan).ok) {
    standsOn(run, commitment, resourceVersion);
    return true;
  }
  commitment.progress = "lost";
  commitment.version = shown?.resourceVersion;
  return false;
}

/** Older versions, which a watch that lags shows later, are no word against the promise. */
function standsOn({ world }: BindRun, { claim }: Commitment, version: string | undefined): void {
  if (version !== undefined) world.cluster.state.reservations.standsOn(claim.uid, version);
}

function isUndecided({ progress }: Commitment): boolean {
  return progress === "open" || progress === "inDoubt";
}

/** What the live volume says of our claim on it. */
function settle(commitment: StaticCommitment, live: Volume | undefined, sent: Volume): void {
  const { planned, claim } = commitment;
  commitment.version = live?.resourceVersion;
  if (live?.uid !== planned.volume.uid) commitment.progress = "lost";
  else if (live.claimRef?.uid === claim.uid) commitment.progress = "ours";
  else if (!isHarmless(planned.volume, live, claim)) commitment.progress = "lost";
  // The precondition of what was sent can never hold again: it will not land late.
  else if (live.resourceVersion !== sent.resourceVersion) commitment.progress = "open";
}

function sendClaimRef(run: BindRun, commitment: StaticCommitment, volume: Volume): Promise<Failed | undefined> {
  const { claim } = commitment;
  return send(run, commitment, "claimRef", () =>
    run.world.writer.claimVolume({
      volume: volume.name,
      uid: volume.uid,
      version: volume.resourceVersion,
      claim: { key: claim.key, uid: claim.uid, version: claim.resourceVersion },
      // A volume that a user reserved stays without the mark: it decides how the PV controller later unbinds (FR-057).
      marksBoundByController: !commitment.wasReserved,
    }),
  );
}

/** Sends a commitment's write once. While it is out, and after an answer that tells nothing, the commitment is in doubt. */
async function send(
  run: BindRun,
  commitment: Commitment,
  kind: "claimRef" | "selectedNode",
  write: () => Promise<WriteOutcome>,
): Promise<Failed | undefined> {
  run.beginWrite();
  const before = commitment.progress;
  commitment.progress = "inDoubt";
  const outcome = await run.write(kind, write);
  if (outcome.ok || outcome.ambiguous) commitment.wrote = true;
  if (!outcome.ok) {
    if (!outcome.ambiguous) commitment.progress = before;
    return outcome;
  }
  commitment.progress = "ours";
  commitment.version = outcome.version;
  return undefined;
}

/** Ends with selected-node naming our node, or the claim bound already. @throws BindEnd */
export async function selectNode(run: BindRun, commitment: ProvisionCommitment): Promise<void> {
  const { node } = run.subject;
  const { key, uid } = commitment.claim;
  for (let tries = 0; isUndecided(commitment); tries++) {
    const { claim } = commitment;
    if (tries > 0) {
      checkAgain(run, claim);
      checkNotRefused(run, commitment);
    }
    await refuseOtherNode(run, commitment);
    const failed = await sendSelectedNode(run, commitment);
    if (!failed) return;
    if (!needsReading(failed)) {
      if (!isTransient(failed)) throw refused(`selected-node of claim ${key}`, failed);
      await run.pause(tries, failed);
      continue;
    }
    const live = await run.readSurely("claim", key);
    if (live?.uid !== uid || live.deleting) {
      keepIfWritten(commitment, live, node);
      throw new BindEnd("astray", `claim ${key} ${live?.uid === uid ? "is being deleted" : "was deleted"}`);
    }
    if (failed.status === 422 && live.resourceVersion === claim.resourceVersion) {
      throw refused(`selected-node of claim ${key}`, failed);
    }
    commitment.claim = live;
    if (live.selectedNode === node || live.volumeName !== undefined) {
      commitment.progress = "ours";
      commitment.version = live.resourceVersion;
      return;
    }
    if (live.resourceVersion !== claim.resourceVersion) commitment.progress = "open";
    if (failed.ambiguous || tries > 0) await run.pause(tries, failed);
  }
}

/** Of a claim that goes: what was written of it, or may have been before it was gone, its provisioner may be acting on. */
function keepIfWritten(commitment: ProvisionCommitment, live: Claim | undefined, node: NodeName): void {
  if (live?.uid === commitment.claim.uid) commitment.progress = live.selectedNode === node ? "ours" : "lost";
  else if (commitment.progress !== "inDoubt") commitment.progress = "lost";
}

/**
 * A write whose answer was lost has ended its promise where the watch has shown it. Where the node is gone from the claim by now, its
 * provisioner gave it back: to write it again would ask for what was just refused, and nothing would count it. @throws BindEnd
 */
function checkNotRefused(run: BindRun, commitment: ProvisionCommitment): void {
  const { key } = commitment.claim;
  const cached = run.world.cluster.state.get("claim", key);
  if (isPromised(run, commitment) || cached?.selectedNode !== undefined || cached?.volumeName !== undefined) return;
  commitment.progress = "lost";
  throw new BindEnd("astray", `provisioning of claim ${key} on node ${run.subject.node} was refused`);
}

function sendSelectedNode(run: BindRun, commitment: ProvisionCommitment): Promise<Failed | undefined> {
  const { key, uid, resourceVersion } = commitment.claim;
  const { node } = run.subject;
  return send(run, commitment, "selectedNode", () =>
    run.world.writer.selectNode({ claim: key, uid, version: resourceVersion, node }),
  );
}

/** Only a selected-node whose node is gone, by the API's word, is written over (FR-072, decision 14). */
async function refuseOtherNode(run: BindRun, commitment: ProvisionCommitment): Promise<void> {
  const { key, selectedNode } = commitment.claim;
  if (selectedNode === undefined || selectedNode === run.subject.node) return;
  if (!(await run.readSurely("node", selectedNode))) return;
  // What follows asks the state whether any plan is left here, so the state must know this much.
  const { runtime, cluster, watchpoints, options } = run.world;
  const isShown = (): boolean => cluster.state.get("claim", key)?.selectedNode === selectedNode;
  const points = [{ kind: "claim", key }] as const;
  await watchpoints.until({ runtime, signal: run.signal }, points, options.catchUpMs, isShown);
  commitment.progress = "lost";
  throw new BindEnd("refused", `claim ${key} is being provisioned on node ${selectedNode}`);
}

/** The object changed, is gone, or nobody knows: only a look tells. */
function needsReading(failed: Failed): boolean {
  return failed.ambiguous || failed.status === 409 || failed.status === 404 || failed.status === 422;
}

function refused(what: string, { status, message }: Failed): BindEnd {
  return new BindEnd("writeFailed", `the API refused to write ${what}: ${message}${status ? ` (${status})` : ""}`);
}
