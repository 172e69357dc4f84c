/**
 * Wakes Pods that were refused for a cause that is gone and that kube-scheduler cannot have seen go: a promise to another Pod
 * that ended without a write, a rest that is over (departure D18), or a change that reached our cache after kube-scheduler had
 * already asked again because of it.
 * Without this such a Pod is asked about after five minutes.
 *
 * A condition in the Pod's status is written, the smallest thing that makes kube-scheduler look at a Pod again (decision 8): only
 * when the Pod would now pass, no filter call came for two seconds, and no bind of it runs. A Pod that nobody can help costs a
 * look whenever something changed, at growing pauses once waking it did not help.
 */
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime, Timer } from "../runtime/runtime.ts";
import { filterNodes } from "../scheduling/filter.ts";
import { setNewest } from "../scheduling/indexes.ts";
import type { NodeName, PodUid } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { BindingCluster, Change, KubeWriter } from "./ports.ts";

export interface WakerDeps {
  readonly runtime: Runtime;
  readonly cluster: Pick<BindingCluster, "state" | "readiness" | "subscribe">;
  readonly writer: Pick<KubeWriter, "wakePod">;
  readonly log: Log;
  /** The nodes that the Pod's last filter call asked about; undefined where they are forgotten. */
  readonly offeredTo: (pod: PodUid) => readonly NodeName[] | undefined;
  readonly isBinding: (pod: PodUid) => boolean;
  readonly observer?: { readonly woke?: (outcome: "ok" | "failed") => void };
}

interface Waiting {
  readonly pod: Pod;
  readonly refusedAt: Milliseconds;
  /** Wakes so far, of all its refusals. */
  readonly wakes: number;
  nextLookAt: Milliseconds;
  /** The state that the last look saw. */
  seen: string;
}

const tickMs = 1_000;
/** kube-scheduler's own retry comes within milliseconds of what it sees. */
const quietMs = 2_000;
const looksPerTickMax = 10;
const podsMax = 10_000;
const pauseMaxMs = 300_000;
/** The cache may be behind with the Pod itself, or show an older one of its name. One that it never shows is gone, or kube-scheduler has asked about it meanwhile. */
const goneAfterMs = 300_000;
/** Promises and demands end by the clock too: a look without any change, now and then. */
const unchangedLookMs = 30_000;

export class Waker {
  readonly #deps: WakerDeps;
  readonly #waiting = new Map<PodUid, Waiting>();
  readonly #nodeSeenAt = new Map<NodeName, Milliseconds>();
  readonly #unsubscribe: () => void;
  /** Until then the API wants no wakes. */
  #awayUntil: Milliseconds = 0;
  #timer: Timer | undefined;
  #closed = false;

  constructor(deps: WakerDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.cluster.subscribe((change) => this.#noteNode(change));
  }

  /** A filter call of the Pod came in: what it answers is news enough. */
  asked(pod: PodUid): void {
    const waiting = this.#waiting.get(pod);
    if (waiting) waiting.nextLookAt = Math.max(waiting.nextLookAt, this.#deps.runtime.now() + quietMs);
  }

  /** Filter refused the Pod on every node it was asked about. */
  refused(pod: Pod): void {
    const now = this.#deps.runtime.now();
    const wakes = this.#waiting.get(pod.uid)?.wakes ?? 0;
    const waiting = { pod, refusedAt: now, wakes, nextLookAt: now + pauseAfter(wakes), seen: "" };
    setNewest(this.#waiting, pod.uid, waiting, podsMax);
    this.#start();
  }

  /** Filter passed the Pod somewhere, or was in no position to say. */
  answered(pod: PodUid): void {
    this.#waiting.delete(pod);
  }

  /** Pods that wait still: not those that are gone or assigned and were not looked at since. */
  waitingCount(): number {
    let count = 0;
    for (const [uid, { pod }] of this.#waiting) {
      const cached = this.#deps.cluster.state.get("pod", pod.key);
      if (cached?.uid === uid && cached.nodeName === undefined && !cached.deleting) count++;
    }
    return count;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#unsubscribe();
    this.#waiting.clear();
  }

  #noteNode({ kind, key, deleted }: Change): void {
    if (kind !== "node") return;
    const name = key as NodeName;
    if (deleted) this.#nodeSeenAt.delete(name);
    else if (!this.#nodeSeenAt.has(name)) this.#nodeSeenAt.set(name, this.#deps.runtime.now());
  }

  #start(): void {
    if (this.#closed || this.#timer || this.#waiting.size === 0) return;
    this.#timer = this.#deps.runtime.timer(tickMs, () => {
      this.#timer = undefined;
      void this.#tick().finally(() => this.#start());
    });
  }

  async #tick(): Promise<void> {
    const { runtime, cluster } = this.#deps;
    if (!cluster.readiness().ready) return;
    let looks = 0;
    for (const [uid, waiting] of [...this.#waiting]) {
      if (looks >= looksPerTickMax || this.#closed || runtime.now() < this.#awayUntil) return;
      if (this.#waiting.get(uid) !== waiting || runtime.now() < waiting.nextLookAt) continue;
      const cached = this.#deps.cluster.state.get("pod", waiting.pod.key);
      if (cached?.uid !== uid && runtime.now() - waiting.refusedAt < goneAfterMs) continue;
      if (cached?.uid !== uid || cached.nodeName !== undefined || cached.deleting) {
        this.#waiting.delete(uid);
        continue;
      }
      const now = this.#version();
      if (waiting.seen === now && runtime.now() - waiting.nextLookAt < unchangedLookMs) continue;
      looks++;
      waiting.seen = now;
      waiting.nextLookAt = runtime.now();
      // Whoever was looked at goes last: where all changes all the time, the first ones would have every look.
      setNewest(this.#waiting, uid, waiting, podsMax);
      if (this.#wouldPass(waiting)) await this.#wake(waiting);
      else await runtime.yield();
    }
  }

  /** The same text means that no decision can have changed, but by what ends by the clock unseen. */
  #version(): string {
    const { generation, reservations, rests } = this.#deps.cluster.state;
    return `${generation} ${reservations.generation} ${rests.generation}`;
  }

  #wouldPass({ pod, refusedAt }: Waiting): boolean {
    if (this.#deps.isBinding(pod.uid)) return false;
    const names = [...(this.#deps.offeredTo(pod.uid) ?? [])];
    // Others were not offered for reasons that are not ours; a node that has come since was not there to be offered.
    for (const [name, seenAt] of this.#nodeSeenAt) if (seenAt >= refusedAt - quietMs) names.push(name);
    const verdict = filterNodes(this.#deps.cluster.state, pod, names);
    return verdict.kind === "judged" && verdict.nodes.feasibleCount > 0;
  }

  async #wake(waiting: Waiting): Promise<void> {
    const { pod } = waiting;
    const { runtime } = this.#deps;
    const wakes = waiting.wakes + 1;
    const woken = { ...waiting, wakes, nextLookAt: runtime.now() + pauseAfter(wakes) };
    this.#waiting.set(pod.uid, woken);
    const outcome = await this.#deps.writer.wakePod({ pod: pod.key, uid: pod.uid });
    this.#deps.observer?.woke?.(outcome.ok ? "ok" : "failed");
    const fields = { pod: pod.key, podUid: pod.uid, wakes };
    if (outcome.ok) {
      this.#deps.log.info(fields, "Woke pod");
      return;
    }
    // Looked at anew in any case: it still waits for what nobody has told it.
    woken.seen = "";
    if (outcome.retryAfterMs !== undefined) this.#awayUntil = runtime.now() + outcome.retryAfterMs;
    this.#deps.log.warn({ ...fields, error: outcome.message }, "Failed to wake pod");
  }
}

/** Twice as long after each wake. */
function pauseAfter(wakes: number): Milliseconds {
  return Math.min(pauseMaxMs, quietMs * 2 ** Math.min(wakes, 20));
}
