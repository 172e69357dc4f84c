/** Reads past the cache, so many at a time. */
import { objectPath, type Translator } from "../apis/kubernetes.ts";
import type { ApiClient } from "../kube/client.ts";
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Kind, Kinds, ObjectKey } from "../scheduling/objects.ts";
import { Limiter } from "./limiter.ts";

export type LiveRead<K extends Kind> =
  /** `raw` is what the API sent. */
  | { readonly found: true; readonly object: Kinds[K]; readonly raw: unknown }
  | { readonly found: false }
  /** `retryAfterMs` is how long the API wants to be left alone. */
  | { readonly failed: string; readonly retryAfterMs?: Milliseconds | undefined };

export interface LiveReadsDeps {
  readonly client: ApiClient;
  readonly translator: Translator;
  readonly inParallelMax: number;
  /** Told of each object that is there. */
  readonly found: (kind: Kind, key: ObjectKey) => void;
}

export class LiveReads {
  readonly #deps: LiveReadsDeps;
  readonly #limiter: Limiter;

  constructor(deps: LiveReadsDeps) {
    this.#deps = deps;
    this.#limiter = new Limiter(deps.inParallelMax);
  }

  /** Never rejects. */
  read<K extends Kind>(kind: K, key: ObjectKey, signal?: AbortSignal): Promise<LiveRead<K>> {
    const { client, translator, found } = this.#deps;
    return this.#limiter.run(async (): Promise<LiveRead<K>> => {
      if (signal?.aborted) return { failed: "the caller has gone" };
      const path = objectPath(kind, key);
      // No object can have such a name.
      if (path === undefined) return { found: false };
      // A second try, for the connection may have been closed while it was idle.
      const outcome = await client.get(path, signal, { triesMax: 2 });
      if (!outcome.ok) {
        const { status, message, retryAfterMs } = outcome;
        return status === 404 ? { found: false } : { failed: message, retryAfterMs };
      }
      found(kind, key);
      const read = translator.translate(kind, outcome.body);
      return read.ok
        ? { found: true, object: read.object, raw: outcome.body }
        : { failed: `${read.field}: ${read.problem}` };
    });
  }
}
