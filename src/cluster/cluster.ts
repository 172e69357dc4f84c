/**
 * What Berth believes of the cluster: a reflector for each kind feeds one state. Reads of the state are synchronous and see every
 * change that was announced; `live` looks past it.
 */
import { keyOf, objectPath, Translator } from "../apis/kubernetes.ts";
import type { ApiClient } from "../kube/client.ts";
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { type Kind, type Kinds, kinds, type ObjectKey } from "../scheduling/objects.ts";
import type { ClusterState } from "../scheduling/state.ts";
import { Limiter } from "./limiter.ts";
import { Reflector, type ReflectorObserver } from "./reflector.ts";

export interface Change {
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly deleted: boolean;
}

export type LiveRead<K extends Kind> =
  | { readonly found: true; readonly object: Kinds[K] }
  | { readonly found: false }
  | { readonly failed: string };

export interface ClusterObserver extends ReflectorObserver {
  /** An object that cannot be read was set aside. */
  readonly setAside?: (kind: Kind) => void;
  readonly changed?: (kind: Kind) => void;
}

export interface ClusterOptions {
  /** A kind not heard of for longer is no ground for a refusal. */
  readonly staleAfterMs: Milliseconds;
  /** Live reads at one time. */
  readonly liveReadsMax: number;
  readonly nodeAnnotations: ReadonlySet<string>;
}

export interface ClusterDeps {
  readonly runtime: Runtime;
  readonly client: ApiClient;
  readonly state: ClusterState;
  readonly log: Log;
  readonly observer?: ClusterObserver;
  readonly options: ClusterOptions;
}

export class Cluster {
  readonly state: ClusterState;
  readonly #deps: ClusterDeps;
  readonly #translator: Translator;
  readonly #reflectors: ReadonlyMap<Kind, Reflector>;
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #liveReads: Limiter;
  readonly #stopping = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(deps: ClusterDeps) {
    this.state = deps.state;
    this.#deps = deps;
    this.#translator = new Translator({ nodeAnnotations: deps.options.nodeAnnotations });
    this.#liveReads = new Limiter(deps.options.liveReadsMax);
    this.#reflectors = new Map(kinds.map((kind) => [kind, this.#reflector(kind)]));
  }

  start(): void {
    const { signal } = this.#stopping;
    this.#running = Promise.all([...this.#reflectors.values()].map((reflector) => reflector.run(signal)));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Whether what the state lacks may be called missing: every kind listed, and none silent for too long. */
  readiness(): { readonly ready: true } | { readonly ready: false; readonly why: string } {
    const unsynced = [...this.#reflectors].filter(([, { lists }]) => lists === 0).map(([kind]) => kind);
    if (unsynced.length > 0) return { ready: false, why: `not synced yet: ${unsynced.join(", ")}` };
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
    const ages = {} as Record<Kind, Milliseconds | undefined>;
    for (const [kind, reflector] of this.#reflectors) ages[kind] = reflector.ageMs();
    return ages;
  }

  /** Calls back in the turn of each change, after the state has it. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** One read past the cache. Never rejects. */
  live<K extends Kind>(kind: K, key: ObjectKey, signal?: AbortSignal): Promise<LiveRead<K>> {
    return this.#liveReads.run(async (): Promise<LiveRead<K>> => {
      if (signal?.aborted) return { failed: "the caller has gone" };
      const path = objectPath(kind, key);
      // No object can have such a name.
      if (path === undefined) return { found: false };
      const outcome = await this.#deps.client.get(path, signal);
      if (!outcome.ok) return outcome.status === 404 ? { found: false } : { failed: outcome.message };
      const read = this.#translator.translate(kind, outcome.body);
      return read.ok ? { found: true, object: read.object } : { failed: `${read.field}: ${read.problem}` };
    });
  }

  #reflector(kind: Kind): Reflector {
    const { runtime, client, log, observer, options } = this.#deps;
    return new Reflector({
      kind,
      runtime,
      client,
      log,
      observer: observer ?? {},
      // Noticed, and mended, before it counts as stale.
      silenceMaxMs: Math.max(1_000, options.staleAfterMs - 10_000),
      mirror: {
        put: (raw) => this.#put(kind, raw),
        remove: (key) => this.#remove(kind, key),
        keys: () => this.state.keys(kind),
      },
    });
  }

  #put(kind: Kind, raw: unknown): void {
    const read = this.#translator.translate(kind, raw);
    if (!read.ok) {
      const key = read.key ?? keyOf(kind, raw);
      this.#deps.observer?.setAside?.(kind);
      this.#deps.log.warn({ kind, key, field: read.field, problem: read.problem }, "Set object aside");
      if (key === undefined) return;
      this.state.setAside(kind, key, `${read.field}: ${read.problem}`);
      this.#announce({ kind, key, deleted: true });
      return;
    }
    const known = this.state.get(kind, read.key);
    // A relist, or a watch that starts over, tells what is known already (FR-107).
    if (known?.uid === read.object.uid && known.resourceVersion === read.object.resourceVersion) return;
    this.state.set(kind, read.key, read.object);
    this.#announce({ kind, key: read.key, deleted: false });
  }

  #remove(kind: Kind, key: ObjectKey): void {
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
        this.#deps.log.error({ err, kind: change.kind }, "Listener failed");
      }
    }
  }
}
