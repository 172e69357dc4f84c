/** Pods that the cache does not keep, read live: who is on a node, and one Pod with all that it asks. For explanations. */
import { isName } from "../apis/fields.ts";
import { kindInfo } from "../apis/kubernetes.ts";
import type { ApiClient } from "../kube/client.ts";
import { fieldsOf } from "../kube/outcome.ts";
import type { NodeName } from "../scheduling/names.ts";
import { Limiter } from "./limiter.ts";

export type PodList =
  /** As the API sent them. `isWhole`: there are no more. */
  | { readonly ok: true; readonly pods: readonly unknown[]; readonly isWhole: boolean }
  | { readonly ok: false; readonly why: string };

/** kubelet runs 110 Pods by default; who has many more on a node is told that not all were looked at. */
const podsMax = 500;
/** Whoever looks at explanations is not to keep the API server from answering binds. */
const inParallelMax = 2;

export class PodLists {
  readonly #client: ApiClient;
  readonly #limiter = new Limiter(inParallelMax);

  constructor(client: ApiClient) {
    this.#client = client;
  }

  /** Never rejects. */
  onNode(node: NodeName, signal: AbortSignal): Promise<PodList> {
    return this.#list(kindInfo.pod.path, `spec.nodeName=${node}`, signal);
  }

  /** The Pod alone, or none. Never rejects. */
  async named(namespace: string, name: string, signal: AbortSignal): Promise<PodList> {
    if (!isName(namespace) || !isName(name)) return { ok: true, pods: [], isWhole: true };
    return this.#list(`/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`, `metadata.name=${name}`, signal);
  }

  #list(path: string, fieldSelector: string, signal: AbortSignal): Promise<PodList> {
    return this.#limiter.run(async (): Promise<PodList> => {
      if (signal.aborted) return { ok: false, why: "the caller has gone" };
      const query = new URLSearchParams({ fieldSelector, limit: String(podsMax) });
      const outcome = await this.#client.get(`${path}?${query}`, signal, { triesMax: 2 });
      if (!outcome.ok) return { ok: false, why: outcome.message };
      const { items, metadata } = fieldsOf(outcome.body);
      const more = fieldsOf(metadata)["continue"];
      if (!Array.isArray(items)) return { ok: true, pods: [], isWhole: true };
      return { ok: true, pods: items, isWhole: more === undefined || more === "" };
    });
  }
}
