/** List and watch of one resource, kept as a map by key that tells its listeners of every change. */
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { ApiClient, Failure } from "./client.ts";
import { type Kinds, type KubeObject, keyOf, type Plural } from "./objects.ts";

export type Change<T> =
  | { readonly type: "added"; readonly object: T }
  | { readonly type: "updated"; readonly object: T; readonly before: T }
  | { readonly type: "deleted"; readonly object: T };

export interface InformerOptions<P extends Plural> {
  readonly client: ApiClient;
  readonly plural: P;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

interface WatchEvent<T> {
  readonly type: string;
  readonly object: T & { readonly code?: number };
}

/** A watch is opened anew after five to ten minutes, as client-go does, so that a silent connection is not for ever. */
const watchTimeoutMinMs: Milliseconds = 300_000;
/** How long after its own time a watch may stay open before it is taken for dead. */
const watchOvertimeMs: Milliseconds = 5_000;
const backoffFirstMs: Milliseconds = 800;
const backoffMaxMs: Milliseconds = 30_000;

/**
 *     listing ──▶ watching ──▶ listing     410: what it asked for is forgotten
 *        ▲ │          ▲ │
 *        └─┘ backoff  └─┘ the stream ended: open it again from the last version seen
 */
export class Informer<P extends Plural> {
  readonly #options: InformerOptions<P>;
  readonly #objects = new Map<string, Kinds[P]>();
  readonly #listeners: ((change: Change<Kinds[P]>) => void)[] = [];
  readonly #synced = Promise.withResolvers<void>();
  #hasSynced = false;
  #resourceVersion = "";
  #failures = 0;

  constructor(options: InformerOptions<P>) {
    this.#options = options;
    void this.#run();
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves once the first list is in. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get(key: string): Kinds[P] | undefined {
    return this.#objects.get(key);
  }

  values(): MapIterator<Kinds[P]> {
    return this.#objects.values();
  }

  /** Calls `listener` with every change from now on; what is known already comes at once, as added. */
  listen(listener: (change: Change<Kinds[P]>) => void): void {
    this.#listeners.push(listener);
    for (const object of [...this.#objects.values()]) listener({ type: "added", object });
  }

  /**
   * Takes the reply to a write for the newest state until the watch shows it, as the controllers of
   * kube-controller-manager do (pv_controller_base.go storeObjectUpdate). A deletion seen meanwhile stays one.
   */
  remember(object: Kinds[P]): void {
    const key = keyOf(object.metadata);
    const known = this.#objects.get(key);
    if (known?.metadata.uid === object.metadata.uid && !isOlder(object, known)) this.#objects.set(key, object);
  }

  async #run(): Promise<void> {
    const { client, plural, signal } = this.#options;
    while (!signal.aborted) {
      const listed = await client.list(plural);
      if (!listed.ok) {
        await this.#backOff();
        continue;
      }
      this.#failures = 0;
      this.#replace(listed.value.items);
      this.#resourceVersion = listed.value.metadata.resourceVersion;
      this.#hasSynced = true;
      this.#synced.resolve();
      await this.#follow();
    }
  }

  /** Watches until the history it needs is gone. */
  async #follow(): Promise<void> {
    const { runtime, signal } = this.#options;
    while (!signal.aborted) {
      const opened = runtime.now();
      const failure = await this.#watchOnce();
      if (failure?.status === 410) return;
      // A stream that ends as soon as it is opened is a failure too, whatever it says.
      if (failure || runtime.now() - opened < backoffFirstMs) await this.#backOff();
    }
  }

  async #watchOnce(): Promise<Failure | undefined> {
    const { client, plural, runtime, signal } = this.#options;
    const timeoutMs = Math.floor(watchTimeoutMinMs * (1 + runtime.random()));
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    signal.addEventListener("abort", abort, { once: true });
    const overtime = runtime.timer(timeoutMs + watchOvertimeMs, abort);
    try {
      const opened = await client.watch(plural, {
        resourceVersion: this.#resourceVersion,
        timeoutMs,
        signal: controller.signal,
      });
      if (!opened.ok) return opened;
      return await this.#read(opened.value);
    } catch (fault) {
      return { ok: false, status: 0, reason: "", message: String(fault) };
    } finally {
      overtime.cancel();
      signal.removeEventListener("abort", abort);
      abort();
    }
  }

  async #read(stream: AsyncIterable<Uint8Array>): Promise<Failure | undefined> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") continue;
        const { type, object } = JSON.parse(line) as WatchEvent<Kinds[P]>;
        if (type === "ERROR") return { ok: false, status: object.code ?? 0, reason: "", message: line };
        this.#failures = 0;
        this.#resourceVersion = object.metadata.resourceVersion;
        if (type === "DELETED") this.#drop(object);
        else if (type !== "BOOKMARK") this.#put(object);
      }
    }
    return undefined;
  }

  #put(object: Kinds[P]): void {
    const key = keyOf(object.metadata);
    // Deleted and made again while nobody watched.
    if (this.#objects.get(key)?.metadata.uid !== object.metadata.uid) this.#drop(object);
    const before = this.#objects.get(key);
    // What a reply has shown already must not go back to an older state on the way.
    if (before && isOlder(object, before)) return;
    this.#objects.set(key, object);
    this.#tell(before ? { type: "updated", object, before } : { type: "added", object });
  }

  #drop(object: KubeObject): void {
    const key = keyOf(object.metadata);
    const known = this.#objects.get(key);
    if (known && this.#objects.delete(key)) this.#tell({ type: "deleted", object: known });
  }

  #replace(objects: readonly Kinds[P][]): void {
    const kept = new Set(objects.map(({ metadata }) => keyOf(metadata)));
    for (const object of [...this.#objects.values()]) if (!kept.has(keyOf(object.metadata))) this.#drop(object);
    for (const object of objects) {
      const known = this.#objects.get(keyOf(object.metadata));
      if (known?.metadata.resourceVersion !== object.metadata.resourceVersion) this.#put(object);
    }
  }

  #tell(change: Change<Kinds[P]>): void {
    for (const listener of this.#listeners) listener(change);
  }

  async #backOff(): Promise<void> {
    const { runtime, signal } = this.#options;
    const longest = Math.min(backoffMaxMs, backoffFirstMs * 2 ** this.#failures++);
    await runtime.sleep(longest * (1 + runtime.random()) * 0.5, signal);
  }
}

function isOlder(a: KubeObject, b: KubeObject): boolean {
  return Number(a.metadata.resourceVersion) < Number(b.metadata.resourceVersion);
}
