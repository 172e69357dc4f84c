/**
 * What Berth believes of the cluster: a reflector for each kind feeds one state. Reads of the state are synchronous and see every
 * change that was announced; `live` looks past it.
 */
import { isVersion, keyOf, Translator, versionOf } from "../apis/kubernetes.ts";
import type { ApiClient } from "../kube/client.ts";
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { type Kind, kinds, type ObjectKey } from "../scheduling/objects.ts";
import type { ClusterState } from "../scheduling/state.ts";
import { type LiveRead, LiveReads } from "./live-reads.ts";
import { Pace } from "./pace.ts";
import { Reflector, type ReflectorObserver } from "./reflector.ts";
import { Suspicions } from "./suspicions.ts";

export interface Change {
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly deleted: boolean;
}

export interface ClusterObserver extends ReflectorObserver {
  /** An object that cannot be read was set aside. */
  readonly setAside?: (kind: Kind) => void;
  readonly changed?: (kind: Kind) => void;
  readonly listenerFailed?: () => void;
}

export interface ClusterOptions {
  /** A kind not heard of for longer is no ground for a refusal. */
  readonly staleAfterMs: Milliseconds;
  /** Live reads at one time. */
  readonly liveReadsMax: number;
  readonly nodeAnnotations: ReadonlySet<string>;
  /** Whether to ask for lists as watches that begin with all objects. */
  readonly streamsLists: boolean;
}

export interface ClusterDeps {
  readonly runtime: Runtime;
  readonly client: ApiClient;
  readonly state: ClusterState;
  readonly log: Log;
  readonly observer?: ClusterObserver;
  readonly options: ClusterOptions;
}

/** What `/debug/state` and the metrics say of one kind. */
export interface KindStatus {
  readonly synced: boolean;
  /** Since the API was last heard of it; undefined before the first list. */
  readonly ageMs: Milliseconds | undefined;
  /** Those set aside included. */
  readonly objects: number;
  /** Lists after the first. */
  readonly relists: number;
  /** Objects ever set aside. */
  readonly malformed: number;
  /** The last failure since it was heard of; "" where there was none. */
  readonly problem: string;
}

/**
 * Bookmarks come about once a minute: a watch silent for longer than this has lost its server. The next watch is believed from its
 * first bookmark on, a minute later, and by then the kind must not count as stale.
 */
const silenceMaxMs = 80_000;
/** A broken watch is to be noticed, and mended, before its kind counts as stale. */
const mendingMs = 10_000;
const silenceMinMs = 1_000;
const refreshLookMs = 100;

export class Cluster {
  readonly state: ClusterState;
  readonly #deps: ClusterDeps;
  readonly #translator: Translator;
  readonly #reflectors: ReadonlyMap<Kind, Reflector>;
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #liveReads: LiveReads;
  readonly #pace: Pace;
  readonly #suspicions = new Suspicions();
  /** The version at which each object was set aside, so that the same one is judged once. */
  readonly #aside = new Map<Kind, Map<ObjectKey, string>>(kinds.map((kind) => [kind, new Map()]));
  readonly #malformed = new Map<Kind, number>();
  readonly #stopping = new AbortController();
  #running: Promise<unknown> | undefined;
  #settling: Promise<void> | undefined;
  #isSettled = false;

  constructor(deps: ClusterDeps) {
    this.state = deps.state;
    this.#deps = deps;
    this.#translator = new Translator({ nodeAnnotations: deps.options.nodeAnnotations });
    this.#liveReads = new LiveReads({
      client: deps.client,
      translator: this.#translator,
      inParallelMax: deps.options.liveReadsMax,
      found: (kind, key) => this.#foundLive(kind, key),
    });
    this.#pace = new Pace(deps.runtime);
    this.#reflectors = new Map(kinds.map((kind) => [kind, this.#reflector(kind)]));
  }

  start(): void {
    const { signal } = this.#stopping;
    this.#running ??= Promise.all([...this.#reflectors.values()].map((reflector) => reflector.run(signal)));
  }

  /** For good: a stopped cluster does not start again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#settling;
  }

  /** Whether every kind was listed once, and the state has made of it what decisions need. */
  synced(): boolean {
    return this.#isSettled;
  }

  /** Whether what the state lacks may be called missing: every kind listed, and none silent for too long. */
  readiness(): { readonly ready: true } | { readonly ready: false; readonly why: string } {
    const unsynced = [...this.#reflectors].filter(([, { lists }]) => lists === 0);
    if (unsynced.length > 0)
      return { ready: false, why: `not synced yet: ${unsynced.map(([kind]) => kind).join(", ")}` };
    if (!this.#isSettled) return { ready: false, why: "not synced yet: taking stock" };
    const { staleAfterMs } = this.#deps.options;
    const stale = [...this.#reflectors].filter(([, reflector]) => (reflector.ageMs() ?? 0) > staleAfterMs);
    if (stale.length === 0) return { ready: true };
    return {
      ready: false,
      why: `not heard of for ${staleAfterMs / 1000} s: ${stale.map(([kind]) => kind).join(", ")}`,
    };
  }

  /** Milliseconds since each kind was last heard of; undefined before its first list. */
  ages(): Readonly<Record<Kind, Milliseconds | undefined>> {
    const ages = [...this.#reflectors].map(([kind, reflector]) => [kind, reflector.ageMs()]);
    return Object.fromEntries(ages) as Record<Kind, Milliseconds | undefined>;
  }

  status(): ReadonlyMap<Kind, KindStatus> {
    return new Map(
      [...this.#reflectors].map(([kind, reflector]) => [
        kind,
        {
          synced: reflector.lists > 0,
          ageMs: reflector.ageMs(),
          objects: this.state.size(kind),
          relists: Math.max(0, reflector.lists - 1),
          malformed: this.#malformed.get(kind) ?? 0,
          problem: reflector.problem,
        },
      ]),
    );
  }

  /** Calls back in the turn of each change, after the state has it. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** One read past the cache. Never rejects. */
  live<K extends Kind>(kind: K, key: ObjectKey, signal?: AbortSignal): Promise<LiveRead<K>> {
    return this.#liveReads.read(kind, key, signal);
  }

  /** A Pod may be missing because it is no longer pending; every other kind is watched whole. */
  #foundLive(kind: Kind, key: ObjectKey): void {
    const isKnown = this.state.get(kind, key) !== undefined || this.state.problem(kind, key) !== undefined;
    if (isKnown || kind === "pod") return;
    if (!this.#suspicions.missed(kind, key, this.#deps.runtime.now())) return;
    this.#deps.log.warn({ kind, key }, "Cache lacks an object that exists, listing anew");
    this.#reflectors.get(kind)?.relist();
  }

  /** Resolves when a list of the kind that began after this call has come to its end, or when `signal` aborts. */
  async refresh(kind: Kind, signal: AbortSignal): Promise<void> {
    const reflector = this.#reflectors.get(kind);
    const begun = reflector?.listsBegun ?? 0;
    while (reflector && reflector.lastListed <= begun && !signal.aborted) {
      // One that is under way may have begun too early: it comes to its end, and is followed by ours.
      if (reflector.listsBegun === begun) reflector.relist();
      await this.#deps.runtime.sleep(refreshLookMs, signal);
    }
  }

  #reflector(kind: Kind): Reflector {
    const { runtime, client, log, observer, options } = this.#deps;
    const beforeStaleMs = Math.max(silenceMinMs, options.staleAfterMs - mendingMs);
    return new Reflector({
      kind,
      runtime,
      client,
      log,
      pace: this.#pace,
      observer: { ...observer, listed: (...facts) => this.#listed(facts) },
      silenceMaxMs: Math.min(silenceMaxMs, beforeStaleMs),
      streams: options.streamsLists,
      mirror: {
        put: (raw) => {
          const key = keyOf(kind, raw);
          this.#guard(kind, () => this.#put(kind, key, raw));
          return key;
        },
        remove: (key) => this.#guard(kind, () => this.#remove(kind, key)),
        keys: () => this.state.keys(kind),
      },
    });
  }

  #listed(facts: Parameters<NonNullable<ReflectorObserver["listed"]>>): void {
    this.#deps.observer?.listed?.(...facts);
    if ([...this.#reflectors.values()].every(({ lists }) => lists > 0)) this.#settling ??= this.#settle();
  }

  async #settle(): Promise<void> {
    try {
      for (const _ of this.state.listing()) await this.#pace.step();
    } catch (err) {
      this.#deps.log.error({ err }, "Failed to take stock of what was listed");
    }
    this.#isSettled = true;
  }

  /** A fault of ours must not end the watch: the other objects are none the worse for it. */
  #guard(kind: Kind, work: () => void): void {
    try {
      work();
    } catch (err) {
      this.#count(kind);
      this.#deps.log.error({ err, kind }, "Failed to take over an object");
    }
  }

  #count(kind: Kind): void {
    this.#malformed.set(kind, (this.#malformed.get(kind) ?? 0) + 1);
    this.#deps.observer?.setAside?.(kind);
  }

  #put(kind: Kind, named: ObjectKey | undefined, raw: unknown): void {
    const known = named === undefined ? undefined : this.state.get(kind, named);
    // A relist, or a watch that starts over, tells what is known already (FR-107).
    if (known && isVersion(raw, known)) return;
    const read = this.#translator.translate(kind, raw, named);
    if (!read.ok) {
      this.#setAside(kind, { key: read.key, raw, problem: `${read.field}: ${read.problem}` });
      return;
    }
    const { key, object } = read;
    this.state.set(kind, key, object);
    this.#aside.get(kind)?.delete(key);
    this.#suspicions.seen(kind, key);
    this.#announce({ kind, key, deleted: false });
  }

  #setAside(kind: Kind, { key, raw, problem }: { key: ObjectKey | undefined; raw: unknown; problem: string }): void {
    const version = versionOf(raw) ?? "";
    const aside = this.#aside.get(kind);
    if (key !== undefined && version !== "" && aside?.get(key) === version) return;
    this.#count(kind);
    this.#deps.log.warn({ kind, key, error: problem }, "Set object aside");
    if (key === undefined) return;
    aside?.set(key, version);
    this.state.setAside(kind, key, problem);
    this.#announce({ kind, key, deleted: true });
  }

  #remove(kind: Kind, key: ObjectKey): void {
    this.#aside.get(kind)?.delete(key);
    if (this.state.get(kind, key) === undefined && this.state.problem(kind, key) === undefined) return;
    this.state.delete(kind, key);
    this.#announce({ kind, key, deleted: true });
  }

  #announce(change: Change): void {
    this.#deps.observer?.changed?.(change.kind);
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (err) {
        this.#deps.observer?.listenerFailed?.();
        this.#deps.log.error({ err, kind: change.kind, key: change.key }, "Listener failed");
      }
    }
  }
}
