/**
 * One bind of one Pod to one node, from the first call to its end. Callers come and go: a second call joins, a hang-up or a
 * newer filter lets callers go while the run stays for whoever joins next, and posts no Binding until then (decision 16).
 */
import type { Milliseconds, Timer } from "../runtime/runtime.ts";
import type { Span } from "../runtime/tracing.ts";
import type { ClaimUid, NodeName, PodKey, PodUid } from "../scheduling/names.ts";
import type { Kind, Kinds, ObjectKey, Pod } from "../scheduling/objects.ts";
import type { Commitment } from "./commitment.ts";
import { BindEnd, withoutPercent } from "./endings.ts";
import type { EventQueue } from "./events.ts";
import type { BinderDeps, LiveRead, WriteKind, WriteOutcome, WriteResult } from "./ports.ts";
import { releasePromises } from "./promises.ts";
import { type Phase, RunTrace } from "./run-trace.ts";
import type { Watchpoint, Watchpoints } from "./watchpoints.ts";

export type BindResult = { readonly ok: true } | { readonly ok: false; readonly error: string };

export interface Subject {
  readonly pod: PodKey;
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
  readonly node: NodeName;
}

/** What all runs share. */
export interface World extends BinderDeps {
  readonly watchpoints: Watchpoints;
  readonly events: EventQueue;
  /** Whether another run needs the claim as it is. */
  isNeededElsewhere(claim: ClaimUid, run: BindRun): boolean;
  /** Whether a run of the Pod is in progress. */
  isRunning(pod: PodUid): boolean;
}

interface Caller {
  answer(result: BindResult): void;
}

export class BindRun {
  readonly subject: Subject;
  readonly world: World;
  readonly startedAt: Milliseconds;
  /** What traces tell of it. */
  readonly trace: RunTrace;
  /** The Pod mounts no claim: nothing is looked at, nothing awaited. */
  isFree = false;
  /** All claims are bound and nobody waits: nothing is left but the Binding, and no promise stands in another node's way. */
  isUnattended = false;
  /** As read live; absent until then. */
  pod: Pod | undefined;
  /** The node that the Pod was seen on; absent while it was on none. */
  placedOn: NodeName | undefined;
  commitments: Commitment[] = [];
  readonly #callers = new Set<Caller>();
  readonly #stopping = new AbortController();
  #stopped: BindEnd | undefined;
  #hasWritten = false;
  #deadline: Timer | undefined;
  #wake: (() => void) | undefined;

  constructor(world: World, subject: Subject, span?: Span) {
    this.trace = new RunTrace(span);
    this.world = world;
    this.subject = subject;
    this.startedAt = world.runtime.now();
  }

  get phase(): Phase {
    return this.trace.phase;
  }

  set phase(phase: Phase) {
    this.trace.enter(phase);
  }

  /** Something of this run is in the API, or may be. From here on another node is refused. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  get callers(): number {
    return this.#callers.size;
  }

  /** Aborts when the run is to end early. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Answers when the run ends, or when this caller is let go. Each join gives the run its full time anew. */
  join(signal: AbortSignal): Promise<BindResult> {
    const { runtime, options } = this.world;
    this.#deadline?.cancel();
    this.#deadline = runtime.timer(options.bindTimeoutMs, () => this.#timeOut());
    return new Promise((resolve) => {
      const hangUp = (): void => this.#letGo([caller], "the caller hung up");
      const caller: Caller = {
        answer: (result) => {
          signal.removeEventListener("abort", hangUp);
          this.#callers.delete(caller);
          resolve(result);
        },
      };
      this.#callers.add(caller);
      if (signal.aborted) hangUp();
      else signal.addEventListener("abort", hangUp, { once: true });
      this.#wake?.();
    });
  }

  letGoAll(why: string): void {
    this.#letGo([...this.#callers], why);
  }

  /**
   * Ends the run at its next step; a write that is out is awaited first. Where nothing was written its promises end in this
   * very turn, for a newer decision may stand in the next line.
   */
  stop(end: BindEnd): void {
    if (this.#stopped) return;
    this.#stopped = end;
    if (!this.#hasWritten) releasePromises(this);
    this.#stopping.abort();
    this.#wake?.();
  }

  /** @throws BindEnd when the run is to end early */
  check(): void {
    if (this.#stopped) throw this.#stopped;
  }

  /** Marks that a write is about to go out. @throws BindEnd when the run is to end early */
  beginWrite(): void {
    this.check();
    this.#hasWritten = true;
  }

  /** All callers get the result; the run is over. */
  finish(result: BindResult): void {
    this.#deadline?.cancel();
    const told = result.ok ? result : { ok: false as const, error: withoutPercent(result.error) };
    for (const caller of [...this.#callers]) caller.answer(told);
  }

  /** Resolves at the next change of these objects, a join, a stop, or after `ms`. */
  async change(points: readonly Watchpoint[], ms?: Milliseconds): Promise<void> {
    await new Promise<void>((resolve) => {
      const stopWatching = this.world.watchpoints.watch(points, () => this.#wake?.());
      const timer = ms === undefined ? undefined : this.world.runtime.timer(ms, () => this.#wake?.());
      this.#wake = () => {
        this.#wake = undefined;
        stopWatching();
        timer?.cancel();
        resolve();
      };
    });
  }

  /** Waits before another try: twice as long each time, spread by chance, and as long as the server asks. */
  async pause(tries: number, failed?: { readonly retryAfterMs?: Milliseconds | undefined }): Promise<void> {
    const { runtime, options } = this.world;
    const grown = Math.min(options.retryMaxMs, options.retryMinMs * 2 ** Math.min(tries, 20));
    const asked = failed?.retryAfterMs ?? 0;
    await runtime.sleep(Math.max(asked, grown * (0.5 + runtime.random() / 2)), this.signal);
    this.check();
  }

  /** One read past the cache, in bounded time, stopped runs included: what was written must be settled. */
  async read<K extends Kind>(kind: K, key: ObjectKey): Promise<LiveRead<K>> {
    const { runtime, options, cluster } = this.world;
    const deadline = new AbortController();
    const timer = runtime.timer(options.readTimeoutMs, () => deadline.abort());
    try {
      return await cluster.live(kind, key, deadline.signal);
    } finally {
      timer.cancel();
    }
  }

  /** Reads until there is an answer. @returns undefined when the object does not exist. @throws BindEnd */
  async readSurely<K extends Kind>(kind: K, key: ObjectKey): Promise<Kinds[K] | undefined> {
    for (let tries = 0; ; tries++) {
      const outcome = await this.read(kind, key);
      if (!("failed" in outcome)) return outcome.found ? outcome.object : undefined;
      await this.pause(tries, outcome);
    }
  }

  /** Sends one write and has it counted. */
  async write(kind: WriteKind, send: () => Promise<WriteOutcome>): Promise<WriteOutcome> {
    const { runtime, observer } = this.world;
    const begun = runtime.now();
    const span = this.trace.child(`write ${kind}`);
    const outcome = await send();
    span?.set({ result: resultOf(outcome) });
    span?.end();
    observer?.wrote?.(kind, resultOf(outcome), runtime.now() - begun);
    return outcome;
  }

  /** In words, what the run has not got yet. */
  waitingFor = (): string => `it was ${this.phase}`;

  #letGo(callers: readonly Caller[], why: string): void {
    for (const caller of callers) caller.answer({ ok: false, error: withoutPercent(why) });
    // Nobody wants it and nothing is written: a retry plans anew.
    if (this.#callers.size === 0 && !this.#hasWritten) this.stop(new BindEnd("detached", why));
  }

  /** Callers are told at once, though a write may be out: their own patience ends a few seconds later. */
  #timeOut(): void {
    const seconds = Math.round(this.world.options.bindTimeoutMs / 1000);
    const why = `not bound after ${seconds} s: ${this.waitingFor()}; what is written stays`;
    this.stop(new BindEnd("timedOut", why));
    this.letGoAll(why);
  }
}

function resultOf(outcome: WriteOutcome): WriteResult {
  if (outcome.ok) return "ok";
  if (outcome.ambiguous) return "ambiguous";
  if (outcome.status === 409) return "conflict";
  return outcome.status === 429 ? "throttled" : "refused";
}

/** Worth another try as it is: the server was busy, or never saw it. */
export function isTransient(outcome: WriteOutcome & { ok: false }): boolean {
  const { status } = outcome;
  return outcome.ambiguous || status === undefined || status === 429 || status >= 500;
}
