/** A kube-scheduler for tests and demos: its queue, its in-tree filters, its calls of extenders, its words. */
import type { Agent } from "../agent.ts";
import { hasEnded, keyOf, type Labels, type Pod } from "../objects.ts";
import { type CycleContext, type Decision, decide, messageOf } from "./cycle.ts";
import { Extender, type ExtenderEntry } from "./extender.ts";
import { Outcomes } from "./outcomes.ts";
import { preempt } from "./preemption.ts";
import { type QueueOptions, SchedulingQueue } from "./queue.ts";
import { makeSnapshot } from "./snapshot.ts";
import type { Rejector } from "./status.ts";
import { assignedPodEvent, type ClusterEvent, eventOf, type Watched, watched } from "./wake-up.ts";

/** What became of one cycle or of the binding that followed it. */
export interface CycleRecord {
  readonly pod: string;
  readonly outcome: "placed" | "bound" | "refused" | "error";
  readonly node?: string;
  readonly message?: string;
  readonly attempts: number;
}

export interface SchedulerOptions extends Omit<QueueOptions, "runtime"> {
  /** The profiles: pods that name one of them are scheduled here. */
  readonly schedulerNames?: readonly string[];
  readonly extenders?: readonly ExtenderEntry[];
  readonly onCycle?: (record: CycleRecord) => void;
}

const schedulerNames: readonly string[] = ["berth-scheduler", "default-scheduler"];

export class Scheduler {
  readonly #agent: Agent;
  readonly #options: SchedulerOptions;
  readonly #queue: SchedulingQueue;
  readonly #extenders: readonly Extender[];
  readonly #outcomes: Outcomes;
  /** By uid: pods with a node that the cache does not show yet. */
  readonly #assumed = new Map<string, { readonly pod: Pod; readonly node: string }>();
  readonly #nominated = new Map<string, { readonly pod: Pod; readonly node: string }>();
  #isDeciding = false;
  #binding = 0;

  constructor(agent: Agent, options: SchedulerOptions = {}) {
    const { runtime, signal } = agent;
    const { schedulerNames: _names, extenders = [], onCycle: _onCycle, ...limits } = options;
    this.#agent = agent;
    this.#options = options;
    this.#queue = new SchedulingQueue({ runtime, ...limits });
    // Ignorable extenders are called last, whatever the order of the configuration.
    const sorted = [...extenders].sort((a, b) => Number(a.ignorable ?? false) - Number(b.ignorable ?? false));
    this.#extenders = sorted.map((entry) => new Extender(entry, runtime, signal));
    this.#outcomes = new Outcomes(agent);
    for (const plural of watched) this.#wakeOn(plural);
    agent.informer("pods").listen(({ type, object }) => this.#onPod(object, type));
    agent.informer("namespaces");
    signal.addEventListener("abort", () => this.#queue.stop(), { once: true });
    void this.#run();
  }

  /** No pod is being scheduled or bound, and none could be now. Pods that wait for a time or an event do not count. */
  get isIdle(): boolean {
    return !this.#isDeciding && this.#binding === 0 && this.#queue.isEmpty;
  }

  /** Pods that were refused or failed, waiting for their next try. */
  get waiting(): readonly Pod[] {
    return this.#queue.waiting;
  }

  #wakeOn<P extends Watched>(plural: P): void {
    this.#agent.informer(plural).listen((change) => {
      const event = eventOf(plural, change);
      if (event) this.#queue.wake(event);
    });
  }

  #onPod(pod: Pod, action: ClusterEvent["action"]): void {
    const { uid } = pod.metadata;
    const names = this.#options.schedulerNames ?? schedulerNames;
    if (action === "deleted" || pod.spec.nodeName) {
      this.#queue.remove(pod);
      this.#nominated.delete(uid);
      this.#assumed.delete(uid);
      if (pod.spec.nodeName) this.#queue.wake(assignedPodEvent(pod, action));
      return;
    }
    const node = pod.status?.nominatedNodeName;
    if (node) this.#nominated.set(uid, { pod, node });
    const isOurs = names.includes(pod.spec.schedulerName ?? "") && !hasEnded(pod);
    const isReady = (pod.spec.schedulingGates ?? []).length === 0 && pod.metadata.deletionTimestamp === undefined;
    const isPlaced = this.#assumed.has(uid) && !this.#queue.isInFlight(pod);
    if (isOurs && isReady && !isPlaced) this.#queue.put(pod);
    else if (!isReady) this.#queue.remove(pod);
  }

  async #run(): Promise<void> {
    const { signal } = this.#agent;
    await Promise.all(
      [...watched, "pods" as const, "namespaces" as const].map((plural) => this.#agent.informer(plural).synced),
    );
    for (;;) {
      const next = await this.#queue.pop(signal);
      if (!next) return;
      this.#isDeciding = true;
      await this.#scheduleOne(next.pod, next.attempts);
      this.#isDeciding = false;
    }
  }

  async #scheduleOne(pod: Pod, attempts: number): Promise<void> {
    const context = this.#contextNow();
    const decision = await decide(context, pod);
    if (this.#agent.signal.aborted) return;
    if (decision.kind === "placed") {
      const { node } = decision;
      this.#assumed.set(pod.metadata.uid, { pod: { ...pod, spec: { ...pod.spec, nodeName: node } }, node });
      this.#report({ pod: keyOf(pod.metadata), outcome: "placed", node, attempts });
      void this.#bind(pod, node, attempts);
      return;
    }
    if (decision.kind === "error") this.#fail(pod, decision.message, attempts);
    else await this.#refuse(context, pod, decision, attempts);
  }

  #contextNow(): CycleContext {
    const agent = this.#agent;
    const namespaces = [...agent.informer("namespaces").values()];
    const snapshot = makeSnapshot({
      nodes: agent.informer("nodes").values(),
      pods: agent.informer("pods").values(),
      assumed: this.#assumed,
      namespaceLabels: new Map(
        namespaces.map(({ metadata }): [string, Labels] => [metadata.name, metadata.labels ?? {}]),
      ),
    });
    return { agent, runtime: agent.runtime, extenders: this.#extenders, snapshot, nominated: this.#nominated };
  }

  async #refuse(
    context: CycleContext,
    pod: Pod,
    decision: Decision & { kind: "refused" },
    attempts: number,
  ): Promise<void> {
    const { message: postFilter, chosen, isHopeless } = await preempt(context, pod, decision.refusals);
    if (this.#agent.signal.aborted) return;
    const message = messageOf(context, decision, postFilter);
    if (chosen) {
      this.#nominated.set(pod.metadata.uid, { pod, node: chosen.node });
      await this.#outcomes.evict(chosen.victims, pod, chosen.node);
      if (this.#agent.signal.aborted) return;
    } else if (isHopeless) this.#nominated.delete(pod.metadata.uid);
    // Room that is made is announced by the end of the victims' pods.
    const rejectors: ReadonlySet<Rejector> = chosen
      ? new Set([...decision.rejectors, "NodeResourcesFit"])
      : decision.rejectors;
    if (this.#isStillPending(pod)) {
      // Nobody refused where there is no node at all: kube-scheduler comes back as after an error.
      if (rejectors.size === 0) this.#queue.putFailed(pod);
      else this.#queue.putRefused(pod, rejectors);
      this.#outcomes.reportFailure(pod, {
        reason: "Unschedulable",
        message,
        nominated: isHopeless ? "" : chosen?.node,
      });
    } else this.#queue.finish(pod);
    this.#report({ pod: keyOf(pod.metadata), outcome: "refused", message, attempts });
  }

  #fail(pod: Pod, message: string, attempts: number): void {
    this.#nominated.delete(pod.metadata.uid);
    if (this.#isStillPending(pod)) {
      this.#queue.putFailed(pod);
      this.#outcomes.reportFailure(pod, { reason: "SchedulerError", message, nominated: "" });
    } else this.#queue.finish(pod);
    this.#report({ pod: keyOf(pod.metadata), outcome: "error", message, attempts });
  }

  /** A bind that failed for us may have been done all the same: then the cache shows the pod with its node. */
  #isStillPending({ metadata }: Pod): boolean {
    const known = this.#agent.informer("pods").get(keyOf(metadata));
    return known?.metadata.uid === metadata.uid && !known.spec.nodeName;
  }

  /** Runs beside the next cycles, as many at a time as there are pods. */
  async #bind(pod: Pod, node: string, attempts: number): Promise<void> {
    this.#binding++;
    const error = await this.#bindWith(pod, node);
    this.#binding--;
    if (this.#agent.signal.aborted) return;
    if (error === undefined) {
      this.#queue.finish(pod);
      this.#outcomes.reportBound(pod, node);
      this.#report({ pod: keyOf(pod.metadata), outcome: "bound", node, attempts });
      return;
    }
    this.#assumed.delete(pod.metadata.uid);
    this.#fail(pod, error, attempts);
    // What the pod was assumed to take is free again, which nothing in the API shows.
    this.#queue.wake(assignedPodEvent(pod, "deleted"));
  }

  /** The first interested extender that binds has the last word, unless it fails and is ignorable. */
  async #bindWith(pod: Pod, node: string): Promise<string | undefined> {
    for (const extender of this.#extenders) {
      if (!extender.entry.bindVerb || !extender.isInterestedIn(pod)) continue;
      const answer = await extender.bind(pod, node);
      if (answer.ok) return undefined;
      if (!extender.isIgnorable) return answer.error;
    }
    const bound = await this.#agent.client.bind(pod, node);
    return bound.ok ? undefined : `binding rejected: running Bind plugin "DefaultBinder": ${bound.message}`;
  }

  #report(record: CycleRecord): void {
    this.#options.onCycle?.(record);
  }
}
