/** Berth's cluster as the binder sees it, over any exchange: list, watch, translate. Its watches can be held back by kind. */
import { keyOf, kindInfo, objectPath, translate, versionOf } from "../../src/apis/kubernetes.ts";
import type { BindingCluster, Change, LiveRead } from "../../src/binding/ports.ts";
import { ApiClient } from "../../src/kube/client.ts";
import type { Exchange, Runtime } from "../../src/runtime/runtime.ts";
import { type Kind, type Kinds, kinds, type ObjectKey } from "../../src/scheduling/objects.ts";
import { ClusterState } from "../../src/scheduling/state.ts";

export class TestCluster implements BindingCluster {
  readonly state: ClusterState;
  isReady = true;
  readonly #api: ApiClient;
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #held = new Map<Kind, (() => void)[]>();
  readonly #stop = new AbortController();

  constructor(runtime: Runtime, exchange: Exchange) {
    this.state = new ClusterState({ clock: () => runtime.now() });
    this.#api = new ApiClient({ runtime, exchange, userAgent: "berth-watch", timeoutMs: 10_000 });
  }

  async start(): Promise<void> {
    for (const kind of kinds) await this.#list(kind);
  }

  stop(): void {
    this.#stop.abort();
  }

  /** From now on changes of the kind wait until `release`. */
  hold(kind: Kind): void {
    this.#held.set(kind, []);
  }

  release(kind: Kind): void {
    const waiting = this.#held.get(kind) ?? [];
    this.#held.delete(kind);
    for (const apply of waiting) apply();
  }

  readiness(): { ready: true } | { ready: false; why: string } {
    return this.isReady ? { ready: true } : { ready: false, why: "claims are not listed yet" };
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async live<K extends Kind>(kind: K, key: ObjectKey, signal: AbortSignal): Promise<LiveRead<K>> {
    const outcome = await this.#api.get(objectPath(kind, key) ?? "", signal);
    if (!outcome.ok) return outcome.status === 404 ? { found: false } : { failed: outcome.message };
    const read = translate(kind, outcome.body);
    return read.ok ? { found: true, object: read.object } : { failed: `${read.field}: ${read.problem}` };
  }

  async #list(kind: Kind): Promise<void> {
    const { path, fieldSelector } = kindInfo[kind];
    const selector = fieldSelector === undefined ? "" : `fieldSelector=${encodeURIComponent(fieldSelector)}&`;
    const list = await this.#api.get(`${path}?${selector}`);
    if (!list.ok) throw new Error(list.message);
    for (const item of (list.body as { items: unknown[] }).items) this.#set(kind, item);
    const from = versionOf(list.body);
    void this.#watch(kind, `${path}?${selector}watch=true&resourceVersion=${from}`);
  }

  async #watch(kind: Kind, path: string): Promise<void> {
    const watch = await this.#api.watch(path, this.#stop.signal);
    if (!watch.ok) throw new Error(watch.message);
    for await (const { type, object } of watch.events) {
      if (this.#stop.signal.aborted) return;
      const apply = (): void => {
        if (type === "DELETED") this.#delete(kind, keyOf(kind, object) ?? "");
        else if (type === "ADDED" || type === "MODIFIED") this.#set(kind, object);
      };
      const held = this.#held.get(kind);
      if (held) held.push(apply);
      else apply();
    }
  }

  #set(kind: Kind, raw: unknown): void {
    const read = translate(kind, raw);
    if (!read.ok) throw new Error(`${kind}: ${read.field}: ${read.problem}`);
    this.state.set(kind, read.key, read.object as Kinds[Kind] as never);
    this.#tell({ kind, key: read.key, deleted: false });
  }

  #delete(kind: Kind, key: ObjectKey): void {
    this.state.delete(kind, key);
    this.#tell({ kind, key, deleted: true });
  }

  #tell(change: Change): void {
    for (const listener of [...this.#listeners]) listener(change);
  }
}
