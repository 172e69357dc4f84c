/** `bind`: commits kube-scheduler's choice of a node. Each Pod has one run at most; this is where runs begin, meet and end. */
import type { Span } from "../runtime/tracing.ts";
import { type NodeName, nodeName, type PodUid, podKey, podUid } from "../scheduling/names.ts";
import { assignPod } from "./assign-pod.ts";
import { BindQueue } from "./bind-queue.ts";
import { type BindResult, BindRun, type Subject, type World } from "./bind-run.ts";
import { cachedPod, checkLive, livePod } from "./check.ts";
import { commitPlan } from "./commit.ts";
import { BindEnd, type BindEnding, withoutPercent } from "./endings.ts";
import { EventQueue } from "./events.ts";
import type { BinderDeps } from "./ports.ts";
import { Watchpoints } from "./watchpoints.ts";
import { tellPod, windUp } from "./wind-up.ts";

/** With more binds than this in progress, events of those that succeeded are told at leisure. */
const bindsUnhurried = 8;

export interface BindRequest {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  readonly node: string;
}

export class Binder {
  readonly #world: World;
  readonly #queue: BindQueue;
  /** The newest run of each Pod; one that was stopped may still be ending. */
  readonly #runs = new Map<PodUid, BindRun>();
  /** All that have not ended, stopped ones included. */
  readonly #ending = new Map<BindRun, Promise<void>>();
  #isDraining = false;

  constructor(deps: BinderDeps) {
    this.#queue = new BindQueue(deps.options.inProgressMax, deps.options.queuedMax);
    this.#world = {
      ...deps,
      watchpoints: new Watchpoints(deps.cluster),
      events: new EventQueue({ ...deps, isBusy: () => this.#runs.size > bindsUnhurried }),
      isRunning: (pod) => this.#runs.has(pod),
      isNeededElsewhere: (claim, run) =>
        this.#ending.keys().some((other) => {
          if (other === run || other.isStopped) return false;
          return other.commitments.some(
            (commitment) => commitment.claim.uid === claim && commitment.progress !== "lost",
          );
        }),
    };
  }

  /**
   * Answers when the Pod is bound, or cannot be, or time is over. Aborting `signal` says that the caller hung up. Never rejects.
   *
   * @param span  of the call; the run that it starts becomes a piece of it
   */
  async bind(request: BindRequest, signal: AbortSignal, span?: Span): Promise<BindResult> {
    const subject = subjectOf(request);
    for (;;) {
      if (this.#isDraining) return refuse("Berth is stopping");
      const run = this.#runs.get(subject.uid);
      if (!run) return this.#start(subject, signal, span);
      if (run.isStopped && run.hasWritten) {
        // Its last write and what follows from it come first: the new run must plan on their outcome.
        await this.#ending.get(run);
        continue;
      }
      if (!run.isStopped && run.subject.node === subject.node) return run.join(signal);
      if (run.hasWritten && !run.isUnattended) {
        return refuse(
          `pod ${subject.pod} is being bound to node ${run.subject.node}, its volumes are being written there`,
        );
      }
      const why = `a bind of the pod to node ${subject.node} took its place`;
      run.stop(new BindEnd("superseded", why));
      run.letGoAll(why);
      if (!run.hasWritten) return this.#start(subject, signal, span);
    }
  }

  /** A newer filter call of the Pod: a bind in progress lets its callers go and posts no Binding until somebody joins. */
  filterSeen(pod: PodUid): void {
    this.#runs.get(pod)?.letGoAll("kube-scheduler schedules the pod again; bind it once more to join this bind");
  }

  /** Something of a bind in progress is in the API, or may be. */
  hasWritten(pod: PodUid): boolean {
    return this.#runs.get(pod)?.hasWritten ?? false;
  }

  /** The node that the Pod is being bound to. A run that was let go before it wrote counts as over. */
  runningOn(pod: PodUid): NodeName | undefined {
    const run = this.#runs.get(pod);
    return run && (run.hasWritten || !run.isStopped) ? run.subject.node : undefined;
  }

  /** For whoever else has something to say of a Pod: all together may not say too much. */
  get events(): Pick<EventQueue, "record"> {
    return this.#world.events;
  }

  /** For `/debug/state`. */
  inProgress(): readonly object[] {
    const now = this.#world.runtime.now();
    return [...this.#runs.values()].map((run) => ({
      pod: run.subject.pod,
      podUid: run.subject.uid,
      node: run.subject.node,
      phase: run.phase,
      ageMs: now - run.startedAt,
      callers: run.callers,
      waitingFor: run.waitingFor(),
      claims: run.commitments.map(({ claim, planned, progress }) => ({
        claim: claim.key,
        ...(planned.kind === "provision" ? { provision: planned.class.name } : { volume: planned.volume.name }),
        progress,
      })),
    }));
  }

  /** Ends the binds of Pods with claims and undoes nothing: from now on they are another Berth's (decisions 17, 22). */
  standDown(why: string): void {
    for (const run of this.#ending.keys()) {
      if (run.isFree) continue;
      run.stop(new BindEnd("lostLead", why));
      run.letGoAll(`${why}; what is written of the bind stays, and the next try goes on from it`);
    }
  }

  /** Lets all waiting callers go and undoes nothing (decisions 17, 25); resolves when no write is out. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const run of this.#ending.keys()) {
      run.letGoAll("Berth is stopping; what is written of the bind stays, and the next try goes on from it");
      run.stop(new BindEnd("stopping", "Berth is stopping"));
    }
    await Promise.all(this.#ending.values());
    this.#world.watchpoints.close();
  }

  #start(subject: Subject, signal: AbortSignal, span: Span | undefined): Promise<BindResult> {
    const run = new BindRun(this.#world, subject, span);
    this.#runs.set(subject.uid, run);
    const answer = run.join(signal);
    this.#ending.set(run, this.#see(run));
    this.#world.observer?.inProgress?.(this.#runs.size);
    return answer;
  }

  /** Runs it to its end and tells everybody. */
  async #see(run: BindRun): Promise<void> {
    const { runtime, observer, log } = this.#world;
    const { pod, uid, node } = run.subject;
    let ending: BindEnding = "bound";
    let error = "";
    try {
      await this.#carryOut(run);
    } catch (thrown) {
      const end = thrown instanceof BindEnd ? thrown : new BindEnd("fault", "Berth failed; its log says where");
      if (end !== thrown) log.error({ pod, podUid: uid, node, err: thrown }, "Bind broke");
      ending = end.ending;
      run.phase = "ending";
      error = await windUp(run, end).catch((fault: unknown) => {
        log.error({ pod, podUid: uid, node, err: fault }, "Clearing up after a bind broke");
        return end.message;
      });
    }
    // In one turn, so that a call that comes next meets either the run or its outcome.
    if (this.#runs.get(uid) === run) this.#runs.delete(uid);
    this.#ending.delete(run);
    const durationMs = runtime.now() - run.startedAt;
    const fields = { pod, podUid: uid, node, outcome: ending, durationMs };
    if (ending === "bound") log.info(fields, "Bound pod");
    else log.warn({ ...fields, error }, "Did not bind pod");
    observer?.ended?.(ending, durationMs);
    run.trace.close(ending, error);
    observer?.inProgress?.(this.#runs.size);
    tellPod(run, ending, error);
    run.finish(ending === "bound" ? { ok: true } : refuse(error));
  }

  async #carryOut(run: BindRun): Promise<void> {
    let cached = cachedPod(run);
    if (!cached) {
      const live = await livePod(run);
      if (live === "assigned") return;
      cached = live;
    }
    if (cached.claims.length === 0) {
      // Decided from the Pod alone: no cache, no queue, no look (decision 2).
      run.isFree = true;
      return assignPod(run);
    }
    const leave = await this.#queue.enter(run.signal);
    run.check();
    if (!leave) throw new BindEnd("overloaded", "too many binds are in progress; the pod is tried again");
    try {
      const readiness = this.#world.cluster.readiness();
      if (!readiness.ready) throw new BindEnd("behind", `not ready: ${readiness.why}`);
      run.phase = "checking";
      const checked = await checkLive(run, cached);
      if (checked.kind === "assigned") return;
      await commitPlan(run, checked);
      await assignPod(run);
    } finally {
      leave();
    }
  }
}

function subjectOf({ podNamespace, podName, podUid: uid, node }: BindRequest): Subject {
  const pod = podKey(podNamespace, podName);
  return { pod, namespace: podNamespace, name: podName, uid: podUid(uid), node: nodeName(node) };
}

function refuse(error: string): BindResult & { ok: false } {
  return { ok: false, error: withoutPercent(error) };
}
