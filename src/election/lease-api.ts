/** The calls by which a Lease is read and written. Every write but the first stands on the version that was read. */
import type { ApiClient } from "../kube/client.ts";
import type { Failure, Outcome } from "../kube/outcome.ts";

export type LeaseClient = Pick<ApiClient, "get" | "post" | "put">;

export class LeaseApi {
  readonly #client: LeaseClient;
  readonly #collection: string;
  readonly #path: string;
  /** For messages. */
  readonly title: string;

  constructor(client: LeaseClient, { namespace, name }: { readonly namespace: string; readonly name: string }) {
    this.#client = client;
    this.#collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
    this.#path = `${this.#collection}/${encodeURIComponent(name)}`;
    this.title = `Lease ${namespace}/${name}`;
  }

  /** Once: the next look comes soon enough. */
  read(): Promise<Outcome> {
    return this.#client.get(this.#path, undefined, { triesMax: 1 });
  }

  create(lease: object): Promise<Outcome> {
    return this.#client.post(this.#collection, lease);
  }

  replace(lease: object): Promise<Outcome> {
    return this.#client.put(this.#path, lease);
  }

  /** Why it failed, in words for whoever has to mend it. */
  explain(failure: Failure, what: "read" | "create" | "renew"): string {
    const isForbidden = failure.status === 401 || failure.status === 403;
    return isForbidden
      ? `may not ${what} ${this.title}: grant get, create and update on leases of coordination.k8s.io in that namespace`
      : `could not ${what} ${this.title}: ${failure.message}`;
  }
}

/** The API will not have it: to try again would change nothing. */
export function isRefusal({ status }: Failure): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
}
