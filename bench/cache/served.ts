/**
 * The sandbox's API server as far as it is read from: its store, its lists and its watches, and who asks for rights has all. Objects go into the store as they are,
 * past admission and validation: thousands of changes a second are to cost the reader of the watches, not their writer.
 */
import type { Exchange, HttpReply, Runtime } from "../../src/runtime/runtime.ts";
import type { ApiObject } from "../../src/sandbox/api/json.ts";
import { read } from "../../src/sandbox/api/read.ts";
import { splitPath, targetOf } from "../../src/sandbox/api/request.ts";
import { getResource } from "../../src/sandbox/api/resources.ts";
import { reviewAccess } from "../../src/sandbox/api/reviews.ts";
import { ApiError, expired, invalid, jsonReply, methodNotAllowed } from "../../src/sandbox/api/status.ts";
import { Store } from "../../src/sandbox/api/store.ts";
import type { Watch } from "../../src/sandbox/api/watch.ts";

const bookmarkIntervalMs = 60_000;

export class ServedApi {
  readonly #store = new Store({ historyMax: 50_000 });
  readonly #runtime: Runtime;
  readonly #watches = new Set<Watch>();
  readonly #streamsLists: boolean;
  /** Plurals whose next watch from a version on is told that the version is too old. */
  readonly #compacted = new Set<string>();

  /** @param streamsLists  whether it knows sendInitialEvents, as kube-apiserver by default does in 1.32 and from 1.34 on */
  constructor(runtime: Runtime, streamsLists: boolean) {
    this.#runtime = runtime;
    this.#streamsLists = streamsLists;
  }

  readonly exchange: Exchange = async (request, signal) => {
    const { method, path, headers } = request;
    try {
      const reviewed = method === "POST" ? reviewAccess(splitPath(path).segments, request) : undefined;
      if (reviewed) return reviewed;
      if (method !== "GET") throw methodNotAllowed();
      return this.#read(path, headers["accept"], signal);
    } catch (fault) {
      if (fault instanceof ApiError) return jsonReply(fault.code, fault.status);
      throw fault;
    }
  };

  put(plural: string, object: ApiObject): void {
    this.#store.write(getResource(plural), object);
  }

  remove(plural: string, object: ApiObject): void {
    this.#store.remove(getResource(plural), object);
  }

  /** Ends all watches and forgets where each was: whoever comes again has to list everything. */
  compact(plurals: readonly string[]): void {
    for (const plural of plurals) this.#compacted.add(plural);
    for (const watch of [...this.#watches]) watch.close();
  }

  #read(path: string, accept: string | undefined, signal: AbortSignal): HttpReply {
    const { segments, query } = splitPath(path);
    const target = targetOf(segments);
    if (query.get("sendInitialEvents") === "true" && !this.#streamsLists) {
      const message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
      throw invalid("meta.k8s.io", "ListOptions", "", [{ field: "sendInitialEvents", type: "Forbidden", message }]);
    }
    const isContinued = query.get("watch") === "true" && query.has("resourceVersion");
    if (isContinued && this.#compacted.delete(target.resource.plural)) throw expired("too old resource version");
    const context = { store: this.#store, runtime: this.#runtime, bookmarkIntervalMs, watches: this.#watches };
    return read(context, { target, query, accept, signal });
  }
}
