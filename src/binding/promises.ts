/**
 * What a run's assumptions become when it ends. One is kept while its write is, or may be, in the API and the watch has not
 * shown it; from then on the object itself says so and the core ends the assumption (design.md §7.7, FR-060).
 */
import type { BindRun } from "./bind-run.ts";
import type { Commitment } from "./commitment.ts";

/** Ends the promises of the run that nothing in the API can stand behind. In one turn: no decision comes between. */
export function releasePromises(run: BindRun): readonly Commitment[] {
  if (run.commitments.length === 0) return [];
  const kept = run.commitments.filter((commitment) => mayBeWritten(commitment) && isPromised(run, commitment));
  keepOnly(run, kept);
  return kept;
}

/** Ends the promises for what is lost, so that a new plan is free to choose, and leaves all others. */
export function releaseLost(run: BindRun): void {
  keepOnly(
    run,
    run.commitments.filter((commitment) => commitment.progress !== "lost" && isPromised(run, commitment)),
  );
}

/** Decides as if what is lost were not promised: a promise would decide for the planner. It stands again after that. */
export function withoutLost<R>(run: BindRun, decide: () => R): R {
  const { subject, world } = run;
  const { reservations } = world.cluster.state;
  const lost = run.commitments
    .filter((commitment) => commitment.progress === "lost" && isPromised(run, commitment))
    .map(({ planned, claim }) => ({ planned, claim, version: reservations.of(claim.uid)?.version }));
  releaseLost(run);
  try {
    return decide();
  } finally {
    const plan = { node: subject.node, contended: false };
    // One by one: a volume that is gone cannot be promised, and is no reason to forget the others.
    for (const { planned, claim, version } of lost) {
      reservations.assume(subject.uid, { ...plan, claims: [planned] });
      if (version !== undefined) reservations.standsOn(claim.uid, version);
    }
  }
}

function mayBeWritten({ progress, isInherited }: Commitment): boolean {
  return progress === "ours" || progress === "inDoubt" || (progress === "open" && isInherited);
}

/** Whether what was promised for it still is, as the watch has not shown it. */
export function isPromised({ subject, world }: BindRun, { claim, planned }: Commitment): boolean {
  const assumption = world.cluster.state.reservations.of(claim.uid);
  if (!assumption?.pods.has(subject.uid)) return false;
  // Of a claim that got another volume than it was promised nothing is left to wait for.
  const { target } = assumption;
  if (target.kind === "provision") return planned.kind !== "static";
  return planned.kind !== "provision" && target.volume === planned.volume.name;
}

function keepOnly({ subject, world }: BindRun, kept: readonly Commitment[]): void {
  const claims = new Set(kept.map(({ claim }) => claim.uid));
  world.cluster.state.reservations.forget(subject.uid, (claim) => !claims.has(claim));
}

/**
 * Looks after promises that outlive their run: when a write that was given up can no longer land and the API does not say
 * what it would have said, the promise ends. Where the API does say so, the watch ends it, or the next look.
 */
export function lookAfter(run: BindRun, kept: readonly Commitment[]): void {
  if (kept.length === 0) return;
  const { runtime, options, isRunning } = run.world;
  runtime.timer(options.writeLifeMs, () => {
    // A newer run of the Pod has taken the promises over.
    if (!isRunning(run.subject.uid)) void settle(run, kept);
  });
}

async function settle(run: BindRun, kept: readonly Commitment[]): Promise<void> {
  const doubtful = kept.filter((commitment) => isPromised(run, commitment));
  if (doubtful.length === 0) return;
  const settled = await Promise.all(doubtful.map((commitment) => isNotWritten(run, commitment)));
  if (run.world.isRunning(run.subject.uid)) return;
  // Another run may have made promises since: only what this one has left behind is ended.
  const ended = new Set(doubtful.filter((_, index) => settled[index]).map(({ claim }) => claim.uid));
  run.world.cluster.state.reservations.forget(run.subject.uid, (claim) => ended.has(claim));
  lookAfter(
    run,
    doubtful.filter((commitment) => isPromised(run, commitment)),
  );
}

/** Whether the API says that the write is not there. False as well when it cannot be asked. */
async function isNotWritten(run: BindRun, { planned, claim }: Commitment): Promise<boolean> {
  if (planned.kind !== "provision") {
    const live = await run.read("volume", planned.volume.name);
    if ("failed" in live) return false;
    return !live.found || live.object.uid !== planned.volume.uid || live.object.claimRef?.uid !== claim.uid;
  }
  const live = await run.read("claim", claim.key);
  if ("failed" in live) return false;
  if (!live.found || live.object.uid !== claim.uid) return true;
  return live.object.selectedNode !== run.subject.node;
}
