/** Everything of a cluster that Berth watches but Pods, as manifests: with the rights that Berth reads by. */
import { kindInfo } from "../apis/kubernetes.ts";
import { Backoff } from "../cluster/backoff.ts";
import { list } from "../cluster/listing.ts";
import { Pace } from "../cluster/pace.ts";
import type { ApiClient } from "../kube/client.ts";
import { kinds } from "../scheduling/objects.ts";
import { Misuse } from "./arguments.ts";
import { withCluster } from "./cluster-client.ts";
import type { CommandIo } from "./io.ts";
import type { Manifest } from "./manifests.ts";

const timeoutMs = 30_000;

/** @throws Misuse where the cluster cannot be asked */
export function listCluster(io: CommandIo, kubeconfig: string | undefined): Promise<Manifest[]> {
  return withCluster(io, kubeconfig, timeoutMs, (client, server) => listAll(io, client, server));
}

async function listAll({ runtime, signal }: CommandIo, client: ApiClient, server: string): Promise<Manifest[]> {
  const manifests: Manifest[] = [];
  const pace = new Pace(runtime);
  for (const kind of kinds.filter((one) => one !== "pod")) {
    const { kind: word, apiVersion, plural } = kindInfo[kind];
    const where = `${plural} of ${server}`;
    const put = (raw: unknown): undefined => {
      if (typeof raw !== "object" || raw === null) return;
      // Items of a list do not repeat their kind.
      manifests.push({ object: { kind: word, apiVersion, ...raw }, where });
    };
    const mirror = { put, remove: () => {}, keys: () => [] };
    const listed = await list({ kind, client, mirror, pace, backoff: new Backoff(runtime) }, signal);
    if (!listed.ok) throw new Misuse(`${where} cannot be listed: ${listed.message}`);
  }
  return manifests;
}
