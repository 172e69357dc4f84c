/** A Kubernetes API server in memory: the sandbox's cluster, the simulation's world, the tests' counterpart. */
import type { Exchange, HttpReply, HttpRequest, Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { PodTermination } from "./api/deletion.ts";
import { discover } from "./api/discovery.ts";
import { read } from "./api/read.ts";
import { splitPath, targetOf } from "./api/request.ts";
import { getResource } from "./api/resources.ts";
import { reviewAccess } from "./api/reviews.ts";
import { ApiError, internalError, jsonReply, tooLarge, unknownPath } from "./api/status.ts";
import { Store } from "./api/store.ts";
import type { Watch } from "./api/watch.ts";
import { create } from "./api/write.ts";
import { handleWrite, type WriteRequest } from "./api/writes.ts";

const bodyBytesMax = 3 * 1024 * 1024;

export interface ApiServerOptions {
  readonly runtime: Runtime;
  /** Changes remembered for each resource. A watch or a page that needs an older one is answered 410. */
  readonly historyMax?: number;
  readonly bookmarkIntervalMs?: Milliseconds;
  /** Whether new volumes and claims get their protection finalizers, which a controller must take off again. */
  readonly protectsVolumes?: boolean;
  /** Stands in for the kubelets: told of each assigned pod that must stop. Without it pods stop after a second. */
  readonly podTermination?: PodTermination;
  /** Told of every fault of the server's own, which the client sees as a 500. */
  readonly onFault?: (fault: unknown) => void;
}

const defaults = { historyMax: 20_000, bookmarkIntervalMs: 60_000, podStopMs: 1_000 };

export class ApiServer {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #bookmarkIntervalMs: Milliseconds;
  readonly #protects: boolean;
  readonly #terminatePod: PodTermination;
  readonly #onFault: ((fault: unknown) => void) | undefined;
  readonly #watches = new Set<Watch>();

  constructor(options: ApiServerOptions) {
    const { runtime } = options;
    this.#runtime = runtime;
    this.#store = new Store({ historyMax: options.historyMax ?? defaults.historyMax });
    this.#bookmarkIntervalMs = options.bookmarkIntervalMs ?? defaults.bookmarkIntervalMs;
    this.#protects = options.protectsVolumes ?? true;
    this.#terminatePod =
      options.podTermination ??
      (({ graceSeconds }, finish) => void runtime.timer(Math.min(graceSeconds * 1000, defaults.podStopMs), finish));
    this.#onFault = options.onFault;
    this.#bootstrap();
  }

  /** Answers every request, never rejects. Writes take effect before it returns to its caller's turn. */
  readonly exchange: Exchange = async (request, signal) => {
    try {
      return this.#answer(request, signal);
    } catch (fault) {
      if (fault instanceof ApiError) return jsonReply(fault.code, fault.status);
      this.#onFault?.(fault);
      return jsonReply(500, internalError(fault).status);
    }
  };

  /** The version of the newest write. */
  get resourceVersion(): number {
    return this.#store.resourceVersion;
  }

  /** Watches that are open. */
  get watchCount(): number {
    return this.#watches.size;
  }

  /** Ends every watch, as a restarting server does. */
  closeWatches(): void {
    for (const watch of [...this.#watches]) watch.close();
  }

  /** Forgets all history, as a compaction does: older resourceVersions and continue tokens get 410 from now on. */
  forgetHistory(): void {
    this.#store.forgetHistory();
  }

  #answer(request: HttpRequest, signal: AbortSignal): HttpReply {
    const { body } = request;
    if (body !== undefined && body.length > bodyBytesMax) throw tooLarge(bodyBytesMax);
    const { segments, query } = splitPath(request.path);
    const method = request.method.toUpperCase();
    if (method === "GET" || method === "HEAD") {
      const document = healthOf(segments) ?? discoveryOf(segments, request.headers["accept"] ?? "");
      if (document) return document;
      if (segments.length < 3) throw unknownPath();
    }
    const review = method === "POST" ? reviewAccess(segments, request) : undefined;
    if (review) return review;

    const target = targetOf(segments);
    if ((method === "GET" || method === "HEAD") && target.subresource !== "scale") {
      const accept = request.headers["accept"];
      const context = {
        store: this.#store,
        runtime: this.#runtime,
        bookmarkIntervalMs: this.#bookmarkIntervalMs,
        watches: this.#watches,
      };
      return read(context, { target, query, accept, signal });
    }
    return this.#write({ request, method, target, query });
  }

  #write(write: WriteRequest): HttpReply {
    const context = {
      store: this.#store,
      runtime: this.#runtime,
      protects: this.#protects,
      terminatePod: this.#terminatePod,
    };
    return handleWrite(context, write);
  }

  /** What is in every cluster before anybody has written to it. */
  #bootstrap(): void {
    const context = { store: this.#store, runtime: this.#runtime, protects: this.#protects };
    const add = (plural: string, value: Parameters<typeof create>[2]): void => {
      create(context, { resource: getResource(plural), namespace: "", name: "", subresource: "" }, value, false);
    };
    for (const name of ["default", "kube-system"]) add("namespaces", { metadata: { name } });
    add("priorityclasses", { metadata: { name: "system-cluster-critical" }, value: 2_000_000_000 });
    add("priorityclasses", { metadata: { name: "system-node-critical" }, value: 2_000_001_000 });
  }
}

function healthOf(segments: readonly string[]): HttpReply | undefined {
  if (!["healthz", "livez", "readyz"].includes(segments[0] ?? "")) return undefined;
  return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: "ok" };
}

/** "swagger: 2.0" and nothing more: kubectl before 1.29 reads this document as protobuf only, and then asks version 3. */
const openApiProtobuf = { type: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", body: "\n\u00032.0" };

function discoveryOf(segments: readonly string[], accept: string): HttpReply | undefined {
  if (segments.join("/") === "openapi/v2" && accept === openApiProtobuf.type) {
    return { status: 200, headers: { "content-type": openApiProtobuf.type }, body: openApiProtobuf.body };
  }
  const document = discover(segments);
  return document && jsonReply(200, document);
}
