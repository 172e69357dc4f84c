/**
 * Takes back claimRefs of a Pod that will not come to its node: only ours, only while the PV controller has not bound the
 * volume, each under the version that was just read (decision 19). selected-node stays: it is the provisioner's
 * (decision 18).
 */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Volume } from "../scheduling/objects.ts";
import { type BindRun, isTransient } from "./bind-run.ts";
import { type Commitment, isStatic, type StaticCommitment } from "./commitment.ts";
import { reaches } from "./standing.ts";

const triesMax = 8;

/** @returns in words, what stays in the API; never throws */
export async function rollBack(run: BindRun, commitments: readonly Commitment[]): Promise<string[]> {
  // What went astray may be ours still: a claim that is gone leaves its claimRef behind. The live look tells.
  const written = commitments.filter(isStatic).filter(({ progress }) => progress !== "open");
  const notes = await Promise.all(written.map((commitment) => releaseOne(run, commitment)));
  const selected = commitments
    .filter(({ planned, progress }) => planned.kind === "provision" && (progress === "ours" || progress === "inDoubt"))
    .map(({ claim }) => `claim ${claim.key} stays with node ${run.subject.node} for its provisioner`);
  return [...notes.filter((note) => note !== undefined), ...selected];
}

async function releaseOne(run: BindRun, commitment: StaticCommitment): Promise<string | undefined> {
  const { claim } = commitment;
  const { name } = commitment.planned.volume;
  let awayMs = 0;
  for (let tries = 0; tries < triesMax; tries++) {
    if (tries > 0) await rest(run, tries, awayMs);
    const elsewhere = `volume ${name} stays with claim ${claim.key} for another pod`;
    if (run.world.isNeededElsewhere(claim.uid, run)) return elsewhere;
    const read = await run.read("volume", name);
    awayMs = "failed" in read ? (read.retryAfterMs ?? 0) : 0;
    if ("failed" in read) continue;
    const live = read.found ? read.object : undefined;
    const left = whyLeft(commitment, live) ?? whyKept(run, commitment, live);
    if (left === "notOurs") {
      // A write in doubt may still land while its version stands; its promise stays, and is looked after.
      if (commitment.progress === "ours" || live?.uid !== commitment.planned.volume.uid) commitment.progress = "lost";
      return undefined;
    }
    if (left !== undefined || !live) {
      // It stands in the API, whatever became of the plan.
      commitment.progress = "ours";
      return left;
    }
    // A bind that began during the read may stand on it by now, or have written it anew.
    if (run.world.isNeededElsewhere(claim.uid, run)) return elsewhere;
    // A mark says that the user's reservation was gone before this claimRef was written, be it by another run.
    const keepsName = commitment.wasReserved && !live.boundByController;
    const release = { volume: name, uid: live.uid, version: live.resourceVersion, keepsName };
    const outcome = await run.write("release", () => run.world.writer.releaseVolume(release));
    if (outcome.ok) {
      commitment.progress = "lost";
      return undefined;
    }
    if (outcome.status !== 409 && outcome.status !== 404 && !isTransient(outcome)) break;
    awayMs = outcome.retryAfterMs ?? 0;
  }
  commitment.progress = "inDoubt";
  return `volume ${name} could not be released from claim ${claim.key}`;
}

/** Why the volume is left as it is; undefined when its claimRef is ours to take back. */
function whyLeft({ claim, wrote, planned }: StaticCommitment, live: Volume | undefined): string | undefined {
  if (live?.uid !== planned.volume.uid || live.claimRef?.uid !== claim.uid) return "notOurs";
  if (live.phase === "Bound") return `claim ${claim.key} is already bound to volume ${live.name} and stays so`;
  // It was bound for a moment and its claim is gone: what is on it is for the reclaim policy, or for people, to decide.
  if (live.phase === "Released" || live.phase === "Failed") return `volume ${live.name} is ${live.phase} and stays so`;
  // Found as it is, without a controller's mark: a user may have written the uid too.
  if (!wrote && !live.boundByController) return `volume ${live.name} stays reserved for claim ${claim.key}`;
  return undefined;
}

/** Somebody else put the Pod where it can have the volume: without the claimRef it would wait there for ever. */
function whyKept({ placedOn, world }: BindRun, { claim }: StaticCommitment, live: Volume | undefined) {
  const { state } = world.cluster;
  if (!live || placedOn === undefined || state.get("claim", claim.key)?.uid !== claim.uid) return undefined;
  const node = state.get("node", placedOn);
  if (node && !reaches(state, node, live)) return undefined;
  return `volume ${live.name} stays with claim ${claim.key} for the pod on node ${placedOn}`;
}

/** As a run's own pauses, but that nothing ends it early. */
async function rest({ world }: BindRun, tries: number, awayMs: Milliseconds): Promise<void> {
  const { runtime, options } = world;
  const grown = Math.min(options.retryMaxMs, options.retryMinMs * 2 ** tries);
  await runtime.sleep(Math.max(awayMs, grown * (0.5 + runtime.random() / 2)));
}
