/**
 * The live look before the first write: the Pod and each claim, in parallel. The cache may be older than the call, and the
 * call says nothing of its own age (decision 20).
 */
import type { ClaimKey } from "../scheduling/names.ts";
import type { Claim, Kind, Kinds, Pod } from "../scheduling/objects.ts";
import type { Doubt } from "../scheduling/plan.ts";
import type { BindRun } from "./bind-run.ts";
import { isAtLeast } from "./commitment.ts";
import { BindEnd } from "./endings.ts";

export type Checked =
  | { readonly kind: "assigned" }
  | { readonly kind: "open"; readonly pod: Pod; readonly claims: ReadonlyMap<ClaimKey, Claim> };

/** The Pod as cached, where the cache has this very Pod: enough to tell whether it mounts claims. */
export function cachedPod(run: BindRun): Pod | undefined {
  const { pod, uid } = run.subject;
  const cached = run.world.cluster.state.get("pod", pod);
  return cached?.uid === uid ? cached : undefined;
}

/** @throws BindEnd when the Pod or a claim is not what it must be; nothing is written then (FR-054) */
export async function checkLive(run: BindRun, cached: Pod | undefined): Promise<Checked> {
  const early = cached && readClaims(run, cached);
  const [pod, claims] = await Promise.all([livePod(run), early]);
  if (pod === "assigned") return { kind: "assigned" };
  const read = claims ?? (await readClaims(run, pod));
  const live = new Map<ClaimKey, Claim>();
  for (const [key, claim] of read) live.set(key, usable(key, claim));
  run.check();
  await Promise.all(Array.from(live.values(), (claim) => catchUp(run, claim)));
  await Promise.all(Array.from(live.values(), (claim) => confirmNodeGone(run, claim)));
  run.pod = pod;
  return { kind: "open", pod, claims: live };
}

/** The Pod as the API has it now; "assigned" when it is on our node already. @throws BindEnd */
export async function livePod(run: BindRun): Promise<Pod | "assigned"> {
  const { pod } = run.subject;
  const live = await readForDecision(run, "pod", pod);
  const problem = whyGone(run, live);
  if (problem !== undefined || !live) throw new BindEnd("podGone", problem ?? `pod ${pod} does not exist any more`);
  return isAssigned(run, live) ? "assigned" : live;
}

/** Whether the Pod is on our node. @throws BindEnd when it is on another */
export function isAssigned(run: BindRun, { nodeName }: Pod): boolean {
  const { pod, node } = run.subject;
  run.placedOn = nodeName;
  if (nodeName === undefined || nodeName === node) return nodeName === node;
  throw new BindEnd("podElsewhere", `pod ${pod} is already assigned to node ${nodeName}`);
}

/** Why the Pod that was asked for is no more; undefined while it is. */
export function whyGone(run: BindRun, live: Pod | undefined): string | undefined {
  const { pod, uid } = run.subject;
  if (!live) return `pod ${pod} does not exist any more`;
  if (live.uid !== uid) return `pod ${pod} was deleted and created anew (uid ${live.uid}, asked for ${uid})`;
  if (live.deleting) return `pod ${pod} is being deleted`;
  return live.finished ? `pod ${pod} has finished` : undefined;
}

/** Reads that a decision hangs on fail after a few tries: kube-scheduler comes again within seconds. */
async function readForDecision<K extends Kind>(run: BindRun, kind: K, key: string): Promise<Kinds[K] | undefined> {
  for (let tries = 0; ; tries++) {
    const outcome = await run.read(kind, key);
    run.check();
    if (!("failed" in outcome)) return outcome.found ? outcome.object : undefined;
    if (tries === 2) throw new BindEnd("readFailed", `${kind} ${key} could not be read: ${outcome.failed}`);
    await run.pause(tries, outcome);
  }
}

async function readClaims(run: BindRun, pod: Pod): Promise<[ClaimKey, Claim | undefined][]> {
  return Promise.all(
    pod.claims.map(async ({ claim }) => [claim, await readForDecision(run, "claim", claim)] as [ClaimKey, Claim]),
  );
}

function usable(key: ClaimKey, claim: Claim | undefined): Claim {
  if (!claim) throw new BindEnd("refused", `claim ${key} does not exist`);
  if (claim.deleting) throw new BindEnd("refused", `claim ${key} is being deleted`);
  return claim;
}

/** Lets the watch show what the read showed, so that the plan is made on nothing older. @throws BindEnd "behind" */
async function catchUp(run: BindRun, live: Claim): Promise<void> {
  const { cluster, runtime, watchpoints, options } = run.world;
  const isShown = (): boolean => {
    const cached = cluster.state.get("claim", live.key);
    if (cached?.uid !== live.uid) return false;
    return isAtLeast(cached.resourceVersion, live.resourceVersion) || saysTheSame(cached, live);
  };
  const points = [{ kind: "claim", key: live.key }] as const;
  const caughtUp = await watchpoints.until({ runtime, signal: run.signal }, points, options.catchUpMs, isShown);
  run.check();
  const problem = cluster.state.problem("claim", live.key);
  if (problem !== undefined) throw new BindEnd("unreadable", `claim ${live.key} cannot be read: ${problem}`);
  if (!caughtUp) throw new BindEnd("behind", `the cache has not yet seen the newest version of claim ${live.key}`);
}

function saysTheSame(cached: Claim, live: Claim): boolean {
  return (
    cached.volumeName === live.volumeName &&
    cached.bindCompleted === live.bindCompleted &&
    cached.selectedNode === live.selectedNode &&
    cached.lost === live.lost
  );
}

/** A selected-node that names a node which is gone binds nobody, but gone must be the API's word (FR-072, decision 14). */
async function confirmNodeGone(run: BindRun, claim: Claim): Promise<void> {
  const { selectedNode } = claim;
  if (selectedNode === undefined || (claim.volumeName !== undefined && claim.bindCompleted)) return;
  if (selectedNode === run.subject.node || run.world.cluster.state.get("node", selectedNode)) return;
  if (await readForDecision(run, "node", selectedNode)) {
    throw new BindEnd("behind", `node ${selectedNode}, selected for claim ${claim.key}, has not reached the cache yet`);
  }
}

/**
 * The look before a write is sent again, as far as the cache shows it: minutes may have passed, and a claimRef to a claim that
 * is gone makes the PV controller reclaim the volume. @throws BindEnd
 */
export function checkAgain(run: BindRun, { key, uid }: Claim): void {
  const { state } = run.world.cluster;
  const pod = state.get("pod", run.subject.pod);
  const gone = pod && whyGone(run, pod);
  if (gone !== undefined) throw new BindEnd("podGone", gone);
  const claim = state.get("claim", key);
  if (claim?.uid !== uid) throw new BindEnd("astray", `claim ${key} was deleted`);
  if (claim.deleting) throw new BindEnd("astray", `claim ${key} is being deleted`);
}

/** What the plan lacked: missing by the API's word, or only not here yet. @throws BindEnd "behind" */
export async function settleDoubts(run: BindRun, doubts: readonly Doubt[]): Promise<void> {
  for (const { kind, key } of doubts) {
    const live = await readForDecision(run, kind, key);
    if (live) throw new BindEnd("behind", `${kind} ${key} exists but has not reached the cache yet`);
  }
}
