/** The API server as the bench uses it: many objects at a time over a few connections, and what fails is a fault of the bench. */
import { ApiClient, type WatchEvent } from "../../src/kube/client.ts";
import type { Outcome } from "../../src/kube/outcome.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { inParallel } from "../../test/control-plane/in-parallel.ts";
import { reach } from "../../test/control-plane/reach.ts";
import type { AuditedApi } from "../../test/support/auditor.ts";
import type { Raw } from "../../test/support/make.ts";
import { listPathOf, objectPathOf } from "../../test/support/paths.ts";

export class Api {
  readonly #client: ApiClient;
  readonly #close: () => void;

  constructor(server: string) {
    const transport = reach(server);
    const { exchange } = transport;
    this.#client = new ApiClient({ runtime, exchange, userAgent: "bench", timeoutMs: 120_000 });
    this.#close = () => transport.close();
  }

  /** For the auditor. */
  readonly audited: AuditedApi = {
    call: async (_method, path) => {
      const outcome = await this.#client.get(path);
      return { status: outcome.status ?? 0, body: outcome.ok ? outcome.body : undefined };
    },
  };

  /** @param told  when each is about to be sent */
  async createAll(objects: Iterable<Raw>, told: (object: Raw) => void = () => {}): Promise<void> {
    await inParallel(objects, async (object) => {
      told(object);
      const path = pathOf(object);
      surely(`create ${path}`, await this.#client.post(path.slice(0, path.lastIndexOf("/")), object));
    });
  }

  /** Merge patches by the object's path. */
  async patchAll(patches: Iterable<readonly [string, Raw]>): Promise<void> {
    await inParallel(patches, async ([path, patch]) => {
      surely(`patch ${path}`, await this.#client.patch(path, "merge", patch));
    });
  }

  async patch(path: string, patch: Raw): Promise<Outcome> {
    return this.#client.patch(path, "merge", patch);
  }

  async post(path: string, body: Raw): Promise<Outcome> {
    return this.#client.post(path, body);
  }

  /** @param kind  of all namespaces */
  async list(kind: string): Promise<{ readonly items: readonly Raw[]; readonly version: string }> {
    const path = listPathOf(kind);
    const body = surely(`list ${path}`, await this.#client.get(path)) as Listed;
    return { items: body.items, version: body.metadata.resourceVersion };
  }

  /** What happens from that version on, until `signal` aborts. */
  async *watch(kind: string, version: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const path = `${listPathOf(kind)}?watch=true&resourceVersion=${version}&timeoutSeconds=3600`;
    const opened = await this.#client.watch(path, signal);
    if (!opened.ok) throw new Error(`watch ${path}: ${opened.message}`);
    try {
      yield* opened.events;
    } catch (problem) {
      if (!signal.aborted) throw problem;
    }
  }

  /** All of the kind in the namespace, at once and without grace. */
  async deleteAll(kind: string, namespace: string): Promise<void> {
    const path = objectPathOf(kind, namespace, "");
    surely(`delete ${path}`, await this.#client.delete(`${path.slice(0, -1)}?gracePeriodSeconds=0`));
  }

  close(): void {
    this.#close();
  }
}

interface Listed {
  readonly items: readonly Raw[];
  readonly metadata: { readonly resourceVersion: string };
}

export interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
}

export function metaOf(object: Raw): Meta {
  return object["metadata"] as Meta;
}

export function pathOf(object: Raw): string {
  const { name, namespace } = metaOf(object);
  return objectPathOf(String(object["kind"]), namespace, name);
}

function surely(what: string, outcome: Outcome): unknown {
  if (!outcome.ok) throw new Error(`${what}: ${outcome.status ?? ""} ${outcome.message}`);
  return outcome.body;
}
