/**
 * Says on a Pod that filter refuses why it waits: kube-scheduler's own event has four texts for a dozen causes (decision 7,
 * departure D13), and whoever runs `kubectl describe` sees no other.
 *
 * A Pod that is placed within seconds is told nothing. One that waits is told once, and again when the cause is another, at
 * growing pauses; while the cause stays, what is there becomes a series, or is said anew where its numbers changed. One look a
 * second over all Pods, one step of it a turn of the event loop, and by the leader alone.
 */
import type { EventQueue } from "../binding/events.ts";
import type { BindingCluster } from "../binding/ports.ts";
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime, Timer } from "../runtime/runtime.ts";
import { Turns } from "../runtime/turns.ts";
import { setNewest } from "../scheduling/indexes.ts";
import { type NodeName, type PodUid, splitKey } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import { type Refusal, refusalInSteps } from "./refusal-note.ts";

export interface RefusalTellerDeps {
  readonly runtime: Runtime;
  readonly cluster: Pick<BindingCluster, "state" | "readiness">;
  readonly events: Pick<EventQueue, "record">;
  readonly log: Pick<Log, "error">;
  /** The nodes that the Pod's last filter call asked about; undefined where they are forgotten. */
  readonly offeredTo: (pod: PodUid) => readonly NodeName[] | undefined;
  readonly isBinding: (pod: PodUid) => boolean;
}

interface Waiting {
  readonly pod: Pod;
  /** Not looked at before. */
  readonly dueAt: Milliseconds;
}

interface Told {
  readonly cause: string;
  readonly at: Milliseconds;
  /** Not looked at before, whatever changes. */
  readonly quietUntil: Milliseconds;
  readonly times: number;
}

const tickMs: Milliseconds = 1_000;
/** A Pod that is placed by then was never in trouble. */
const patienceMs: Milliseconds = 10_000;
/** After the first event of a Pod; twice as long after each. */
const quietMs: Milliseconds = 60_000;
/** The pause grows no longer; and the same cause is told again, with its numbers of then. */
const repeatMs: Milliseconds = 1_800_000;
const podsMax = 10_000;

export class RefusalTeller {
  readonly #deps: RefusalTellerDeps;
  readonly #turns: Turns;
  readonly #waiting = new Map<PodUid, Waiting>();
  /** Outlives a refusal that ends: a Pod that fits now and then is told no more often than one that never does. */
  readonly #told = new Map<PodUid, Told>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(deps: RefusalTellerDeps) {
    this.#deps = deps;
    this.#turns = new Turns(deps.runtime);
  }

  /** Filter refused the Pod on every node it was asked about. */
  refused(pod: Pod): void {
    // Keeps its place, however often it is asked about.
    if (this.#waiting.has(pod.uid)) return;
    setNewest(this.#waiting, pod.uid, { pod, dueAt: this.#deps.runtime.now() + patienceMs }, podsMax);
    this.#start();
  }

  /** Filter passed the Pod somewhere, or was in no position to say. */
  answered(pod: PodUid): void {
    this.#waiting.delete(pod);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  #start(): void {
    if (this.#closed || this.#timer || this.#waiting.size === 0) return;
    this.#timer = this.#deps.runtime.timer(tickMs, () => {
      void this.#tick()
        .catch((err: unknown) => this.#deps.log.error({ err }, "Telling a Pod why it waits broke"))
        .finally(() => {
          this.#timer = undefined;
          this.#start();
        });
    });
  }

  async #tick(): Promise<void> {
    // Another may lead later, or this one again: who waits, waits.
    if (!this.#deps.cluster.readiness().ready) return;
    const pod = this.#next();
    if (!pod) return;
    this.#waiting.delete(pod.uid);
    await this.#look(pod);
  }

  /** Whoever was told nothing yet comes first. Those who need nothing any more are forgotten. */
  #next(): Pod | undefined {
    const now = this.#deps.runtime.now();
    let again: Pod | undefined;
    for (const [uid, { pod, dueAt }] of this.#waiting) {
      const told = this.#told.get(uid);
      if (now < Math.max(dueAt, told?.quietUntil ?? 0)) continue;
      if (!this.#isPending(pod)) this.#waiting.delete(uid);
      else if (!told) return pod;
      else again ??= pod;
    }
    return again;
  }

  #isPending({ key, uid }: Pod): boolean {
    const cached = this.#deps.cluster.state.get("pod", key);
    return cached?.uid === uid && cached.nodeName === undefined && !cached.deleting && !this.#deps.isBinding(uid);
  }

  async #look(pod: Pod): Promise<void> {
    const { cluster, offeredTo } = this.#deps;
    const offered = offeredTo(pod.uid);
    if (!offered) return;
    const steps = refusalInSteps(cluster.state, pod, offered);
    let refusal: Refusal | undefined;
    for (;;) {
      const step = steps.next();
      refusal = step.value;
      if (step.done) break;
      await this.#turns.next();
    }
    // A look takes time, and a filter call may have come meanwhile.
    if (!refusal || this.#closed || !cluster.readiness().ready || !this.#isPending(pod)) return;
    this.#tell(pod, refusal);
  }

  #tell(pod: Pod, { cause, note }: Refusal): void {
    const now = this.#deps.runtime.now();
    const before = this.#told.get(pod.uid);
    if (before?.cause === cause && now < before.at + repeatMs) return;
    const times = (before?.times ?? 0) + 1;
    const quietUntil = now + Math.min(repeatMs, quietMs * 2 ** Math.min(times - 1, 20));
    setNewest(this.#told, pod.uid, { cause, at: now, quietUntil, times }, podsMax);
    const { namespace, name } = splitKey(pod.key);
    const about = { namespace, pod: name, podUid: pod.uid } as const;
    this.#deps.events.record({ ...about, type: "Warning", reason: "BerthVolumesUnavailable", note });
  }
}
